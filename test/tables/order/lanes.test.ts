import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import type { Clock } from '../../../src/base/clock.ts'
import { openLanes, type LaneSettings } from '../../../src/delivery/lanes.ts'
import { capacityOf, roomIn } from '../../../src/delivery/capacity.ts'

/**
 * Lanes of one merchant (`all`: of any) on a clock that is moved, with small numbers; `started` and
 * `dropped` are what they did.
 */
function lanes(settings: Partial<LaneSettings<string>> = {}) {
  let nowMs = 1_000
  const clock: Clock = { now: () => nowMs, monotonic: () => nowMs, after: () => () => {} }
  const started: string[] = []
  const dropped: string[] = []
  const usual = {
    perLane: 2,
    queuePerLane: 8,
    callsOfMerchant: 100,
    breakAfter: 3,
    maxLanes: 100,
    lanesOfMerchant: 50,
    firstPauseMs: 100,
    longestPauseMs: 1_000,
  }
  const opened = openLanes<string>({
    clock,
    capacity: capacityOf(1_000),
    mostPerLane: settings.perLane ?? usual.perLane,
    ...usual,
    start: (job) => void started.push(job),
    drop: (job) => void dropped.push(job),
    ...settings,
  })
  return {
    all: opened,
    put: (origin: string, job: string) => opened.put(1n, origin, job),
    ended: (origin: string, how: 'well' | 'badly' | 'unsaid') => opened.ended(1n, origin, how),
    blocked: () => opened.blocked(1n),
    size: opened.size,
    started,
    dropped,
    pass: (ms: number) => (nowMs += ms),
  }
}

type Lanes = ReturnType<typeof lanes>

/** Fails one job after another until the lane is open. */
function breakLane(l: Lanes, origin: string, times = 3): void {
  for (let i = 0; i < times; i++) {
    assert.ok(l.put(origin, `bad ${i}`))
    l.ended(origin, 'badly')
  }
}

/** How long a lane that is open stays so, to the millisecond. */
function pauseLeft(l: Lanes, origin: string): number {
  let waited = 0
  while (l.blocked().includes(origin)) {
    l.pass(1)
    waited++
    assert.ok(waited <= 120_000, 'a lane that never opens again')
  }
  return waited
}

test('a lane has a limit of calls, and the next starts when one ends', () => {
  const l = lanes()
  for (const job of ['a', 'b', 'c', 'd']) assert.ok(l.put('one', job))
  assert.deepEqual(l.started, ['a', 'b'])
  l.ended('one', 'well')
  assert.deepEqual(l.started, ['a', 'b', 'c'])
  l.ended('one', 'well')
  l.ended('one', 'well')
  l.ended('one', 'well')
  assert.deepEqual(l.started, ['a', 'b', 'c', 'd'])
  assert.equal(l.size(), 0)
})

test('an origin that hangs delays no other', () => {
  const l = lanes()
  for (let i = 0; i < 20; i++) l.put('hangs', `h${i}`)
  assert.ok(l.put('well', 'w1'))
  assert.ok(l.put('well', 'w2'))
  assert.deepEqual(l.started, ['h0', 'h1', 'w1', 'w2'])
})

test('a full lane refuses, says beforehand that it is filling, and the jobs it refused do not count', () => {
  const l = lanes()
  const taken = Array.from({ length: 20 }, (_, i) => l.put('full', `f${i}`)).filter(Boolean).length
  assert.equal(taken, 2 + 8)
  assert.equal(l.size(), 10)
  assert.deepEqual(l.blocked(), ['full'])
})

test('after so many failures in a row nothing is sent until the pause is over', () => {
  const l = lanes()
  breakLane(l, 'bad')
  assert.deepEqual(l.blocked(), ['bad'])
  assert.equal(l.put('bad', 'more'), false)
  l.pass(99)
  assert.equal(l.put('bad', 'more'), false)
  l.pass(1)
  assert.deepEqual(l.blocked(), [])
  assert.ok(l.put('bad', 'probe'))
  assert.equal(l.started.at(-1), 'probe')
})

test('a success between failures keeps the lane closed', () => {
  const l = lanes()
  for (let round = 0; round < 10; round++) {
    breakLane(l, 'shaky', 2)
    assert.ok(l.put('shaky', 'good'))
    l.ended('shaky', 'well')
  }
  assert.deepEqual(l.blocked(), [])
})

