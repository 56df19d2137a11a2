import { reasonOf } from '../base/log.ts'
import { uuid } from '../base/random.ts'
import type { Answer, Incoming, Route } from '../http/server.ts'
import { bodyLimits } from './body.ts'
import { completeTransfer } from './complete.ts'
import type { MobileKind } from './invoice.ts'
import type { InvoiceWork, MobileWorld } from './mobile-world.ts'
import { performMobile, type MobileAsked } from './perform.ts'
import { httpOf, noRoom, refuseMobile, type MobileRefusal } from './refusal.ts'
import { statusOfMobile } from './status.ts'

const bodyLimitBytes = bodyLimits.length
const kinds: readonly MobileKind[] = ['verification', 'sale', 'transfer']

/** What merchants' apps call. */
export function mobileRoutes(base: string, world: MobileWorld, work: Pick<InvoiceWork, 'begin' | 'waitingOf'>): Route[] {
  const complete: Route = {
    method: 'POST',
    path: `${base}/dapi/v1/transfer/:endpointId/:invoiceId/:assignedId`,
    bodyLimitBytes,
    handle: (request) =>
      serve(world, 'transfer', request, (asked) => completeTransfer(world, asked, request.params.assignedId ?? '', work.begin)),
  }
  const routes = kinds.flatMap((kind): Route[] => {
    const path = `${base}/dapi/v1/${kind}/:endpointId/:invoiceId`
    return [
      {
        method: 'POST',
        path,
        bodyLimitBytes,
        handle: (request) => serve(world, kind, request, (asked) => performMobile(world, asked, work)),
      },
      {
        method: 'POST',
        path: `${path}/status`,
        bodyLimitBytes,
        handle: (request) => serve(world, kind, request, (asked) => statusOfMobile(world, asked)),
      },
    ]
  })
  return [...routes, complete]
}

type Doing = (asked: MobileAsked) => Promise<object>

async function serve(world: MobileWorld, kind: MobileKind, request: Incoming, doing: Doing): Promise<Answer> {
  const { endpointId = '', invoiceId = '' } = request.params
  const asked = {
    kind,
    endpointId,
    invoiceId,
    body: request.body,
    clientAddress: request.clientAddress,
    now: world.clock.now(),
  }
  const code = uuid(world.random)
  const done = request.overloaded ? Promise.resolve(noRoom) : doing(asked)
  const answer = await done.catch((error) => {
    world.log.error({ code, kind, reason: reasonOf(error) }, 'a request of an app failed')
    return refuseMobile('INTERNAL_ERROR', 'internal error')
  })
  if (!isRefusal(answer)) return json(200, answer)
  const { cause, message } = answer
  world.log.info({ code, kind, cause, message }, 'an app is refused')
  return json(httpOf(cause), { error: { cause, code, message }, invoiceId })
}

const isRefusal = (answer: object): answer is MobileRefusal => 'cause' in answer

const json = (status: number, body: object): Answer => ({
  status,
  type: 'application/json;charset=utf-8',
  body: JSON.stringify(body),
})
