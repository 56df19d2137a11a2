import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openTurns } from '../../../src/delivery/turns.ts'

/** Which merchants a sweep of messages serves, over rows that are made up. */

function turnsOf(count: number) {
  const merchants = Array.from({ length: count }, (_, i) => ({ merchantId: BigInt(i + 1), dueAt: 10 }))
  const waiting = (after: bigint, limit: number) =>
    Promise.resolve(merchants.filter(({ merchantId }) => merchantId > after).slice(0, limit))
  return openTurns({ waiting }, { held: () => 0, blocked: () => [] })
}

test('with any number of merchants, each is served by a sweep before one of them is served again', async () => {
  const turns = turnsOf(600)
  const served: bigint[] = []
  for (let sweep = 0; sweep < 3; sweep++) served.push(...(await turns.next(20)).turns.map(({ merchantId }) => merchantId))
  assert.deepEqual([served.length, new Set(served).size], [600, 600])
  assert.equal((await turns.next(20)).turns[0]!.merchantId, 1n)
})

test('a sweep begins behind messages of blocked origins, and after the last of them at the oldest again', async () => {
  const turns = turnsOf(1)
  const from = async () => {
    const { turns: due } = await turns.next(20)
    return { due, at: due[0]!.from }
  }
  const first = await from()
  assert.equal(first.at, 0)
  turns.claimed(first.due, { taken: [], passedOver: [{ merchantId: 1n, until: 15 }] })
  const second = await from()
  assert.equal(second.at, 15)
  turns.claimed(second.due, { taken: [], passedOver: [] })
  assert.equal((await from()).at, 0)
})
