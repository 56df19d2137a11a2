/** Settles what only the acquirer knows: its reversal is owed, or it is taken over as it stands. */
import { uuid } from '../../base/random.ts'
import { spellMinor } from '../../base/money.ts'
import { networkOf } from '../../card/number.ts'
import { judgeFollow, type FollowAsk } from '../../order/decide/amounts.ts'
import { orderKeyText, type Change } from '../../order/decide/change.ts'
import type { Order, Transaction } from '../../order/decide/order.ts'
import { commissionsOf, gateFactsOf } from '../../order/decide/gate.ts'
import { restoredFollow, restoredPayment, type RestoredOutcome, type RestoredNames } from '../../order/decide/restored.ts'
import type { ReceiptIds } from '../../order/decide/receipt.ts'
import { saveOrders } from '../../order/store/save.ts'
import { openOrderStore } from '../../order/store/store.ts'
import type { OrderKind } from '../../spec/words.ts'
import { openIds } from '../../storage/ids.ts'
import type { RecordedOperation } from './acquirer-record.ts'
import type { CellDesk, OrderDesk } from '../desk.ts'
import { changeInCell } from '../change.ts'
import type { EndpointEntry, GateEntry } from '../known.ts'
import { cellNumbered, loginsIn, orderById } from '../logins.ts'

export type How = 'reverse' | 'import'

export interface SettleParts {
  desk: OrderDesk
  gate: GateEntry
  /** Where payments are booked that are of no order here: one for each currency. */
  endpoints: readonly EndpointEntry[]
  /** Needed to import. */
  receipts?: ReceiptIds
}

export interface Settled {
  operation: RecordedOperation
  orderId: bigint
}

/** Why an operation is left to an operator. */
export type LeftToOperator =
  | 'transfer'
  | 'no money'
  | 'too old'
  | 'no endpoint of its currency'
  | 'its payment is not here'
  | 'its order is here'
  | 'captured or returned since'
  | 'order does not allow it'
  | 'order moved'

export interface Unsettled {
  operation: RecordedOperation
  why: LeftToOperator
}

/**
 * Partitions are detached after half a year, and then the gateway has forgotten what it knew: what
 * is that old must not look lost.
 */
const oldestMs = 30 * 86_400_000

/**
 * One commit for each operation, so that it can be run again after it was stopped. A payment comes
 * before what draws on it. The caller has compared, and is alone.
 */
export async function settle(
  parts: SettleParts,
  lost: readonly RecordedOperation[],
  how: How,
): Promise<{ settled: Settled[]; left: Unsettled[] }> {
  const settled: Settled[] = []
  const left: Unsettled[] = []
  for (const operation of lost.toSorted((a, b) => a.at - b.at || Number(isFollow(a)) - Number(isFollow(b)))) {
    const done = await settleOne(parts, operation, lost, how)
    if (typeof done === 'bigint') settled.push({ operation, orderId: done })
    else left.push({ operation, why: done })
  }
  return { settled, left }
}

const isFollow = ({ kind }: RecordedOperation): boolean => kind === 'capture' || kind === 'return'

async function settleOne(
  parts: SettleParts,
  operation: RecordedOperation,
  lost: readonly RecordedOperation[],
  how: How,
): Promise<bigint | LeftToOperator> {
  const { kind, orderId } = operation
  if (kind === 'debit' || kind === 'credit') return 'transfer'
  if (how === 'reverse' && kind === 'account-verification') return 'no money'
  if (operation.at < parts.desk.clock.now() - oldestMs) return 'too old'
  const { pool } = parts.desk
  const cells = await parts.desk.cells()
  const logins = await loginsIn(pool)
  const known = orderId === undefined ? undefined : await orderById(cells, logins, orderId)
  const place = known && { merchantId: known.merchantId, orderId: orderId! }
  if (kind === 'capture' || kind === 'return') {
    const isPaymentLost = lost.some((one) => !isFollow(one) && one.orderId === orderId)
    if (how === 'reverse' && isPaymentLost) return 'captured or returned since'
    const [order] = place ? await openOrderStore(known.cell.pool).load([place]) : []
    return order
      ? saved(parts, known!.cell, followOf(parts, order, operation, kind, how), operation, how)
      : 'its payment is not here'
  }
  const drawnOn = lost.some((one) => isFollow(one) && one.orderId === orderId)
  if (how === 'reverse' && drawnOn && orderId !== undefined) return 'captured or returned since'
  // The order goes on by itself, and this payment of it with it: only a reversal can be apart.
  if (how === 'import' && place) return 'its order is here'
  const endpoint = parts.endpoints.find(({ currency }) => currency === operation.currency)
  if (!endpoint) return 'no endpoint of its currency'
  const ownId = place || orderId === undefined ? await openIds(pool, 'order', 1).take() : orderId
  const cell = cellNumbered(cells, logins.cellOf(endpoint.merchantId))
  return saved(parts, cell, paymentOf(parts, endpoint, ownId, operation, kind, how), operation, how)
}

