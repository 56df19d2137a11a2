/** One round of a batch: loads everything about its orders, decides, and saves in one commit. */
import type { Clock } from '../base/clock.ts'
import { openCard, type Card, type SealedCard } from '../card/vault.ts'
import { goesAtOnce, type Delivery } from '../delivery/delivery.ts'
import type { Registry } from '../merchant/merchant.ts'
import type { Ids } from '../storage/store-ids.ts'
import type { KeyRing } from '../storage/store-keys.ts'
import type { AuthenticationPlanner } from './authentication/plan.ts'
import { placeKey, type Place } from './change.ts'
import { FilterRound, type Hide } from './filtering.ts'
import type { Hand } from './hand.ts'
import { judgeKeys, keysHeld, KeysTaken, madeBy, repeatRow, rowsFor, type Bound } from './idempotency.ts'
import { openWorks } from './open-works.ts'
import type { Order } from './order.ts'
import type { Retries } from './retry.ts'
import type { OrderStore, OrderTables, RepeatRow } from './store.ts'
import {
  answerTo,
  claimOf,
  nameKey,
  pairUp,
  unchanged,
  type Accept,
  type AcceptEntry,
  type Advanced,
  type Entry,
  type Happened,
} from './submission.ts'
import { acceptWork, drive, follow, isNotFollowed, resume, type Deciding, type Work } from './work.ts'

export interface RoundParts {
  store: OrderStore
  hand: Hand
  retries: Retries
  attempts: Ids
  clock: Clock
  keys: KeyRing
  processId: bigint
  registry: () => Registry
  planner: AuthenticationPlanner
  /** A keyed hash of the values that filters count by. */
  hide: Hide
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
  /** Begins the steps of a committed order for which `isNew` is true. */
  begin: (order: Order, card: Card | undefined, isNew: (work: Order['transactions'][number]) => boolean) => void
  onDeliveries: (deliveries: Delivery[], order: Order) => void
  /** Messages that this process does not hold were committed; they are due at `dueAt`. */
  onDeliveryDue: (dueAt: number) => void
  onResultMissing: (place: Place) => void
}

/** The state of a round; each step below adds its part. */
interface Round {
  entries: readonly Entry[]
  /** Answers by the position of the entry in the batch. */
  results: Advanced[]
  now: number
  /** All decisions of this round, by order. */
  works: Map<string, Work>
  /** The entries whose order exists, each with its order. */
  opened: readonly [Entry, Work][]
  filters: FilterRound
  deciding: (hold: boolean) => Deciding
  /** Entries that an earlier run of the batch tried to commit. */
  triedBefore: ReadonlySet<Entry>
  /** Requests whose serial numbers must find a transaction, besides the request that created it. */
  noted: readonly RepeatRow[]
  repeated: Bound[]
  /** Entries that must be decided again, in a round of their own. */
  again: Set<number>
  /**
   * Entries that were refused because of an earlier decision of this round. If that decision is not
   * saved, they are judged again.
   */
  refusedAfter: [number, Work][]
}

/** The results of a round's database transaction. */
interface Saved {
  kept: ReadonlySet<string>
  /** Orders whose acceptance was committed by an earlier run. */
  earlier: ReadonlyMap<string, Order>
  /** Orders whose new deliveries this process will send. */
  sends: ReadonlySet<string>
}

/** Loads, decides and saves once. Returns the entries whose order was changed meanwhile. */
export async function runRound(parts: RoundParts, batch: readonly Entry[], results: Advanced[]): Promise<Entry[]> {
  const asked = parts.clock.now()
  const keyed = judgeKeys(batch, await keysHeld(parts.store, batch, asked), asked)
  for (const [{ at }, given] of keyed.answered) results[at] = given
  const works = new Map<string, Work>()
  const opened = await openWorks(keyed.open, works, sourcesOf(parts))
  const numbers = await Promise.all(keyed.open.map(() => parts.attempts.take()))
  try {
    const round = roundOf(parts, { entries: keyed.open, results, works, opened }, keyed.repeats, numbers)
    judge(parts, round)
    parts.retries.begin(keyed.open)
    const saved = await parts.store.transaction((tables) => save(parts, round, tables))
    answer(parts, round, saved)
    return round.entries.filter(({ at }) => round.again.has(at))
  } finally {
    // A decided attempt uses up its number, even if it could not be saved.
    parts.attempts.giveBack(numbers)
  }
}

