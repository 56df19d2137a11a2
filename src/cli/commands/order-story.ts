import { currencyOf, minorToDecimal } from '../../base/money.ts'
import { authenticationJson, authenticationText } from '../../operator/authentication-story.ts'
import { momentsOf, type Life, type Moment } from '../../operator/life.ts'
import { agoText, spanText, timeText } from '../../operator/moments.ts'
import { listEndpoints, listGates, listMerchants } from '../../operator/store-config.ts'
import type { LivingOrder } from '../../operator/store-orders.ts'
import { head, statusOf, statusOfState, type Order, type Transaction } from '../../order/order.ts'
import { refusingScore } from '../../merchant/filter.ts'
import type { Pool } from '../../storage/pool.ts'
import { firedJson, firedTable } from './filter-trial.ts'
import { facts, isoTime, paint, printable, statusColour, type Colour } from './present.ts'

export interface Story {
  order: Order
  life: Life
  login: string
  moments: Moment[]
  text(now: number): string
}

/** An order and its life with the names of what it refers to. */
export async function orderStory(pool: Pool, { order, life }: LivingOrder): Promise<Story> {
  const [merchants, endpoints, gates] = await Promise.all([listMerchants(pool), listEndpoints(pool), listGates(pool)])
  const merchant = merchants.find((m) => m.merchantId === order.merchantId)
  const endpoint = endpoints.find((e) => e.endpointId === order.endpointId)
  const moments = momentsOf(order, life, (id) => gates.find((g) => g.gateId === id)?.name ?? 'gone')
  const login = merchant?.login ?? String(order.merchantId)
  return {
    order,
    life,
    login,
    moments,
    text: (now) =>
      [
        `Order ${order.orderId}  ${paint(statusOf(order), statusColour(statusOf(order)))}`,
        facts(headline(order, `${login} (${merchant?.name ?? 'gone'})`, endpoint?.name ?? 'gone', now)),
        ...(order.screening && order.screening.fired.length > 0 ? [firedTable(order.screening.fired)] : []),
        ...(order.transactions.some((t) => t.step !== undefined) || order.transactions.length > 1
          ? [facts(order.transactions.map((t) => transactionFact(order, t, now)))]
          : []),
        ...order.transactions.flatMap((t) => parkedNote(order, t)),
        lifeLines(order, moments),
        ...life.deliveries.flatMap((d) => waiting(order, d, now)),
      ].join('\n\n'),
  }
}

