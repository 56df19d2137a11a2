import { statement, type Pool } from './pool.ts'

export type IdName = 'order' | 'merchant' | 'endpoint' | 'gate' | 'attempt' | 'process'

/**
 * Ascending ids, drawn from the database in blocks so that no two processes issue the same one;
 * across processes they ascend only roughly.
 */
export interface Ids {
  take(): Promise<bigint>
  /**
   * Returns ids that were taken and never used. The lowest is taken first, so that ids keep
   * ascending.
   */
  giveBack(ids: readonly bigint[]): void
}

const reserve = statement<{ first: bigint }>(
  `update id_block set next_id = next_id + $2 where name = $1 returning next_id - $2 as first`,
)

/**
 * `block` ids are reserved at a time; ids left when a process ends are never used. The next block
 * is fetched before this one is used up.
 */
export const openIds = (pool: Pool, name: IdName, block = 1000): Ids =>
  drawIds(() => pool.run(reserve, [name, block]).then(([row]) => row!.first), block)

/**
 * The same from any source of blocks: `fetch` reserves the next `block` ids and returns the first.
 */
export function drawIds(fetch: () => Promise<bigint>, block: number): Ids {
  let next = 0n
  let end = 0n
  let coming: Promise<bigint> | undefined
  const returned: bigint[] = []

  return {
    giveBack(ids) {
      returned.push(...ids)
      returned.sort((a, b) => (a < b ? -1 : 1))
    },
    async take() {
      const spare = returned.shift()
      if (spare !== undefined) return spare
      while (next >= end) {
        coming ??= fetch()
        const mine = coming
        try {
          const first = await mine
          if (coming === mine) {
            next = first
            end = first + BigInt(block)
            coming = undefined
          }
        } catch (error) {
          if (coming === mine) coming = undefined
          throw error
        }
      }
      const id = next++
      if (end - next < BigInt(block) / 5n && coming === undefined && block > 1) {
        coming = fetch()
        // The caller who needs the block awaits it and sees the failure. This only keeps it from
        // counting as unhandled.
        coming.catch(() => {})
      }
      return id
    },
  }
}
