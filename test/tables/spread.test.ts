import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Spread, type SpreadBy } from '../../src/cli/spread.ts'

/** Which of several processes on one port accept connections. */

/**
 * What each does: a number says how busy it is, an object which part of its connections it has.
 * Nothing: it does not serve. 'silent': it says nothing.
 */
type Does = number | { held: number } | 'silent' | undefined

function loadOf(does: Exclude<Does, undefined>) {
  if (does === 'silent') return { busy: 0, held: 0, isSilent: true }
  return { busy: 0, held: 0, isSilent: false, ...(typeof does === 'number' ? { busy: does } : does) }
}

/** Looks every half second, and says what changed in each look that changed something. */
function open(by: SpreadBy = 'full') {
  const spread = new Spread(by)
  let now = 0
  const look = (all: readonly Does[], idle = 0.5) => {
    const serving = all.flatMap((does, slot) => (does === undefined ? [] : [{ slot, ...loadOf(does) }]))
    return Object.fromEntries(spread.look((now += 500), serving, idle))
  }
  /** Until something changes: after how many looks, and what. */
  const until = (all: readonly Does[], most = 2_000, idle?: number) => {
    for (let looks = 1; looks <= most; looks++) {
      const changes = look(all, idle)
      if (Object.keys(changes).length > 0) return { looks, changes }
    }
    return undefined
  }
  return { look, until, accepting: (count: number) => Array.from({ length: count }, (_, slot) => spread.accepts(slot)) }
}

const one = { shares: 1, leave: 0 }
const all = { shares: 2, leave: 0 }
const none = { shares: 0, leave: 1 }
const half = { shares: 1, leave: 0.5 }

test('the first process that serves accepts, with the shares of the others, which do not while it is not full', () => {
  const { look, until, accepting } = open()
  assert.deepEqual(look([]), {})
  assert.deepEqual(look([0]), { 0: one })
  assert.deepEqual(look([0, 0]), { 0: all })
  assert.equal(until([0.94, 0]), undefined)
  assert.deepEqual(accepting(2), [true, false])
})

test('when it is full for two seconds the next one accepts too, and gets half of the connections', () => {
  const { look, until } = open()
  look([0, 0])
  for (let i = 0; i < 3; i++) assert.deepEqual(look([0.95, 0]), {})
  assert.deepEqual(look([0.94, 0]), {}, 'it counts from the beginning again')
  assert.deepEqual(until([1, 0]), { looks: 4, changes: { 0: half, 1: half } })
})

test('where no processor is idle another process would only wait as well', () => {
  const { look, until } = open()
  look([0, 0])
  assert.equal(until([1, 0], 100, 0.49), undefined)
  for (let i = 0; i < 3; i++) look([1, 0])
  assert.deepEqual(look([1, 0], 0.49), {}, 'it counts from the beginning again')
  assert.deepEqual(until([1, 0]), { looks: 4, changes: { 0: half, 1: half } })
})

test('one that has all its connections is full too, however busy it is', () => {
  const { look, until } = open()
  look([0, 0])
  assert.equal(until([{ held: 0.94 }, 0], 100), undefined)
  assert.deepEqual(until([{ held: 0.95 }, 0], 100, 0), { looks: 4, changes: { 0: half, 1: half } })
  assert.equal(until([{ held: 0.5 }, { held: 0.45 }], 100), undefined, 'one could not hold them')
  assert.deepEqual(until([{ held: 0.5 }, { held: 0.44 }]), { looks: 1, changes: { 0: all, 1: none } })
})

test('of three the last one accepts when both others are full, and gets a third of each', () => {
  const { look, until } = open()
  look([0, 0, 0])
  until([1, 0, 0])
  assert.equal(until([1, 0.9, 0], 100), undefined)
  const third = { shares: 1, leave: 1 / 3 }
  assert.deepEqual(until([1, 1, 0]), { looks: 4, changes: { 0: third, 1: third, 2: third } })
  assert.equal(until([1, 1, 1], 100), undefined, 'there is no other')
})

test('after ten seconds one fewer is tried, unless there is too much for it', () => {
  const { look, until } = open()
  look([0, 0])
  until([1, 0])
  assert.equal(until([0.75, 0.75], 100), undefined, 'more than one could ever do')
  assert.deepEqual(until([0.7, 0.7]), { looks: 1, changes: { 0: all, 1: none } })
  until([1, 0])
  assert.deepEqual(until([0.6, 0.6]), { looks: 40, changes: { 0: all, 1: none } }, 'it was too few at once: after twenty')
})

test('each time that one fewer was not enough, the next try comes later, up to five minutes', () => {
  const { look, until } = open()
  look([0, 0])
  const tries = Array.from({ length: 8 }, () => {
    until([1, 0])
    return until([0.6, 0.6])!.looks / 2
  })
  assert.deepEqual(tries, [10, 20, 40, 80, 160, 320, 320, 320])
  assert.equal(until([0.9, 0], 40), undefined)
  until([1, 0])
  assert.equal(until([0.6, 0.6])!.looks / 2, 10, 'one was enough for a while')
})

test('while the one that accepts is silent another one does, until it is there again', () => {
  const { look, until, accepting } = open()
  look([0, 0])
  assert.deepEqual(look(['silent', 0]), { 0: one, 1: one })
  assert.equal(until(['silent', 0], 100), undefined)
  assert.deepEqual(look([0, 0]), { 0: all, 1: none })
  assert.deepEqual(look(['silent', 'silent']), {}, 'there is nobody else')
  assert.deepEqual(accepting(2), [true, false])
})

test('when the one that accepts ends another one does at once, and stays when it is started again', () => {
  const { look, until, accepting } = open()
  look([0, 0])
  assert.deepEqual(look([undefined, 0]), { 1: one })
  assert.deepEqual(look([0, 0]), { 1: all })
  assert.equal(until([0, 0], 100), undefined)
  assert.deepEqual(accepting(2), [false, true])
  assert.deepEqual(until([0, 1]), { looks: 4, changes: { 0: half, 1: half } })
  assert.deepEqual(look([undefined, undefined]), {})
  assert.deepEqual(accepting(2), [false, false])
})

test('of two that accept, one ends: the other one has its share too', () => {
  const { look, until } = open()
  look([0, 0])
  until([1, 0])
  assert.deepEqual(look([undefined, 0.5]), { 1: one })
})

test('spread evenly, all accept from their start, and leave none', () => {
  const { look, until, accepting } = open('even')
  assert.deepEqual(look([0]), { 0: one })
  assert.deepEqual(look([0, 0]), { 0: one, 1: one })
  assert.equal(until(['silent', 1], 100), undefined)
  assert.deepEqual(look([undefined, 0]), { 1: one })
  assert.deepEqual(accepting(2), [false, true])
})