test('waiting calls of a lane that opens are dropped, so that their rows are found again', () => {
  const l = lanes()
  for (let i = 0; i < 6; i++) l.put('bad', `j${i}`)
  for (let i = 0; i < 3; i++) l.ended('bad', 'badly')
  assert.deepEqual(l.started, ['j0', 'j1', 'j2', 'j3'])
  assert.deepEqual(l.dropped, ['j4', 'j5'])
  assert.equal(l.size(), 1)
  l.ended('bad', 'badly')
  assert.equal(l.size(), 0)
})

test('after the pause one call at a time probes; a success lets all through again', () => {
  const l = lanes()
  breakLane(l, 'bad')
  l.pass(100)
  for (const job of ['p1', 'p2', 'p3']) assert.ok(l.put('bad', job))
  assert.deepEqual(l.started.slice(3), ['p1'])
  l.ended('bad', 'well')
  assert.deepEqual(l.started.slice(3), ['p1', 'p2', 'p3'])
})

test('a probe that fails opens the lane again, twice as long each time, up to the bound', () => {
  const l = lanes()
  breakLane(l, 'bad')
  const seen = [pauseLeft(l, 'bad')]
  for (let i = 0; i < 6; i++) {
    assert.ok(l.put('bad', 'probe'))
    l.ended('bad', 'badly')
    seen.push(pauseLeft(l, 'bad'))
  }
  assert.deepEqual(seen, [100, 200, 400, 800, 1_000, 1_000, 1_000])
})

test('calls that were under way together and fail together open the lane once: the pause is the first one', () => {
  const l = lanes({ perLane: 32, queuePerLane: 64, breakAfter: 10 })
  for (let i = 0; i < 32; i++) l.put('gone', `j${i}`)
  for (let i = 0; i < 32; i++) l.ended('gone', 'badly')
  assert.equal(pauseLeft(l, 'gone'), 100)
})

test('a server that answers well gets one call more with each answer while more wait, and half of them after a failure', () => {
  const l = lanes({ perLane: 4, mostPerLane: 6, queuePerLane: 64 })
  const underWay = () => l.started.length - answered
  let answered = 0
  const end = (how: 'well' | 'badly' | 'unsaid') => {
    answered++
    l.ended('good', how)
  }
  for (let i = 0; i < 40; i++) l.put('good', `j${i}`)
  assert.equal(underWay(), 4)
  end('well')
  assert.equal(underWay(), 5)
  for (let i = 0; i < 3; i++) end('well')
  assert.equal(underWay(), 6, 'no more than the most')
  end('badly')
  end('unsaid')
  assert.equal(underWay(), 4, 'no fewer than at first')
  while (underWay() > 0) end('well')
  for (let i = 0; i < 40; i++) l.put('good', `k${i}`)
  assert.equal(underWay(), 4, 'an idle lane begins anew')
})

test('after a success the next pause is the first one again', () => {
  const l = lanes()
  breakLane(l, 'bad')
  l.pass(100)
  l.put('bad', 'probe')
  l.ended('bad', 'well')
  breakLane(l, 'bad')
  assert.equal(pauseLeft(l, 'bad'), 100)
})

test('in all cases there are never more calls than allowed, and every job starts once, is dropped, or waits', () => {
  type Act = { is: 'put' | 'well' | 'badly' | 'pass'; lane: number; ms: number }
  const act = fc.record<Act>({
    is: fc.constantFrom('put', 'put', 'well', 'badly', 'pass'),
    lane: fc.nat({ max: 2 }),
    ms: fc.nat({ max: 300 }),
  })
  fc.assert(
    fc.property(fc.array(act, { maxLength: 200 }), (acts) => {
      const active = [0, 0, 0]
      const l = lanes({ start: (job) => void active[Number(job[0])]!++, drop: () => void dropped++ })
      let dropped = 0
      let taken = 0
      let ended = 0
      for (const { is, lane, ms } of acts) {
        if (is === 'pass') l.pass(ms)
        else if (is === 'put') taken += l.put(String(lane), `${lane} job`) ? 1 : 0
        else if (active[lane]! > 0) {
          active[lane]!--
          ended++
          l.ended(String(lane), is === 'well' ? 'well' : 'badly')
        }
        for (const count of active) assert.ok(count <= 2)
        assert.equal(l.size(), taken - ended - dropped)
      }
    }),
  )
})

