import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { openLog } from '../../../src/base/log.ts'
import { whileRestarting } from '../../../src/storage/patience.ts'
import { openHandClock } from '../../harness/clock/hand-clock.ts'

const log = openLog({ level: 'fatal', destination: process.stderr })
const away = Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' })

/** Begins a start; each try takes so long, and ends as its row says. The last row is done again. */
async function begun(tries: readonly { takesMs: number; ends: 'away' | 'away once reached' | 'well' | 'wrong' }[]) {
  const clock = openHandClock(0)
  let tried = 0
  const end: { over?: { value: string } | { error: Error } } = {}
  const start = async (reached: () => void) => {
    const { takesMs, ends } = tries[Math.min(tried++, tries.length - 1)]!
    if (ends === 'away once reached') reached()
    clock.pass(takesMs)
    if (ends === 'well') return 'started'
    throw ends === 'wrong' ? new Error('no such table') : away
  }
  whileRestarting(start, { clock, log }).then(
    (value) => (end.over = { value }),
    (error: Error) => (end.over = { error }),
  )
  for (; end.over === undefined; clock.pass(100)) {
    assert.ok(clock.monotonic() < 3_600_000, 'it ends')
    await turn()
  }
  return { tried, over: end.over, atMs: clock.monotonic() }
}

test('a start that finds no database is tried again for a minute, then says why', async () => {
  const { over, atMs } = await begun([{ takesMs: 10, ends: 'away' }])
  assert.deepEqual(over, { error: away })
  assert.ok(atMs > 55_000 && atMs < 62_000, `after ${atMs} ms`)
})

test('the minute begins again each time that the database was reached', async () => {
  const long = { takesMs: 50_000, ends: 'away once reached' } as const
  const { over, tried } = await begun([long, long, long, { takesMs: 50_000, ends: 'well' }])
  assert.deepEqual(over, { value: 'started' })
  assert.equal(tried, 4)
})

test('any other failure is reported without another try', async () => {
  const { over, tried } = await begun([{ takesMs: 10, ends: 'wrong' }])
  assert.match(String('error' in over && over.error), /no such table/)
  assert.equal(tried, 1)
})
