import assert from 'node:assert/strict'
import { test } from 'node:test'
import { drawIds } from '../../src/storage/store-ids.ts'

test('ids that were given back come first, the lowest of them, so that they keep rising', async () => {
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
