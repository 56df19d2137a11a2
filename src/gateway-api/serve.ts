import { reasonOf, type Log } from '../base/log.ts'
import { passChecks, type Passed } from '../base/matrix.ts'
import { uuid, type Random } from '../base/random.ts'
import type { Clock } from '../base/clock.ts'
import type { Turns } from '../base/turn.ts'
import type { Answer, Incoming, Route } from '../http/server.ts'
import type { AccessLimits } from '../merchant/access-limits.ts'
import type { Registry } from '../merchant/merchant.ts'
import { recordRefusal } from '../merchant/refused-access.ts'
import { operationNames, operations, type Operation } from '../spec/gateway/operations.ts'
import { refusalFields } from '../spec/gateway/reply.ts'
import { refuse, type Refusal } from '../spec/refusals.ts'
import { checksOf, performers, type GatewayApiPorts } from './matrix.ts'
import { readBody } from './read-body.ts'
import { refusalReply, replyWriter, wantsJson, type Reply, type WriteReply } from './reply.ts'
import { signerOf, type Verifying } from './signed.ts'
import { endpointText, type Addressed, type Received, type WithMessage } from './stages.ts'

/** All ports of the gateway API: every file declares its part. */
export type GatewayApi = GatewayApiPorts & Verifying & Serving

interface Serving {
  accessLimits: Pick<AccessLimits, 'failed' | 'lineOf'>
  registry: () => Registry
  clock: Clock
  random: Random
  log: Log
  turns: Turns
  /** Whether an error means that nothing was done, as if there were no room. */
  mayComeAgain: (error: unknown) => boolean
  /** The page for an unauthorised request, provided by another room. */
  denied: (request: Pick<Incoming, 'headers'>) => Answer
  /** The page for a request of v4 whose body is above `limitBytes`. */
  tooLong: (limitBytes: number) => Answer
  /** Counts an answered request: `ok`, or the name of the refusal. */
  answered: (operation: Operation, outcome: string) => void
}

const writers = Object.fromEntries(
  operationNames.map((operation) => [operation, replyWriter(operations[operation].reply)]),
) as Record<Operation, WriteReply>
const nothing = Buffer.alloc(0)
const writeRefusal = replyWriter(refusalFields)

/** Room for two fields of 64k characters, percent-encoded, and all others. */
const formLimitBytes = 2 * 1024 * 1024
/** The fields of v4 have some hundred characters. */
const signedLimitBytes = 65_536

export function gatewayRoutes(base: string, api: GatewayApi): Route[] {
  return operationNames.flatMap((operation) => {
    const { path, signed, kind } = operations[operation]
    const tooLong = () => {
      api.answered(operation, 'too long')
      return api.tooLong(signedLimitBytes)
    }
    const limits = {
      ...(signed === 'OAuth' ? { bodyLimitBytes: signedLimitBytes, tooLong } : { bodyLimitBytes: formLimitBytes }),
      isShed: kind === 'payment' || kind === 'rebill',
      refusesItself: true,
    }
    const route = (under: string, group: boolean): Route => ({
      method: 'POST',
      path: `${base}${path}${under}/:id`,
      ...limits,
      handle: (request) => serve(api, operation, group, request),
    })
    return [route('', false), route('/group', true)]
  })
}

/**
 * Serves one request: the checks of its operation in order, then the operation itself. Every
 * outcome is answered in the reply format. It awaits only what takes time, since each `await` costs
 * as much as some checks.
 */
