/** The display of an order: in a list, and with its whole life. */
import { currencyOf, minorToDecimal } from '../../base/money.ts'
import { refusingScore } from '../../merchant/filter.ts'
import { head, statusOf, statusOfState, type Order, type Transaction } from '../../order/decide/order.ts'
import type { Pool } from '../../storage/pool.ts'
import { authenticationJson, authenticationText } from './authentication-story.ts'
import type { Fact } from '../../entity/facts.ts'
import { firedJson } from '../configuration/filter.ts'
import { momentsOf, type Life, type LifeMoment } from './life.ts'
import { agoText, spanText, timeText } from '../../base/moments.ts'
import { listEndpoints, listGates, listMerchants } from '../known.ts'
import type { LivingOrder, OrderLine } from './order-rows.ts'
import { jsonOf, pick } from '../../entity/json.ts'

/** An order and its life with the names of everything it refers to. */
export interface Story {
  order: Order
  life: Life
  login: string
  merchantName: string
  endpointName: string
  moments: LifeMoment[]
}

export async function orderStory(pool: Pool, { order, life }: LivingOrder): Promise<Story> {
  const [merchants, endpoints, gates] = await Promise.all([listMerchants(pool), listEndpoints(pool), listGates(pool)])
  const merchant = merchants.find((m) => m.merchantId === order.merchantId)
  return {
    order,
    life,
    login: merchant?.login ?? String(order.merchantId),
    merchantName: merchant?.name ?? 'gone',
    endpointName: endpoints.find((e) => e.endpointId === order.endpointId)?.name ?? 'gone',
    moments: momentsOf(order, life, (id) => gates.find((g) => g.gateId === id)?.name ?? 'gone'),
  }
}

/** In the highest unit of its currency. */
export const decimalOf = (o: { amountMinor: bigint; currency: string }): string =>
  minorToDecimal(o.amountMinor, currencyOf(o.currency)?.exponent ?? 0)

export function orderFacts({ order, login, merchantName, endpointName }: Story, now: number): Fact[] {
  const { card, pathId, endpointId } = order
  const { result } = head(order)
  const { erasedAt } = order.request
  const by = pathId === endpointId ? '' : `, by group ${pathId}`
  return [
    ['Merchant', `${login} (${merchantName})`],
    ['client_orderid', order.clientOrderid],
    ['Endpoint', `${endpointId} (${endpointName})${by}`],
    ['Amount', `${decimalOf(order)} ${order.currency}`],
    ['Card', `${maskOf(order)} ${card.network ?? ''}${erasedAt === undefined ? cardDetails(card) : ''}`.trim()],
    ['Erased', erasedAt && `the payer's data, ${timeText(Date.parse(erasedAt))} UTC`],
    ['Made', `${timeText(order.createdAt)} UTC (${agoText(order.createdAt, now)})`],
    ['Final', order.finalAt === undefined ? 'not yet' : `after ${spanText(order.finalAt - order.createdAt)}`],
    ['Why', result.errorCode === undefined ? undefined : `${result.errorCode} ${result.errorMessage ?? ''}`.trim()],
    ['Filters', screeningText(order)],
    ['3-D Secure', authenticationText(head(order))],
    ['Approval code', result.processor?.approvalCode],
    ['Processor', result.processor?.processorTxId],
    ['Receipt', result.receiptId],
  ]
}

/** Absent if the endpoint had no filters when the order was made. */
function screeningText({ screening }: Order): string | undefined {
  if (!screening) return undefined
  const { score, fired, refusal } = screening
  const many = `${fired.length} fired, score ${score} of ${refusingScore}`
  return fired.length === 0 ? 'none fired' : refusal ? `${many}: filtered` : many
}

const cardDetails = ({ expiryMonth, expiryYear, hashId }: Order['card']) =>
  `, ${String(expiryMonth).padStart(2, '0')}/${expiryYear}, card-hash-id ${hashId}`

export const maskOf = ({ card }: { card: Pick<Order['card'], 'bin' | 'lastFour'> }) => `${card.bin}******${card.lastFour}`

/** The state of a transaction and its next step. */
export function transactionText({ currency }: Order, t: Transaction, now: number): string {
  const stands = `${decimalOf({ amountMinor: t.amountMinor, currency })} ${currency}, ${t.state}`
  if (t.alarm !== undefined) return `${stands}, parked`
  if (t.step === undefined) return stands
  // No process works on it: the time is when the gateway gives up.
  if (t.step.startsWith('await ')) return `${stands}; given up ${agoText(t.dueAt ?? now, now)} unless something is heard`
  const when = t.lease === undefined ? agoText(t.dueAt ?? now, now) : `in the hand of process ${t.lease}`
  return `${stands}; next: ${t.step}, ${when}${t.tries > 0 ? `, after ${t.tries} that failed` : ''}`
}

export const orderLineJson = (o: OrderLine) =>
  jsonOf({
    ...pick(o, 'orderId', 'clientOrderid', 'amountMinor', 'currency', 'status', 'parked', 'createdAt', 'finalAt'),
    merchant: o.login,
    amount: decimalOf(o),
    card: jsonOf(pick(o.card, 'bin', 'lastFour', 'network', 'hashId')),
  })

export const orderJson = ({ order, life, login, moments }: Story) => ({
  ...jsonOf(pick(order, 'orderId', 'clientOrderid', 'endpointId', 'pathId', 'amountMinor', 'currency', 'createdAt', 'finalAt')),
  merchant: login,
  status: statusOf(order),
  amount: decimalOf(order),
  card: { masked: maskOf(order), ...jsonOf(pick(order.card, 'network', 'expiryMonth', 'expiryYear', 'hashId')) },
  screening: order.screening
    ? {
        score: order.screening.score,
        filtered: order.screening.refusal !== undefined,
        fired: order.screening.fired.map(firedJson),
      }
    : null,
  erased_at: order.request.erasedAt ?? null,
  transactions: order.transactions.map(transactionJson),
  attempts: order.attempts.map(attemptJson),
  events: life.events.map((e) => jsonOf({ ...pick(e, 'event', 'from', 'to', 'at'), transaction: e.transactionNo })),
  deliveries: life.deliveries.map((d) =>
    jsonOf({
      ...pick(d, 'kind', 'url', 'state', 'dueAt'),
      delivery: d.deliveryNo,
      transaction: d.transactionNo,
      tries: d.tries.map((t) => jsonOf(pick(t, 'at', 'durationMs', 'httpStatus', 'failure'))),
    }),
  ),
  life: moments.map((m) => jsonOf(pick(m, 'at', 'what', 'says'))),
})

const transactionJson = (t: Transaction) =>
  jsonOf({
    ...pick(t, 'kind', 'origin', 'serialNumber', 'state', 'amountMinor', 'dueAt', 'tries', 'alarm'),
    ...pick(t.result, 'errorCode', 'errorMessage', 'eci'),
    transaction: t.no,
    status: statusOfState(t.state),
    verified_3d_status: t.result.verified,
    authentication: authenticationJson(t),
    nextStep: t.step,
  })

const attemptJson = (a: Order['attempts'][number]) =>
  jsonOf({
    ...pick(a, 'gateId', 'terminalId', 'stan', 'rrn', 'startedAt', 'endedAt', 'outcome', 'actionCode', 'why'),
    attempt: a.no,
    transaction: a.transactionNo,
  })
