/** The display of messages to merchants. */
import { isoTime } from '../../base/moments.ts'
import type { DeliveryLine, DeliveryState } from './delivery-rows.ts'

/** In one word, as used in searches. */
export const deliveryStateText = (state: DeliveryState) => (state === 'given up' ? 'given-up' : state)

export const deliveryJson = (d: DeliveryLine) => ({
  order_id: d.orderId,
  delivery: d.deliveryNo,
  merchant: d.login,
  kind: d.kind,
  url: d.url,
  state: deliveryStateText(d.state),
  tries: d.tries,
  created_at: isoTime(d.createdAt),
  due_at: isoTime(d.dueAt),
  last_try:
    d.last === undefined
      ? null
      : { at: isoTime(d.last.at), http_status: d.last.httpStatus ?? null, failure: d.last.failure ?? null },
})
