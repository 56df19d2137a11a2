/** How requests about an existing order are acknowledged, recorded and refused. */
import type { Log } from '../base/log.ts'
import type { Door } from '../order/door/advance.ts'
import type { RepeatRow } from '../order/decide/change.ts'
import type { Operation } from '../spec/gateway/operations.ts'
import type { asyncReply } from '../spec/gateway/reply.ts'
import { refuse, type Refusal } from '../spec/refusals.ts'
import type { Received, WithOrder } from './stages.ts'
import type { Reply, ReplyOf } from './reply.ts'

export interface Noting {
  door: Pick<Door, 'submit'>
  log: Log
  /** Counts a request that was answered with the result of an earlier one. */
  repeated: (operation: Operation) => void
}

type About = Pick<Received, 'operation' | 'serialNumber' | 'now'> & WithOrder

export const wrongState = ({ order, operation }: Pick<About, 'order' | 'operation'>): Refusal =>
  refuse('wrong state', `${order.orderId} does not allow ${operation}`)

/** Lets status find the transaction by the serial number of this request. */
export const requestRow = ({ order, operation, serialNumber, now }: About, transactionNo: number): RepeatRow => ({
  merchantId: order.merchantId,
  orderId: order.orderId,
  serialNumber,
  operation,
  transactionNo,
  at: now,
})

export const acknowledge = ({ order, serialNumber }: Pick<About, 'order' | 'serialNumber'>): ReplyOf<typeof asyncReply> => ({
  type: 'async-response',
  'serial-number': serialNumber,
  'merchant-order-id': order.clientOrderid,
  'gateway-order-id': String(order.orderId),
  'end-point-id': String(order.endpointId),
})

/**
 * Acknowledges a request that changes nothing like any other: a merchant who repeats a request must
 * not get an error.
 */
export async function note(
  { door, log }: Pick<Noting, 'door' | 'log'>,
  request: About,
  transactionNo: number,
  why: string,
): Promise<Reply> {
  const { merchantId, orderId } = request.order
  logUnchanged(log, request, orderId, why)
  await door.submit({ is: 'noted', merchantId, orderId, request: requestRow(request, transactionNo) })
  return acknowledge(request)
}

/** A request that moves money was answered with the result of an earlier one. */
export function noteRepeat({ log, repeated }: Pick<Noting, 'log' | 'repeated'>, request: Named, orderId: bigint): void {
  logUnchanged(log, request, orderId, 'it repeats an earlier one')
  repeated(request.operation)
}

type Named = Pick<About, 'operation' | 'serialNumber'>

const logUnchanged = (log: Log, { serialNumber, operation }: Named, orderId: bigint, why: string): void =>
  log.info({ serial: serialNumber, order: String(orderId), operation, why }, 'a request has no effect')
