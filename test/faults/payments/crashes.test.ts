import assert from 'node:assert/strict'
import { test } from 'node:test'
import { booksAgree } from '../../harness/world/follow.ts'
import { payments } from './crash-payments.ts'
import { sums } from './crash-random-sums.ts'
import { desk, killsWith, stage } from './crash-scene.ts'
import { storm } from './crash-storm.ts'
import { secure } from './crash-three-d-secure.ts'
import { transfers } from './crash-transfers.ts'

/**
 * kill -9 of the gateway, five times, each with a row of everything that may be under way. The
 * simulators die too, but the acquirer keeps its books.
 */

const gate = (answerTimeoutMs: number) => desk.gate({ answerTimeoutMs, commissionFixedMinor: 35 })
const together = { concurrency: 32 }

test('killed without work in progress', together, async (t) => {
  await gate(15_000)
  const rows = [...payments.resting, ...transfers.resting, ...sums.resting, ...secure.resting]
  await killsWith(t, rows, sums.last)
})

test('killed with each message at the acquirer', together, async (t) => {
  await gate(10_000)
  const rows = [...payments.atAcquirer, ...transfers.atAcquirer, ...sums.atAcquirer, ...secure.atAcquirer]
  await killsWith(t, rows)
  const { byType } = await desk.messages()
  assert.deepEqual([byType['1201'] ?? 0, byType['1221'] ?? 0], [0, 0], 'nothing was repeated')
})

test('killed with each reversal in progress', together, async (t) => {
  await gate(2_500)
  await killsWith(t, [...payments.beingReversed, ...transfers.beingReversed])
})

test('no authorisation was sent after that kill, and each reversal once', async () => {
  const { byType, repeats, duplicates } = await desk.messages()
  const sent = (...types: string[]) => types.reduce((sum, type) => sum + (byType[type] ?? 0), 0)
  assert.deepEqual([sent('1100', '1200', '1201', '1220', '1221'), sent('1420', '1421')], [0, 6])
  assert.ok(repeats + duplicates <= 6)
})

test('killed while no order can be committed', together, async (t) => {
  await gate(15_000)
  await killsWith(t, [], sums.locked)
})

test('killed under load', together, async (t) => {
  await gate(6_000)
  const rows = [...payments.justAccepted, ...transfers.justAccepted, ...secure.justAccepted, ...storm]
  // What was just accepted is at the acquirer when the last row is under way.
  await desk.line({ latency_ms: 2_000 })
  await killsWith(t, rows)
})

test('in the end nothing is owed, both books are equal, no secret is left, and each outcome has one callback', async () => {
  await booksAgree(desk, 120_000)
  assert.deepEqual(await stage.leftovers('killed'), [])
})
