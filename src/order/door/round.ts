/** One round of a batch: loads everything about its orders, decides, and saves in one commit. */
import type { Clock } from '../../base/clock.ts'
import { openCard, type Card } from '../../card/vault.ts'
import { goesAtOnce, type Delivery } from '../../delivery/delivery.ts'
import type { Registry } from '../../merchant/merchant.ts'
import type { Ids } from '../../storage/ids.ts'
import type { KeyRing } from '../../keys/ring.ts'
import type { AuthenticationPlanner } from '../authentication/plan.ts'
import { orderKeyText, type OrderKey, type RepeatRow } from '../decide/change.ts'
import { FilterRound } from '../decide/filtering.ts'
import type { Hand } from './hand.ts'
import { isKeyed, judgeKeys, keysHeld } from './idempotency.ts'
import { openWorks } from './open-works.ts'
import type { Order } from '../decide/order.ts'
import type { Retries } from './retry.ts'
import { saveAtOnce, saveStepByStep, type Saved, type Saving, type SavingParts } from './round-save.ts'
import { nameKey, unchanged, type Advanced, type QueuedSubmission, type Happened } from './submission.ts'
import { isNotFollowed } from '../decide/follow.ts'
import { drive, follow, resume, type Deciding, type Work } from '../decide/work.ts'
import type { Hide } from '../../risk/limits.ts'

export interface RoundParts extends SavingParts {
  hand: Hand
  retries: Retries
  attempts: Ids
  clock: Clock
  keys: KeyRing
  registry: () => Registry
  planner: AuthenticationPlanner
  /** A keyed hash of the values that filters count by. */
  hide: Hide
  /**
   * Begins the steps of a committed order for which `isNew` is true. `since` is the monotonic time
   * before it was decided.
   */
  begin: (order: Order, card: Card | undefined, isNew: (work: Order['transactions'][number]) => boolean, since: number) => void
  /** A change of an order was committed. */
  onSettled: (before: Order | undefined, after: Order) => void
  onDeliveries: (deliveries: Delivery[], order: Order) => void
  /** Messages that this process does not hold were committed; they are due at `dueAt`. */
  onDeliveryDue: (dueAt: number) => void
  onResultMissing: (orderKey: OrderKey) => void
}

/** The state of a round; each step below adds its part. */
interface Round extends Saving {
  /** The same moment by the monotonic clock. */
  since: number
  /** The entries whose order exists, each with its order. */
  opened: readonly [QueuedSubmission, Work][]
  /**
   * Entries that were refused because of an earlier decision of this round. If that decision is not
   * saved, they are judged again.
   */
  refusedAfter: [number, Work][]
}

/** Entries that are decided together. */
export interface Group {
  entries: readonly QueuedSubmission[]
  /** Whether they may be saved in one round trip, which fails if anybody else was there before. */
  isPlain: boolean
}

/** Loads, decides and saves once. Returns the groups of entries that must be decided again. */
export async function runRound(parts: RoundParts, batch: Group, results: Advanced[]): Promise<Group[]> {
  const asked = parts.clock.now()
  const keyed = judgeKeys(batch.entries, await keysHeld(parts.store, batch.entries, asked), asked)
  for (const [{ at }, given] of keyed.answered) results[at] = given
  // The commit that was tried may have changed the order in memory.
  for (const { item } of keyed.open) if (item.is !== 'accept' && parts.retries.wasBegun(item)) parts.hand.outdate(item)
  const works = new Map<string, Work>()
  const opened = await openWorks(keyed.open, works, sourcesOf(parts))
  const numbers = await Promise.all(keyed.open.map(() => parts.attempts.take()))
  try {
    const round = roundOf(parts, { entries: keyed.open, results, works, opened }, keyed.repeats, numbers)
    judge(parts, round)
    parts.retries.begin(keyed.open)
    const isPlain = batch.isPlain && canBePlain(round)
    const isSaved = await parts.hand.saving(changedOf(round), async () => {
      const saved = await (isPlain ? saveAtOnce(parts, round) : saveStepByStep(parts, round))
      if (saved) answer(parts, round, saved)
      return saved !== undefined
    })
    if (!isSaved) return await afterConflict(parts, batch.entries, round)
    return [{ entries: round.entries.filter(({ at }) => round.again.has(at)), isPlain }]
  } finally {
    // A decided attempt uses up its number, even if it could not be saved.
    parts.attempts.giveBack(numbers)
  }
}

