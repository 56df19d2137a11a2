/** Requests with an Idempotency-Key: each is carried out once within a day. */
import { hash } from 'node:crypto'
import type { Answer, Incoming } from '../http/server.ts'
import { freeKey, takeKey, type KeyHolder } from '../operator/keyed.ts'
import { statement, timestamp } from '../storage/pool.ts'
import { earlyProblem, EarlyRefusal } from './problem.ts'

/** Longer than a request may take. */
const longestMs = 120_000

interface Found {
  asked: Buffer
  status: number | null
  reply: string | null
  is_new: boolean
}
const found = statement<Found>(
  `select asked, status, reply, created_at > $3 as is_new from operator_request where token_id = $1 and key = $2`,
)
const settle = statement<object>(`update operator_request set status = $3, reply = $4 where token_id = $1 and key = $2`)

/** An answer, and whether anything was done for it. */
export interface KeyedAnswer extends Answer {
  did?: true
}

/**
 * Carries the request out, unless one with the same key was: that one's answer is given again.
 * `isSecret`: the answer is not stored. A refusal did nothing and leaves the key free. A failure
 * leaves open what was done, so the key stays taken.
 */
export async function once(
  holder: KeyHolder,
  { headers, path, body }: Incoming,
  isSecret: boolean,
  carryOut: () => Promise<KeyedAnswer>,
): Promise<Answer> {
  const key = headers['idempotency-key']
  if (key === undefined) return carryOut()
  if (typeof key !== 'string' || !/^[\x21-\x7e]{1,128}$/.test(key)) throw new EarlyRefusal('bad idempotency key')
  const asked = hash('sha256', Buffer.concat([Buffer.from(`${path}\n${String(headers['if-match'] ?? '')}\n`), body!]), 'buffer')
  const { pool, tokenId, now } = holder
  if (!(await takeKey(holder, key, asked)))
    return repeated(await pool.run(found, [tokenId, key, timestamp(now - longestMs)]), asked)
  const { did, ...answer } = await carryOut()
  if (did)
    await pool.run(settle, [tokenId, key, answer.status, isSecret && answer.status === 200 ? null : JSON.stringify(answer)])
  else if (answer.status < 500) await freeKey(holder, key)
  return answer
}

function repeated([row]: readonly Found[], asked: Buffer): Answer {
  // It was refused in this moment, and left the key free.
  if (!row) return earlyProblem('under way')
  if (!row.asked.equals(asked)) return earlyProblem('key used otherwise')
  if (row.status === null) return earlyProblem(row.is_new ? 'under way' : 'outcome unknown')
  if (row.reply === null) return earlyProblem('shown once')
  const answer = JSON.parse(row.reply) as Answer
  return { ...answer, headers: { ...answer.headers, 'idempotency-replayed': 'true' } }
}
