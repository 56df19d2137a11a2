import { authenticated } from '../order/authentication/browser.ts'
import { judgePares } from '../order/authentication/pares.ts'
import type { UploadParesRequest } from '../spec/gateway/upload.ts'
import type { Refusal } from '../spec/refusals.ts'
import type { Asked } from './asked.ts'
import type { Reply } from './reply.ts'
import { acknowledge, note, requestRow, wrongState } from './acknowledge.ts'

/** The issuer's signed answer of 3-D Secure 1.0.2. The first one counts, whatever it proves. */
export async function performUploadPares(asked: Asked): Promise<Reply | Refusal> {
  const { world, now } = asked
  const order = asked.order!
  const { paRes, md } = asked.values as UploadParesRequest
  const transaction = authenticated(order)
  if (transaction?.authentication.version !== '1.0.2' || transaction.state === 'enrolling') return wrongState(asked)
  if (transaction.state !== 'awaiting pares') return note(asked, transaction.no, 'late')
  const { event, refused } = await judgePares(world, order, transaction, { paRes, md }, now)
  if (refused !== undefined)
    world.log.warn({ serial: asked.serialNumber, order: String(order.orderId), why: refused }, 'a PARes fails a check')
  const { merchantId, orderId } = order
  await world.door.submit({ is: 'event', merchantId, orderId, event, request: requestRow(asked, transaction.no) })
  return acknowledge(asked)
}
