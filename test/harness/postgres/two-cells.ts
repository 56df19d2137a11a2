import { systemClock, type Clock } from '../../../src/base/clock.ts'
import { systemRandom } from '../../../src/base/random.ts'
import type { MoveState } from '../../../src/merchant/merchant.ts'
import type { CellDesk, OrderDesk } from '../../../src/operator/desk.ts'
import type { MoveStep } from '../../../src/operator/cells/merchant-move.ts'
import { giveUpMove, moveMerchant } from '../../../src/operator/cells/move-tables.ts'
import type { Door } from '../../../src/order/door/advance.ts'
import { createCell } from '../../../src/storage/migrate.ts'
import { openPool, statement, type Pool, type Runner } from '../../../src/storage/pool.ts'
import { insertCell } from '../../../src/storage/cell-rows.ts'
import { isFenced } from '../../../src/gateway/guard.ts'
import { approval, doorOn, log, newSale, openDoorGround } from '../world/door.ts'
import { openHeartbeat } from '../clock/heartbeat.ts'

export const merchantId = 1n

export const other = (cellNo: 0 | 1): 0 | 1 => (cellNo === 0 ? 1 : 0)

/** No step waits for gateways to read the configuration: there are none. */
const clock: Clock = { ...systemClock, after: (_ms, fn) => systemClock.after(0, fn) }

const stored = statement<{ order_id: bigint; status: string; version: number; events: bigint; keys: bigint }>(`
  select o.order_id, o.status, o.version,
    (select count(*) from order_event e where e.merchant_id = o.merchant_id and e.order_id = o.order_id) as events,
    (select count(*) from order_key k where k.merchant_id = o.merchant_id and k.order_id = o.order_id) as keys
  from orders o where o.merchant_id = 1 order by o.order_id`)
const cellOfMerchant = statement<{ cell_no: 0 | 1 }>('select cell_no from merchant where merchant_id = 1')

const stateOfMove = statement<{ state: MoveState }>('select state from merchant_move where merchant_id = 1')

/** The pools of two cells. */
export type Pools = readonly [Pool, Pool]

/** Goes on with a statement, or with the command of a transaction. */
type Step = <T>(text: string, go: () => Promise<T>) => Promise<T>

/** A merchant in one of two cells, with a door at each; no loop does the steps of its orders. */
export async function openTwoCells() {
  const closes: (() => unknown)[] = []
  const { pool, processId, url } = await openDoorGround(closes)
  const cell = openPool({ url, schema: 'cell_1', connections: 4, use: 'oltp', log })
  closes.push(() => cell.close())
  const pools: Pools = [pool, cell]
  await createCell({ cell, installation: pool, schema: 'cell_1' }, systemClock.now())
  await insertCell(pool, { cellNo: 1 }, systemClock.now())
  const there = await openHeartbeat(cell, 2n, 'place of the door', systemClock, log)
  closes.push(there.stop)
  await pool.run({
    name: '',
    text: `insert into merchant (merchant_id, login, name, enabled, control_key_sealed, control_key_version, created_at)
           values (1, 'shop', 'Shop', true, '', 1, now())`,
  })
  const doors: readonly [Door, Door] = [
    doorOn({ pool, straight: pool, processId, onStep: () => {} }),
    doorOn({ pool: cell, straight: pool, processId: there.processId, onStep: () => {} }),
  ]
  closes.push(() => Promise.all(doors.map((door) => door.close())))
  let lastOrderId = 1_000n
  const nextOrderId = () => ++lastOrderId
  const cellOf = async () => (await pool.run(cellOfMerchant))[0]!.cell_no
  /** How far the move is that the configuration has; undefined if it has none. */
  const stateOf = async () => (await pool.run(stateOfMove))[0]?.state

  return {
    pools,
    doors,
    nextOrderId,
    cellOf,
    stateOf,
    storedIn: (cellNo: number) => pools[cellNo]!.run(stored),
    move: (
      to: number,
      report: (step: MoveStep) => void | Promise<void> = () => {},
      { through = pools, atMostMs = 60_000 } = {},
    ) => moveMerchant(deskOver(through), { login: 'shop', to, pauseAtMostMs: atMostMs, report }),
    giveUp: (through = pools) => giveUpMove(deskOver(through), 'shop', () => {}),
    ...hindrancesOf(pools),
    /** In the cell of the configuration; nothing is sold there if the merchant has left it. */
    async sell(isApproved: boolean): Promise<bigint> {
      const orderId = nextOrderId()
      const sale = newSale(orderId)
      const go = async (door: Door) => {
        await door.submit(sale)
        if (isApproved) await door.submit(approval(sale.order))
      }
      await go(doors[await cellOf()]).catch((error) => {
        if (isFenced(error)) return
        throw error
      })
      return orderId
    },
    async close() {
      for (const close of closes.toReversed()) await close()
    },
  }
}

/** The pools, as a command that something happens to sees them. */
const hindrancesOf = (pools: Pools) => ({
  /** Everything fails from this statement on, as if the command were killed. */
  cutAt(count: number): { through: Pools; ran: () => number } {
    let ran = 0
    const step: Step = (_text, go) => (ran++ >= count ? Promise.reject(new Error('the command was cut off')) : go())
    return { through: poolsBy(pools, step, () => ran > count), ran: () => ran }
  },
  /** Something happens before the first statement that has this text. */
  before(part: string, happens: () => Promise<unknown>): Pools {
    let isOver = false
    const step: Step = async (text, go) => {
      if (!isOver && text.includes(part)) {
        isOver = true
        await happens()
      }
      return go()
    }
    return poolsBy(pools, step, () => false)
  },
  /** Sees every statement. */
  watching(sees: (text: string) => unknown): Pools {
    const step: Step = (text, go) => {
      sees(text)
      return go()
    }
    return poolsBy(pools, step, () => false)
  },
})

const deskOver = ([pool, cell]: Pools): OrderDesk => ({
  pool,
  cells: () =>
    Promise.resolve<readonly CellDesk[]>([
      { cellNo: 0, pool },
      { cellNo: 1, pool: cell },
    ]),
  clock,
  random: systemRandom,
  who: 'a test',
  action: 'a test',
})

/** The pools, as a command that this happens to sees them. */
function poolsBy([first, second]: Pools, step: Step, isBroken: () => boolean): Pools {
  const runBy =
    (runner: Runner): Runner['run'] =>
    (one, values) =>
      step(one.text, () => runner.run(one, values))
  const by = (pool: Pool): Pool => ({
    run: runBy(pool),
    close: () => pool.close(),
    async connect() {
      const connection = await pool.connect()
      return {
        run: runBy(connection),
        command: (text) => step(text, () => connection.command(text)),
        release: (broken) => connection.release(broken || isBroken()),
      }
    },
  })
  return [by(first), by(second)]
}
