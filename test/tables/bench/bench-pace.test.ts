// How the bench begins sales: in a closed loop, or by a clock that waits for none.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { percentile } from '../../../bench/figures/figures.ts'
import { byClock, closedLoop } from '../../../bench/load/pace.ts'

/** `open` lets those go on that wait for `opened`. */
function gate() {
  let open = () => {}
  const opened = new Promise<void>((resolve) => (open = resolve))
  return { open: () => open(), opened }
}

test('a closed loop keeps its number in flight, and ends with the last sale', async () => {
  let [under, most, ended] = [0, 0, 0]
  const pace = closedLoop(4)
  await pace.run(
    async () => {
      most = Math.max(most, ++under)
      await pause(1)
      under--
      ended++
    },
    () => ended >= 20,
  )
  assert.equal(most, 4)
  assert.equal(under, 0)
  assert.ok(ended >= 20 && ended < 24, `${ended} ended`)
})

test('by a clock, sales begin regardless of earlier ones, and each records how late it began', async () => {
  const hanging = gate()
  const lates: number[] = []
  const pace = byClock(1_000, 1_000, () => assert.fail('there is room'))
  const began = performance.now()
  await pace.run(
    (lateMs) => {
      lates.push(lateMs)
      if (lates.length === 50) hanging.open()
      return hanging.opened
    },
    () => lates.length >= 50,
  )
  const tookMs = performance.now() - began
  assert.equal(pace.most(), 50)
  assert.ok(tookMs >= 49, `50 sales at 1,000 a second in ${tookMs} ms`)
  // Sale n was to begin after n ms: the last one at 49.
  assert.ok(lates.every((late) => late >= 0 && late <= tookMs))
  assert.ok(lates.at(-1)! <= tookMs - 49)
})

test('with as many in flight as allowed no further sale begins, and the rate is not carried', async () => {
  const hanging = gate()
  let [begun, overruns] = [0, 0]
  const pace = byClock(100_000, 7, () => {
    overruns++
    hanging.open()
    return 'stop'
  })
  await pace.run(
    () => {
      begun++
      return hanging.opened
    },
    () => false,
  )
  assert.deepEqual({ begun, overruns, most: pace.most() }, { begun: 7, overruns: 1, most: 7 })
})

test('a clock that goes on leaves out what is due while as many as allowed are in flight', async () => {
  const hanging = gate()
  let [begun, leftOut] = [0, 0]
  const pace = byClock(1_000, 7, () => {
    if (++leftOut === 20) hanging.open()
    return 'go on'
  })
  await pace.run(
    () => {
      begun++
      return hanging.opened
    },
    () => begun >= 40,
  )
  assert.deepEqual({ begun, most: pace.most() }, { begun: 40, most: 7 })
  assert.ok(leftOut >= 20, `${leftOut} left out`)
})

test('a percentile is a value that was seen, the one below which that share lies', () => {
  const thousand = Array.from({ length: 1_000 }, (_, i) => i + 1)
  assert.equal(percentile(thousand, 0.5), 500)
  assert.equal(percentile(thousand, 0.99), 990)
  assert.equal(percentile(thousand, 0.999), 999)
  assert.equal(percentile([7], 0.999), 7)
  assert.equal(percentile([], 0.5), undefined)
})
