import { reasonOf } from '../base/log.ts'
import { uuid } from '../base/random.ts'
import type { Answer, Incoming, Route } from '../http/server.ts'
import { operationNames, operations, type Operation } from '../spec/gateway/operations.ts'
import { refuse, type Refusal } from '../spec/refusals.ts'
import type { Asked, World } from './asked.ts'
import { expectedParts, readBody } from './checks.ts'
import { checksOf, performers } from './matrix.ts'
import { signerOf } from './signed.ts'
import { answerOf, refusalReply, wantsJson } from './reply.ts'

/** Two fields of 64k characters, percent-encoded, with all others. */
const formLimitBytes = 2 * 1024 * 1024
/** The fields of v4 have some hundred characters. */
const signedLimitBytes = 65_536

export function gatewayRoutes(base: string, world: World): Route[] {
  return operationNames.flatMap((operation) => {
    const path = base + operations[operation].path
    const bodyLimitBytes = operations[operation].signed === 'OAuth' ? signedLimitBytes : formLimitBytes
    return [
      { method: 'POST', path: `${path}/:id`, bodyLimitBytes, handle: (request) => serve(world, operation, false, request) },
      { method: 'POST', path: `${path}/group/:id`, bodyLimitBytes, handle: (request) => serve(world, operation, true, request) },
    ]
  })
}

/** One request: the checks of its operation in order, then what it is for. Whatever happens is answered in the reply format. */
async function serve(world: World, operation: Operation, group: boolean, request: Incoming): Promise<Answer> {
  const sentKey = request.headers['idempotency-key']
  const asked: Asked = {
    world,
    operation,
    path: { id: request.params.id ?? '', group },
    ...(await readBody(world.turns, request.body, request.headers['content-type'] as string | undefined)),
    overloaded: request.overloaded,
    serialNumber: uuid(world.random),
    now: world.clock.now(),
    ...(sentKey === undefined ? {} : { idempotencyKey: String(sentKey) }),
    registry: world.registry(),
  }
  const json = wantsJson(request.headers.accept)
  const outcome = await perform(asked, request).catch((error) => {
    world.log.error({ serial: asked.serialNumber, operation, reason: reasonOf(error) }, 'a request failed')
    return refuse('internal error')
  })
  if (outcome === 'access denied') return denied(world, operation)
  world.answered(operation, 'refused' in outcome ? String(outcome.refused) : 'ok')
  if (!('refused' in outcome)) {
    world.log.debug({ serial: asked.serialNumber, operation, order: outcome['gateway-order-id'] }, 'answered')
    return answerOf(outcome, json)
  }
  const { refused, detail } = outcome as Refusal
  const expected = world.explains && refused === 'control does not match' ? { expected: expectedParts(asked) } : {}
  world.log.info({ serial: asked.serialNumber, operation, refused, detail, ...expected }, 'refused')
  const { reply, http } = refusalReply({ refused, detail }, asked.serialNumber, asked.merchantOrderId)
  return answerOf(reply, json, http)
}

/** The same page for every reason. */
function denied(world: World, operation: Operation): Answer {
  world.answered(operation, 'access denied')
  return world.denied()
}

async function perform(asked: Asked, request: Incoming) {
  if (operations[asked.operation].signed === 'OAuth') {
    const merchant = await signerOf(asked, request)
    if (!merchant) return 'access denied'
    asked.merchant = merchant
  }
  for (const check of checksOf(asked.operation)) {
    const refusal = await check(asked)
    if (refusal) return refusal
  }
  return performers[asked.operation](asked)
}
