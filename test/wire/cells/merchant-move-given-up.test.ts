import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Refused } from '../../../src/operator/refused.ts'
import { cellWork } from '../../../src/operator/cells/cell-work.ts'
import { statement } from '../../../src/storage/pool.ts'
import { transaction } from '../../../src/storage/transaction.ts'
import { closing } from '../../harness/world/opening.ts'
import { openTwoCells, other } from '../../harness/postgres/two-cells.ts'

/** Moves that are given up, or meet another command at the worst moment. */

const { cellOf, cutAt, giveUp, move, pools, sell, stateOf, storedIn } = closing(await openTwoCells())

const refusal = (what: string) => (error: unknown) => error instanceof Refused && error.refusal.what === what
const movingIn = async (cellNo: 0 | 1) => (await cellWork(pools[cellNo], pools[0], cellNo)).moving
const idsIn = async (cellNo: number) => (await storedIn(cellNo)).map((row) => row.order_id)

test('a merchant that does not move has no move to give up', async () => {
  await assert.rejects(giveUp(), refusal('not moving'))
})

test('a merchant that comes back while its old rows are removed keeps all its orders', async () => {
  const from = await cellOf()
  const orderId = await sell(true)
  await assert.rejects(
    move(other(from), async (step) => {
      if (step.is === 'clearing' && (await cellOf()) !== from) await move(from)
    }),
    refusal('move taken over'),
  )
  assert.deepEqual([await cellOf(), await idsIn(from), await idsIn(other(from))], [from, [orderId], []])
})

test('cut off anywhere, the move can be given up until the configuration names the new cell', async () => {
  let kept = 0
  let tooFar = 0
  for (let at = 0; ; at += 13) {
    const from = await cellOf()
    const to = other(from)
    const { through } = cutAt(at)
    const cut = await move(to, undefined, { through }).catch((error: unknown) => error)
    if (!(cut instanceof Error)) break
    const state = await stateOf()
    assert.deepEqual(
      (await movingIn(await cellOf())).map((one) => one.state),
      state === undefined ? [] : [state],
    )
    if ((await cellOf()) === to) {
      tooFar++
      await assert.rejects(giveUp(), refusal(state === undefined ? 'not moving' : 'move too far'))
      await move(to)
      continue
    }
    await sell(true)
    const known = await idsIn(from)
    if (state === undefined) await assert.rejects(giveUp(), refusal('not moving'))
    else {
      kept++
      await giveUp()
    }
    assert.deepEqual([await cellOf(), await stateOf()], [from, undefined])
    assert.deepEqual([await idsIn(from), await idsIn(to)], [known, []], `after a cut at ${at}`)
    const sold = await sell(true)
    assert.deepEqual(await idsIn(from), [...known, sold])
  }
  assert.ok(kept > 12, `given up ${kept} times`)
  assert.ok(tooFar > 0)
})

for (const moment of ['copying', 'closed'] as const)
  test(`a move that was given up while ${moment} writes nothing more`, async () => {
    const from = await cellOf()
    const stood = await idsIn(from)
    let isGivenUp = false
    const first = move(other(from), async (step) => {
      if (step.is !== moment || isGivenUp) return
      isGivenUp = true
      await giveUp()
    })
    await assert.rejects(first, refusal('move taken over'))
    assert.deepEqual([await cellOf(), await idsIn(from), await idsIn(other(from))], [from, stood, []])
    assert.deepEqual(await idsIn(from), stood)
    await sell(true)
  })

test('a writer that does not end makes the pause too long, and the merchant goes on', async () => {
  const from = await cellOf()
  const stood = await idsIn(from)
  let end = () => {}
  const ended = new Promise<void>((resolve) => (end = resolve))
  let writing: Promise<void> | undefined
  const write = () =>
    new Promise<void>((isInside) => {
      writing = transaction(pools[from], async (runner) => {
        await runner.run(statement(`update orders set version = version where merchant_id = 1 and order_id = $1`), [stood[0]!])
        isInside()
        await ended
      })
    })
  const moved = move(
    other(from),
    async (step) => {
      if (step.is === 'closed') await write()
    },
    { atMostMs: 500 },
  )
  await assert.rejects(moved, refusal('pause too long'))
  assert.equal(await stateOf(), 'copying')
  end()
  await writing
  await sell(true)
  await giveUp()
  assert.deepEqual([await cellOf(), await idsIn(other(from))], [from, []])
})
