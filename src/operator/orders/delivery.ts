/** The display of messages to merchants. */
import type { DeliveryLine, DeliveryState } from './delivery-rows.ts'
import { jsonOf, pick } from '../../entity/json.ts'

/** In one word, as used in searches. */
export const deliveryStateText = (state: DeliveryState) => (state === 'given up' ? 'given-up' : state)

export const deliveryJson = (d: DeliveryLine) =>
  jsonOf({
    ...pick(d, 'orderId', 'kind', 'url', 'tries', 'createdAt', 'dueAt'),
    delivery: d.deliveryNo,
    merchant: d.login,
    state: deliveryStateText(d.state),
    lastTry: d.last && jsonOf({ httpStatus: undefined, failure: undefined, ...d.last }),
  })
