import assert from 'node:assert/strict'
import { test } from 'node:test'
import { drawIds } from '../../../src/storage/ids.ts'

test('returned ids are used first, the lowest before the others, so that ids rise', async () => {
  let next = 1n
  const ids = drawIds(() => Promise.resolve((next += 10n) - 10n), 10)
  const take = async (n: number) => {
    const taken: bigint[] = []
    for (let i = 0; i < n; i++) taken.push(await ids.take())
    return taken
  }
  const [, ...unused] = await take(4)
  assert.deepEqual(unused, [2n, 3n, 4n])
  ids.giveBack(unused)
  assert.deepEqual(await take(4), [2n, 3n, 4n, 5n])
  ids.giveBack([5n])
  ids.giveBack([3n])
  assert.deepEqual(await take(8), [3n, 5n, 6n, 7n, 8n, 9n, 10n, 11n])
})

test('the rest of an old block is not used, nor are the ids returned from it', async () => {
  let [next, now] = [1n, 0]
  const fetched: number[] = []
  const fetch = () => {
    fetched.push(now)
    return Promise.resolve((next += 10n) - 10n)
  }
  const ids = drawIds(fetch, 10, { monotonic: () => now, staleAfterMs: 60 })
  assert.equal(await ids.take(), 1n)
  now = 60
  assert.equal(await ids.take(), 2n)
  ids.giveBack([2n])
  now = 61
  assert.equal(await ids.take(), 11n)
  assert.deepEqual(fetched, [0, 61])
  for (const id of [12n, 13n, 14n, 15n, 16n, 17n, 18n, 19n]) assert.equal(await ids.take(), id)
  // The next block was fetched ahead, and gets old before this one is used up.
  assert.deepEqual(fetched, [0, 61, 61])
  now = 122
  assert.equal(await ids.take(), 31n)
})
