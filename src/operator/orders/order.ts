/** The display of an order with its whole life. */
import { agoText, spanText, timeText } from '../../base/moments.ts'
import { jsonBy, jsonName, jsonOf, pick } from '../../entity/json.ts'
import { dated, type Block, type Fact, hint, printable, tableOf } from '../../entity/show.ts'
import { callbackForm, renderCallback } from '../../gateway-api/callback.ts'
import { refusingScore } from '../../merchant/filter.ts'
import { leftFor } from '../../order/decide/amounts.ts'
import { head, statusOf, statusOfState, type Attempt, type Order, type Transaction } from '../../order/decide/order.ts'
import { callbackParams, type CallbackParam } from '../../spec/gateway/callback.ts'
import type { Databases } from '../desk.ts'
import { firedJson, firedTable } from './fired.ts'
import { listEndpoints, listGates, listMerchants } from '../known.ts'
import type { Office } from '../office.ts'
import { Refused } from '../refused.ts'
import { decimalOf, maskOf } from '../order-lines.ts'
import { authenticationJson, authenticationText } from './authentication-story.ts'
import { momentsOf, stepsOf, type LifeDelivery, type LifeMoment } from './life.ts'
import { orderWithLife, type OrderLine } from './order-rows.ts'

/** An order and its life with the names of everything it refers to. */
export async function orderStory(databases: Databases, orderId: bigint) {
  const { pool } = databases
  const { order, life } = await orderWithLife(databases, orderId)
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

const operations = ['capture', 'return', 'void'] as const

/** With the payer if that was asked for. */
type Story = Awaited<ReturnType<typeof orderStory>> & { payer?: ReturnType<typeof payerOf> }

export function storyBlocks(story: Story, now: number): Block[] {
  const { order, life, moments, payer } = story
  const { transactions, screening } = order
  const several = transactions.some((t) => t.step !== undefined) || transactions.length > 1
  return [
    `Order ${order.orderId}`,
    { facts: orderFacts(story, now) },
    ...(payer ? [{ facts: payerFacts(payer) }] : []),
    ...(screening && screening.fired.length > 0 ? [firedTable(screening.fired)] : []),
    ...(several ? [{ facts: transactions.map((t) => [nameOf(t), transactionText(order, t, now), 'status'] as const) }] : []),
    ...transactions.flatMap((t) => parkedNote(order, t)),
    lifeTable(order, moments),
    ...life.deliveries.flatMap((d) => waiting(order, d, now)),
  ]
}

function orderFacts({ order, login, merchantName, endpointName }: Story, now: number): Fact[] {
  const { card, pathId, endpointId } = order
  const { result } = head(order)
  const { erasedAt } = order.request
  const by = pathId === endpointId ? '' : `, by group ${pathId}`
  return [
    ['Status', statusOf(order), 'status'],
    ['Merchant', `${login} (${merchantName})`],
    ['client_orderid', order.clientOrderid],
    ['Endpoint', `${endpointId} (${endpointName})${by}`],
    ['Amount', `${decimalOf(order)} ${order.currency}`],
    ['Card', `${maskOf(card)} ${card.network ?? ''}${erasedAt === undefined ? cardDetails(card) : ''}`.trim()],
    ['Erased', erasedAt && `the payer's data, ${timeText(Date.parse(erasedAt))} UTC`],
    ['Made', `${timeText(order.createdAt)} UTC (${agoText(order.createdAt, now)})`],
    ['Final', order.finalAt === undefined ? 'not yet' : `after ${spanText(order.finalAt - order.createdAt)}`],
    ['Why', reasonText(result)],
    ['Filters', screeningText(order)],
    ['3-D Secure', authenticationText(head(order))],
    ...leftFacts(order),
    ['Approval code', result.processor?.approvalCode],
    ['Processor', result.processor?.processorTxId],
    ['Receipt', result.receiptId],
  ]
}

const leftFacts = (order: Order): Fact[] =>
  operations.flatMap((operation): Fact[] => {
    const left = leftFor(order, operation)
    if (typeof left === 'string') return []
    const { partialCapture, partialReversal } = head(order).result
    const inParts = (left.kind === 'capture' && partialCapture) || (left.kind === 'return' && partialReversal)
    const amount = `${decimalOf({ amountMinor: left.minor, currency: order.currency })} ${order.currency}`
    return [[`Left to ${operation}`, `${amount}${inParts ? '' : ', as a whole'}`]]
  })

/** As it is stored; absent where nothing went wrong. */
export const reasonText = ({ errorCode, errorMessage = '' }: Pick<OrderLine, 'errorCode' | 'errorMessage'>): string | undefined =>
  errorCode === undefined ? undefined : `${errorCode} ${errorMessage}`.trim()

export const lineJson = jsonBy(
  `order_id:id client_orderid amount_minor:id currency status parked:flag created_at:time final_at:time?
    error_code? error_message? merchant amount card:object`,
  (o: OrderLine) => {
    const card = jsonOf(pick(o.card, 'bin', 'lastFour', 'network', 'hashId'))
    return { ...o, merchant: o.login, amount: decimalOf(o), card }
  },
)

/** Who pays for what; nothing of it is left once it was erased. */
export function payerOf({ request: r, card }: Order) {
  const joined = (parts: readonly (string | undefined)[], by: string) => [...new Set(parts)].filter(Boolean).join(by) || undefined
  return {
    name: joined([r.firstName, r.lastName], ' '),
    nameOnCard: card.printedName || undefined,
    email: joined([r.email, r.mobile?.email], ', '),
    phone: joined([r.phone, r.cellPhone], ', '),
    address: joined([r.address1, r.city, r.state, r.zipCode, r.country], ', '),
    description: r.orderDesc || undefined,
  }
}

const payerFacts = (payer: ReturnType<typeof payerOf>): Fact[] =>
  Object.entries(payer).map(([name, value]) => [
    jsonName(name)
      .replace(/^./, (first) => first.toUpperCase())
      .replaceAll('_', ' '),
    value,
  ])

/** Absent if the endpoint had no filters when the order was made. */
function screeningText({ screening }: Order): string | undefined {
  if (!screening) return undefined
  const { score, fired, refusal } = screening
  const many = `${fired.length} fired, score ${score} of ${refusingScore}`
  return fired.length === 0 ? 'none fired' : refusal ? `${many}: filtered` : many
}

const cardDetails = ({ expiryMonth, expiryYear, hashId }: Order['card']) =>
  `, ${String(expiryMonth).padStart(2, '0')}/${expiryYear}, card-hash-id ${hashId}`

const nameOf = (t: Transaction) => `#${t.no} ${t.kind}`

/** The state of a transaction and its next step. */
function transactionText({ currency }: Order, t: Transaction, now: number): string {
  const stands = `${decimalOf({ amountMinor: t.amountMinor, currency })} ${currency}, ${t.state}`
  if (t.alarm !== undefined) return `${stands}, parked`
  if (t.step === undefined) return stands
  // No process works on it: the time is when the gateway gives up.
  if (t.step.startsWith('await ')) return `${stands}; given up ${agoText(t.dueAt ?? now, now)} without an answer`
  const when = t.lease === undefined ? agoText(t.dueAt ?? now, now) : `with process ${t.lease}`
  return `${stands}; next: ${t.step}, ${when}${t.tries > 0 ? `, after ${t.tries} that failed` : ''}`
}

const parkedNote = (order: Order, t: Transaction): Block[] =>
  t.alarm === undefined
    ? []
    : [
        `${nameOf(t)} is parked before the step "${t.step ?? ''}": ${printable(t.alarm)}`,
        hint('Repair the cause, then', `order resume ${order.orderId}`),
      ]

/** In one word, as in searches. */
export const stateText = ({ state }: { state: string }) => state.replace(' ', '-')

const hidden = '(of the payer)'

/** A callback with its tries. Without `payer` personal values are hidden, also in answers. */
export async function deliveryStory(office: Office, orderId: bigint, deliveryNo: number, payer = false) {
  const { order, life, login } = await orderStory(office, orderId)
  const found = life.deliveries.find((one) => one.deliveryNo === deliveryNo)
  const transaction = order.transactions.find(({ no }) => no === found?.transactionNo)
  if (!found || !transaction) throw new Refused({ what: 'no delivery fits' })
  const endpoint = (await listEndpoints(office.pool)).find(({ endpointId }) => endpointId === order.endpointId)
  const form = callbackForm(order, transaction, undefined, endpoint)
  const all = [...new URLSearchParams(form)]
  const isShown = (name: string) => payer || callbackParams[name as CallbackParam].guard !== 'personal'
  const fields = Object.fromEntries(all.map(([name, value]) => [name, isShown(name) ? value : hidden]))
  // Shorter values stand in any text by chance.
  const personal = all.flatMap(([name, value]) => (isShown(name) || value.length < 4 ? [] : [value, encodeURIComponent(value)]))
  const hide = (text: string) => personal.reduce((left, one) => left.replaceAll(one, hidden), text)
  return {
    ...pick(found, 'kind', 'url', 'createdAt', 'dueAt'),
    orderId,
    delivery: deliveryNo,
    merchant: login,
    state: stateText(found),
    // A card mapping is made of new references of cards, when it is sent.
    ...(found.kind === 'callback' && { method: renderCallback(found.url, form, office.callbackPolicy).method, fields }),
    tries: found.tries.map((one) => (one.answer === undefined ? one : { ...one, answer: hide(one.answer) })),
  }
}

export const deliveryBlocks = (d: Awaited<ReturnType<typeof deliveryStory>>, now: number): Block[] => [
  {
    facts: [
      ['State', d.state, 'status'],
      ['Merchant', d.merchant],
      ['Address', d.url],
      ['Sent', d.method ? `by ${d.method}, with webhook headers if the merchant has a secret or key` : 'as JSON'],
      ...Object.entries(d.fields ?? {}),
    ],
  },
  tableOf<(typeof d.tries)[number]>(
    [
      dated('TRY', now, ({ at }) => at),
      { title: 'TOOK', of: ({ durationMs }) => spanText(durationMs) },
      {
        title: 'RESULT',
        of: ({ failure, httpStatus }) => failure ?? `answered ${httpStatus}`,
        went: ({ httpStatus, answer }) => (httpStatus === 200 && answer === undefined ? 'well' : 'badly'),
      },
      { title: 'ANSWER', of: ({ answer = '' }) => answer },
    ],
    d.tries,
  ),
  hint('To send it again', `delivery resend ${d.orderId} ${d.delivery}`),
]

function lifeTable({ createdAt: began }: Order, moments: readonly LifeMoment[]): Block {
  const timeOf = ({ at }: LifeMoment) => new Date(at).toISOString().slice(0, 23).replace('T', ' ')
  const days = new Set(moments.map((m) => timeOf(m).slice(0, 10)))
  return tableOf<LifeMoment>(
    [
      { title: 'TIME (UTC)', of: (m) => timeOf(m).slice(days.size > 1 ? 0 : 11) },
      { title: 'AFTER', of: ({ at }) => `+${at === began ? '0' : spanText(Math.max(0, at - began))}`, align: 'right' },
      { title: 'KIND', of: (m) => m.what },
      { title: 'WHAT', of: (m) => m.says, went: (m) => m.went },
    ],
    moments,
    stepsOf(moments),
  )
}

function waiting(order: Order, d: LifeDelivery, now: number): Block[] {
  const name = `${d.kind[0]!.toUpperCase()}${d.kind.slice(1)} ${d.deliveryNo}`
  const more = hint(`${name}, and each try of it`, `delivery show ${order.orderId} ${d.deliveryNo}`)
  if (d.state === 'given up')
    return [hint(`${name} was given up. To send it again`, `delivery resend ${order.orderId} ${d.deliveryNo}`), more]
  if (d.state !== 'due') return [more]
  const when = d.tries.length === 0 ? 'is on its way' : `is tried again ${agoText(d.dueAt ?? now, now)}`
  return [`${name} ${when}.`, more]
}

export const orderJson = ({ order, life, login, moments, payer }: Story) => ({
  ...jsonOf(pick(order, 'orderId', 'clientOrderid', 'endpointId', 'pathId', 'amountMinor', 'currency', 'createdAt', 'finalAt')),
  merchant: login,
  status: statusOf(order),
  amount: decimalOf(order),
  card: { masked: maskOf(order.card), ...jsonOf(pick(order.card, 'network', 'expiryMonth', 'expiryYear', 'hashId')) },
  screening: order.screening
    ? {
        score: order.screening.score,
        filtered: order.screening.refusal !== undefined,
        fired: order.screening.fired.map(firedJson),
      }
    : null,
  left: leftJson(order),
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
  ...(payer && { payer: jsonOf(payer) }),
})

/** The sums that may still be captured, returned and voided; null for none. */
const leftJson = (order: Order) =>
  Object.fromEntries(
    operations.map((operation) => {
      const left = leftFor(order, operation)
      return [operation, typeof left === 'string' ? null : decimalOf({ amountMinor: left.minor, currency: order.currency })]
    }),
  )

const transactionJson = (t: Transaction) =>
  jsonOf({
    ...pick(t, 'kind', 'origin', 'serialNumber', 'state', 'amountMinor', 'dueAt', 'tries', 'alarm'),
    ...pick(t.result, 'errorCode', 'errorMessage', 'eci'),
    transaction: t.no,
    asked_by: t.asked?.operator?.who ?? null,
    reason: t.asked?.operator?.reason ?? null,
    status: statusOfState(t.state),
    verified_3d_status: t.result.verified,
    authentication: authenticationJson(t),
    nextStep: t.step,
  })

const attemptJson = (a: Attempt) =>
  jsonOf({
    ...pick(a, 'gateId', 'terminalId', 'stan', 'rrn', 'startedAt', 'endedAt', 'outcome', 'actionCode', 'why'),
    attempt: a.no,
    transaction: a.transactionNo,
  })