function headline(order: Order, merchant: string, endpointName: string, now: number): (readonly [string, string | undefined])[] {
  const { card, pathId, endpointId } = order
  const { result } = head(order)
  const by = pathId === endpointId ? '' : `, by group ${pathId}`
  return [
    ['Merchant', merchant],
    ['client_orderid', order.clientOrderid],
    ['Endpoint', `${endpointId} (${endpointName})${by}`],
    ['Amount', amountOf(order.amountMinor, order.currency)],
    [
      'Card',
      `${maskOf(order)} ${card.network ?? ''}, ${String(card.expiryMonth).padStart(2, '0')}/${card.expiryYear}, card-hash-id ${card.hashId}`,
    ],
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

/** Absent where the endpoint had none when the order was made. */
function screeningText({ screening }: Order): string | undefined {
  if (!screening) return undefined
  const { score, fired, refusal } = screening
  const many = `${fired.length} fired, score ${score} of ${refusingScore}`
  return fired.length === 0 ? 'none fired' : refusal ? `${many}: filtered` : many
}

const amountOf = (minor: bigint, currency: string) => `${minorToDecimal(minor, currencyOf(currency)?.exponent ?? 0)} ${currency}`
const maskOf = ({ card }: Order) => `${card.bin}******${card.lastFour}`

/** Where a transaction stands and what it does next. */
function transactionFact(order: Order, t: Transaction, now: number): readonly [string, string, Colour?] {
  const name = `#${t.no} ${t.kind}`
  const stands = `${amountOf(t.amountMinor, order.currency)}, ${t.state}`
  if (t.alarm !== undefined) return [name, `${stands}, parked`, 'red']
  if (t.step === undefined) return [name, stands]
  // In nobody's hand: the time is that of giving up.
  if (t.step.startsWith('await ')) return [name, `${stands}; given up ${agoText(t.dueAt ?? now, now)} unless something is heard`]
  const when = t.lease === undefined ? agoText(t.dueAt ?? now, now) : `in the hand of process ${t.lease}`
  return [name, `${stands}; next: ${t.step}, ${when}${t.tries > 0 ? `, after ${t.tries} that failed` : ''}`]
}

function parkedNote(order: Order, t: Transaction): string[] {
  if (t.alarm === undefined) return []
  return [
    `${paint(`#${t.no} ${t.kind} is parked`, 'red')} before the step "${t.step ?? ''}": ${printable(t.alarm)}\nMend the cause, then: npx tollgate order resume ${order.orderId}`,
  ]
}

function lifeLines(order: Order, moments: readonly Moment[]): string {
  const began = order.createdAt
  const days = new Set(moments.map((m) => new Date(m.at).toISOString().slice(0, 10)))
  const afters = moments.map((m) => `+${m.at === began ? '0' : spanText(Math.max(0, m.at - began))}`)
  const width = Math.max(...afters.map((a) => a.length))
  return moments
    .map((m, i) => {
      const iso = new Date(m.at).toISOString()
      const time = days.size > 1 ? iso.slice(0, 23).replace('T', ' ') : iso.slice(11, 23)
      const colour = m.went === 'well' ? 'green' : m.went === 'badly' ? 'red' : undefined
      return `  ${time}  ${paint(afters[i]!.padStart(width), 'dim')}  ${m.what.padEnd(7)}  ${paint(printable(m.says), colour)}`
    })
    .join('\n')
}

function waiting(order: Order, d: Life['deliveries'][number], now: number): string[] {
  const name = `${d.kind[0]!.toUpperCase()}${d.kind.slice(1)} ${d.deliveryNo}`
  if (d.state === 'given up')
    return [
      `${paint(`${name} was given up`, 'red')}. To send it again: npx tollgate delivery resend ${order.orderId} ${d.deliveryNo}`,
    ]
  if (d.state !== 'due') return []
  const when = d.tries.length === 0 ? 'is on its way' : `is tried again ${agoText(d.dueAt ?? now, now)}`
  return [`${name} ${when}.`]
}

export const orderJson = ({ order, life, login, moments }: Story) => ({
  order_id: order.orderId,
  merchant: login,
  client_orderid: order.clientOrderid,
  endpoint_id: order.endpointId,
  path_id: order.pathId,
  status: statusOf(order),
  amount: minorToDecimal(order.amountMinor, currencyOf(order.currency)?.exponent ?? 0),
  amount_minor: order.amountMinor,
  currency: order.currency,
  card: {
    masked: maskOf(order),
    network: order.card.network ?? null,
    expiry_month: order.card.expiryMonth,
    expiry_year: order.card.expiryYear,
    hash_id: order.card.hashId,
  },
  screening: order.screening
    ? {
        score: order.screening.score,
        filtered: order.screening.refusal !== undefined,
        fired: order.screening.fired.map(firedJson),
      }
    : null,
  created_at: isoTime(order.createdAt),
  final_at: isoTime(order.finalAt),
  transactions: order.transactions.map((t) => ({
    transaction: t.no,
    kind: t.kind,
    origin: t.origin,
    serial_number: t.serialNumber ?? null,
    state: t.state,
    status: statusOfState(t.state),
    amount_minor: t.amountMinor,
    error_code: t.result.errorCode ?? null,
    error_message: t.result.errorMessage ?? null,
    verified_3d_status: t.result.verified ?? null,
    eci: t.result.eci ?? null,
    authentication: authenticationJson(t),
    next_step: t.step ?? null,
    due_at: isoTime(t.dueAt),
    tries: t.tries,
    alarm: t.alarm ?? null,
  })),
  attempts: order.attempts.map((a) => ({
    attempt: a.no,
    transaction: a.transactionNo,
    gate_id: a.gateId,
    terminal_id: a.terminalId,
    stan: a.stan,
    rrn: a.rrn,
    started_at: isoTime(a.startedAt),
    ended_at: isoTime(a.endedAt),
    outcome: a.outcome ?? null,
    action_code: a.actionCode ?? null,
    why: a.why ?? null,
  })),
  events: life.events.map((e) => ({ transaction: e.transactionNo, event: e.event, from: e.from, to: e.to, at: isoTime(e.at) })),
  deliveries: life.deliveries.map((d) => ({
    delivery: d.deliveryNo,
    transaction: d.transactionNo,
    kind: d.kind,
    url: d.url,
    state: d.state,
    due_at: isoTime(d.dueAt),
    tries: d.tries.map((t) => ({
      at: isoTime(t.at),
      duration_ms: t.durationMs,
      http_status: t.httpStatus ?? null,
      failure: t.failure ?? null,
    })),
  })),
  life: moments.map((m) => ({ at: isoTime(m.at), what: m.what, says: m.says })),
})
