import { authenticationView } from '../order/authentication/view.ts'
import { statusView } from '../order/view.ts'
import { statusReply, type StatusRequest } from '../spec/gateway/status.ts'
import { refuse, type Refusal } from '../spec/refusals.ts'
import type { Asked } from './asked.ts'
import type { Reply } from './reply.ts'

/** Answers where an order stands; with `by-request-sn` where the transaction stands that this request made or belonged to. */
export async function performStatus(asked: Asked): Promise<Reply | Refusal> {
  const { transaction } = asked
  const order = asked.order!
  const { 'by-request-sn': sent } = asked.values as StatusRequest
  if (!transaction) return refuse('order not found')
  const view: Record<string, string | undefined> = {
    ...statusView(order, transaction),
    ...authenticationView(order, transaction, asked.world.pages, () => asked.world.pareqParts(order)),
    type: 'status-response',
    'serial-number': asked.serialNumber,
    'by-request-sn': sent,
  }
  return Object.fromEntries(Object.keys(statusReply).map((name) => [name, view[name]]))
}
