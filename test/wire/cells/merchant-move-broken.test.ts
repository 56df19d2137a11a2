import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemClock } from '../../../src/base/clock.ts'
import { useNonces } from '../../../src/merchant/nonce-rows.ts'
import { Refused } from '../../../src/operator/refused.ts'
import { statement } from '../../../src/storage/pool.ts'
import { guarded, isFenced, NotNow, type Guarded } from '../../../src/gateway/guard.ts'
import { transaction } from '../../../src/storage/transaction.ts'
import { approval, newSale } from '../../harness/world/door.ts'
import { closing } from '../../harness/world/opening.ts'
import { merchantId, openTwoCells, other } from '../../harness/postgres/two-cells.ts'
import { until } from '../../harness/clock/until.ts'

/** The command that moves a merchant waits, is cut off, overtaken and hindered. */

const cells = closing(await openTwoCells())
const { pools, doors, move, cutAt, before, cellOf, sell, storedIn, nextOrderId, stateOf } = cells

const refusal = (what: string) => (error: unknown) => error instanceof Refused && error.refusal.what === what
const statusIn = async (cellNo: number, orderId: bigint) =>
  (await storedIn(cellNo)).find((row) => row.order_id === orderId)?.status
const nonce = (name: string) => ({ merchantId, nonce: name, timestampSeconds: 0, now: systemClock.now() })

test('rows committed during the copy reach the new cell', async () => {
  const from = await cellOf()
  const sold: bigint[] = [await sell(true)]
  await move(other(from), async (step) => {
    if (step.is === 'copying') sold.push(await sell(true))
  })
  assert.ok(sold.length >= 3)
  for (const id of sold) assert.equal(await statusIn(other(from), id), 'approved')
})

test('a step that runs is waited for, and its outcome is in the new cell', async () => {
  const from = await cellOf()
  const open = await sell(false)
  const steps: number[] = []
  await move(other(from), async (step) => {
    if (step.is !== 'waiting') return
    steps.push(step.steps)
    assert.equal(await statusIn(other(from), open), 'processing')
    await doors[from].submit(approval(newSale(open).order))
  })
  assert.deepEqual(steps, [1])
  assert.equal(await statusIn(other(from), open), 'approved')
})

test('a step of a process that is gone goes along, and the new cell may take it up', async () => {
  const from = await cellOf()
  const open = await sell(false)
  const gone = statement<object>(`update orders set lease = 99 where merchant_id = 1 and order_id = $1`)
  await pools[from].run(gone, [open])
  await move(other(from))
  assert.equal(await statusIn(other(from), open), 'processing')
  await doors[other(from)].submit(approval(newSale(open).order))
})

test('a pause that would be too long ends, and the merchant goes on where it is', async () => {
  const from = await cellOf()
  const open = await sell(false)
  await assert.rejects(
    move(other(from), () => {}, { atMostMs: 300 }),
    refusal('pause too long'),
  )
  assert.deepEqual([await cellOf(), await stateOf()], [from, 'copying'])
  await doors[from].submit(approval(newSale(open).order))
  const sold = await sell(true)
  await move(other(from))
  for (const id of [open, sold]) assert.equal(await statusIn(other(from), id), 'approved')
})

const waitsForLock = statement<{ waits: boolean }>(`
  select exists (select from pg_locks l where not l.granted and l.relation = 'orders'::regclass
    and l.database = (select oid from pg_database where datname = current_database())) as waits`)

test('the move waits for a running transaction, and copies it', async () => {
  const from = await cellOf()
  const pool = pools[from]
  const orderId = await sell(true)
  let hold: Promise<void> | undefined
  const write = (isInside: () => void) =>
    transaction(pool, async (runner) => {
      await runner.run(statement(`update orders set version = version + 100 where merchant_id = 1 and order_id = $1`), [orderId])
      assert.deepEqual(await useNonces(runner, [nonce('in the midst')]), [true])
      isInside()
      await until(
        () => pool.run(waitsForLock),
        ([row]) => row!.waits,
      )
    })
  await move(other(from), async (step) => {
    if (step.is === 'closed')
      await new Promise<void>((resolve) => {
        hold = write(resolve)
      })
  })
  await hold
  const row = (await storedIn(other(from))).find((one) => one.order_id === orderId)
  assert.ok(row!.version > 100, `version ${row!.version}`)
  assert.deepEqual(await useNonces(pools[other(from)], [nonce('in the midst')]), [false], 'the nonce was forgotten')
})

