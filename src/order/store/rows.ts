/**
 * The columns of the order tables, and orders made of their rows. The row of an order has its first
 * transaction and that one's first attempt; further ones have rows of their own.
 */
import { notNull } from '../../base/defined.ts'
import type { SealedCard } from '../../card/vault.ts'
import { pick } from '../../entity/json.ts'
import { columnsOf, rowsOf, type RecordOf } from '../../storage/columns.ts'
import { capturedMinor, returnedMinor } from '../decide/amounts.ts'
import type { Change, OrderKey } from '../decide/change.ts'
import { transitionText } from '../decide/machine.ts'
import { head, statusOf, type Attempt, type Order, type Transaction } from '../decide/order.ts'

export interface OrderKeyRecord {
  merchant_id: bigint
  order_id: bigint
}

/** Whether an attempt stands in the row of its order. */
export const isFirst = ({ no, transactionNo }: Attempt): boolean => no === 1 && transactionNo === 1

const firstAttempt = ({ attempts: [first] }: Order): Attempt | undefined => (first && isFirst(first) ? first : undefined)

const order = columnsOf<Change>()

const keyOfOrder = {
  merchant_id: order.int8(({ after }) => after.merchantId),
  order_id: order.int8(({ after }) => after.orderId),
}

/** Values that never change. */
const bornColumns = {
  kind: order.text(({ after }) => after.kind),
  client_orderid: order.text(({ after }) => after.clientOrderid),
  path_id: order.int8(({ after }) => after.pathId),
  endpoint_id: order.int8(({ after }) => after.endpointId),
  currency: order.text(({ after }) => after.currency),
  amount_minor: order.int8(({ after }) => after.amountMinor),
  amount_text: order.text(({ after }) => after.amountText),
  serial_number: order.uuid(({ after }) => head(after).serialNumber),
  created_at: order.time(({ after }) => after.createdAt),
}

const movingColumns = {
  version: order.int4(({ after }) => after.version),
  status: order.text(({ after }) => statusOf(after)),
  state: order.text(({ after }) => head(after).state),
  authorised_minor: order.int8(({ after }) => head(after).amountMinor),
  authorised_text: order.text(({ after }) => head(after).amountText),
  captured_minor: order.int8(({ after }) => capturedMinor(after)),
  returned_minor: order.int8(({ after }) => returnedMinor(after)),
  result: order.json(({ after }) => head(after).result),
  authentication: order.json(({ after }) => head(after).authentication),
  events: order.int4(({ after }) => after.events),
  deliveries: order.int4(({ after }) => after.deliveries),
  transactions: order.int4(({ after }) => after.transactions.length),
  attempts: order.int4(({ after }) => after.attempts.length),
  final_at: order.time(({ after }) => after.finalAt),
  gate_id: order.int8(({ after }) => firstAttempt(after)?.gateId),
  terminal_id: order.text(({ after }) => firstAttempt(after)?.terminalId),
  stan: order.text(({ after }) => firstAttempt(after)?.stan),
  rrn: order.text(({ after }) => firstAttempt(after)?.rrn),
  started_at: order.time(({ after }) => firstAttempt(after)?.startedAt),
  deadline_at: order.time(({ after }) => firstAttempt(after)?.deadlineAt),
  outcome: order.text(({ after }) => firstAttempt(after)?.outcome),
  action_code: order.text(({ after }) => firstAttempt(after)?.actionCode),
  why: order.text(({ after }) => firstAttempt(after)?.why),
  ended_at: order.time(({ after }) => firstAttempt(after)?.endedAt),
}

/** The values of an order that one more transaction changes. */
const growingColumns = pick(movingColumns, 'version', 'captured_minor', 'returned_minor', 'events', 'transactions')
export const grownOrderRows = rowsOf({ ...keyOfOrder, ...growingColumns })
export const growingNames = Object.keys(growingColumns)

/** The values that a sweep changes too, without a new version. */
const stepColumns = {
  step: order.text(({ after }) => head(after).step),
  due_at: order.time(({ after }) => head(after).dueAt),
  lease: order.int8(({ after }) => head(after).lease),
  tries: order.int4(({ after }) => head(after).tries),
  alarm: order.text(({ after }) => head(after).alarm),
}

const orderColumns = { ...keyOfOrder, ...bornColumns, ...movingColumns, ...stepColumns }

export const newOrderRows = rowsOf(orderColumns)
export const movedOrderRows = rowsOf({
  ...keyOfOrder,
  was: order.int4(({ before }) => before!.version),
  is_head_new: order.bool(({ before, after }) => head(before!) !== head(after)),
  ...movingColumns,
  ...stepColumns,
})
export const movingNames = Object.keys(movingColumns)
export const stepNames = Object.keys(stepColumns)
export const orderNames = Object.keys(orderColumns)

