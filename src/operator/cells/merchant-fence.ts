/**
 * The fence around a merchant in a cell, as the command that moves it sets it: one constraint of
 * each table, with all merchants that are not there. To add it PostgreSQL waits for every
 * transaction that writes in that table, and whoever comes later finds the constraint. So there is
 * no statement in any commit for it. *Rejected:* a row that each commit reads.
 */
import { codeOf } from '../../base/error-code.ts'
import { statement, type Pool, type Runner, type Statement } from '../../storage/pool.ts'
import { fenceName } from '../../gateway/guard.ts'
import { transaction } from '../../storage/transaction.ts'
import { Refused } from '../refused.ts'
import { fencedTables } from './merchant-rows.ts'

/** A merchant, and the command that moves it. */
export interface Mover {
  merchantId: bigint
  mover: string
}

/**
 * How long a command waits for those who write in a table; all others wait behind it. PostgreSQL
 * stops its own cleaning of the table after one second.
 */
const lockMs = 1_500
const mostTries = 10

export const mark = statement<object>(`
  insert into merchant_mover (merchant_id, mover) values ($1, $2)
  on conflict (merchant_id) do update set mover = excluded.mover`)
export const unmark = statement<object>(`delete from merchant_mover where merchant_id = $1 and mover = $2`)
/** The command itself passes the fence. */
const hold = statement<object>(
  `select set_config('tollgate.moves', 'on', true) from merchant_mover where merchant_id = $1 and mover = $2 for update`,
)
/** Citus waits for the locks of other nodes without a limit of its own; a statement has one. */
const hurry = statement<object>(
  `select set_config('lock_timeout', $1, true), set_config('statement_timeout', $1::int * 4 || 'ms', true)`,
)
const fenced = statement<{ name: string; definition: string }>(`
  select conrelid::regclass::text as name, pg_get_constraintdef(oid) as definition from pg_constraint
  where conrelid = any ($1::text[]::regclass[]) and conname = $2`)

const each = (text: (table: string) => string) => new Map(fencedTables.map((table) => [table, statement<object>(text(table))]))
const lock = each((table) => `lock table ${table} in access exclusive mode`)
const drop = each((table) => `alter table ${table} drop constraint if exists ${fenceName}`)

/** A lease in them shows what runs. In the order in which the save of an order locks them. */
const leased = ['orders', 'transaction', 'delivery', 'mobile_invoice'] as const
const others = fencedTables.filter((table) => !leased.some((one) => one === table))
/** A process without a heartbeat is dead: what it had goes along, and is free in the new cell. */
const running = statement<{ steps: number }>(
  `select (${leased
    .map(
      (table) => `(select count(*) from ${table} t where t.merchant_id = $1 and t.due_at is not null and t.lease is not null
    and exists (select from heartbeat h where h.process_id = t.lease))`,
    )
    .join(' + ')})::int as steps`,
)

/** A transaction in one of the cells, if no other command has taken the move over. */
export const heldIn = <T>(pool: Pool, { merchantId, mover }: Mover, body: (runner: Runner) => Promise<T>): Promise<T> =>
  transaction(pool, async (runner) => {
    if ((await runner.run(hold, [merchantId, mover])).length === 0) throw new Refused({ what: 'move taken over' })
    return body(runner)
  })

/** The merchants that are not there, by table. */
async function fencesIn(runner: Runner, tables: readonly string[]): Promise<(table: string) => bigint[]> {
  const found = await runner.run(fenced, [tables, fenceName])
  return (table) => {
    const { definition = '' } = found.find(({ name }) => name === table) ?? {}
    const [, ids] = /'\{([0-9,]+)\}'/.exec(definition) ?? []
    return ids === undefined ? [] : ids.split(',').map(BigInt)
  }
}

/** Puts the fence around the merchant, or removes it, in every table. */
export async function setFence(pool: Pool, by: Mover, isThere: boolean): Promise<void> {
  const awayFrom = await fencesIn(pool, fencedTables)
  const isSet = (table: string) => awayFrom(table).includes(by.merchantId)
  for (const table of fencedTables.filter((one) => isSet(one) !== isThere))
    for (let tries = 1; ; tries++)
      try {
        await fenceTables(pool, by, [table], isThere)
        break
      } catch (error) {
        if (!isSlow(error)) throw error
        if (tries === mostTries) throw new Refused({ what: 'writers slow', forMs: mostTries * lockMs })
      }
}

/**
 * The fence, unless something of the merchant runs; resolves with how much that is. What runs is
 * looked for while no process can write, so that no step can begin in between, and none finds the
 * fence when it ends.
 */
export async function fenceQuiet(pool: Pool, by: Mover): Promise<number> {
  const steps = (runner: Pool | Runner) => runner.run(running, [by.merchantId]).then(([row]) => row!.steps)
  const before = await steps(pool)
  if (before > 0) return before
  try {
    const found = await fenceTables(pool, by, leased, true, steps)
    if (found > 0) return found
    for (const table of others) await fenceTables(pool, by, [table], true)
    return 0
  } catch (error) {
    if (isSlow(error)) return 1
    throw error
  }
}

/** Changes nothing, and resolves with what `still` finds, if that is not 0. */
const fenceTables = (
  pool: Pool,
  by: Mover,
  tables: readonly string[],
  isThere: boolean,
  still: (runner: Runner) => Promise<number> = () => Promise.resolve(0),
): Promise<number> =>
  heldIn(pool, by, async (runner) => {
    await runner.run(hurry, [String(lockMs)])
    for (const table of tables) await runner.run(lock.get(table)!)
    const found = await still(runner)
    if (found > 0) return found
    const awayFrom = await fencesIn(runner, tables)
    for (const table of tables) {
      const away = awayFrom(table)
      if (away.includes(by.merchantId) === isThere) continue
      const now = isThere ? [...away, by.merchantId] : away.filter((id) => id !== by.merchantId)
      await runner.run(drop.get(table)!)
      if (now.length > 0) await runner.run(add(table, now))
    }
    return 0
  })

/** Its text changes with the merchants, so no server may keep it as prepared. */
const add = (table: string, away: readonly bigint[]): Statement<object> => ({
  name: '',
  text: `alter table ${table} add constraint ${fenceName} check (merchant_id <> all ('{${away.join(',')}}'::bigint[])
    or coalesce(current_setting('tollgate.moves', true), '') = 'on') not valid`,
})

/** A lock that is not available, a statement that is cancelled, or a deadlock. */
const isSlow = (error: unknown): boolean => ['55P03', '57014', '40P01'].includes(codeOf(error))