async function saved(
  { desk }: SettleParts,
  cell: CellDesk,
  made: Change | LeftToOperator,
  operation: RecordedOperation,
  how: How,
): Promise<bigint | LeftToOperator> {
  if (typeof made === 'string') return made
  const { orderId } = made.after
  const { terminalId, stan, rrn, kind, amountMinor, currency } = operation
  const details = { terminal: terminalId, stan, rrn, kind, amount_minor: String(amountMinor), currency }
  const note = { subject: `order ${orderId}`, details }
  try {
    return await changeInCell({ ...desk, action: `reconcile ${how}` }, cell, async (runner) => {
      const kept = await saveOrders(runner, [made], undefined)
      if (!kept.has(orderKeyText(made.after))) throw new OrderMoved()
      return { note, result: orderId }
    })
  } catch (error) {
    if (error instanceof OrderMoved) return 'order moved'
    throw error
  }
}

/** A gateway changed the order meanwhile: nothing is written, and the next run decides again. */
class OrderMoved extends Error {}

/** The answer time of the gate: the reversal has the same limit. */
const namesOf = ({ gate }: SettleParts, { terminalId, stan, rrn, at }: RecordedOperation): RestoredNames => ({
  gateId: gate.gateId,
  terminalId,
  stan,
  rrn,
  startedAt: at,
  deadlineAt: at + gate.settings.answerTimeoutMs,
})

function endingOf(
  { gate, endpoints, receipts }: SettleParts,
  how: How,
  order: Order,
  no: number,
  operation: RecordedOperation,
): RestoredOutcome {
  if (how === 'reverse') return { is: 'lost' }
  const { actionCode, approvalCode, at } = operation
  const endpoint = endpoints.find(({ endpointId }) => endpointId === order.endpointId)
  return {
    is: 'approved',
    actionCode,
    data: { processedAt: at, ...(approvalCode !== undefined && { approvalCode }) },
    receiptId: receipts!.idOf(order, no),
    gate: { ...gateFactsOf(gate), ...commissionsOf(order, operation, gate, endpoint) },
  }
}

function paymentOf(
  parts: SettleParts,
  endpoint: EndpointEntry,
  orderId: bigint,
  operation: RecordedOperation,
  kind: Exclude<OrderKind, 'transfer'>,
  how: How,
): Change {
  const { random, clock } = parts.desk
  const { amountMinor, currency, bin, lastFour, at } = operation
  const amountText = spellMinor(amountMinor, currency)
  const network = networkOf(bin)
  const { callbackUrl } = endpoint.settings
  const payment: Transaction = {
    no: 1,
    kind,
    origin: 'request',
    serialNumber: uuid(random),
    state: 'new',
    amountMinor,
    amountText,
    result: {},
    tries: 0,
    createdAt: at,
  }
  const order: Order = {
    merchantId: endpoint.merchantId,
    orderId,
    version: 0,
    kind,
    clientOrderid: operation.clientOrderid ?? `restored-${operation.orderId ?? orderId}`,
    pathId: endpoint.endpointId,
    endpointId: endpoint.endpointId,
    currency,
    amountMinor,
    amountText,
    // The merchant's request had URLs of its own, which are lost; that of the endpoint is known.
    request: {
      orderDesc: `restored from the record of gate ${parts.gate.name}`,
      ipAddress: '',
      email: '',
      ...(callbackUrl === undefined ? {} : { endpointCallbackUrl: callbackUrl }),
    },
    // Nobody else's id: what is not known must not look like a card that is.
    card: {
      bin,
      lastFour,
      ...(network !== undefined && { network }),
      expiryMonth: 0,
      expiryYear: 0,
      printedName: '',
      hashId: random.bytes(16).toString('hex'),
    },
    events: 0,
    deliveries: 0,
    createdAt: at,
    transactions: [payment],
    attempts: [],
  }
  return restoredPayment(order, namesOf(parts, operation), endingOf(parts, how, order, 1, operation), clock.now())
}

function followOf(
  parts: SettleParts,
  order: Order,
  operation: RecordedOperation,
  kind: 'capture' | 'return',
  how: How,
): Change | LeftToOperator {
  const { random, clock } = parts.desk
  const { amountMinor, currency, at } = operation
  const amountText = spellMinor(amountMinor, currency)
  const serialNumber = uuid(random)
  // With a key of its own it is no repeat of another one of the same amount.
  const amount = { minor: amountMinor, text: amountText }
  const ask: FollowAsk = { operation: kind, serialNumber, amount, idempotencyKey: serialNumber }
  // The acquirer has taken it: what the gate allows today is no question.
  const judged = judgeFollow(order, ask, { capture: true, return: true, repeatWindowMs: 0 }, clock.now())
  if (judged.is !== 'allowed' || judged.kind !== kind || currency !== order.currency) return 'order does not allow it'
  const no = order.transactions.length + 1
  const follow: Transaction = {
    no,
    kind,
    origin: 'request',
    serialNumber,
    parentNo: 1,
    state: 'new',
    amountMinor,
    amountText,
    result: { gateId: String(parts.gate.gateId) },
    asked: { operation: kind, idempotencyKey: serialNumber },
    tries: 0,
    createdAt: at,
  }
  return restoredFollow(order, follow, namesOf(parts, operation), endingOf(parts, how, order, no, operation), clock.now())
}