const factsColumns = {
  ...keyOfOrder,
  request: order.json(({ after }) => after.request),
  card: order.json(({ after }) => after.card),
  card_hash: order.text(({ after }) => after.card.hashId),
  screening: order.json(({ after }) => after.screening),
  pan_sealed: order.bytes(({ sealed }) => sealed?.panSealed),
  pan_key: order.int8(({ sealed }) => sealed?.panKey),
  cvv2_sealed: order.bytes(({ sealed }) => sealed?.cvv2Sealed),
  cvv2_key: order.int8(({ sealed }) => sealed?.cvv2Key),
  destination_sealed: order.bytes(({ sealed }) => sealed?.destinationSealed),
}
export const factsRows = rowsOf(factsColumns)

/** The events of one commit; a list is text with commas, which no name contains. */
export const eventRows = rowsOf({
  ...keyOfOrder,
  event_no: order.int4(({ rows: [first] }) => first!.eventNo),
  moves: order.text(({ rows: all }) => all.map(({ from, event: on, to }) => transitionText({ from, on, to })).join(',')),
  transaction_nos: order.text(({ rows: all }) => all.map((r) => r.transactionNo).join(',')),
  facts: order.json(({ rows: all }) => (all.some((r) => r.facts) ? all.map((r) => r.facts ?? null) : undefined)),
  at: order.time(({ rows: all }) => all.at(-1)!.at),
})

interface Owned<Part> {
  orderKey: OrderKey
  part: Part
}

const transaction = columnsOf<Owned<Transaction>>()
const transactionKey = {
  merchant_id: transaction.int8(({ orderKey }) => orderKey.merchantId),
  order_id: transaction.int8(({ orderKey }) => orderKey.orderId),
  transaction_no: transaction.int4(({ part }) => part.no),
}
const movingTransaction = {
  state: transaction.text(({ part }) => part.state),
  amount_minor: transaction.int8(({ part }) => part.amountMinor),
  amount_text: transaction.text(({ part }) => part.amountText),
  result: transaction.json(({ part }) => part.result),
  authentication: transaction.json(({ part }) => part.authentication),
  step: transaction.text(({ part }) => part.step),
  due_at: transaction.time(({ part }) => part.dueAt),
  lease: transaction.int8(({ part }) => part.lease),
  tries: transaction.int4(({ part }) => part.tries),
  alarm: transaction.text(({ part }) => part.alarm),
  final_at: transaction.time(({ part }) => part.finalAt),
}
const transactionColumns = {
  ...transactionKey,
  kind: transaction.text(({ part }) => part.kind),
  origin: transaction.text(({ part }) => part.origin),
  serial_number: transaction.uuid(({ part }) => part.serialNumber),
  parent_no: transaction.int4(({ part }) => part.parentNo),
  asked: transaction.json(({ part }) => part.asked),
  created_at: transaction.time(({ part }) => part.createdAt),
  ...movingTransaction,
}
export const newTransactionRows = rowsOf(transactionColumns)
export const movedTransactionRows = rowsOf({ ...transactionKey, ...movingTransaction })
export const movingTransactionNames = Object.keys(movingTransaction)
export const transactionNames = Object.keys(transactionColumns)

const attempt = columnsOf<Owned<Attempt>>()
const attemptKey = {
  merchant_id: attempt.int8(({ orderKey }) => orderKey.merchantId),
  order_id: attempt.int8(({ orderKey }) => orderKey.orderId),
  attempt_no: attempt.int4(({ part }) => part.no),
}
const endColumns = {
  outcome: attempt.text(({ part }) => part.outcome),
  action_code: attempt.text(({ part }) => part.actionCode),
  why: attempt.text(({ part }) => part.why),
  ended_at: attempt.time(({ part }) => part.endedAt),
}
const attemptColumns = {
  ...attemptKey,
  transaction_no: attempt.int4(({ part }) => part.transactionNo),
  gate_id: attempt.int8(({ part }) => part.gateId),
  terminal_id: attempt.text(({ part }) => part.terminalId),
  stan: attempt.text(({ part }) => part.stan),
  rrn: attempt.text(({ part }) => part.rrn),
  started_at: attempt.time(({ part }) => part.startedAt),
  deadline_at: attempt.time(({ part }) => part.deadlineAt),
  ...endColumns,
}
export const newAttemptRows = rowsOf(attemptColumns)
export const endedAttemptRows = rowsOf({ ...attemptKey, ...endColumns })
export const endNames = Object.keys(endColumns)
export const attemptNames = Object.keys(attemptColumns)

const key = columnsOf<OrderKey>()
export const placeColumns = {
  merchant_id: key.int8((p) => p.merchantId),
  order_id: key.int8((p) => p.orderId),
}
export const placeRows = rowsOf(placeColumns)

