/** Settles what only the acquirer knows: its reversal is owed, or it is taken over as it stands. */
import { defined } from '../../base/defined.ts'
import { spellMinor } from '../../base/money.ts'
import { uuid } from '../../base/random.ts'
import { networkOf } from '../../card/number.ts'
import { judgeFollow } from '../../order/decide/amounts.ts'
import { orderKeyText, type Change } from '../../order/decide/change.ts'
import type { Order, Transaction } from '../../order/decide/order.ts'
import { commissionsOf, gateFactsOf } from '../../order/decide/gate.ts'
import { restoredFollow, restoredPayment, type RestoredOutcome, type RestoredNames } from '../../order/decide/restored.ts'
import type { ReceiptIds } from '../../order/decide/receipt.ts'
import { saveCounts } from '../../order/store/minute-counts.ts'
import { saveOrders } from '../../order/store/save.ts'
import { openOrderStore } from '../../order/store/store.ts'
import type { OrderKind, TransactionKind } from '../../spec/words.ts'
import { openIds } from '../../storage/ids.ts'
import { changeInCell } from '../change.ts'
import type { CellDesk, OrderDesk } from '../desk.ts'
import type { EndpointEntry, GateEntry } from '../known.ts'
import { cellNumbered, loginsIn, orderById } from '../where.ts'
import type { RecordedOperation } from './acquirer-record.ts'

export type How = 'reverse' | 'import'

export interface SettleParts {
  desk: OrderDesk
  gate: GateEntry
  /** Where payments are booked that are of no order here: one for each currency. */
  endpoints: readonly EndpointEntry[]
  how: How
  /** Needed to import. */
  receipts: ReceiptIds | undefined
}

export interface Settled {
  operation: RecordedOperation
  orderId: bigint
}

/** Why an operation is left to an operator. */
export const leftText = {
  transfer: 'a leg of a transfer. Ask the acquirer whether both legs were booked, and settle it there',
  'no money': 'no money moved. Import it: --import',
  'too old': 'older than 30 days: its partition may have been dropped',
  'no endpoint of its currency': 'no endpoint is named for its currency: --endpoint',
  'its payment is missing in the database':
    'the payment that it draws on is missing in the database. Add it to the record, or settle it at the acquirer',
  'its order is here': 'its order exists, and ends without this payment: --reverse',
  'captured or returned since': 'money of the payment was captured or returned since, so it cannot be reversed: --import',
  'order does not allow it': 'it would bring the captured or returned sum above the amount of the order',
  'order moved': 'a gateway changed the order meanwhile. Run the command again',
} as const
export type LeftToOperator = keyof typeof leftText

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
): Promise<{ settled: Settled[]; left: Unsettled[] }> {
  const settled: Settled[] = []
  const left: Unsettled[] = []
  for (const operation of lost.toSorted((a, b) => a.at - b.at || Number(isFollow(a)) - Number(isFollow(b)))) {
    const done = await settleOne(parts, operation, lost)
    if (typeof done === 'bigint') settled.push({ operation, orderId: done })
    else left.push({ operation, why: done })
  }
  return { settled, left }
}

/** Counts of what no gateway ended. */
const noProcess = 0n

const isFollow = ({ kind }: RecordedOperation): boolean => kind === 'capture' || kind === 'return'

async function settleOne(
  parts: SettleParts,
  operation: RecordedOperation,
  lost: readonly RecordedOperation[],
): Promise<bigint | LeftToOperator> {
  const { desk, how } = parts
  const { kind, orderId } = operation
  if (kind === 'debit' || kind === 'credit') return 'transfer'
  if (how === 'reverse' && kind === 'account-verification') return 'no money'
  if (operation.at < desk.clock.now() - oldestMs) return 'too old'
  const cells = await desk.cells()
  const logins = await loginsIn(desk.pool)
  const known = orderId === undefined ? undefined : await orderById(cells, logins, orderId)
  const lostOfOrder = lost.filter((one) => one.orderId === orderId)
  if (kind === 'capture' || kind === 'return') {
    if (how === 'reverse' && !lostOfOrder.every(isFollow)) return 'captured or returned since'
    const [order] = known ? await openOrderStore(known.cell.pool).load([known]) : []
    return order
      ? saved(parts, known!.cell, followOf(parts, order, operation, kind), operation)
      : 'its payment is missing in the database'
  }
  if (how === 'reverse' && orderId !== undefined && lostOfOrder.some(isFollow)) return 'captured or returned since'
  // The order goes on by itself, and this payment of it with it: only a reversal can be apart.
  if (how === 'import' && known) return 'its order is here'
  const endpoint = parts.endpoints.find(({ currency }) => currency === operation.currency)
  if (!endpoint) return 'no endpoint of its currency'
  const ownId = known || orderId === undefined ? await openIds(desk.pool, 'order', 1).take() : orderId
  const cell = cellNumbered(cells, logins.cellOf(endpoint.merchantId))
  return saved(parts, cell, paymentOf(parts, endpoint, ownId, operation, kind), operation)
}

