/** Keys of requests and forms: each is carried out once within a day. */
import { bytea, statement, timestamp, type Pool } from '../storage/pool.ts'

const keptMs = 86_400_000

const claim = statement<object>(`
  insert into operator_request (token_id, key, asked, created_at) values ($1, $2, $3, $4)
  on conflict (token_id, key) do update set asked = excluded.asked, status = null, reply = null, created_at = excluded.created_at
  where operator_request.created_at < $5 returning key`)
const release = statement<object>(`delete from operator_request where token_id = $1 and key = $2`)
const prune = statement<object>(`delete from operator_request where created_at < $1`)

/** Whose key it is: a token, or a session in the console, whose number is below zero. */
export interface KeyHolder {
  pool: Pool
  tokenId: bigint
  now: number
}

/** False if it was taken before. */
export const takeKey = async ({ pool, tokenId, now }: KeyHolder, key: string, asked: Buffer): Promise<boolean> =>
  (await pool.run(claim, [tokenId, key, bytea(asked), timestamp(now), timestamp(now - keptMs)])).length > 0

/** Nothing was done: it may be taken again. */
export const freeKey = ({ pool, tokenId }: KeyHolder, key: string): Promise<unknown> => pool.run(release, [tokenId, key])

export const forgetKeys = async (pool: Pool, now: number): Promise<void> =>
  void (await pool.run(prune, [timestamp(now - keptMs)]))
