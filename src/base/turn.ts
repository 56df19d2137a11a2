/**
 * While one request is worked on, no other is served. So one turn of the event loop begins a
 * limited number of requests, and reading untrusted input is done in pieces: a reader announces
 * each piece before it does it, and one turn accepts a limited amount of them, whichever requests
 * they belong to.
 */
import { FairQueue } from './fair-queue.ts'

/**
 * Requests that begin; bytes of a text that is decoded or scanned, pairs of a form, values and
 * names of JSON or elements of XML, checks of an RSA signature.
 */
export type Unit = 'requests' | 'bytes' | 'pairs' | 'nodes' | 'signatures'

export const units: readonly Unit[] = ['requests', 'bytes', 'pairs', 'nodes', 'signatures']

/** The budget of one turn; docs/reliability.md, "What one turn may take". No piece is larger. */
export const turnBudget: Readonly<Record<Unit, number>> = {
  requests: 8,
  bytes: 65_536,
  pairs: 1_100,
  nodes: 4_000,
  signatures: 8,
}

/**
 * When more requests than this come in one turn it is a flood, and half as many as came may begin
 * in the next: turns are long then, and with a fixed number of beginnings little would be done.
 */
export const flood = 64

export type Piece = readonly [unit: Unit, count: number]

/** Work in pieces: it yields each piece right before doing it. */
export type InPieces<T> = Generator<Piece, T, void>

/** Does all of it in one go: for input that is known to be short, or not from a stranger. */
export function atOnce<T>(work: InPieces<T>): T {
  for (;;) {
    const { done, value } = work.next()
    if (done) return value
  }
}

/** Who waits for a place; asked only if there is none. */
export interface Waiter {
  /** The owners of waiting work. Each has as many places as any other. */
  owner(): string
  /** It will not begin, and takes no place. */
  isGone(): boolean
}

export interface Turns {
  /**
   * Takes a place for a request to begin in this turn. If there is none left, the promise resolves
   * in a later turn, in the order of the calls of its owner; `full` if `mostWaiting` wait already,
   * and no fewer of this owner than of others.
   */
  begin(mostWaiting?: number, waiter?: Waiter): Promise<void> | 'full' | undefined
  /** If requests wait for a place: resolves in the next turn. */
  rush(): Promise<void> | undefined
  /**
   * Does the work, and lets others run whenever the next piece would exceed the budget of this
   * turn. The result is a promise only if it had to.
   */
  run<T>(work: InPieces<T>): T | Promise<T>
  /** The amounts since start-up: in total, and the most within one turn. */
  counts(): Readonly<Record<Unit, { total: number; most: number }>>
}

/** `afterTurn` runs a function once everybody else had their turn: `nextTurn` of the clock. */
export function openTurns(afterTurn: (fn: () => void) => void): Turns {
  const spent = none()
  const total = none()
  const most = none()
  const waiting = new FairQueue<{ begin: () => void; isGone: () => boolean }>()
  let came = 0
  let end: Promise<void> | undefined

  /** One promise for all that wait; they continue in the order in which they came. */
  const endOfTurn = (): Promise<void> =>
    (end ??= new Promise((resolve) =>
      afterTurn(() => {
        end = undefined
        Object.assign(spent, none())
        let places = came > flood ? came >> 1 : turnBudget.requests
        came = 0
        while (places > 0 && waiting.size > 0) {
          const { begin, isGone } = waiting.next()!
          if (!isGone()) {
            places--
            spend(place)
          }
          begin()
        }
        resolve()
      }),
    ))
  const fits = ([unit, count]: Piece): boolean => spent[unit] === 0 || spent[unit] + count <= turnBudget[unit]
  const spend = ([unit, count]: Piece): void => {
    void endOfTurn()
    spent[unit] += count
    total[unit] += count
    most[unit] = Math.max(most[unit], spent[unit])
  }
  function run<T>(work: InPieces<T>): T | Promise<T> {
    for (;;) {
      const { done, value } = work.next()
      if (done) return value
      if (!fits(value)) return runLater(work, value)
      spend(value)
    }
  }
  async function runLater<T>(work: InPieces<T>, next: Piece): Promise<T> {
    while (!fits(next)) await endOfTurn()
    spend(next)
    return run(work)
  }
  return {
    begin(mostWaiting = Infinity, { owner, isGone } = anybody) {
      came++
      if (waiting.size === 0 && fits(place)) {
        spend(place)
        return undefined
      }
      const own = owner()
      const isFair = waiting.size < 2 * mostWaiting && waiting.of(own) * waiting.owners < mostWaiting
      if (waiting.size >= mostWaiting && !isFair) return 'full'
      return new Promise((begin) => waiting.add(own, { begin, isGone }))
    },
    rush: () => (waiting.size > 0 ? endOfTurn() : undefined),
    run,
    counts: () =>
      Object.fromEntries(units.map((unit) => [unit, { total: total[unit], most: most[unit] }])) as ReturnType<Turns['counts']>,
  }
}

const anybody: Waiter = { owner: () => '', isGone: () => false }
const place: Piece = ['requests', 1]

const none = (): Record<Unit, number> => ({ requests: 0, bytes: 0, pairs: 0, nodes: 0, signatures: 0 })
