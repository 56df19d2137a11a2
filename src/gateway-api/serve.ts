import { reasonOf, type Log } from '../base/log.ts'
import { passChecks } from '../base/matrix.ts'
import { uuid, type Random } from '../base/random.ts'
import type { Clock } from '../base/clock.ts'
import type { Turns } from '../base/turn.ts'
import type { Answer, Incoming, Route } from '../http/server.ts'
import type { Registry } from '../merchant/merchant.ts'
import { operationNames, operations, type Operation } from '../spec/gateway/operations.ts'
import { refuse, type Refusal } from '../spec/refusals.ts'
import { checksOf, performers, type Ports } from './matrix.ts'
import { readBody } from './read-body.ts'
import { answerOf, refusalReply, wantsJson, type Reply } from './reply.ts'
import { signerOf, type Verifying } from './signed.ts'
import type { Received } from './stages.ts'

/** All ports of the gateway API: every file declares its part. */
export type GatewayApi = Ports & Verifying & Serving

interface Serving {
  registry: () => Registry
  clock: Clock
  random: Random
  log: Log
  turns: Turns
  /** The page for an unauthorised request, provided by another room. */
  denied: () => Answer
  /** Counts an answered request: `ok`, or the name of the refusal. */
  answered: (operation: Operation, outcome: string) => void
}

/** Room for two fields of 64k characters, percent-encoded, and all others. */
const formLimitBytes = 2 * 1024 * 1024
/** The fields of v4 have some hundred characters. */
const signedLimitBytes = 65_536

export function gatewayRoutes(base: string, api: GatewayApi): Route[] {
  return operationNames.flatMap((operation) => {
    const path = base + operations[operation].path
    const bodyLimitBytes = operations[operation].signed === 'OAuth' ? signedLimitBytes : formLimitBytes
    return [
      { method: 'POST', path: `${path}/:id`, bodyLimitBytes, handle: (request) => serve(api, operation, false, request) },
      { method: 'POST', path: `${path}/group/:id`, bodyLimitBytes, handle: (request) => serve(api, operation, true, request) },
    ]
  })
}

/**
 * Serves one request: the checks of its operation in order, then the operation itself. Every
 * outcome is answered in the reply format.
 */
async function serve(api: GatewayApi, operation: Operation, group: boolean, request: Incoming): Promise<Answer> {
  const { log, answered } = api
  const sentKey = request.headers['idempotency-key']
  const received: Received = {
    operation,
    path: { id: request.params.id ?? '', group },
    ...(await readBody(api.turns, request.body, request.headers['content-type'])),
    overloaded: request.overloaded,
    serialNumber: uuid(api.random),
    now: api.clock.now(),
    ...(sentKey === undefined ? {} : { idempotencyKey: String(sentKey) }),
    registry: api.registry(),
  }
  const { serialNumber, merchantOrderId } = received
  const json = wantsJson(request.headers.accept)
  const outcome = await perform(api, received, request).catch((error) => {
    log.error({ serial: serialNumber, operation, reason: reasonOf(error) }, 'a request failed')
    return refuse('internal error')
  })
  if (outcome === 'access denied') {
    // The same page for every reason.
    answered(operation, outcome)
    return api.denied()
  }
  if (!isRefusal(outcome)) {
    answered(operation, 'ok')
    log.debug({ serial: serialNumber, operation, order: outcome['gateway-order-id'] }, 'answered')
    return answerOf(outcome, json)
  }
  answered(operation, outcome.refused)
  log.info({ serial: serialNumber, operation, ...outcome }, 'refused')
  const { reply, http } = refusalReply(outcome, serialNumber, merchantOrderId)
  return answerOf(reply, json, http)
}

const isRefusal = (outcome: Reply | Refusal): outcome is Refusal => 'refused' in outcome

async function perform(api: GatewayApi, received: Received, incoming: Incoming): Promise<Reply | Refusal | 'access denied'> {
  const { operation } = received
  let signed: object = received
  if (operations[operation].signed === 'OAuth') {
    const merchant = await signerOf(received, incoming, api)
    if (!merchant) return 'access denied'
    signed = { ...received, merchant }
  }
  const checked = await passChecks<Refusal>(checksOf(operation), signed, api)
  if ('refused' in checked) return checked
  // The type of the performers requires what the checks of the matrix find.
  return (performers[operation] as (request: object, api: GatewayApi) => Promise<Reply | Refusal>)(checked.passed, api)
}
