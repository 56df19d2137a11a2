/** The attempts of a gate as they stand, and the ids that an acquirer has seen. */
import { deadAfterMs } from '../../leases/heartbeat.ts'
import { entities, statement, timestamp, type Runner } from '../../storage/pool.ts'
import { change } from '../change.ts'
import type { CellDesk, Desk } from '../desk.ts'
import { inEach } from '../in-cells.ts'
import type { GateEntry } from '../known.ts'
import type { Booked, Highest } from './reconcile.ts'

/**
 * A void takes back the payment of its order; everything else has an attempt under its own names.
 */
const attempts = entities<Booked>(`
  select a.merchant_id, a.order_id, a.transaction_no, t.kind, a.terminal_id, a.stan,
    date_trunc('second', a.started_at) as at, a.rrn, t.amount_minor, o.currency,
    case
      when a.outcome is null or t.state in ('unknown', 'returning') or v.state in ('owed', 'reversing') then 'open'
      when a.outcome in ('declined', 'not sent') then 'declined'
      when a.outcome = 'approved' and t.state in ('approved', 'crediting') and v.state is null then 'approved'
      else 'reversed' end as outcome
  from all_attempts a
  join all_transactions t using (merchant_id, order_id, transaction_no)
  join orders o using (merchant_id, order_id)
  left join transaction v on v.merchant_id = a.merchant_id and v.order_id = a.order_id and a.transaction_no = 1
    and v.kind in ('void', 'cancel') and v.state in ('owed', 'reversing', 'approved')
  where a.gate_id = $1 and a.terminal_id = $2 and a.started_at >= $3 and a.started_at < $4
    and t.kind not in ('reversal', 'void', 'cancel')`)

/**
 * In all cells: the attempts of a cell that is passed over would look lost. `from` and `to` are
 * whole seconds; `to` itself is not in it.
 */
export async function bookedOf(
  cells: readonly CellDesk[],
  { gate: { gateId, settings }, from, to }: { gate: GateEntry; from: number; to: number },
): Promise<Booked[]> {
  const values = [gateId, settings.terminalId, timestamp(from), timestamp(to)]
  return (await inEach(cells, ({ pool }) => pool.run(attempts, values))).flat()
}

/**
 * Processes reserve a thousand ids at a time and use them in turn, so that ids beyond the highest
 * at the acquirer may have been used too: for payments that never came there. This is room for a
 * hundred such blocks.
 */
const room = 100_000n

export interface BlockFacts {
  name: 'order' | 'attempt'
  next: bigint
  /** The highest that the acquirer has seen; new ids would be drawn again up to it. */
  seen: bigint
}

/** Beyond twelve digits the numbers of attempts begin again, and nothing can be compared. */
const blocks = statement<Omit<BlockFacts, 'seen'>>(`
  select name, next_id as next from id_block
  where name = 'order' or (name = 'attempt' and next_id < 1000000000000) order by name`)
const moveOn = statement<Omit<BlockFacts, 'seen'>>(`
  update id_block set next_id = $2 where name = $1 and next_id < $2 returning name, next_id as next`)
const beating = statement<{ instance: string }>(`
  select instance from heartbeat where beat_at > now() - $1::int * interval '1 millisecond' order by instance`)

export const blockFacts = async (runner: Runner, highest: Highest): Promise<BlockFacts[]> =>
  (await runner.run(blocks)).map((block) => ({ ...block, seen: highest[block.name] }))

/** The next id was seen by the acquirer already. */
export const isBehind = ({ next, seen }: BlockFacts): boolean => next <= seen

/** Moves them beyond, so that no id is drawn again; those that are there already stay. */
export async function moveBlocks(desk: Desk, facts: readonly BlockFacts[]): Promise<BlockFacts[]> {
  const short = facts.filter(({ next, seen }) => next < seen + room)
  if (short.length === 0) return []
  return change({ ...desk, action: 'reconcile ids' }, 'orders', async (runner) => {
    const moved: BlockFacts[] = []
    for (const { name, seen } of short)
      for (const block of await runner.run(moveOn, [name, seen + room])) moved.push({ ...block, seen })
    const details = Object.fromEntries(moved.map(({ name, next }) => [name, String(next)]))
    return { note: { subject: 'ids', details }, result: moved }
  })
}

/** They draw from blocks that they reserved before. */
export async function gatewaysAlive(cells: readonly CellDesk[]): Promise<string[]> {
  const alive = (await inEach(cells, ({ pool }) => pool.run(beating, [deadAfterMs]))).flat()
  return [...new Set(alive.map(({ instance }) => instance))]
}
