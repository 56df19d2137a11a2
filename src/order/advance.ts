import { isDeepStrictEqual } from 'node:util'
import type { Clock } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import type { Card, SealedCard } from '../card/vault.ts'
import { goesAtOnce, type Delivery } from '../delivery/delivery.ts'
import type { Registry } from '../merchant/merchant.ts'
import { openBatch } from '../storage/batch.ts'
import type { Heartbeat } from '../storage/store-heartbeat.ts'
import type { Ids } from '../storage/store-ids.ts'
import type { AuthenticationPlanner } from './authenticate.ts'
import { FilterRound, type Hide } from './filtering.ts'
import type { Hand, Held } from './hand.ts'
import { judgeKeys, keysHeld, KeysTaken, madeBy, repeatRow, rowsFor, type Bound } from './idempotency.ts'
import type { Order, Transaction } from './order.ts'
import { openWorks } from './open-works.ts'
import { isOutside } from './perform.ts'
import type { Load } from './room.ts'
import { placeKey, type Place } from './change.ts'
import type { OrderStore, RepeatRow } from './store.ts'
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
  type Submission,
} from './submission.ts'
import { acceptWork, drive, follow, isNotFollowed, resume, type Deciding, type Work } from './work.ts'

export interface Door {
  submit(submission: Submission): Promise<Advanced>
  /** Whether this process does a step of that transaction now. */
  holds(step: Place & { transactionNo: number }): boolean
  /** A step was told, or could not be done: then a sweep takes it up again. The order is let go with the last of its steps. */
  release(place: Place, transaction: Transaction): void
  /** Orders that may still be taken in hand. */
  room(): number
  /** Orders in hand or submitted, by merchant and gate, and submissions waiting for a batch. */
  load(merchantId: bigint, gateId: bigint): Load & { waiting: number }
  counts(): { batches: number; items: number; held: number }
  close(): Promise<void>
}

/** What a round stores besides what it decided. */
interface Round {
  entries: readonly Entry[]
  /** New orders: the first of each name, and the others. */
  firsts: AcceptEntry[]
  twins: AcceptEntry[]
  /** Those whose commit may have gone through before. */
  wereBegun: Set<string>
  filters: FilterRound
  begin: (entry: AcceptEntry) => Work
  told: readonly RepeatRow[]
  repeated: readonly Bound[]
  now: number
}

export interface DoorSettings {
  store: OrderStore
  /** What this process has in memory. */
  hand: Hand
  attempts: Ids
  clock: Clock
  log: Log
  heartbeat: Heartbeat
  registry: () => Registry
  /** Orders in hand at once; beyond it rows are committed unleased and swept. */
  maxHeld: number
  /** Whether a new order is taken in hand by the process that commits it; the bench shows what that is worth. */
  handOver: boolean
  maxBatch: number
  lanes: number
  /** The sealed card of an order with its CVV2 in it, for one that is not taken in hand. */
  sealCvv2: (accept: Accept) => SealedCard
  planner: AuthenticationPlanner
  /** A keyed hash of what filters count by. */
  hide: Hide
  /** A step outside has to be done for an order in hand. */
  onStep: (held: Held, transaction: Transaction, door: Door) => void
  /**
   * Whether so many new deliveries of a merchant can be taken in hand, besides those granted before
   * in this round; and they, once committed.
   */
  deliveryRoom: () => (merchantId: bigint, deliveries: number) => boolean
  onDeliveries: (deliveries: Delivery[], order: Order) => void
}

const patienceMs = 10_000