const sourcesOf = ({ store, hand, keys }: RoundParts) => ({
  held: hand.get,
  isCurrent: hand.isCurrent,
  load: store.load,
  async cards(places: readonly Place[]) {
    const sealed = await store.sealedCards(places)
    return (place: Place): Card => {
      const own = sealed.get(placeKey(place))
      if (!own) throw new Error(`the card of order ${place.orderId} is gone`)
      return openCard(own, place, keys)
    }
  },
})

function roundOf(
  { clock, registry, hide, processId, planner, retries }: RoundParts,
  begun: Pick<Round, 'entries' | 'results' | 'works' | 'opened'>,
  repeats: readonly RepeatRow[],
  numbers: bigint[],
): Round {
  // Read the clock only after the orders are loaded. Loading may be slow, another process may move
  // the order meanwhile, and every deadline below counts from this moment.
  const now = clock.now()
  const current = registry()
  return {
    ...begun,
    now,
    triedBefore: new Set(begun.entries.filter(({ item }) => retries.wasBegun(item))),
    noted: [...repeats, ...begun.entries.flatMap(({ item }) => (item.is === 'accept' || !item.request ? [] : [item.request]))],
    filters: new FilterRound(current, hide),
    deciding: (hold) => ({ now, processId, registry: current, planner, number: () => numbers.shift()!, hold }),
    repeated: [],
    again: new Set(),
    refusedAfter: [],
  }
}

/** Decides about the orders that exist, one entry after the other. */
function judge({ hand, retries, begin }: RoundParts, round: Round): void {
  const { opened, results, again } = round
  const unread = new Set(opened.map(([, work]) => work).filter((work) => hand.isCurrent(work.after)))
  for (const [{ item, at }, work] of opened) {
    const refused = happen(hand, work, item as Happened, round.deciding(true))
    if (!refused) {
      work.entries.push(at)
      continue
    }
    const isRepeat = refused.is === 'repeat'
    if (work.entries.length > 0) round.refusedAfter.push([at, work])
    // A repeat of a decision of this round has to wait: that decision is not saved yet.
    if (isRepeat && work.entries.length > 0) again.add(at)
    else if ((isRepeat || isNotFollowed(refused)) && unread.has(work)) {
      // Another process may have changed the order. A refusal is never saved, so it must rest on a
      // fresh read.
      hand.outdate(work.after)
      again.add(at)
    } else if (isRepeat) {
      results[at] = { is: 'repeated', transactionNo: refused.transaction.no }
      round.repeated.push({ item, orderId: work.after.orderId, transactionNo: refused.transaction.no })
    } else if (isNotFollowed(refused)) results[at] = { is: 'not followed', judged: refused }
    else {
      const own = retries.committed(item, work.before)
      if (own) beginCommitted(hand, begin, own)
      results[at] = own ? { is: 'applied', order: own.after } : unchanged(item, work, refused)
    }
  }
  for (const [{ item, at }, work] of opened) if (work.entries.includes(at)) retries.decide(item, work)
}

function happen(hand: Hand, work: Work, item: Happened, deciding: Deciding): ReturnType<typeof follow> {
  if (item.is === 'noted') return { is: 'stale', why: 'it was only noted' }
  if (item.is === 'event') return drive(work, item.event, deciding)
  if (item.is === 'follow') return follow(work, item.ask, deciding)
  // If this process is already working on the order, the row that the sweep found is not abandoned.
  if (hand.does(item, item.transactionNo)) return { is: 'stale', why: 'it is in hand' }
  return resume(work, item.transactionNo, deciding)
}

/**
 * The event is refused because an earlier run of its batch committed it. That run did not begin the
 * next steps, so this one does.
 */
function beginCommitted(hand: Hand, begin: RoundParts['begin'], { before, after, card }: Work): void {
  begin(after, card, (t) => t !== before?.transactions[t.no - 1] && !hand.does(after, t.no))
}

/**
 * The database transaction of a round: claims the names of new orders, decides about them under the
 * locks of their filters, and writes.
 */
