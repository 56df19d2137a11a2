/** Who works on the rows of a merchant, before and after it has moved to another cell. */
import { statement, type Pool, type Runner } from '../../storage/pool.ts'
import { deadAfterMs } from '../../leases/heartbeat.ts'
import type { RowMove } from './merchant-rows.ts'

const processes = statement<{ process_id: bigint; instance: string; started_at: string; age_ms: number; alive: boolean }>(`
  select process_id, instance, started_at::text as started_at,
    (extract(epoch from now() - beat_at) * 1000)::float8 as age_ms, beat_at > now() - $1::int * interval '1 millisecond' as alive
  from heartbeat order by started_at desc`)
const bury = statement<object>(`
  insert into heartbeat (process_id, instance, started_at, beat_at)
  values ($1, $2, $3::timestamptz, now() - $4::float8 * interval '1 millisecond') on conflict do nothing`)
const leased = ['orders', 'transaction', 'delivery', 'mobile_invoice']
const leases = statement<{ lease: bigint }>(
  leased
    .map((table) => `select lease from ${table} where merchant_id = $1 and due_at is not null and lease is not null`)
    .join(' union '),
)
const giveLeases = leased.map((table) =>
  statement<object>(`update ${table} set lease = $3 where merchant_id = $1 and due_at is not null and lease = $2`),
)
const endings = leased.map((table) =>
  statement<object>(
    `update ${table} set ${table === 'orders' ? 'version = version + 1, ' : ''}lease = null
     where merchant_id = $1 and due_at is not null`,
  ),
)

/** Who works on the merchant's rows, and the same process in the new cell if it is alive there. */
export async function ownersOf(merchantId: bigint, from: Pool, to: Pool) {
  const [held, old, fresh] = await Promise.all([
    from.run(leases, [merchantId]),
    from.run(processes, [deadAfterMs]),
    to.run(processes, [deadAfterMs]),
  ])
  return held.map(({ lease }) => {
    const owner = old.find((one) => one.process_id === lease)
    const there = owner?.alive ? fresh.find(({ alive, instance }) => alive && instance === owner.instance) : undefined
    return { lease, owner, there }
  })
}

/**
 * A process has another number in each cell. A row that it works on stays its own; those of a dead
 * one keep its number, with its heartbeat, so that the new cell is as patient as the old one.
 */
export async function giveLeasesOn({ merchantId, from, to, write }: RowMove): Promise<void> {
  const owners = await ownersOf(merchantId, from, to)
  await write(async (runner) => {
    for (const { lease, owner, there } of owners) {
      if (there) for (const give of giveLeases) await runner.run(give, [merchantId, lease, there.process_id])
      else if (owner) await runner.run(bury, [lease, owner.instance, owner.started_at, owner.age_ms])
    }
  })
}

/** In the old cell: a process that was late asks the old rows whether a step is still its own. */
export async function endLeases(runner: Runner, merchantId: bigint): Promise<void> {
  for (const end of endings) await runner.run(end, [merchantId])
}
