/** What may come back from a browser once, within five minutes, and for one purpose. */
import type { Secret } from '../base/secret.ts'
import { bytea, entities, statement, timestamp, type Runner } from '../storage/pool.ts'
import { digestOf } from './digest.ts'

export const challengeMs = 5 * 60_000

const insert = statement<object>(`insert into operator_challenge (digest, purpose, expires_at) values ($1, $2, $3)`)
const take = entities<{ purpose: string }>(`
  delete from operator_challenge where digest = $1 and expires_at > $2 returning purpose`)
const forget = statement<object>(`delete from operator_challenge where expires_at <= $1`)

/** `text` is random; the database has its digest. */
export const openChallenge = (runner: Runner, text: Secret<string>, purpose: string, now: number): Promise<unknown> =>
  runner.run(insert, [bytea(digestOf(text)), purpose, timestamp(now + challengeMs)])

/** What it is for. It is used up, also if that is something else than was expected. */
export const takeChallenge = async (runner: Runner, text: Secret<string>, now: number): Promise<string | undefined> =>
  (await runner.run(take, [bytea(digestOf(text)), timestamp(now)]))[0]?.purpose

export const forgetChallenges = async (runner: Runner, now: number): Promise<void> =>
  void (await runner.run(forget, [timestamp(now)]))