async function serve(api: GatewayApi, operation: Operation, group: boolean, request: Incoming): Promise<Answer> {
  const body = readBody(api.turns, request.body, request.headers['content-type'])
  const { pairs, merchantOrderId } = body instanceof Promise ? await body : body
  const sentKey = request.headers['idempotency-key']
  const received: Received & WithMessage = {
    operation,
    path: { id: request.params.id ?? '', group },
    pairs,
    merchantOrderId,
    overloaded: request.overloaded,
    serialNumber: uuid(api.random),
    now: api.clock.now(),
    client: request,
    idempotencyKey: sentKey === undefined ? undefined : String(sentKey),
    registry: api.registry(),
    message: { method: request.method, path: request.path, headers: request.headers, body: request.body ?? nothing },
  }
  let outcome: Outcome
  try {
    const performed = perform(api, received, request)
    outcome = performed instanceof Promise ? await performed : performed
  } catch (error) {
    if (api.mayComeAgain(error)) outcome = refuse('too many requests')
    else {
      api.log.error({ serial: received.serialNumber, operation, reason: reasonOf(error) }, 'a request failed')
      outcome = refuse('internal error')
    }
  }
  return answer(api, received, wantsJson(request.headers.accept), outcome)
}

/** How a request ends; `access denied` is all that a wrong signature of v4 shows. */
type Outcome = Reply | Refusal | 'access denied'

function answer(api: GatewayApi, received: Received & WithMessage, json: boolean, outcome: Outcome): Answer {
  const { log, answered, denied } = api
  const { operation, serialNumber, merchantOrderId } = received
  if (outcome === 'access denied') {
    // The same page for every reason.
    answered(operation, outcome)
    return denied(received.message)
  }
  if (!isRefusal(outcome)) {
    answered(operation, 'ok')
    log.debug({ serial: serialNumber, operation, order: outcome['gateway-order-id'] }, 'answered')
    return writers[operation](outcome, json)
  }
  const refusal = recorded(api, received, outcome)
  answered(operation, refusal.refused)
  const name = refusal.hidesName ? undefined : merchantOrderId
  const { reply, http } = refusalReply(refusal, serialNumber, name)
  return writeRefusal(reply, json, http)
}

/** Records a refusal. A client that fails too often learns no more than that. */
function recorded(api: GatewayApi, received: Received, refusal: Refusal): Refusal {
  const { operation, serialNumber: serial, path, client } = received
  const { access: by, expected, refused } = refusal
  const more = expected === undefined ? {} : { more: { expected } }
  // The checks add what they find to the request. The login that it claims may be a secret.
  const { entry } = received as Partial<Addressed>
  const endpoint = entry && endpointText(path)
  const login = entry?.merchant.login
  const isFailure = recordRefusal(api, {
    facts: { serial, operation, endpoint, login, ...refusal },
    refused,
    client,
    isProved: 'merchant' in received,
    access: by && { serial, operation, endpoint: endpointText(path), ...by, ...more },
  })
  const counts = isFailure && refused !== 'too many requests'
  return counts && by && api.accessLimits.failed(by.login, client) ? refuse('too many requests') : refusal
}

const isRefusal = (outcome: Reply | Refusal): outcome is Refusal => 'refused' in outcome

function perform(api: GatewayApi, received: Received, incoming: Incoming): Outcome | Promise<Outcome> {
  return operations[received.operation].signed === 'OAuth'
    ? performSigned(api, received, incoming)
    : performChecked(api, received, received)
}

async function performSigned(api: GatewayApi, received: Received, incoming: Incoming): Promise<Outcome> {
  // Neither signature nor nonce is looked at.
  if (received.overloaded) return refuse('too many requests')
  const signer = await signerOf(received, incoming, api)
  if (!signer) return 'access denied'
  return 'refused' in signer ? signer : performChecked(api, received, Object.assign(received, { merchant: signer }))
}

function performChecked(api: GatewayApi, { operation }: Received, signed: object): Outcome | Promise<Outcome> {
  // The type of the performers requires what the checks of the matrix find.
  const performer = performers[operation] as (request: object, api: GatewayApi) => Outcome | Promise<Outcome>
  const after = (checked: Passed<Refusal>) => ('refused' in checked ? checked : performer(checked.passed, api))
  const checked = passChecks<Refusal>(checksOf(operation), signed, api)
  return checked instanceof Promise ? checked.then(after) : after(checked)
}
