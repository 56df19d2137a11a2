import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemClock } from '../../../src/base/clock.ts'
import type { Invoice } from '../../../src/mobile-api/invoice/invoice.ts'
import { openInvoiceStore } from '../../../src/mobile-api/invoice/store.ts'
import { openWrongSums } from '../../../src/mobile-api/sum/store.ts'
import { openOrderStore } from '../../../src/order/store/store.ts'
import { openReferenceStore } from '../../../src/card/reference-rows.ts'
import { systemRandom } from '../../../src/base/random.ts'
import { openFixedKeys } from '../../harness/world/fixed-keys.ts'
import { useNonces } from '../../../src/merchant/nonce-rows.ts'
import { Refused } from '../../../src/operator/refused.ts'
import { statement } from '../../../src/storage/pool.ts'
import { admit, MerchantLeft } from '../../../src/storage/store-fence.ts'
import { transaction } from '../../../src/storage/transaction.ts'
import { approval, newSale } from '../../harness/world/door.ts'
import { merchantId, openTwoCells, other } from '../../harness/postgres/two-cells.ts'
import { closing } from '../../harness/world/opening.ts'
import { until } from '../../harness/clock/until.ts'

/** The command that moves a merchant is cut off, overtaken and hindered. */

const { pools, doors, move, cutAt, cellOf, sell, storedIn, nextOrderId } = closing(await openTwoCells())

test('what is committed while rows are copied is in the new cell', async () => {
  const from = await cellOf()
  const to = other(from)
  const open = await sell(false)
  const sold: bigint[] = []
  await move(to, async (step) => {
    if (step.is !== 'copying' && step.is !== 'catching up') return
    sold.push(await sell(true))
    if (sold.length === 1) await doors[from].submit(approval(newSale(open).order))
  })
  assert.ok(sold.length >= 2)
  const rows = new Map((await storedIn(to)).map((row) => [row.order_id, row.status]))
  assert.deepEqual(
    [open, ...sold].map((id) => rows.get(id)),
    [open, ...sold].map(() => 'approved'),
  )
})

const waitsForLock = statement<{ waits: boolean }>(`
  select exists (select from pg_locks l where not l.granted and l.relation = 'merchant_move'::regclass) as waits`)

for (const moment of ['before the copy', 'before the end'] as const)
  test(`a transaction that is in its midst ${moment} is waited for, and copied`, async () => {
    const from = await cellOf()
    const to = other(from)
    const pool = pools[from]
    const orderId = await sell(true)
    const use = { merchantId, nonce: `used ${moment}`, timestampSeconds: 0, now: systemClock.now() }
    let hold: Promise<void> | undefined
    let isInside = () => {}
    const inside = new Promise<void>((resolve) => (isInside = resolve))
    const write = () =>
      transaction(pool, async (runner) => {
        await admit(runner, [{ merchantId, orderId }])
        await runner.run(statement(`update orders set version = version + 100 where merchant_id = 1 and order_id = $1`), [
          orderId,
        ])
        assert.deepEqual(await useNonces(runner, [use]), [true])
        isInside()
        const [waits] = await until(
          () => pool.run(waitsForLock),
          ([row]) => row!.waits,
        )
        assert.ok(waits!.waits)
      })
    if (moment === 'before the copy') {
      hold = write()
      await inside
    }
    await move(to, async (step) => {
      if (moment !== 'before the end' || step.is !== 'catching up' || hold) return
      hold = write()
      await inside
    })
    await hold
    const row = (await storedIn(to)).find((one) => one.order_id === orderId)
    assert.ok(row!.version > 100, `version ${row!.version}`)
    assert.deepEqual(await useNonces(pools[to], [use]), [false], 'the nonce was forgotten')
  })

test('nothing of a merchant that has left is committed in the old cell', async () => {
  const from = await cellOf()
  const to = other(from)
  const open = await sell(false)
  const left = (error: unknown) => error instanceof MerchantLeft && error.merchantId === merchantId
  await move(to, async (step) => {
    if (step.is !== 'moved') return
    const stood = await storedIn(from)
    const saves = [doors[from].submit(newSale(nextOrderId())), doors[from].submit(approval(newSale(open).order))]
    for (const save of saves) await assert.rejects(save, left)
    assert.deepEqual(await storedIn(from), stood)
  })
  assert.deepEqual(await storedIn(from), [])
  const use = { merchantId, nonce: 'once', timestampSeconds: 0, now: systemClock.now() }
  const [answer] = await useNonces(pools[from], [use])
  assert.ok(left(answer))
  assert.deepEqual(await useNonces(pools[to], [use]), [true])
  await doors[to].submit(approval(newSale(open).order))
  assert.equal((await storedIn(to)).find((row) => row.order_id === open)?.status, 'approved')
})

