import type { Step } from './cardholder.ts'
import { rowOf } from './operations.ts'
import { isFinal, type Accepted, type FinalStatus, type NoAnswer, type OrderStatus, type Refused, type Reply } from './replies.ts'
import type { OrderName, StatusRequest } from './requests.ts'
import { pauseMs, usualLimitMs, type Time } from './waiting.ts'

/** How waiting for an order came to its end. `seen` is the last that was seen of it. */
export type Ending =
  | { is: 'final'; status: FinalStatus; order: OrderName; seen: OrderStatus }
  /** The order waits for the cardholder. */
  | { is: 'cardholder'; step: Step; order: OrderName; seen: OrderStatus }
  /** No end within the limit, or an aborted wait: the order goes on and can be waited for again. */
  | { is: 'open'; why: 'limit' | 'aborted'; seen?: OrderStatus }
  /**
   * After a lost answer: the gateway has no order of this name. The same request may be sent again,
   * under the same name.
   */
  | { is: 'not found'; client_orderid: string }
  | Refused
  | NoAnswer

export interface FinishOptions {
  /**
   * What the cardholder has done already, so that it is not stopped for again; `every step` when
   * the gateway's pages lead him through all.
   */
  past?: Step | 'every step'
  /** After this nothing is asked any more. */
  limitMs?: number
  signal?: AbortSignal
}

/** A request that was not answered may still be on its way. */
const lostWithinMs = 15_000

type Ask = (request: StatusRequest) => Promise<Reply<OrderStatus>>

/** Asks for the status until the order is final or waits for the cardholder; lost answers too. */
export async function finish(reply: Reply<Accepted>, ask: Ask, time: Time, options: FinishOptions): Promise<Ending> {
  if (reply.is === 'accepted') return untilEnd({ ...reply.order, 'by-request-sn': reply.serialNumber }, ask, time, options)
  const { operation, client_orderid: name, orderid } = reply.asked
  const doubtful = reply.is === 'no answer' || reply.type === 'error'
  // Whether a capture or the like arrived, its order does not tell: that request is sent again
  // under its Idempotency-Key.
  if (!doubtful || name === undefined || rowOf(operation).begins === 'transaction') return reply
  return untilEnd({ client_orderid: name, ...(orderid === undefined ? {} : { orderid }) }, ask, time, options)
}

async function untilEnd(request: StatusRequest, ask: Ask, time: Time, options: FinishOptions): Promise<Ending> {
  const { past, limitMs = usualLimitMs, signal } = options
  const began = time.now()
  let last: OrderStatus | undefined
  for (;;) {
    const reply = await ask(request)
    const elapsedMs = time.now() - began
    if (reply.is === 'order') {
      last = reply
      const { status, step, order } = reply
      if (isFinal(status)) return { is: 'final', status, order, seen: reply }
      if (step !== undefined && past !== 'every step' && step.is !== past?.is)
        return { is: 'cardholder', step, order, seen: reply }
    } else if (reply.is === 'refused' && reply.type === 'validation-error') {
      if (!isNotFound(reply) || request.orderid !== undefined) return reply
      if (elapsedMs >= lostWithinMs) return { is: 'not found', client_orderid: request.client_orderid }
    }
    const shown = last === undefined ? {} : { seen: last }
    if (signal?.aborted) return { is: 'open', why: 'aborted', ...shown }
    if (elapsedMs + pauseMs(elapsedMs) > limitMs) return { is: 'open', why: 'limit', ...shown }
    await time.pause(pauseMs(elapsedMs), signal)
  }
}

const orderNotFound = 6
const isNotFound = ({ code }: Refused): boolean => code === orderNotFound