// oxfmt-ignore
const rooms: readonly (readonly [why: string, all: number, taken: number, held: number, room: number])[] = [
  ['nothing is taken',                                    3_000,     0,     0, 2_250],
  ['one merchant has nearly all that is open to him',     3_000, 2_249, 2_249,     1],
  ['one merchant has all that is open to him',            3_000, 2_250, 2_250,     0],
  ['another comes then',                                  3_000, 2_250,     0,    64],
  ['he has one place less than few',                      3_000, 2_900,    63,     1],
  ['he has as many as are few',                           3_000, 2_900,    64,     0],
  ['fewer places are left than he may take',              3_000, 2_990,     0,    10],
  ['all are taken',                                       3_000, 3_000,     0,     0],
  ['few places in all',                                       8,     6,     0,     1],
]

test('a quarter of all places is open only to merchants who hold few', () => {
  for (const [why, all, taken, held, room] of rooms) assert.equal(roomIn(capacityOf(all), taken, held), room, why)
})

test('a merchant with many hanging origins leaves a quarter of all places, and others take them immediately', () => {
  const l = lanes({ capacity: capacityOf(400), perLane: 32, queuePerLane: 64, callsOfMerchant: 400 }).all
  let held = 0
  while (l.put(1n, `host ${held}`, 'hangs')) held++
  assert.equal(held, 300)
  for (let n = 0; n < 50; n++) assert.ok(l.put(2n, 'shop', 'callback'), `message ${n} of the other`)
  assert.equal(l.put(2n, 'shop', 'callback'), false)
  assert.ok(l.put(3n, 'shop', 'callback'))
  l.ended(1n, 'host 0', 'badly')
  assert.equal(l.put(1n, 'host 0', 'again'), false, 'what he gives back is not his again while others have what was common')
})

test('merchants with the same origin have lanes of their own: one who makes it fail closes nothing for the other', () => {
  const l = lanes().all
  for (let n = 0; n < 3; n++) {
    assert.ok(l.put(1n, 'platform', 'bad'))
    l.ended(1n, 'platform', 'badly')
  }
  assert.deepEqual([l.blocked(1n), l.blocked(2n)], [['platform'], []])
  assert.ok(l.put(2n, 'platform', 'good'))
})

test('a merchant has a limit of calls over all his origins, which then take turns, and others keep theirs', () => {
  const l = lanes({ perLane: 2, callsOfMerchant: 3 })
  for (const job of ['a1', 'a2', 'a3', 'a4']) l.put('a', job)
  for (const job of ['b1', 'b2']) l.put('b', job)
  l.put('c', 'c1')
  assert.deepEqual(l.started, ['a1', 'a2', 'b1'])
  l.all.put(2n, 'a', 'other')
  assert.equal(l.started.at(-1), 'other')
  l.ended('a', 'well')
  l.ended('a', 'well')
  l.ended('b', 'well')
  assert.deepEqual(l.started.slice(4), ['b2', 'c1', 'a3'])
  for (const origin of ['b', 'c', 'a']) l.ended(origin, 'well')
  assert.deepEqual(l.started.slice(7), ['a4'])
  l.ended('a', 'well')
  assert.equal(l.size(), 1)
})

test('a limited number of failed origins is remembered of each merchant, and the oldest forgotten first', () => {
  const l = lanes({ maxLanes: 12, lanesOfMerchant: 10, breakAfter: 1, firstPauseMs: 100 })
  const fail = (merchantId: bigint, origin: string) => {
    assert.ok(l.all.put(merchantId, origin, 'bad'))
    l.all.ended(merchantId, origin, 'badly')
  }
  fail(2n, 'shop')
  l.pass(100)
  for (let n = 0; n < 1_000; n++) {
    fail(1n, `host ${n}`)
    l.pass(100)
  }
  // A lane that is remembered is probed by one call at a time, one that is forgotten has two.
  const started = (merchantId: bigint, origin: string) => {
    const before = l.started.length
    for (let n = 0; n < 2; n++) l.all.put(merchantId, origin, 'again')
    return l.started.length - before
  }
  assert.deepEqual([started(2n, 'shop'), started(1n, 'host 990'), started(1n, 'host 989')], [1, 1, 2])
})
