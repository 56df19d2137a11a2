import type { Clock } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import { openBatch } from './batch.ts'
import { statement, type Pool } from './pool.ts'

export type IdName =
  | 'order'
  | 'merchant'
  | 'endpoint'
  | 'gate'
  | 'attempt'
  | 'process'
  | 'user'
  | 'token'
  | 'factor'
  | 'session'
  | 'proposal'

/**
 * Ascending ids, drawn from the database in blocks so that no two processes issue the same one;
 * across processes they ascend only roughly.
 */
export type Ids = ReturnType<typeof drawIds>

const reserve = statement<{ first: bigint }>(
  `update id_block set next_id = next_id + $2 where name = $1 returning next_id - $2 as first`,
)

/** How old a block may get, by a clock that only goes forward. */
export interface Freshness {
  monotonic: () => number
  staleAfterMs: number
}

/**
 * STANs begin again after 999,999 attempts. Where many processes and cells share a line, a block
 * that was kept for long would have those of another's new attempts.
 */
const attemptsStaleAfterMs = 60_000

/** How long a request waits for the id of its order; its commit is waited for as long. */
const patienceMs = 10_000

/**
 * `block` ids are reserved at a time; ids left when a process ends are never used. The next block
 * is fetched before this one is used up.
 */
export function openIds(pool: Pool, name: IdName, block = 1000, ground?: { clock: Clock; log: Log }): Ids {
  const fetch = () => pool.run(reserve, [name, block]).then(([row]) => row!.first)
  if (!ground) return drawIds(fetch, block)
  if (name === 'order') return drawIds(waiting(fetch, ground), block)
  const { monotonic } = ground.clock
  return drawIds(fetch, block, name === 'attempt' ? { monotonic, staleAfterMs: attemptsStaleAfterMs } : undefined)
}

/**
 * Nothing is stored of a request that has no id yet, so no other process tries again for it while
 * the database is away for a moment. A block that was reserved and lost on its way is never used.
 */
function waiting(fetch: () => Promise<bigint>, ground: { clock: Clock; log: Log }): () => Promise<bigint> {
  const run = async () => [await fetch()]
  const reserving = openBatch<undefined, bigint>({ ...ground, name: 'order ids', run, maxItems: 1, lanes: 1, patienceMs })
  return () => reserving.submit(undefined)
}

/**
 * The same from any source of blocks: `fetch` reserves the next `block` ids and returns the first.
 * What is left of a stale block is not used.
 */
export function drawIds(fetch: () => Promise<bigint>, block: number, freshness?: Freshness) {
  let next = 0n
  let end = 0n
  /** When this block, and the one that is coming, were asked for. */
  let [since, comingSince] = [0, 0]
  let coming: Promise<bigint> | undefined
  const returned: bigint[] = []
  const now = () => freshness?.monotonic() ?? 0
  const isStale = (at: number) => freshness !== undefined && now() - at > freshness.staleAfterMs

  function dropStale() {
    if (coming !== undefined && isStale(comingSince)) coming = undefined
    if (end === 0n || !isStale(since)) return
    next = end = 0n
    returned.length = 0
  }

  function reserveMore(): Promise<bigint> {
    comingSince = now()
    return (coming = fetch())
  }

  return {
    /**
     * Returns ids that were taken and never used. The lowest is taken first, so that ids keep
     * ascending.
     */
    giveBack(ids: readonly bigint[]): void {
      returned.push(...ids)
      returned.sort((a, b) => (a < b ? -1 : 1))
    },
    async take(): Promise<bigint> {
      dropStale()
      const spare = returned.shift()
      if (spare !== undefined) return spare
      while (next >= end) {
        const mine = coming ?? reserveMore()
        try {
          const first = await mine
          if (coming === mine) {
            next = first
            end = first + BigInt(block)
            since = comingSince
            coming = undefined
          }
        } catch (error) {
          if (coming === mine) coming = undefined
          throw error
        }
      }
      const id = next++
      // The caller who needs the block awaits it and sees the failure. This only keeps it from
      // counting as unhandled.
      if (end - next < BigInt(block) / 5n && coming === undefined && block > 1) reserveMore().catch(() => {})
      return id
    },
  }
}