/** The one door: every change of an order goes through here, in batches that share a commit. */
export function openDoor(s: DoorSettings): Door {
  /** Steps that this process does now, by order and transaction: of one order, some may be in the hands of others. */
  const doing = new Map<string, Map<number, Transaction>>()
  /** Orders in hand that another process moved on: they are read again before anything is decided about them. */
  const outdated = new Set<string>()
  /** Submissions that a batch has begun before: their commit may have gone through although the connection broke. */
  const begun = new WeakSet<Submission>()
  /** Settled by an earlier round: when a later round fails, the batch runs again without them, so that no step of theirs is started twice. */
  const answered = new WeakMap<Submission, Advanced>()
  /** What was decided on an event whose commit may have gone through although the connection broke: found stored just so, it was. The same version may be another process's. */
  const decided = new WeakMap<Submission, Work>()
  const {
    hand,
    heartbeat: { processId: me },
  } = s

  const batch = openBatch<Submission, Advanced>({
    name: 'orders',
    run: async (items) => {
      const results = items.map((item) => answered.get(item)) as Advanced[]
      let open: Entry[] = items.map((item, at) => ({ item, at })).filter((e) => !answered.has(e.item))
      while (open.length > 0) {
        const moved = await round(open, results)
        for (const e of open) if (!moved.includes(e)) answered.set(e.item, results[e.at]!)
        open = moved
      }
      return results
    },
    maxItems: s.maxBatch,
    lanes: s.lanes,
    patienceMs,
    clock: s.clock,
    log: s.log,
  })

  const roomInHand = () => Math.max(0, s.maxHeld - hand.size())

  /** An order in hand is being worked on: what a sweep found of it is not in nobody's hand. */
  function happen(work: Work, item: Happened, deciding: Deciding): ReturnType<typeof follow> {
    if (item.is === 'noted') return { is: 'stale', why: 'it was only noted' }
    if (item.is === 'event') return drive(work, item.event, deciding)
    if (item.is === 'follow') return follow(work, item.ask, deciding)
    if (doing.get(placeKey(item))?.has(item.transactionNo)) return { is: 'stale', why: 'it is in hand' }
    return resume(work, item.transactionNo, deciding)
  }

  /** Decides and saves once; answers the entries whose order had moved meanwhile. */
  async function round(all: Entry[], results: Advanced[]): Promise<Entry[]> {
    const keys = judgeKeys(all, await keysHeld(s.store, all, s.clock.now()), s.clock.now())
    for (const [{ at }, answer] of keys.answered) results[at] = answer
    const entries = keys.open
    const works = new Map<string, Work>()
    const opened = await openWorks(entries, works, sources)
    // Read the clock only after the orders are loaded. Loading may be slow, another process may move
    // the order meanwhile, and every deadline below counts from this moment.
    const now = s.clock.now()
    const registry = s.registry()
    const numbers: bigint[] = []
    for (let i = 0; i < entries.length; i++) numbers.push(await s.attempts.take())
    let room = s.handOver ? roomInHand() : 0
    const deciding = (hold: boolean): Deciding => ({
      now,
      processId: me,
      registry,
      planner: s.planner,
      number: () => numbers.pop()!,
      hold,
    })
    const filters = new FilterRound(registry, s.hide)
    const begin = ({ item, at }: AcceptEntry): Work =>
      acceptWork(item.order, item.card, item.sealed, () => s.sealCvv2(item), at, {
        ...deciding(room-- > 0),
        filter: (order, card) => filters.screen(order, card),
      })

    const { firsts, twins } = pairUp(entries)
    /** Refused because of what this round decided before them: should that not be saved, they are judged again. */
    const refusedAfter: [number, Work][] = []
    const unsure: number[] = []
    const repeated: Bound[] = []
    const unread = new Set(opened.map(([, work]) => work).filter((work) => isInHand(work.after)))
    for (const [entry, work] of opened) {
      const refused = happen(work, entry.item as Happened, deciding(true))
      if (refused && work.entries.length > 0) refusedAfter.push([entry.at, work])
      const isRepeat = refused?.is === 'repeat'
      if (!refused) work.entries.push(entry.at)
      // Nothing that this round decides is there before it is saved.
      else if (isRepeat && work.entries.length > 0) unsure.push(entry.at)
      else if ((isRepeat || isNotFollowed(refused)) && unread.has(work)) {
        // Another process may have moved it on, and a refusal is never saved: it is given only by what was just read.
        outdated.add(placeKey(work.after))
        unsure.push(entry.at)
      } else if (isRepeat) {
        results[entry.at] = { is: 'repeated', transactionNo: refused.transaction.no }
        repeated.push({ item: entry.item, orderId: work.after.orderId, transactionNo: refused.transaction.no })
      } else if (isNotFollowed(refused)) results[entry.at] = { is: 'not followed', judged: refused }
      else results[entry.at] = committedBefore(entry.item, work) ?? unchanged(entry.item, work, refused)
    }
    for (const [{ item, at }, work] of opened) if (work.entries.includes(at)) decided.set(item, work)

    const wereBegun = new Set(firsts.filter((e) => begun.has(e.item)).map((e) => placeKey(e.item.order)))
    for (const { item } of entries) begun.add(item)
    const told = entries.flatMap(({ item }) => (item.is === 'accept' || !item.request ? [] : [item.request]))
    told.push(...keys.repeats)
    const moved = await store(works, { entries, firsts, twins, wereBegun, filters, begin, told, repeated, now }, results)
    for (const [at, work] of refusedAfter) if (work.entries.some((one) => moved.has(one))) moved.add(at)
    for (const at of unsure) moved.add(at)
    for (const { item, at } of entries) if (moved.has(at)) decided.delete(item)
    return entries.filter((e) => moved.has(e.at))
  }

  const isInHand = (place: Place): boolean => hand.get(placeKey(place)) !== undefined && !outdated.has(placeKey(place))

  const sources = { held: (place: Place) => hand.get(placeKey(place)), isCurrent: isInHand, load: s.store.load }

  /** An event that is refused because an earlier run of its batch committed it: what follows from it was begun by nobody, so it is now. */
  function committedBefore(item: Submission, { before }: Work): Advanced | undefined {
    const own = decided.get(item)
    if (!before || !own || !isDeepStrictEqual(own.after, before)) return undefined
    const isNew = (t: Transaction) => own.after.transactions[t.no - 1] !== own.before?.transactions[t.no - 1]
    takeInHand(before, own.card, (t) => isNew(t) && !doing.get(placeKey(before))?.has(t.no))
    return { is: 'applied', order: before }
  }

  /**
   * Takes an order into memory and begins its new steps outside that this process leased. It stays
   * in memory only while one of its steps is running here. A lease alone is not enough, or a lost
   * reply would keep it for ever.
   */
  function takeInHand(order: Order, card: Card | undefined, isNew: (t: Transaction) => boolean): void {
    const key = placeKey(order)
    const steps = doing.get(key) ?? new Map<number, Transaction>()
    const fresh = card ? order.transactions.filter((t) => isOutside(t.step) && t.lease === me && isNew(t)) : []
    hand.release(key)
    outdated.delete(key)
    if (!card || steps.size + fresh.length === 0) return
    const held: Held = { order, card }
    hand.take(key, held)
    for (const t of fresh) steps.set(t.no, t)
    doing.set(key, steps)
    for (const t of fresh) s.onStep(held, t, door)
  }

  function release(place: Place, transaction: Transaction): void {
    const key = placeKey(place)
    const steps = doing.get(key)
    // Its transaction may be at its next step by now.
    if (steps?.get(transaction.no) !== transaction) return
    steps.delete(transaction.no)
    if (steps.size > 0) return
    doing.delete(key)
    outdated.delete(key)
    hand.release(key)
  }

  /** The transaction of a round. Answers the entries that must be decided again. */
  async function store(
    works: Map<string, Work>,
    { entries, firsts, twins, wereBegun, filters, begin, told, repeated, now }: Round,
    results: Advanced[],
  ): Promise<Set<number>> {
    const { saved, committed, leased } = await s.store.transaction(async (tables) => {
      const claims = firsts.map(({ item }) => claimOf(item))
      const holders = claims.length === 0 ? [] : await tables.claimKeys(claims)
      const byName = new Map(holders.map((h) => [nameKey(h), h]))
      const bound = [...repeated]
      const won: AcceptEntry[] = []
      const perhapsThere = firsts.map((e) => e.item.order).filter((o) => wereBegun.has(placeKey(o)))
      const done = new Map((await tables.load(perhapsThere)).map((o) => [placeKey(o), o]))
      for (const entry of [...firsts, ...twins]) {
        const key = placeKey(entry.item.order)
        const holder = byName.get(nameKey(entry.item.order))!
        const own = holder.orderId === entry.item.order.orderId
        if (own && !done.has(key)) {
          won.push(entry)
          continue
        }
        if (own) works.set(key, { after: done.get(key)!, rows: [], deliveries: [], eraseCvv2: false, card: entry.item.card, entries: [entry.at] }) // oxfmt-ignore
        results[entry.at] = answerTo(entry.item, holder, own)
        if (!own && results[entry.at]!.is === 'accepted')
          bound.push({ item: entry.item, orderId: holder.orderId, transactionNo: 1 })
      }
      await filters.lock(tables, won.map(({ item }) => item), [...works.values()]) // oxfmt-ignore
      for (const entry of won) {
        const work = begin(entry)
        filters.count(work)
        works.set(placeKey(entry.item.order), work)
      }
      const hasRoom = s.deliveryRoom()
      const taken = new Set([...works].flatMap(([key, w]) => (hasRoom(w.after.merchantId, w.deliveries.filter(goesAtOnce).length) ? key : []))) // oxfmt-ignore
      const changes = [...works.entries()].filter(([key, w]) => w.entries.length > 0 && !done.has(key)).map(([, w]) => w)
      const repeats = [...told, ...bound.map((one) => repeatRow(one, now))]
      const leaseOf = (order: Place) => (taken.has(placeKey(order)) ? me : undefined)
      const [kept] = await Promise.all([tables.save(changes, leaseOf), tables.insertRepeats(repeats)])
      for (const change of changes) if (change.before && kept.has(placeKey(change.after))) filters.count(change)
      await filters.save(tables)
      const rows = rowsFor([...bound, ...madeBy(entries, works, kept)], now)
      if (rows.length > 0 && !(await tables.claimIdempotencyKeys(rows, now))) throw new KeysTaken('another process took a key')
      return { saved: kept, committed: done, leased: taken }
    })
    const moved = new Set<number>()
    for (const [key, work] of works) {
      const earlier = committed.get(key)
      if (earlier) settle(work, results, false)
      else if (saved.has(key)) settle(work, results, leased.has(key))
      else if (work.entries.length > 0) {
        if (hand.get(key)) outdated.add(key)
        for (const at of work.entries) moved.add(at)
      }
    }
    return moved
  }

  function settle(work: Work, results: Advanced[], leased: boolean): void {
    const { before, after, card } = work
    const key = placeKey(after)
    for (const at of work.entries)
      results[at] = before ? { is: 'applied', order: after } : { is: 'accepted', orderId: after.orderId, repeat: false }
    if (work.rows.some((row) => row.event === 'result missing'))
      s.log.error({ order: key }, 'the issuer never told the result of a challenge that the cardholder came back from')
    takeInHand(after, card, (t) => t !== before?.transactions[t.no - 1])
    const { merchantId, orderId } = after
    const taken = leased ? work.deliveries.filter(goesAtOnce) : []
    if (taken.length > 0) s.onDeliveries(taken.map((d) => ({ ...d, merchantId, orderId, tries: 0 })), after) // oxfmt-ignore
  }

  const door: Door = {
    submit: (item) =>
      item.is === 'accept' ? batch.submit(item).finally(hand.expect(item.order, s.registry())) : batch.submit(item),
    holds: (step) => doing.get(placeKey(step))?.has(step.transactionNo) ?? false,
    release,
    room: roomInHand,
    load: (merchantId, gateId) => ({ ...hand.load(merchantId, gateId), waiting: batch.waiting() }),
    counts: () => ({ ...batch.counts(), held: hand.size() }),
    close: () => batch.close(),
  }
  return door
}