export type OrderRecord = RecordOf<typeof orderColumns> & RecordOf<Pick<typeof factsColumns, 'request' | 'card' | 'screening'>>
export type TransactionRecord = RecordOf<typeof transactionColumns>
export type AttemptRecord = RecordOf<typeof attemptColumns>
export type SealedCardRecord = OrderKeyRecord & {
  pan_sealed: Buffer
  pan_key: bigint
  cvv2_sealed: Buffer | null
  cvv2_key: bigint | null
  destination_sealed: Buffer | null
}

/** `others` and `attempts` are those with rows of their own. */
export const orderOf = (r: OrderRecord, others: Transaction[], attempts: Attempt[]): Order => ({
  merchantId: r.merchant_id,
  orderId: r.order_id,
  version: r.version,
  kind: r.kind,
  clientOrderid: r.client_orderid,
  pathId: r.path_id,
  endpointId: r.endpoint_id,
  currency: r.currency,
  amountMinor: r.amount_minor,
  amountText: r.amount_text,
  request: r.request,
  card: r.card,
  ...(r.screening === null ? {} : { screening: r.screening }),
  events: r.events,
  deliveries: r.deliveries,
  createdAt: r.created_at,
  ...(r.final_at === null ? {} : { finalAt: r.final_at }),
  transactions: [headOf(r), ...others],
  attempts: [...firstAttemptOf(r), ...attempts],
})

/** Its kind, its times and its origin are those of the order. */
const headOf = (r: OrderRecord): Transaction => ({
  no: 1,
  kind: r.kind,
  origin: 'request',
  ...(r.serial_number === null ? {} : { serialNumber: r.serial_number }),
  state: r.state,
  amountMinor: r.authorised_minor,
  amountText: r.authorised_text,
  result: r.result,
  ...(r.authentication === null ? {} : { authentication: r.authentication }),
  ...jobOf(r),
  createdAt: r.created_at,
  ...(r.final_at === null ? {} : { finalAt: r.final_at }),
})

const jobOf = (r: RecordOf<typeof stepColumns>): Pick<Transaction, 'tries' | 'step' | 'dueAt' | 'lease' | 'alarm'> => ({
  tries: r.tries,
  ...notNull({ step: r.step, dueAt: r.due_at, lease: r.lease, alarm: r.alarm }),
})

const firstAttemptOf = (r: OrderRecord): Attempt[] => {
  const { gate_id: gateId, terminal_id: terminalId, stan, rrn, started_at: startedAt, deadline_at: deadlineAt } = r
  if (gateId === null || terminalId === null || stan === null || rrn === null || startedAt === null || deadlineAt === null)
    return []
  return [{ no: 1, transactionNo: 1, gateId, terminalId, stan, rrn, startedAt, deadlineAt, ...endOf(r) }]
}

export const transactionOf = (r: TransactionRecord): Transaction => ({
  no: r.transaction_no,
  kind: r.kind,
  origin: r.origin,
  ...notNull({ serialNumber: r.serial_number, parentNo: r.parent_no }),
  state: r.state,
  amountMinor: r.amount_minor,
  amountText: r.amount_text,
  result: r.result,
  ...notNull({ authentication: r.authentication, asked: r.asked }),
  ...jobOf(r),
  createdAt: r.created_at,
  ...(r.final_at === null ? {} : { finalAt: r.final_at }),
})

export const attemptOf = (r: AttemptRecord): Attempt => ({
  no: r.attempt_no,
  transactionNo: r.transaction_no,
  gateId: r.gate_id,
  terminalId: r.terminal_id,
  stan: r.stan,
  rrn: r.rrn,
  startedAt: r.started_at,
  deadlineAt: r.deadline_at,
  ...endOf(r),
})

const endOf = (r: RecordOf<typeof endColumns>): Pick<Attempt, 'outcome' | 'actionCode' | 'why' | 'endedAt'> => ({
  ...notNull({ outcome: r.outcome, actionCode: r.action_code, why: r.why, endedAt: r.ended_at }),
})

export const cardOf = (r: SealedCardRecord): SealedCard => ({
  panSealed: r.pan_sealed,
  panKey: r.pan_key,
  ...(r.cvv2_sealed === null || r.cvv2_key === null ? {} : { cvv2Sealed: r.cvv2_sealed, cvv2Key: r.cvv2_key }),
  ...(r.destination_sealed === null ? {} : { destinationSealed: r.destination_sealed }),
})

export interface SignedAmount {
  currency: string
  amountText: string
  amountMinor: bigint
}

export interface SignedAmountsRow {
  currency: string
  amount_text: string
  amount_minor: bigint
  payment_text: string
  payment_minor: bigint
}

/**
 * The amounts of the order and of its payment; undefined for the row of nulls of an order that does
 * not exist.
 */
export function signedAmountsOf(row: SignedAmountsRow | { currency: null }): readonly SignedAmount[] | undefined {
  if (row.currency === null) return undefined
  const { currency } = row
  return [
    { currency, amountText: row.amount_text, amountMinor: row.amount_minor },
    { currency, amountText: row.payment_text, amountMinor: row.payment_minor },
  ]
}
