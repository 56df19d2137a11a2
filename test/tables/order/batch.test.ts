import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemClock, type Clock } from '../../../src/base/clock.ts'
import { openLog } from '../../../src/base/log.ts'
import { until } from '../../harness/clock/until.ts'
import { openBatch, type BatchSettings } from '../../../src/storage/batch.ts'
import { failureOf } from '../../../src/storage/pool.ts'

const log = openLog({ level: 'silent', destination: process.stderr })

/** Waits end immediately, and still count as time; nothing else does. */
function quickClock(): Clock {
  let aheadMs = 0
  return {
    now: () => aheadMs,
    monotonic: () => aheadMs,
    after(delayMs, fn) {
      aheadMs += delayMs
      const timer = setImmediate(fn)
      return () => clearImmediate(timer)
    },
  }
}

const open = <R>(run: (items: number[]) => Promise<R[]>, settings: Partial<BatchSettings<number, R>> = {}) =>
  openBatch<number, R>({ name: 'test', run, maxItems: 8, lanes: 1, patienceMs: 1_000, clock: quickClock(), log, ...settings })

const databaseError = (code: string): Error => Object.assign(new Error(`failed with ${code}`), { code })
const upTo = (count: number): number[] => Array.from({ length: count }, (_, i) => i)

/** A run that fails a few times and then answers; `seen` are the batches it was given. */
function failing(error: () => Error, times: number) {
  const seen: number[][] = []
  const run = async (items: number[]): Promise<number[]> => {
    seen.push(items)
    if (seen.length <= times) throw error()
    return items.map((item) => item * 10)
  }
  return { seen, run }
}

test('each item gets its own result, in the order of the items', async () => {
  const batch = open(async (items) => items.map((item) => item * 10))
  assert.deepEqual(
    await Promise.all(upTo(30).map((i) => batch.submit(i))),
    upTo(30).map((i) => i * 10),
  )
})

test('entries submitted together share a batch; later ones gather for the next, up to the limit', async () => {
  const seen: number[][] = []
  const finish: (() => void)[] = []
  const batch = open(async (items) => {
    seen.push(items)
    await new Promise<void>((resolve) => finish.push(resolve))
    return items
  })
  const first = [0, 1, 2].map((i) => batch.submit(i))
  await new Promise(setImmediate)
  const later = upTo(12).map((i) => batch.submit(i + 100))
  assert.equal(batch.waiting(), 12)
  while (batch.counts().items < 15) {
    finish.shift()?.()
    await new Promise(setImmediate)
  }
  finish.shift()?.()
  await Promise.all([...first, ...later])
  assert.deepEqual(
    seen.map((items) => items.length),
    [3, 8, 4],
  )
  assert.deepEqual(batch.counts(), { batches: 3, items: 15 })
})

test('a large batch is answered a few items at a time, with turns for others between, and does not delay the next', async () => {
  const turns: (() => void)[] = []
  const clock = { ...quickClock(), after: (_delayMs: number, fn: () => void) => (turns.push(fn), () => {}) }
  const seen: number[] = []
  const run = async (items: number[]) => (seen.push(items.length), items)
  const batch = open(run, { clock, maxItems: 40 })
  const answered: number[] = []
  const all = Promise.all(upTo(50).map((i) => batch.submit(i).then((result) => answered.push(result))))
  await until(
    () => seen,
    (sizes) => sizes.length === 2,
  )
  await until(
    () => answered.length,
    (count) => count === 26,
  )
  assert.deepEqual(seen, [40, 10])
  for (const count of [42, 50]) {
    turns.shift()!()
    await until(
      () => answered.length,
      (now) => now >= count,
    )
    assert.equal(answered.length, count)
  }
  await all
  assert.deepEqual(
    answered.toSorted((a, b) => a - b),
    upTo(50),
  )
  assert.deepEqual(turns, [])
})

test('a small batch waits while more entries are coming, and one that is worth a commit does not', async () => {
  const turns: (() => void)[] = []
  const coming = { is: true }
  const rush = () => (coming.is ? new Promise<void>((resolve) => void turns.push(resolve)) : undefined)
  const seen: number[] = []
  const batch = open(async (items) => (seen.push(items.length), items), { rush, maxItems: 100 })
  const turn = () => (turns.shift()!(), new Promise(setImmediate))
  const few = upTo(2).map((i) => batch.submit(i))
  await turn()
  assert.deepEqual(seen, [])
  coming.is = false
  await turn()
  assert.deepEqual(seen, [2])
  coming.is = true
  const many = upTo(30).map((i) => batch.submit(i))
  await turn()
  many.push(...upTo(30).map((i) => batch.submit(i)))
  await turn()
  assert.deepEqual(seen, [2, 60])
  assert.deepEqual(turns, [])
  await Promise.all([...few, ...many])
})

test('an entry that never becomes an item of the batch does not delay it', async () => {
  let turns = 0
  const rush = () => (turns++, new Promise<void>((resolve) => setImmediate(resolve)))
  const batch = open(async (items) => items, { rush })
  assert.equal(await batch.submit(7), 7)
  assert.ok(turns > 1 && turns < 20, `${turns} turns`)
})