/** The stored orders that the round changes. */
const changedOf = ({ works }: Round): Order[] =>
  [...works.values()].flatMap(({ before, after }) => (before === after ? [] : (before ?? [])))

/** Whether nothing has to be read under locks before the round is saved. */
function canBePlain({ entries, triedBefore, filters, works }: Round): boolean {
  if (triedBefore.size > 0) return false
  const fresh = entries.flatMap(({ item }) => (item.is === 'accept' ? [item] : []))
  return !filters.needsLocks(fresh, [...works.values()])
}

const sourcesOf = ({ store, hand, keys }: RoundParts) => ({
  held: hand.get,
  isCurrent: hand.isCurrent,
  load: store.load,
  async cards(orderKeys: readonly OrderKey[]) {
    const sealed = await store.sealedCards(orderKeys)
    return (orderKey: OrderKey): Card | undefined => {
      const own = sealed.get(orderKeyText(orderKey))
      return own && openCard(own, orderKey, keys)
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
    since: clock.monotonic(),
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
  begin(after, card, (t) => t !== before?.transactions[t.no - 1] && !hand.does(after, t.no), -Infinity)
}

/**
 * Parts the entries for whom somebody else was there before from the others, which are tried at
 * once again. If there is none any more, all of them are saved step by step.
 */
async function afterConflict(
  { store, hand, retries }: RoundParts,
  entries: readonly QueuedSubmission[],
  { works, triedBefore }: Round,
): Promise<Group[]> {
  retries.withdraw(entries, triedBefore)
  const accepts = entries.flatMap(({ item }) => (item.is === 'accept' ? [item.order] : []))
  const changed = [...works.values()].flatMap(({ before }) => before ?? [])
  const [holders, versions] = await Promise.all([store.newestOrders(accepts), store.versions(changed)])
  const taken = new Set(holders.map(nameKey))
  const moved = new Set(changed.filter((order) => versions.get(orderKeyText(order)) !== order.version).map(orderKeyText))
  for (const order of changed) if (moved.has(orderKeyText(order))) hand.outdate(order)
  const isConcerned = ({ item }: QueuedSubmission) =>
    isKeyed(item) || (item.is === 'accept' ? taken.has(nameKey(item.order)) : moved.has(orderKeyText(item)))
  const concerned = entries.filter(isConcerned)
  if (concerned.length === 0) return [{ entries, isPlain: false }]
  return [
    { entries: entries.filter((entry) => !isConcerned(entry)), isPlain: true },
    { entries: concerned, isPlain: false },
  ]
}

/** After the commit: answers the saved entries and begins the next steps. */
function answer(parts: RoundParts, round: Round, { kept, earlier, sends }: Saved): void {
  const { works, again, entries, refusedAfter, triedBefore } = round
  for (const [key, work] of works) {
    if (earlier.has(key)) settle(parts, round, work, false)
    else if (kept.has(key)) settle(parts, round, work, sends.has(key))
    else if (work.entries.length > 0) parts.hand.outdate(work.after)
  }
  for (const [at, work] of refusedAfter) if (work.entries.some((one) => again.has(one))) again.add(at)
  parts.retries.withdraw(
    entries.filter(({ at }) => again.has(at)),
    triedBefore,
  )
}

function settle(parts: RoundParts, { results, now, since }: Round, work: Work, sends: boolean): void {
  const { before, after, card } = work
  for (const at of work.entries)
    results[at] = before ? { is: 'applied', order: after } : { is: 'accepted', orderId: after.orderId, repeat: false }
  parts.onSettled(before, after)
  if (work.rows.some((row) => row.event === 'result missing')) parts.onResultMissing(after)
  parts.begin(after, card, (t) => t !== before?.transactions[t.no - 1], since)
  const { merchantId, orderId } = after
  const taken = sends ? work.deliveries.filter(goesAtOnce) : []
  if (taken.length < work.deliveries.length) parts.onDeliveryDue(now)
  if (taken.length === 0) return
  parts.onDeliveries(
    taken.map((d) => ({ merchantId, orderId, tries: 0, ...d })),
    after,
  )
}
