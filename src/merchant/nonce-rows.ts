import { statement, timestamp, type Pool, type Runner } from '../storage/pool.ts'

/** In the order of the key: two processes that store the same nonces do not wait for each other. */
const use = statement<{ merchant_id: bigint; nonce: string }>(`
  insert into nonce (merchant_id, nonce, expires_at)
  select * from unnest($1::bigint[], $2::text[], $3::timestamptz[]) used (merchant_id, nonce, expires_at)
  order by merchant_id, nonce
  on conflict (merchant_id, nonce) do nothing returning merchant_id, nonce`)

/** Skips nonces that another process is removing at this moment. */
const forget = statement<{ nonce: string }>(`
  delete from nonce where (merchant_id, nonce) in
    (select merchant_id, nonce from nonce where expires_at <= $1 order by expires_at limit $2 for update skip locked)
  returning nonce`)

const keptMs = 600_000
const batch = 5_000

export interface NonceUse {
  merchantId: bigint
  nonce: string
  timestampSeconds: number
  now: number
}

/**
 * True exactly once for each nonce of a merchant, in whatever process. To be asked only once the
 * signature holds: otherwise anybody could use up a merchant's nonces, and fill the table.
 *
 * A request is accepted from five minutes before its time stamp until five minutes after it. The
 * nonce is kept for ten minutes from now or from the time stamp, whichever is later: five more than
 * the request itself could come again, which is room for clocks of gateways that differ. It does
 * not become good by time alone, but when it is forgotten.
 */
export async function useNonces(runner: Runner, uses: readonly NonceUse[]): Promise<boolean[]> {
  const made = await runner.run(use, [
    uses.map(({ merchantId }) => merchantId),
    uses.map(({ nonce }) => nonce),
    uses.map(({ timestampSeconds, now }) => timestamp(Math.max(now, timestampSeconds * 1000) + keptMs)),
  ])
  const fresh = new Set(made.map(({ merchant_id, nonce }) => `${merchant_id} ${nonce}`))
  return uses.map(({ merchantId, nonce }) => fresh.delete(`${merchantId} ${nonce}`))
}

/** Removes expired nonces. Safe to run twice, and in several processes. */
export async function forgetNonces(pool: Pool, now: number): Promise<void> {
  let forgotten: object[]
  do forgotten = await pool.run(forget, [timestamp(now), batch])
  while (forgotten.length === batch)
}