test('there are never more batches under way than lanes', async () => {
  let active = 0
  let most = 0
  const batch = open(
    async (items) => {
      most = Math.max(most, ++active)
      await new Promise(setImmediate)
      active--
      return items
    },
    { lanes: 2, maxItems: 4 },
  )
  await Promise.all(upTo(100).map((i) => batch.submit(i)))
  assert.equal(most, 2)
})

for (const code of ['40001', '40P01', '08006', '57P01', '53300', 'ECONNRESET']) {
  test(`after ${code} the same items are tried again, and their results come`, async () => {
    const { seen, run } = failing(() => databaseError(code), 3)
    const batch = open(run)
    assert.deepEqual(await Promise.all([1, 2, 3].map((i) => batch.submit(i))), [10, 20, 30])
    assert.deepEqual(seen, [
      [1, 2, 3],
      [1, 2, 3],
      [1, 2, 3],
      [1, 2, 3],
    ])
  })
}

test('a connection that stays lost fails the items after the patience, not before and not never', async () => {
  const { seen, run } = failing(() => databaseError('08006'), Infinity)
  const clock = quickClock()
  const began = clock.monotonic()
  await assert.rejects(open(run, { clock }).submit(1), /08006/)
  assert.ok(clock.monotonic() - began >= 1_000)
  assert.ok(seen.length > 3)
})

for (const code of ['XX000', '58030']) {
  test(`an internal error of the server (${code}) that passes fails no item`, async () => {
    const { seen, run } = failing(() => databaseError(code), 4)
    assert.deepEqual(await Promise.all([1, 2].map((i) => open(run).submit(i))), [10, 20])
    assert.deepEqual(seen, [[1], [2], [1], [2], [1], [2]])
  })

  test(`a permanent error (${code}) fails only the item that causes it, after five tries`, async () => {
    let tries = 0
    const batch = open(async (items) => {
      if (!items.includes(5)) return items
      if (items.length === 1) tries++
      throw databaseError(code)
    })
    const settled = await Promise.allSettled(upTo(8).map((i) => batch.submit(i)))
    assert.deepEqual(
      settled.map(({ status }) => status),
      upTo(8).map((i) => (i === 5 ? 'rejected' : 'fulfilled')),
    )
    assert.equal(tries, 5)
  })
}

for (const poisoned of [[0], [7], [3, 4], [0, 1, 2, 3, 4, 5, 6, 7]]) {
  test(`a data error fails only the items that carry it: ${poisoned.join(', ')} of eight`, async () => {
    const batch = open(async (items) => {
      if (items.some((item) => poisoned.includes(item))) throw databaseError('22001')
      return items.map((item) => item * 10)
    })
    const settled = await Promise.allSettled(upTo(8).map((i) => batch.submit(i)))
    for (const [i, result] of settled.entries())
      assert.equal(result.status, poisoned.includes(i) ? 'rejected' : 'fulfilled', `item ${i}`)
  })
}

test('an exception of the code itself fails only the item that causes it, whatever words its message has', async () => {
  const batch = open(async (items) => {
    if (items.includes(5)) throw new TypeError("Cannot read properties of undefined (reading 'sender')")
    return items
  })
  const settled = await Promise.allSettled(upTo(8).map((i) => batch.submit(i)))
  assert.deepEqual(
    settled.map(({ status }) => status),
    upTo(8).map((i) => (i === 5 ? 'rejected' : 'fulfilled')),
  )
})

// oxfmt-ignore
const failures: readonly (readonly [string, unknown, 'retry' | 'connection' | 'data'])[] = [
  ['a serialisation failure',         databaseError('40001'),                           'retry'],
  ['a deadlock',                      databaseError('40P01'),                           'retry'],
  ['an administrator\'s shutdown',    databaseError('57P01'),                           'connection'],
  ['a server that starts up',         databaseError('57P03'),                           'connection'],
  ['too many connections',            databaseError('53300'),                           'connection'],
  ['a socket reset',                  databaseError('ECONNRESET'),                      'connection'],
  ['a socket refused',                databaseError('ECONNREFUSED'),                    'connection'],
  ['the driver\'s own words',         new Error('Connection terminated unexpectedly'),  'connection'],
  ['no connection in time',           new Error('timeout exceeded when trying to connect'), 'connection'],
  ['a unique key',                    databaseError('23505'),                           'data'],
  ['a text that cannot be stored',    databaseError('22P05'),                           'data'],
  ['an argument of the wrong type',   databaseError('ERR_INVALID_ARG_TYPE'),            'data'],
  ['a defect',                        new TypeError('x is not a function'),             'data'],
  ['a defect with an awkward name',   new TypeError('pending.append is not a function'), 'data'],
  ['text that was cut off',           new SyntaxError('Unexpected end of JSON input'),  'data'],
  ['a thrown text',                   'broken',                                         'data'],
]
for (const [what, error, failure] of failures)
  test(`${what} is a failure of the kind ${failure}`, () => {
    assert.equal(failureOf(error), failure)
  })

test('close lets what is under way and what waits finish, and refuses the rest', async () => {
  const batch = open(
    async (items) => {
      await new Promise(setImmediate)
      return items
    },
    { maxItems: 2, clock: systemClock },
  )
  const under = upTo(6).map((i) => batch.submit(i))
  await batch.close()
  assert.deepEqual(await Promise.all(under), upTo(6))
  await assert.rejects(batch.submit(1), /closed/)
})