test('what is not found in the cell that its merchant has left may be in the new one', async () => {
  const from = await cellOf()
  const pool = pools[from]
  const orderId = await sell(true)
  const { order } = newSale(orderId)
  await move(other(from))
  const orderKey = { merchantId, orderId }
  const orders = openOrderStore(pool)
  const keys = openFixedKeys(systemRandom)
  const invoices = openInvoiceStore(pool, keys, systemRandom)
  const references = openReferenceStore(pool)
  const invoice = { merchantId, invoiceId: 'none' } as Invoice
  const answer = { answerNo: 1, sumMinor: 1n, cardHashes: ['none'] as const }
  const reads: Readonly<Record<string, () => Promise<unknown>>> = {
    order: () => orders.load([orderKey]),
    'what a status shows': () => orders.shown([orderKey]),
    'signed amounts': () => orders.signedAmounts(orderKey),
    card: () => orders.sealedCards([orderKey]),
    name: () => orders.newestOrders([order]),
    invoice: () => invoices.find([invoice]),
    'invoice by its page': () => invoices.findByPage(merchantId, 'none'),
    'sum of an invoice': () => openWrongSums(pool, keys).answer(invoice, answer, 1n, systemClock.now()),
    'card that paid': () => references.find([{ merchantId, cardRefId: 4n }]),
    'card to be credited': () => references.findDestination(merchantId, 4n),
  }
  for (const [what, read] of Object.entries(reads)) await assert.rejects(read(), MerchantLeft, what)
  const there = openOrderStore(pools[other(from)])
  assert.equal((await there.load([orderKey])).length, 1)
  assert.equal((await there.signedAmounts(orderKey))?.length, 2)
  assert.deepEqual(await there.load([{ merchantId, orderId: 1n }]), [])
  assert.equal(await there.signedAmounts({ merchantId, orderId: 1n }), undefined)
})

test('a nonce that was used before the move is used in the new cell', async () => {
  const from = await cellOf()
  const use = { merchantId, nonce: 'used before', timestampSeconds: 0, now: systemClock.now() }
  assert.deepEqual(await useNonces(pools[from], [use]), [true])
  await move(other(from))
  assert.deepEqual(await useNonces(pools[other(from)], [use]), [false])
})

test('a second command takes the move over, and the first one ends', async () => {
  const from = await cellOf()
  const to = other(from)
  const stood = await storedIn(from)
  let second: Promise<unknown> | undefined
  const first = move(to, async (step) => {
    if (step.is === 'copying') await (second ??= move(to))
  })
  await assert.rejects(first, (error: unknown) => error instanceof Refused && error.refusal.what === 'move taken over')
  await second
  assert.deepEqual(
    (await storedIn(to)).map((row) => row.order_id),
    stood.map((row) => row.order_id),
  )
  assert.deepEqual(await storedIn(from), [])
})

// The last one: it sells until the limits of the merchant filter its sales.
test('cut off at any statement, the command goes on when it is given again, and no row is lost', async () => {
  for (let i = 0; i < 4; i++) await sell(i < 3)
  let to: 0 | 1 = 1
  for (let at = 0; ; at++) {
    const known = await storedIn(1 - to)
    const { through, ran } = cutAt(at)
    const cut = await move(to, undefined, through).catch((error: unknown) => error)
    if (!(cut instanceof Error)) {
      assert.ok(ran() > 60, `a move of ${ran()} statements`)
      break
    }
    assert.match(String(cut), /cut off/)
    const cell = await cellOf()
    const sold = await sell(at % 2 === 0)
    const later = cell === to ? [] : await storedIn(cell)
    await move(to)
    assert.equal(await cellOf(), to)
    const ids = new Set((await storedIn(to)).map((row) => row.order_id))
    for (const { order_id: id } of [...known, ...later]) assert.ok(ids.has(id), `order ${id} is lost after a cut at ${at}`)
    if (cell === to) assert.ok(ids.has(sold))
    for (const row of await storedIn(to)) assert.equal(row.keys, 1n, `the name of order ${row.order_id} after a cut at ${at}`)
    assert.deepEqual(await storedIn(1 - to), [], `a cut at ${at} left rows behind`)
    to = other(to)
  }
})
