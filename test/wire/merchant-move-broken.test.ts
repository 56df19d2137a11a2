import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { systemClock, type Clock } from '../../src/base/clock.ts'
import { systemRandom } from '../../src/base/random.ts'
import { useNonces } from '../../src/merchant/store-nonces.ts'
import type { CellDesk, OrderDesk } from '../../src/operator/desk.ts'
import { Refused } from '../../src/operator/refused.ts'
import { moveMerchant, type MoveStep } from '../../src/operator/store-merchant-move.ts'
import type { Door } from '../../src/order/advance.ts'
import { createCell } from '../../src/storage/migrate.ts'
import { openPool, statement, type Pool } from '../../src/storage/pool.ts'
import { insertCell } from '../../src/storage/store-cells.ts'
import { admit, MerchantLeft } from '../../src/storage/store-fence.ts'
import { transaction } from '../../src/storage/transaction.ts'
import { approval, doorOn, log, newSale, openDoorGround } from '../harness/door.ts'
import { openHeartbeat } from '../harness/heartbeat.ts'
import { until } from '../harness/until.ts'

/**
 * The command that moves a merchant is cut off, overtaken and hindered. A door stands at each of
 * two cells; nobody does the steps of its orders.
 */

const closes: (() => unknown)[] = []
const merchantId = 1n
let pools: readonly [Pool, Pool]
let doors: readonly [Door, Door]
let nextId = 1_000n

/** Nobody waits for gateways to read the configuration: there are none. */
const clock: Clock = { ...systemClock, after: (_ms, fn) => systemClock.after(0, fn) }

before(async () => {
  const { pool, processId, url } = await openDoorGround(closes)
  const opened = openPool({ url, schema: 'cell_1', connections: 4, use: 'oltp', log })
  closes.push(() => opened.close())
  pools = [pool, opened]
  await createCell({ cell: opened, installation: pool, schema: 'cell_1' }, systemClock.now())
  await insertCell(pool, { cellNo: 1 }, systemClock.now())
  const there = await openHeartbeat(opened, 2n, 'place of the door', systemClock, log)
  closes.push(there.stop)
  await pool.run({
    name: '',
    text: `insert into merchant (merchant_id, login, name, enabled, control_key_sealed, control_key_version, created_at)
           values (1, 'shop', 'Shop', true, '', 1, now())`,
  })
  doors = [
    doorOn({ pool, straight: pool, processId, onStep: () => {} }),
    doorOn({ pool: opened, straight: pool, processId: there.processId, onStep: () => {} }),
  ]
  closes.push(() => Promise.all(doors.map((door) => door.close())))
})
after(async () => {
  for (const close of closes.reverse()) await close()
})

const deskOver = ([pool, cell]: readonly [Pool, Pool]): OrderDesk => ({
  pool,
  cells: () =>
    Promise.resolve<readonly CellDesk[]>([
      { cellNo: 0, pool },
      { cellNo: 1, pool: cell },
    ]),
  clock,
  random: systemRandom,
  who: 'a test',
})

const move = (to: number, report: (step: MoveStep) => void | Promise<void> = () => {}, through = pools) =>
  moveMerchant(deskOver(through), { login: 'shop', to, report })

/** Everything fails from this statement on, as if the command were killed. */
function cutAt(count: number): { through: readonly [Pool, Pool]; ran: () => number } {
  let ran = 0
  const step = <T>(go: () => Promise<T>): Promise<T> =>
    ran++ >= count ? Promise.reject(new Error('the command was cut off')) : go()
  const cut = (pool: Pool): Pool => ({
    run: (...args) => step(() => pool.run(...args)),
    close: () => pool.close(),
    async connect() {
      const connection = await pool.connect()
      return {
        run: (...args) => step(() => connection.run(...args)),
        command: (text) => step(() => connection.command(text)),
        release: (broken) => connection.release(broken || ran > count),
      }
    },
  })
  return { through: [cut(pools[0]), cut(pools[1])], ran: () => ran }
}

const other = (cellNo: 0 | 1): 0 | 1 => (cellNo === 0 ? 1 : 0)
const cellOf = async (): Promise<0 | 1> => {
  const [row] = await pools[0].run(statement<{ cell_no: 0 | 1 }>('select cell_no from merchant where merchant_id = 1'))
  return row!.cell_no
}

/** In the cell of the configuration; nothing is sold there if the merchant has left it. */
async function sell(isApproved: boolean): Promise<bigint> {
  const orderId = nextId++
  const sale = newSale(orderId)
  const at = await cellOf()
  const go = async (door: Door) => {
    await door.submit(sale)
    if (isApproved) await door.submit(approval(sale.order))
  }
  await go(doors[at]).catch((error) => {
    if (error instanceof MerchantLeft) return
    throw error
  })
  return orderId
}

const stored = statement<{ order_id: bigint; status: string; version: number; events: bigint; keys: bigint }>(`
  select o.order_id, o.status, o.version,
    (select count(*) from order_event e where e.merchant_id = o.merchant_id and e.order_id = o.order_id) as events,
    (select count(*) from order_key k where k.merchant_id = o.merchant_id and k.order_id = o.order_id) as keys
  from orders o where o.merchant_id = 1 order by o.order_id`)
const storedIn = (cellNo: number) => pools[cellNo]!.run(stored)

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
    const saves = [doors[from].submit(newSale(nextId++)), doors[from].submit(approval(newSale(open).order))]
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
