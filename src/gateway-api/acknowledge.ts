/** What requests about an order there is have in common: how they are acknowledged, noted and refused. */
import type { RepeatRow } from '../order/store.ts'
import { refuse, type Refusal } from '../spec/refusals.ts'
import type { Asked } from './asked.ts'
import type { Reply } from './reply.ts'

export const wrongState = ({ order, operation }: Asked): Refusal =>
  refuse('wrong state', `${order!.orderId} does not allow ${operation}`)

/** So that status finds the transaction by the serial number of this request. */
export const requestRow = ({ order, operation, serialNumber, now }: Asked, transactionNo: number): RepeatRow => ({
  merchantId: order!.merchantId,
  orderId: order!.orderId,
  serialNumber,
  operation,
  transactionNo,
  at: now,
})

export const acknowledge = ({ order, serialNumber }: Asked): Reply => ({
  type: 'async-response',
  'serial-number': serialNumber,
  'merchant-order-id': order!.clientOrderid,
  'gateway-order-id': String(order!.orderId),
  'end-point-id': String(order!.endpointId),
})

/**
 * A request that changes nothing is acknowledged like any other: whoever repeats one must not be
 * told that it failed.
 */
export async function note(asked: Asked, transactionNo: number, why: string): Promise<Reply> {
  const { world, order } = asked
  logUnchanged(asked, order!.orderId, why)
  const { merchantId, orderId } = order!
  await world.door.submit({ is: 'noted', merchantId, orderId, request: requestRow(asked, transactionNo) })
  return acknowledge(asked)
}

/** A request that moves money was answered with what an earlier one had made. */
export function noteRepeat(asked: Asked, orderId: bigint): void {
  logUnchanged(asked, orderId, 'it repeats an earlier one')
  asked.world.repeated(asked.operation)
}

const logUnchanged = ({ world, serialNumber, operation }: Asked, orderId: bigint, why: string): void =>
  world.log.info({ serial: serialNumber, order: String(orderId), operation, why }, 'a request has no effect')
