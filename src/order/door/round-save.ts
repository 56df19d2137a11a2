/** How a round is saved: in one step, or in a transaction that claims, reads and decides. */
import type { SealedCard } from '../../card/vault.ts'
import { goesAtOnce } from '../../delivery/delivery.ts'
import { orderKeyText, type OrderKey, type RepeatRow } from '../decide/change.ts'
import type { FilterRound } from '../decide/filtering.ts'
import { KeysTaken, madeBy, repeatRow, rowsFor, type Bound } from './idempotency.ts'
import type { Order } from '../decide/order.ts'
import type { KeyRow, OrderStore, OrderTables } from '../store/store.ts'
import {
  answerTo,
  claimOf,
  nameKey,
  pairUp,
  type Accept,
  type AcceptEntry,
  type Advanced,
  type QueuedSubmission,
} from './submission.ts'
import { acceptWork, type Deciding, type Work } from '../decide/work.ts'

export interface SavingParts {
  store: OrderStore
  processId: bigint
  /**
   * How many new orders may be begun here; the others are committed without a lease and left to a
   * sweep.
   */
  room: () => number
  /** The sealed card of an order including its CVV2, for an order that is not begun here. */
  sealCvv2: (accept: Accept) => SealedCard
  /**
   * Whether this process has room for this many more deliveries of a merchant, besides those
   * granted earlier in this round.
   */
  deliveryRoom: () => (merchantId: bigint, deliveries: number) => boolean
}

/** The inputs of a save from its round, and its results. */
export interface Saving {
  entries: readonly QueuedSubmission[]
  /** Answers by the position of the entry in the batch. */
  results: Advanced[]
  now: number
  /** All decisions of this round, by order. */
  works: Map<string, Work>
  filters: FilterRound
  deciding: (hold: boolean) => Deciding
  /** Entries that an earlier run of the batch tried to commit. */
  triedBefore: ReadonlySet<QueuedSubmission>
  /** Requests whose serial numbers must find a transaction, besides the request that created it. */
  noted: readonly RepeatRow[]
  repeated: Bound[]
  /** Entries that must be decided again, in a round of their own. */
  again: Set<number>
}

/** The results of a round's database transaction. */
export interface Saved {
  kept: ReadonlySet<string>
  /** Orders whose acceptance was committed by an earlier run. */
  earlier: ReadonlyMap<string, Order>
  /** Orders whose new deliveries this process will send. */
  sends: ReadonlySet<string>
}

/** Saves in one round trip. Undefined if anybody else was there before; then nothing was saved. */
export async function saveAtOnce(parts: SavingParts, round: Saving): Promise<Saved | undefined> {
  const { entries, works } = round
  const { firsts, twins } = pairUp(entries)
  const claims = firsts.map(claimOf)
  const { won, bound } = meet(round, [...firsts, ...twins], claims, new Map())
  acceptAll(parts, round, won)
  const sends = sendsOf(parts, works)
  const changes = [...works.values()].filter((work) => work.entries.length > 0)
  const kept = new Set(changes.map(({ after }) => orderKeyText(after)))
  const saved = await parts.store.saveAtOnce({
    claims,
    changes,
    deliveryLease: leaseFor(parts, sends),
    repeats: repeatsOf(round, bound),
    keys: rowsFor([...bound, ...madeBy(entries, works, kept)], round.now),
    processId: parts.processId,
  })
  return saved ? { kept, earlier: new Map(), sends } : undefined
}

/** Saves in a transaction of several round trips, whoever was there before. */
export const saveStepByStep = (parts: SavingParts, round: Saving): Promise<Saved> =>
  parts.store.transaction((tables) => save(parts, round, tables))

/**
 * The database transaction of a round: claims the names of new orders, decides about them under the
 * locks of their filters, and writes.
 */
