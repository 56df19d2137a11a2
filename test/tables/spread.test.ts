import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Spread, type SpreadBy } from '../../src/cli/spread.ts'

/** Which of several processes on one port accept connections. */

/**
 * What each does: a number says how busy it is, an object which part of its connections it has.
 * Nothing: it does not serve. 'silent': it says nothing.
 */
type Does = number | { connectionsUsed: number } | 'silent' | undefined

function loadOf(does: Exclude<Does, undefined>) {
  if (does === 'silent') return { busy: 0, connectionsUsed: 0, isSilent: true }
  return { busy: 0, connectionsUsed: 0, isSilent: false, ...(typeof does === 'number' ? { busy: does } : does) }
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

const one = { accepts: true, shares: 1, handsOver: 0 }
const all = { accepts: true, shares: 2, handsOver: 0 }
const none = { accepts: false, shares: 0, handsOver: 1 }
const half = { accepts: true, shares: 1, handsOver: 0.5 }

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
  assert.deepEqual(until([1, 0]), { looks: 4, changes: { 0: half, 1: one } })
})

test('where no processor is idle another process would only wait as well', () => {
  const { look, until } = open()
  look([0, 0])
  assert.equal(until([1, 0], 100, 0.49), undefined)
  for (let i = 0; i < 3; i++) look([1, 0])
  assert.deepEqual(look([1, 0], 0.49), {}, 'it counts from the beginning again')
  assert.deepEqual(until([1, 0]), { looks: 4, changes: { 0: half, 1: one } })
})

test('one that has all its connections accepts no others, and the next one does at once', () => {
  const { look, until, accepting } = open()
  look([0, 0])
  assert.equal(until([{ connectionsUsed: 0.94 }, 0], 100), undefined)
  assert.deepEqual(until([{ connectionsUsed: 0.95 }, 0], 100, 0), {
    looks: 1,
    changes: { 0: { ...half, accepts: false }, 1: one },
  })
  assert.deepEqual(look([{ connectionsUsed: 0.5 }, { connectionsUsed: 0.45 }]), { 0: one })
  assert.equal(until([{ connectionsUsed: 0.5 }, { connectionsUsed: 0.45 }], 100), undefined, 'one could not hold them')
  assert.deepEqual(until([{ connectionsUsed: 0.5 }, { connectionsUsed: 0.44 }]), { looks: 1, changes: { 0: all, 1: none } })
  look([{ connectionsUsed: 1 }, 0])
  look([{ connectionsUsed: 1 }, { connectionsUsed: 1 }])
  assert.deepEqual(accepting(2), [true, true], 'where none has room all refuse')
})

test('of three the last one accepts when both others are full, and gets a third of each', () => {
  const { look, until } = open()
  look([0, 0, 0])
  until([1, 0, 0])
  assert.equal(until([1, 0.9, 0], 100), undefined)
  const third = { accepts: true, shares: 1, handsOver: 1 / 3 }
  assert.deepEqual(until([1, 1, 0]), { looks: 4, changes: { 0: third, 1: third, 2: one } })
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

/** So many that all accept. */
function openFull(count: number) {
  const opened = open()
  opened.look(Array.from({ length: count }, () => 0))
  for (let full = 1; full < count; full++) opened.until(Array.from({ length: count }, (_, slot) => (slot < full ? 1 : 0)))
  return opened
}

// What sixteen do that are barely full, 15.2, fifteen may do: they stay because they are full.
for (const count of [2, 8, 16])
  test(`${count} processes that are full all stay`, () => {
    const { until, accepting } = openFull(count)
    const full = Array.from({ length: count }, () => 0.95)
    assert.equal(until(full), undefined)
    assert.ok(accepting(count).every((accepts) => accepts))
  })

test('of eight that are not full one at a time is given up, where seven may be enough', () => {
  const { until } = openFull(8)
  const at = (seven: number, last: number) => [...Array.from({ length: 7 }, () => seven), last]
  assert.equal(until(at(0.93, 0.93)), undefined, '7.44 are too much')
  const fewer = until(at(0.9, 0.9))!
  assert.deepEqual([fewer.looks, fewer.changes[7]], [1, none])
  assert.equal(until(at(0.9, 0.2), 19), undefined, 'the next one ten seconds later')
  assert.ok(until(at(0.9, 0), 1))
})

test('while the one that accepts is silent another one does, until it is there again', () => {
  const { look, until, accepting } = open()
  look([0, 0])
  assert.deepEqual(look(['silent', 0]), { 0: { ...one, accepts: false }, 1: one })
  assert.equal(until(['silent', 0], 100), undefined)
  assert.deepEqual(look([0, 0]), { 0: all, 1: none })
  look(['silent', 'silent'])
  assert.deepEqual(accepting(2), [true, false], 'there is nobody else')
})

test('when the one that accepts ends another one does at once, and stays when it is started again', () => {
  const { look, until, accepting } = open()
  look([0, 0])
  assert.deepEqual(look([undefined, 0]), { 1: one })
  assert.deepEqual(look([0, 0]), { 1: all })
  assert.equal(until([0, 0], 100), undefined)
  assert.deepEqual(accepting(2), [false, true])
  assert.deepEqual(until([0, 1]), { looks: 4, changes: { 0: one, 1: half } })
  assert.deepEqual(look([undefined, undefined]), {})
  assert.deepEqual(accepting(2), [false, false])
})

test('of two that accept, one ends: the other one has its share too', () => {
  const { look, until } = open()
  look([0, 0, 0])
  until([1, 0, 0])
  assert.deepEqual(look([undefined, 0.5, 0]), { 1: all })
})

test('spread evenly, all accept from their start, and leave none', () => {
  const { look, until, accepting } = open('even')
  assert.deepEqual(look([0]), { 0: one })
  assert.deepEqual(look([0, 0]), { 1: one })
  assert.equal(until(['silent', 1], 100), undefined)
  assert.deepEqual(look([undefined, 0]), {})
  assert.deepEqual(accepting(2), [false, true])
})