async function saved(
  { desk, how }: SettleParts,
  cell: CellDesk,
  made: Change | LeftToOperator,
  { terminalId: terminal, stan, rrn, kind, amountMinor, currency }: RecordedOperation,
): Promise<bigint | LeftToOperator> {
  if (typeof made === 'string') return made
  const { orderId } = made.after
  const details = { terminal, stan, rrn, kind, amount_minor: String(amountMinor), currency }
  try {
    return await changeInCell({ ...desk, action: `reconcile ${how}` }, cell, async (runner) => {
      const kept = await saveOrders(runner, [made], undefined)
      if (!kept.has(orderKeyText(made.after))) throw new OrderMoved()
      await saveCounts(runner, [made], noProcess)
      return { note: { subject: `order ${orderId}`, details }, result: orderId }
    })
  } catch (error) {
    if (error instanceof OrderMoved) return 'order moved'
    throw error
  }
}

/** A gateway changed the order meanwhile: nothing is written, and the next run decides again. */
class OrderMoved extends Error {}

/** As if a merchant had just asked for it. */
const transactionOf = (
  { desk }: SettleParts,
  { amountMinor, currency, at: createdAt }: RecordedOperation,
  no: number,
  kind: TransactionKind,
) => ({
  no,
  kind,
  origin: 'request' as const,
  serialNumber: uuid(desk.random),
  state: 'new' as const,
  amountMinor,
  amountText: spellMinor(amountMinor, currency),
  result: {},
  tries: 0,
  createdAt,
})

/** Its attempt under the names that the acquirer has, and how it ended. */
function attemptOf(
  { gate, endpoints, how, receipts }: SettleParts,
  order: Order,
  no: number,
  operation: RecordedOperation,
): [RestoredNames, RestoredOutcome] {
  const { terminalId, stan, rrn, at, actionCode, approvalCode } = operation
  // The answer time of the gate: the reversal has the same limit.
  const deadlineAt = at + gate.settings.answerTimeoutMs
  const names = { gateId: gate.gateId, terminalId, stan, rrn, startedAt: at, deadlineAt }
  if (how === 'reverse') return [names, { is: 'lost' }]
  const endpoint = endpoints.find(({ endpointId }) => endpointId === order.endpointId)
  const ending = {
    is: 'approved' as const,
    actionCode,
    data: { processedAt: at, ...defined({ approvalCode }) },
    receiptId: receipts!.idOf(order, no),
    gate: { ...gateFactsOf(gate), ...commissionsOf(order, operation, gate, endpoint) },
  }
  return [names, ending]
}

function paymentOf(
  parts: SettleParts,
  endpoint: EndpointEntry,
  orderId: bigint,
  operation: RecordedOperation,
  kind: Exclude<OrderKind, 'transfer'>,
): Change {
  const { gate, desk } = parts
  const { currency, bin, lastFour, at } = operation
  const { merchantId, endpointId } = endpoint
  const payment = transactionOf(parts, operation, 1, kind)
  const { amountMinor, amountText } = payment
  const order: Order = {
    merchantId,
    orderId,
    version: 0,
    kind,
    clientOrderid: operation.clientOrderid ?? `restored-${operation.orderId ?? orderId}`,
    pathId: endpointId,
    endpointId,
    currency,
    amountMinor,
    amountText,
    // The merchant's request had URLs of its own, which are lost; that of the endpoint is known.
    request: {
      orderDesc: `restored from the record of gate ${gate.name}`,
      ipAddress: '',
      email: '',
      ...defined({ endpointCallbackUrl: endpoint.settings.callbackUrl }),
    },
    card: {
      bin,
      lastFour,
      ...defined({ network: networkOf(bin) }),
      expiryMonth: 0,
      expiryYear: 0,
      printedName: '',
      // An id of its own: an unknown card must not look like a known one.
      hashId: desk.random.bytes(16).toString('hex'),
    },
    events: 0,
    deliveries: 0,
    createdAt: at,
    transactions: [payment],
    attempts: [],
  }
  return restoredPayment(order, ...attemptOf(parts, order, 1, operation), desk.clock.now())
}

function followOf(
  parts: SettleParts,
  order: Order,
  operation: RecordedOperation,
  kind: 'capture' | 'return',
): Change | LeftToOperator {
  const now = parts.desk.clock.now()
  const no = order.transactions.length + 1
  const made = transactionOf(parts, operation, no, kind)
  const { serialNumber, amountMinor, amountText } = made
  // With a key of its own it is no repeat of another one of the same amount.
  const asked = { operation: kind, idempotencyKey: serialNumber }
  const ask = { ...asked, serialNumber, amount: { minor: amountMinor, text: amountText } }
  // The acquirer has taken it: what the gate allows today is no question.
  const judged = judgeFollow(order, ask, { capture: true, return: true, repeatWindowMs: 0 }, now)
  if (judged.is !== 'allowed' || judged.kind !== kind || operation.currency !== order.currency) return 'order does not allow it'
  const follow: Transaction = { ...made, parentNo: 1, result: { gateId: String(parts.gate.gateId) }, asked }
  return restoredFollow(order, follow, ...attemptOf(parts, order, no, operation), now)
}