async function save(parts: SavingParts, round: Saving, tables: OrderTables): Promise<Saved> {
  const { entries, works, filters, again } = round
  const { won, earlier, bound } = await claim(round, tables)
  await filters.lock(
    tables,
    won.map(({ item }) => item),
    [...works.values()],
  )
  acceptAll(parts, round, won)
  const sends = sendsOf(parts, works)
  const changes = [...works].filter(([key, w]) => w.entries.length > 0 && !earlier.has(key)).map(([, w]) => w)
  const kept = await tables.save(changes, leaseFor(parts, sends))
  // After the new orders: a repeat of one that is not stored is not noted.
  await tables.insertRepeats(repeatsOf(round, bound))
  for (const change of changes) if (change.before && kept.has(orderKeyText(change.after))) filters.count(change)
  await filters.save(tables)
  const rows = rowsFor([...bound, ...madeBy(entries, works, kept)], round.now)
  if (rows.length > 0 && !(await tables.claimIdempotencyKeys(rows, round.now))) throw new KeysTaken('another process took a key')
  await tables.count(
    changes.filter(({ after }) => kept.has(orderKeyText(after))),
    parts.processId,
  )
  for (const [key, { entries: waiting }] of works)
    if (!earlier.has(key) && !kept.has(key)) for (const at of waiting) again.add(at)
  return { kept, earlier, sends }
}

/** Decides about the new orders that got their name. */
function acceptAll(parts: SavingParts, { works, filters, deciding }: Saving, won: readonly AcceptEntry[]): void {
  let room = parts.room()
  for (const { item, at } of won) {
    const how = { filter: filters.screen.bind(filters), ...deciding(room-- > 0) }
    const work = acceptWork(item.order, item.card, item.sealed, () => parts.sealCvv2(item), at, how)
    filters.count(work)
    works.set(orderKeyText(item.order), work)
  }
}

/** The orders whose new deliveries this process will send. */
function sendsOf(parts: SavingParts, works: ReadonlyMap<string, Work>): Set<string> {
  const hasRoom = parts.deliveryRoom()
  const sends = new Set<string>()
  for (const [key, { after, deliveries }] of works)
    if (hasRoom(after.merchantId, deliveries.filter(goesAtOnce).length)) sends.add(key)
  return sends
}

const leaseFor =
  ({ processId }: SavingParts, sends: ReadonlySet<string>) =>
  (order: OrderKey) =>
    sends.has(orderKeyText(order)) ? processId : undefined

const repeatsOf = ({ noted, now }: Saving, bound: readonly Bound[]): RepeatRow[] => [
  ...noted,
  ...bound.map((one) => repeatRow(one, now)),
]

/** Answers new orders whose name is taken, and returns the orders that got their name. */
async function claim(round: Saving, tables: OrderTables) {
  const { firsts, twins } = pairUp(round.entries)
  const perhapsThere = firsts.filter((entry) => round.triedBefore.has(entry)).map(({ item }) => item.order)
  const claims = firsts.map(claimOf)
  const holders = claims.length === 0 ? [] : await tables.claimKeys(claims)
  const earlier = new Map((await tables.load(perhapsThere)).map((o) => [orderKeyText(o), o]))
  return { earlier, ...meet(round, [...firsts, ...twins], holders, earlier) }
}

/** Compares new orders with the holders of their names, and answers those that did not get it. */
function meet(
  { works, results, repeated }: Saving,
  accepts: readonly AcceptEntry[],
  holders: readonly KeyRow[],
  earlier: ReadonlyMap<string, Order>,
) {
  const byName = new Map(holders.map((h) => [nameKey(h), h]))
  const bound = [...repeated]
  const won: AcceptEntry[] = []
  for (const entry of accepts) {
    const { item, at } = entry
    const key = orderKeyText(item.order)
    const holder = byName.get(nameKey(item.order))!
    const own = holder.orderId === item.order.orderId
    const after = earlier.get(key)
    if (own && !after) {
      won.push(entry)
      continue
    }
    if (own) works.set(key, { after: after!, rows: [], deliveries: [], eraseCvv2: false, card: item.card, entries: [at] })
    results[at] = answerTo(item, holder, own)
    if (!own && results[at].is === 'accepted') bound.push({ item, orderId: holder.orderId, transactionNo: 1 })
  }
  return { won, bound }
}
