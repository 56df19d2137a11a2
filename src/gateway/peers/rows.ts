/** The processes of an installation to which others may pass requests, in database time. */
import { entities, statement, type Pool } from '../../storage/pool.ts'
import { deadAfterMs } from '../../leases/heartbeat.ts'

export interface PeerEntry {
  /** As in the heartbeats. */
  instance: string
  url: string
}

export interface PeerRow extends PeerEntry {
  /** The cells that it serves now. */
  cells: readonly number[]
  /** False if it has not renewed its row for as long as the silence of a dead process lasts. */
  isAlive: boolean
}

export type PeerStore = ReturnType<typeof peerStore>

const renew = statement<object>(`
  insert into peer (instance, url, cells, beat_at) values ($1, $2, $3::int[], now())
  on conflict (instance) do update
  set url = excluded.url, cells = excluded.cells, beat_at = excluded.beat_at`)
const all = entities<PeerRow>(`
  select instance, url, cells, beat_at > now() - $1::int * interval '1 millisecond' as is_alive
  from peer where beat_at > now() - interval '1 hour' order by instance`)
// A successor of the same instance may have written its own.
const leave = statement<object>(`delete from peer where instance = $1 and url = $2`)
const sweep = statement<object>(`delete from peer where beat_at < now() - interval '1 hour'`)

export const peerStore = (pool: Pool) => ({
  /** Writes or renews a row. */
  renew: async ({ instance, url }: PeerEntry, cells: readonly number[]): Promise<void> =>
    void (await pool.run(renew, [instance, url, [...cells]])),
  all: (): Promise<PeerRow[]> => pool.run(all, [deadAfterMs]),
  async leave({ instance, url }: PeerEntry): Promise<void> {
    await pool.run(leave, [instance, url])
    await pool.run(sweep)
  },
})
