import { reasonOf } from '../base/log.ts'
import { uuid } from '../base/random.ts'
import type { Answer, Incoming, Route } from '../http/server.ts'
import type { Operation } from '../merchant/merchant.ts'
import { refuse } from '../spec/refusals.ts'
import type { Asked, World } from './asked.ts'
import { readBody } from './checks.ts'
import { checksOf, performers } from './matrix.ts'
import { signerOf } from './signed.ts'
import { answerOf, refusalReply, wantsJson } from './reply.ts'

/** Paths of each operation below the base URL; each exists for an endpoint and for a group. */
const paths: Readonly<Record<Operation, string>> = {
  sale: '/api/v2/sale',
  preauth: '/api/v2/preauth',
  'account-verification': '/api/v2/account-verification',
  capture: '/api/v2/capture',
  return: '/api/v2/return',
  void: '/api/v2/void',
  'make-rebill-sale': '/api/v2/make-rebill-sale',
  'make-rebill-preauth': '/api/v2/make-rebill-preauth',
  'make-rebill': '/api/v2/make-rebill',
  'create-card-ref': '/api/v2/create-card-ref',
  'create-card-ref-v4': '/api/v4/create-card-ref',
  'get-card-info': '/api/v2/get-card-info',
  status: '/api/v2/status',
  'status-v4': '/api/v4/status',
  'upload-method-url-result': '/api/3ds/v1/upload-method-url-result',
  'upload-cres-result': '/api/3ds/v1/upload-cres-result',
  'upload-pares-result': '/api/3ds/v1/upload-pares-result',
}

export function gatewayRoutes(base: string, world: World): Route[] {
  return (Object.keys(paths) as Operation[]).flatMap((operation) => [
    { method: 'POST', path: `${base}${paths[operation]}/:id`, handle: (request) => serve(world, operation, false, request) },
    { method: 'POST', path: `${base}${paths[operation]}/group/:id`, handle: (request) => serve(world, operation, true, request) },
  ])
}

/** One request: the checks of its operation in order, then what it is for. Whatever happens is answered in the reply format. */
async function serve(world: World, operation: Operation, group: boolean, request: Incoming): Promise<Answer> {
  const asked: Asked = {
    world,
    operation,
    path: { id: request.params.id ?? '', group },
    ...readBody(request.body, request.headers['content-type'] as string | undefined),
    overloaded: request.overloaded,
    serialNumber: uuid(world.random),
    now: world.clock.now(),
    ...idempotencyKeyOf(request.headers['idempotency-key']),
    registry: world.registry(),
  }
  if (operation.endsWith('-v4')) {
    const merchant = await signerOf(asked, request)
    if (!merchant) return denied(world, operation)
    asked.merchant = merchant
  }
  const json = wantsJson(request.headers.accept)
  const outcome = await perform(asked).catch((error) => {
    world.log.error({ serial: asked.serialNumber, operation, reason: reasonOf(error) }, 'a request failed')
    return refuse('internal error')
  })
  world.answered(operation, 'refused' in outcome ? String(outcome.refused) : 'ok')
  if (!('refused' in outcome)) {
    world.log.debug({ serial: asked.serialNumber, operation, order: outcome['gateway-order-id'] }, 'answered')
    return answerOf(outcome, json)
  }
  world.log.info({ serial: asked.serialNumber, operation, refused: outcome.refused, detail: outcome.detail }, 'refused')
  const { reply, http } = refusalReply(outcome as Parameters<typeof refusalReply>[0], asked.serialNumber, asked.merchantOrderId)
  return answerOf(reply, json, http)
}

/** A name of the client's own for its request; one that nobody would send is none. */
function idempotencyKeyOf(header: string | string[] | undefined): Pick<Asked, 'idempotencyKey'> {
  return typeof header === 'string' && /^[\x21-\x7e]{1,128}$/.test(header) ? { idempotencyKey: header } : {}
}

/** The same page for every reason. */
function denied(world: World, operation: Operation): Answer {
  world.answered(operation, 'access denied')
  return world.denied()
}

async function perform(asked: Asked) {
  for (const check of checksOf(asked.operation)) {
    const refusal = await check(asked)
    if (refusal) return refusal
  }
  return performers[asked.operation](asked)
}