test('no row of a merchant that has left is committed in the old cell, and other merchants go on', async () => {
  const from = await cellOf()
  const to = other(from)
  const made = await sell(true)
  const neighbour = newSale(nextOrderId())
  await move(to, async (step) => {
    if (step.is !== 'moved') return
    const stood = await storedIn(from)
    const late = newSale(nextOrderId())
    const ofAnother = { ...neighbour, order: { ...neighbour.order, merchantId: 2n } }
    const [refused, done] = await Promise.allSettled([doors[from].submit(late), doors[from].submit(ofAnother)])
    assert.ok(refused.status === 'rejected' && isFenced(refused.reason), JSON.stringify(refused))
    assert.equal(done.status, 'fulfilled')
    // A process that has not read of the move: nothing was done, and it says so.
    const registry = { current: () => ({ merchant: () => ({ cellNo: from }) }) } as never
    const { door } = guarded({ door: doors[from] } as Guarded, { cellNo: from, registry, clock: systemClock })
    await assert.rejects(door.submit(newSale(nextOrderId())), NotNow)
    const change = statement<object>(`update orders set lease = 1, due_at = now() where merchant_id = 1 and order_id = $1`)
    await assert.rejects(pools[from].run(change, [made]), isFenced)
    await assert.rejects(useNonces(pools[from], [nonce('late')]), isFenced)
    assert.deepEqual(await storedIn(from), stood)
  })
  assert.deepEqual(await storedIn(from), [])
  await assert.rejects(useNonces(pools[from], [nonce('late')]), isFenced)
  assert.deepEqual(await useNonces(pools[to], [nonce('late')]), [true])
  // It comes back, and works there again.
  await move(from)
  assert.deepEqual(await useNonces(pools[from], [nonce('late')]), [false])
  assert.ok(await statusIn(from, await sell(true)))
})

test('gateways write nothing of a merchant in the cell where it is about to arrive', async () => {
  const from = await cellOf()
  let tried = false
  await move(other(from), async (step) => {
    if (step.is !== 'copying' && step.is !== 'closed') return
    tried = true
    await assert.rejects(doors[other(from)].submit(newSale(nextOrderId())), isFenced)
  })
  assert.ok(tried)
})

test('rows already in the new cell are not copied again, and rows gone from the old one are removed', async () => {
  const from = await cellOf()
  const to = other(from)
  await sell(true)
  assert.deepEqual(await useNonces(pools[from], [nonce('expired')]), [true])
  // In the pause: everything is copied.
  const cut = before('lock table orders', () => Promise.reject(new Error('cut off')))
  await assert.rejects(move(to, undefined, { through: cut }), /cut off/)
  const [count] = await pools[to].run(
    statement<{ count: number }>(`select count(*)::int as count from nonce where nonce = 'expired'`),
  )
  assert.equal(count!.count, 1)
  await pools[from].run(statement(`delete from nonce where nonce = 'expired'`))
  const copies: string[] = []
  const seen = cells.watching((text) => text.includes('json_populate_recordset') && copies.push(text))
  await move(to, undefined, { through: seen })
  assert.deepEqual(copies, [])
  assert.deepEqual(await useNonces(pools[to], [nonce('expired')]), [true])
})

test('a second command takes the move over, and the first one ends', async () => {
  const from = await cellOf()
  const to = other(from)
  const stood = await storedIn(from)
  let second: Promise<unknown> | undefined
  const first = move(to, async (step) => {
    if (step.is === 'copying') await (second ??= move(to))
  })
  await assert.rejects(first, refusal('move taken over'))
  await second
  assert.deepEqual(await storedIn(to), stood)
  assert.deepEqual(await storedIn(from), [])
})

test('a command that is late writes nothing in a cell that another one has opened', async () => {
  const from = await cellOf()
  const to = other(from)
  const stood = await storedIn(from)
  const late = before('row_to_json', () => move(to))
  await assert.rejects(move(to, undefined, { through: late }), refusal('move taken over'))
  assert.deepEqual(await storedIn(to), stood)
  assert.equal(await stateOf(), undefined)
})

// The last one: it sells until the limits of the merchant filter its sales.
test('cut off anywhere, the command goes on when it is given again, and no row is lost', async () => {
  for (let i = 0; i < 3; i++) await sell(true)
  let to = other(await cellOf())
  for (let at = 0; ; at += 9) {
    const known = await storedIn(1 - to)
    const { through, ran } = cutAt(at)
    const cut = await move(to, undefined, { through }).catch((error: unknown) => error)
    if (!(cut instanceof Error)) {
      assert.ok(ran() > 100, `a move of ${ran()} statements`)
      break
    }
    const cell = await cellOf()
    const sold = await sell(true)
    const later = await storedIn(cell)
    await move(to)
    assert.deepEqual([await cellOf(), await stateOf()], [to, undefined])
    const rows = await storedIn(to)
    const ids = new Set(rows.map((row) => row.order_id))
    for (const { order_id: id } of [...known, ...later]) assert.ok(ids.has(id), `order ${id} is lost after a cut at ${at}`)
    assert.equal(
      ids.has(sold),
      later.some((row) => row.order_id === sold),
    )
    for (const row of rows) assert.equal(row.keys, 1n, `the name of order ${row.order_id} after a cut at ${at}`)
    assert.deepEqual(await storedIn(1 - to), [], `a cut at ${at} left rows behind`)
    to = other(to)
  }
})
