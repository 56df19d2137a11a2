import type { Log } from '../../base/log.ts'
import type { Card } from '../../card/vault.ts'
import { openBatch } from '../../storage/batch.ts'
import { orderKeyText, type OrderKey } from '../decide/change.ts'
import type { Copies } from '../copies.ts'
import type { Held } from './hand.ts'
import { finalStatuses } from '../../spec/words.ts'
import { statusOf, type Order, type Transaction } from '../decide/order.ts'
import { isOutside } from '../perform.ts'
import { openRetries } from './retry.ts'
import type { Load } from './room.ts'
import { runRound, type Group, type RoundParts } from './round.ts'
import type { Advanced, Submission } from './submission.ts'

export interface Door {
  submit(submission: Submission): Promise<Advanced>
  /** Whether this process is running a step of that transaction now. */
  holds(step: OrderKey & { transactionNo: number }): boolean
  /**
   * A step was reported, or it could not be run and is left to a sweep. The order leaves memory
   * with its last running step.
   */
  release(orderKey: OrderKey, transaction: Transaction): void
  /** How many more orders may be taken into memory. */
  room(): number
  /** Orders in memory or submitted, of a merchant and at a gate. */
  load(merchantId: bigint, gateId: bigint): Load
  /** Submissions that wait for a batch. */
  waiting(): number
  /**
   * Resolves when this process commits the end of the order, or when `signal` aborts the wait. It
   * does not notice an end committed earlier or by another process.
   */
  ended(orderKey: OrderKey, signal: AbortSignal): Promise<void>
  counts(): { batches: number; items: number; held: number }
  close(): Promise<void>
}

export interface DoorSettings extends Omit<RoundParts, 'retries' | 'room' | 'begin' | 'onResultMissing'> {
  copies: Pick<Copies, 'keep'>
  log: Log
  /**
   * How many orders may be in memory. Beyond that, rows are committed without a lease and left to a
   * sweep.
   */
  maxHeld: number
  /**
   * Whether a new order is begun by the process that commits it. The bench turns this off to
   * measure its effect.
   */
  handOver: boolean
  maxBatch: number
  lanes: number
  /** If requests wait to begin: resolves in the next turn of the event loop. */
  rush?: () => Promise<void> | undefined
  /** An order in memory has a step to run outside. */
  onStep: (held: Held, transaction: Transaction, door: Door) => void
  /** A transaction was committed without a lease; its step is due at `dueAt`. */
  onStepDue: (dueAt: number) => void
}

const patienceMs = 10_000

/** The one door: every change of an order goes through here, in batches that share a commit. */
export function openDoor(s: DoorSettings): Door {
  const { hand, log, clock } = s
  const retries = openRetries()
  const ends = openEnds()
  const roomInHand = () => Math.max(0, s.maxHeld - hand.size())
  const parts: RoundParts = {
    ...s,
    retries,
    room: () => (s.handOver ? roomInHand() : 0),
    begin,
    onResultMissing: (orderKey) =>
      log.error(
        { order: orderKeyText(orderKey) },
        'the issuer never sent the result of a challenge that the cardholder came back from',
      ),
  }

  /** Keeps an order in memory and begins its new steps outside that this process leased. */
  function begin(order: Order, card: Card | undefined, isNew: (t: Transaction) => boolean, since: number): void {
    const steps = card ? order.transactions.filter((t) => isOutside(t.step) && t.lease === s.processId && isNew(t)) : []
    const held = hand.keep(order, card, steps, since)
    s.copies.keep(order)
    for (const { lease, dueAt } of order.transactions) if (lease === undefined && dueAt !== undefined) s.onStepDue(dueAt)
    if (held) for (const transaction of steps) s.onStep(held, transaction, door)
    if (finalStatuses.has(statusOf(order))) ends.ended(order)
  }

  const batch = openBatch<Submission, Advanced>({
    name: 'orders',
    run: (items) => runBatch(parts, items),
    maxItems: s.maxBatch,
    lanes: s.lanes,
    ...(s.rush && { rush: s.rush }),
    patienceMs,
    clock,
    log,
  })

  const door: Door = {
    submit: (item) =>
      item.is === 'accept' ? batch.submit(item).finally(hand.expect(item.order, s.registry())) : batch.submit(item),
    holds: (step) => hand.does(step, step.transactionNo),
    release: hand.release,
    room: roomInHand,
    load: hand.load,
    waiting: batch.waiting,
    ended: ends.awaited,
    counts: () => ({ ...batch.counts(), held: hand.size() }),
    close: () => batch.close(),
  }
  return door
}

/** Who waits for the end of an order. */
function openEnds(): { ended(orderKey: OrderKey): void; awaited: Door['ended'] } {
  const waiting = new Map<string, Set<() => void>>()
  return {
    ended(orderKey) {
      for (const resolve of waiting.get(orderKeyText(orderKey)) ?? []) resolve()
    },
    awaited(orderKey, signal) {
      const key = orderKeyText(orderKey)
      const listeners = waiting.get(key) ?? new Set()
      waiting.set(key, listeners)
      return new Promise((resolve) => {
        listeners.add(resolve)
        signal.addEventListener('abort', () => {
          listeners.delete(resolve)
          if (listeners.size === 0) waiting.delete(key)
          resolve()
        })
      })
    },
  }
}

/** Runs rounds until every submission has its answer. */
async function runBatch(parts: RoundParts, items: readonly Submission[]): Promise<Advanced[]> {
  const { retries } = parts
  const results = items.map((item) => retries.answered(item)) as Advanced[]
  const open = items.map((item, at) => ({ item, at })).filter(({ item }) => !retries.answered(item))
  const groups: Group[] = [{ entries: open, isPlain: true }]
  for (let group = groups.shift(); group; group = groups.shift()) {
    if (group.entries.length === 0) continue
    const left = await runRound(parts, group, results)
    const again = new Set(left.flatMap(({ entries }) => entries))
    for (const entry of group.entries) if (!again.has(entry)) retries.answer(entry.item, results[entry.at]!)
    groups.push(...left)
  }
  return results
}