async function save(parts: RoundParts, round: Round, tables: OrderTables): Promise<Saved> {
  const { entries, works, filters, again } = round
  const { won, earlier, bound } = await claim(round, tables)
  await filters.lock(
    tables,
    won.map(({ item }) => item),
    [...works.values()],
  )
  let room = parts.room()
  for (const { item, at } of won) {
    const deciding = { ...round.deciding(room-- > 0), filter: filters.screen.bind(filters) }
    const work = acceptWork(item.order, item.card, item.sealed, () => parts.sealCvv2(item), at, deciding)
    filters.count(work)
    works.set(placeKey(item.order), work)
  }
  const hasRoom = parts.deliveryRoom()
  const sends = new Set<string>()
  for (const [key, { after, deliveries }] of works)
    if (hasRoom(after.merchantId, deliveries.filter(goesAtOnce).length)) sends.add(key)
  const changes = [...works].filter(([key, w]) => w.entries.length > 0 && !earlier.has(key)).map(([, w]) => w)
  const repeats = [...round.noted, ...bound.map((one) => repeatRow(one, round.now))]
  const leaseOf = (order: Place) => (sends.has(placeKey(order)) ? parts.processId : undefined)
  const [kept] = await Promise.all([tables.save(changes, leaseOf), tables.insertRepeats(repeats)])
  for (const change of changes) if (change.before && kept.has(placeKey(change.after))) filters.count(change)
  await filters.save(tables)
  const rows = rowsFor([...bound, ...madeBy(entries, works, kept)], round.now)
  if (rows.length > 0 && !(await tables.claimIdempotencyKeys(rows, round.now))) throw new KeysTaken('another process took a key')
  for (const [key, { entries: waiting }] of works)
    if (!earlier.has(key) && !kept.has(key)) for (const at of waiting) again.add(at)
  return { kept, earlier, sends }
}

/** Answers new orders whose name is taken, and returns the orders that got their name. */
async function claim({ entries, triedBefore, works, results, repeated }: Round, tables: OrderTables) {
  const { firsts, twins } = pairUp(entries)
  const perhapsThere = firsts.filter((entry) => triedBefore.has(entry)).map(({ item }) => item.order)
  const claims = firsts.map(({ item }) => claimOf(item))
  const holders = claims.length === 0 ? [] : await tables.claimKeys(claims)
  const byName = new Map(holders.map((h) => [nameKey(h), h]))
  const earlier = new Map((await tables.load(perhapsThere)).map((o) => [placeKey(o), o]))
  const bound = [...repeated]
  const won: AcceptEntry[] = []
  for (const entry of [...firsts, ...twins]) {
    const { item, at } = entry
    const key = placeKey(item.order)
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
  return { won, earlier, bound }
}

/** After the commit: answers the saved entries and begins the next steps. */
function answer(parts: RoundParts, round: Round, { kept, earlier, sends }: Saved): void {
  const { works, again, entries, refusedAfter } = round
  for (const [key, work] of works) {
    if (earlier.has(key)) settle(parts, round, work, false)
    else if (kept.has(key)) settle(parts, round, work, sends.has(key))
    else if (work.entries.length > 0) parts.hand.outdate(work.after)
  }
  for (const [at, work] of refusedAfter) if (work.entries.some((one) => again.has(one))) again.add(at)
  for (const { item, at } of entries) if (again.has(at)) parts.retries.undecide(item)
}

function settle(parts: RoundParts, { results, now }: Round, work: Work, sends: boolean): void {
  const { before, after, card } = work
  for (const at of work.entries)
    results[at] = before ? { is: 'applied', order: after } : { is: 'accepted', orderId: after.orderId, repeat: false }
  if (work.rows.some((row) => row.event === 'result missing')) parts.onResultMissing(after)
  parts.begin(after, card, (t) => t !== before?.transactions[t.no - 1])
  const { merchantId, orderId } = after
  const taken = sends ? work.deliveries.filter(goesAtOnce) : []
  if (taken.length < work.deliveries.length) parts.onDeliveryDue(now)
  if (taken.length === 0) return
  parts.onDeliveries(
    taken.map((d) => ({ ...d, merchantId, orderId, tries: 0 })),
    after,
  )
}
