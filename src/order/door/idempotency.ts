/**
 * What an `Idempotency-Key` stands for: one request of its merchant for a day, over all operations
 * that move money. docs/choices.md, "Idempotency".
 */
import { isSameRequest, type KeyedDigest } from '../../keys/digest.ts'
import type { FollowAsk } from '../decide/amounts.ts'
import { head, type Order } from '../decide/order.ts'
import { orderKeyText, type RepeatRow } from '../decide/change.ts'
import type { OrderStore } from '../store/store.ts'
import type { IdempotencyRow, KeyName } from '../store/idempotency.ts'
import { orderKeyOf, type Advanced, type QueuedSubmission, type Submission } from './submission.ts'
import type { Work } from '../decide/work.ts'

/** How long an Idempotency-Key is held. */
const heldForMs = 24 * 3_600_000

/** A request that was sent with a key. */
export interface KeyedRequest extends KeyName {
  /** Equal for the same request. */
  digest: KeyedDigest
  serialNumber: string
}

export const isKeyed = (item: Submission): boolean => keyedRequest(item) !== undefined

function keyedRequest(item: Submission): KeyedRequest | undefined {
  if (item.is === 'accept') {
    const { order, idempotencyKey: key, digest } = item
    if (key === undefined) return undefined
    return { merchantId: order.merchantId, key, digest, serialNumber: serialOf(order) }
  }
  if (item.is !== 'follow') return undefined
  const { merchantId, digest, ask } = item
  const { idempotencyKey: key, serialNumber } = ask
  return key === undefined || digest === undefined ? undefined : { merchantId, key, digest, serialNumber }
}

/** The serial number of the request that made the order. */
const serialOf = (order: Order): string => head(order).serialNumber!

export const keyName = ({ merchantId, key }: KeyName): string => `${merchantId}/${key}`

/** A request with the transaction that it created or repeats. */
export interface Bound {
  item: Submission
  orderId: bigint
  transactionNo: number
}

/**
 * The key rows to write. Equal requests in a batch share a key and a transaction, and therefore a
 * row.
 */
export function rowsFor(bound: readonly Bound[], now: number): IdempotencyRow[] {
  const rows = new Map<string, IdempotencyRow>()
  for (const { item, orderId, transactionNo } of bound) {
    const request = keyedRequest(item)
    if (request && !rows.has(keyName(request)))
      rows.set(keyName(request), {
        ...request,
        digest: request.digest.stored,
        orderId,
        transactionNo,
        heldUntil: now + heldForMs,
      })
  }
  return [...rows.values()]
}

/** The requests of these entries that created a transaction which was saved. */
export function madeBy(
  entries: readonly QueuedSubmission[],
  works: ReadonlyMap<string, Work>,
  saved: ReadonlySet<string>,
): Bound[] {
  return entries.flatMap(({ item, at }) => {
    const request = keyedRequest(item)
    const work = request && works.get(orderKeyText(orderKeyOf(item)))
    if (!work?.entries.includes(at) || !saved.has(orderKeyText(work.after))) return []
    const made = work.after.transactions.find(({ serialNumber }) => serialNumber === request!.serialNumber)
    return made ? [{ item, orderId: work.after.orderId, transactionNo: made.no }] : []
  })
}

/**
 * Another process took a key of this batch after the batch had looked it up. That counts as a
 * serialisation failure: the batch runs again and finds the key.
 */
export class KeysTaken extends Error {
  readonly code = '40001'
}

/** The stored keys of these entries. A batch without keys makes no query. */
export function keysHeld(store: OrderStore, entries: readonly QueuedSubmission[], now: number): Promise<IdempotencyRow[]> {
  const requests = entries.map(({ item }) => keyedRequest(item)).filter((request) => request !== undefined)
  return requests.length === 0 ? Promise.resolve([]) : store.idempotencyKeys(requests, now)
}

export interface JudgedKeys {
  /** Entries without a key, or whose key is still free. */
  open: QueuedSubmission[]
  /** The other entries with their answers. */
  answered: (readonly [QueuedSubmission, Advanced])[]
  repeats: RepeatRow[]
}

/**
 * Answers the entries whose key already stands for a request. The same request is a repeat,
 * whatever the outcome of the first one; any other request is refused. If different requests of a
 * batch have the same key, all but the first are refused, even if the first one fails: the client
 * may send the others again.
 */
export function judgeKeys(entries: readonly QueuedSubmission[], held: readonly IdempotencyRow[], now: number): JudgedKeys {
  const rows = new Map(held.map((row) => [keyName(row), row]))
  const first = new Map<string, Buffer>()
  const judged: JudgedKeys = { open: [], answered: [], repeats: [] }
  for (const entry of entries) {
    const request = keyedRequest(entry.item)
    if (!request) {
      judged.open.push(entry)
      continue
    }
    const row = rows.get(keyName(request))
    // This request wrote the row itself, in a commit whose reply was lost. The order shows the
    // result.
    const holder = row?.serialNumber === request.serialNumber ? undefined : row
    const stands = holder?.digest ?? first.get(keyName(request)) ?? request.digest.stored
    if (!isSameRequest(request.digest, stands)) judged.answered.push([entry, { is: 'key in use' }])
    else if (holder) {
      judged.answered.push([entry, answerOf(entry.item, holder)])
      judged.repeats.push(repeatRow({ ...holder, item: entry.item }, now))
    } else {
      first.set(keyName(request), request.digest.stored)
      judged.open.push(entry)
    }
  }
  return judged
}

const answerOf = ({ is }: Submission, { orderId, transactionNo }: IdempotencyRow): Advanced =>
  is === 'accept' ? { is: 'accepted', orderId, repeat: true } : { is: 'repeated', transactionNo }

/** Lets status find the transaction by the serial number of a repeated request. */
export function repeatRow({ item, orderId, transactionNo }: Bound, at: number): RepeatRow {
  const about = { merchantId: orderKeyOf(item).merchantId, orderId, transactionNo, at }
  if (item.is === 'accept') return { ...about, serialNumber: serialOf(item.order), operation: item.order.kind }
  const { serialNumber, operation } = (item as { ask: FollowAsk }).ask
  return { ...about, serialNumber, operation }
}
