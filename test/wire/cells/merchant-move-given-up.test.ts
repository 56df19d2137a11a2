import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Refused } from '../../../src/operator/refused.ts'
import { cellWork } from '../../../src/operator/doctor/work-rows.ts'
import { statement } from '../../../src/storage/pool.ts'
import { admit } from '../../../src/storage/store-fence.ts'
import { transaction } from '../../../src/storage/transaction.ts'
import { closing } from '../../harness/world/opening.ts'
import { merchantId, openTwoCells, other } from '../../harness/postgres/two-cells.ts'

/** Moves that are given up, or meet another command at the worst moment. */

const { before, cellOf, cutAt, giveUp, move, pools, sell, storedIn } = closing(await openTwoCells())

const refusal = (what: string) => (error: unknown) => error instanceof Refused && error.refusal.what === what
const movingOf = async (cellNo: 0 | 1) => (await cellWork(pools[cellNo], pools[0], cellNo)).moving
const notes = statement<object>('select from merchant_move_note')
const idsIn = async (cellNo: number) => (await storedIn(cellNo)).map((row) => row.order_id)

test('a merchant that does not move has no move to give up', async () => {
  await assert.rejects(giveUp(), refusal('not moving'))
})

test('a merchant that comes back while its old rows are removed keeps all its orders', async () => {
  const from = await cellOf()
  const orderId = await sell(true)
  await move(other(from), async (step) => {
    if (step.is === 'clearing' && (await cellOf()) !== from) await move(from)
  })
  assert.equal(await cellOf(), from)
  assert.deepEqual(await idsIn(from), [orderId])
})

test('a command that began when another was about to open the new cell does not close it again', async () => {
  const from = await cellOf()
  const stood = await idsIn(from)
  const late = before('insert into merchant_move as m', () => move(other(from)))
  // The late one has seen a move that was cut off, and the other one finishes that meanwhile.
  await assert.rejects(move(other(from), undefined, cutAt(20).through), /cut off/)
  await assert.rejects(move(other(from), undefined, late), refusal('move taken over'))
  assert.equal(await cellOf(), other(from))
  assert.deepEqual(await idsIn(other(from)), stood)
  const sold = await sell(true)
  assert.deepEqual(await idsIn(other(from)), [...stood, sold])
})

test('cut off anywhere, the move can be given up until the new cell works for the merchant', async () => {
  let kept = 0
  let tooFar = 0
  for (let at = 0; ; at += 3) {
    const from = await cellOf()
    const to = other(from)
    const { through } = cutAt(at)
    const cut = await move(to, undefined, through).catch((error: unknown) => error)
    if (!(cut instanceof Error)) break
    if ((await cellOf()) === to) continue
    // Noted, unless the old cell is closed already.
    await sell(true)
    const known = await idsIn(from)
    const seen = (await movingOf(from)).map(({ state }) => state)
    const given = await giveUp().catch((error: unknown) => error)
    if (refusal('move too far')(given)) {
      tooFar++
      assert.deepEqual(seen, ['left'])
      await move(to)
      assert.deepEqual(await idsIn(to), known)
      continue
    }
    if (given instanceof Error) assert.ok(refusal('not moving')(given), String(given))
    else kept++
    assert.equal(seen.length > 0 || (await movingOf(to)).length > 0, !(given instanceof Error), `after a cut at ${at}`)
    assert.equal(await cellOf(), from)
    assert.deepEqual(await idsIn(from), known, `after a cut at ${at}`)
    assert.deepEqual(await idsIn(to), [], `after a cut at ${at}`)
    assert.deepEqual(await pools[from].run(notes), [], `after a cut at ${at}`)
    const sold = await sell(true)
    assert.deepEqual(await idsIn(from), [...known, sold])
  }
  assert.ok(kept > 12, `given up ${kept} times`)
  assert.ok(tooFar > 0)
})

test('a move that was given up writes nothing more', async () => {
  const from = await cellOf()
  const stood = await idsIn(from)
  const first = move(other(from), async (step) => {
    if (step.is === 'catching up') await giveUp()
  })
  await assert.rejects(first, refusal('move taken over'))
  assert.deepEqual([await cellOf(), await idsIn(from), await idsIn(other(from))], [from, stood, []])
})

for (const moment of ['before the copy', 'in the pause'] as const)
  test(`a writer that does not end ${moment} makes the command refuse, and nothing of the move is left`, async () => {
    const from = await cellOf()
    const stood = await idsIn(from)
    let end = () => {}
    const ended = new Promise<void>((resolve) => (end = resolve))
    let writing: Promise<void> | undefined
    const write = () =>
      new Promise<void>((isInside) => {
        writing = transaction(pools[from], async (runner) => {
          await admit(runner, [{ merchantId, orderId: stood[0]! }])
          isInside()
          await ended
        })
      })
    if (moment === 'before the copy') await write()
    const moved = move(other(from), async (step) => {
      if (step.is === 'catching up' && !writing) await write()
    })
    await assert.rejects(moved, refusal('writers slow'))
    for (const cellNo of [0, 1] as const) assert.deepEqual(await movingOf(cellNo), [])
    end()
    await writing
    assert.deepEqual([await cellOf(), await idsIn(from), await idsIn(other(from))], [from, stood, []])
  })
