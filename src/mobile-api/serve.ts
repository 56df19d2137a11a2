import type { Clock } from '../base/clock.ts'
import { reasonOf, type Log } from '../base/log.ts'
import { passChecks } from '../base/matrix.ts'
import { uuid, type Random } from '../base/random.ts'
import type { Answer, Incoming, Route } from '../http/server.ts'
import type { Registry } from '../merchant/merchant.ts'
import type { AccessLimits } from '../merchant/access-limits.ts'
import { recordRefusal, type RefusedAccess } from '../merchant/refused-access.ts'
import { mobileRow } from '../spec/mobile/operations.ts'
import { bodyLimits } from './body.ts'
import { checksOf, performers, type MobileApiPorts } from './matrix.ts'
import { answerTo, noRoom, refuseMobile, type MobileRefusal } from './refusal.ts'
import { answeredByService, type Answered, type AppRequest, type OfEndpoint } from './stages.ts'

/** All that the mobile API works with: every file declares its part. */
export type MobileApi = MobileApiPorts & Serving

interface Serving {
  registry: () => Registry
  clock: Clock
  random: Random
  log: Log
  access: Pick<RefusedAccess, 'refused'>
  accessLimits: Pick<AccessLimits, 'failedAt' | 'lineOf'>
  /** Whether an error means that nothing was done, as if there were no room. */
  mayComeAgain: (error: unknown) => boolean
}

/** The routes that merchants' apps call. */
export const mobileRoutes = (base: string, api: MobileApi): Route[] =>
  answeredByService.map((answered) => ({
    method: 'POST',
    path: base + mobileRow(answered.operation).path.replaceAll(/\{(\w+)\}/g, ':$1'),
    bodyLimitBytes: bodyLimits.length,
    isShed: answered.does === 'perform',
    refusesItself: true,
    handle: (request) => serve(api, answered, request),
  }))

async function serve(api: MobileApi, answered: Answered, request: Incoming): Promise<Answer> {
  const { log, clock, random } = api
  const { operation } = answered
  const { endpointId = '', invoiceId = '', assignedId = '' } = request.params
  const received = {
    ...answered,
    endpointId,
    invoiceId,
    assignedId,
    body: request.body,
    overloaded: request.overloaded,
    clientAddress: request.clientAddress,
    now: clock.now(),
    registry: api.registry(),
  }
  const code = uuid(random)
  const answer = await perform(api, received).catch((error) => {
    if (api.mayComeAgain(error)) return noRoom
    log.error({ code, operation, reason: reasonOf(error) }, 'a request of an app failed')
    return refuseMobile('internal error', 'internal error')
  })
  if (!isRefusal(answer)) return json(200, answer)
  const { refused, message, hidesName } = recorded(api, received, code, answer)
  const { cause, http } = answerTo(operation, refused)
  return json(http, { error: { cause, code, message }, invoiceId: hidesName ? '' : invoiceId })
}

/** Records a refusal. An app that fails too often learns no more than that. */
function recorded(api: MobileApi, received: AppRequest, code: string, refusal: MobileRefusal): MobileRefusal {
  const { operation, endpointId: endpoint, registry } = received
  const { refused, message } = refusal
  const reason = reasonsOfAccess[refused]
  // The checks add what they find to the request.
  const { endpoint: found } = received as Partial<OfEndpoint>
  const login = found && registry.merchant(found.merchantId)?.login
  const isFailure = recordRefusal(api, {
    facts: { code, operation, endpoint: found && endpoint, login, cause: answerTo(operation, refused).cause, message },
    refused,
    client: received,
    isProved: 'digest' in received,
    access: reason === undefined || login === undefined ? undefined : { serial: code, operation, endpoint, login, reason },
  })
  return isFailure && api.accessLimits.failedAt(received) ? noRoom : refusal
}

async function perform(api: MobileApi, received: AppRequest): Promise<object | MobileRefusal> {
  const { does } = received
  const checked = await passChecks<MobileRefusal>(checksOf(does), received, api)
  if ('refused' in checked) return checked
  // The type of the performers requires what the checks of the matrix find.
  return (performers[does] as (request: object, api: MobileApi) => Promise<object | MobileRefusal>)(checked.passed, api)
}

/** The refusals of an endpoint that exists which mean that somebody may be guessing. */
const reasonsOfAccess: Partial<Record<MobileRefusal['refused'], string>> = {
  'signature does not hold': 'wrong signature',
  unknown: 'wrong invoice or token',
}

const isRefusal = (answer: object): answer is MobileRefusal => 'refused' in answer

const json = (status: number, body: object): Answer => ({
  status,
  type: 'application/json;charset=utf-8',
  body: JSON.stringify(body),
})
