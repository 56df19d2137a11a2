/** Challenges that a browser may answer once, within five minutes, and for one purpose. */
import type { Secret } from '../base/secret.ts'
import { networkOf } from '../http/client-address.ts'
import { bytea, entities, statement, timestamp, type Runner } from '../storage/pool.ts'
import { digestOf } from './digest.ts'

export const challengeMs = 5 * 60_000

const insert = statement<object>(`
  insert into operator_challenge (network, place, digest, purpose, expires_at) values ($1, $2, $3, $4, $5)
  on conflict (network, place) do update set digest = $3, purpose = $4, expires_at = $5`)
const take = entities<{ purpose: string }>(`
  delete from operator_challenge where digest = $1 and expires_at > $2 returning purpose`)
const forget = statement<object>(`delete from operator_challenge where expires_at <= $1`)

/**
 * `text` is random; the database has its digest. Strangers ask too, so a network has 256 challenges
 * at most: a further one takes the place of any of them, and no other network notices.
 */
export async function openChallenge(
  runner: Runner,
  { text, purpose, address }: { text: Secret<string>; purpose: string; address: string },
  now: number,
): Promise<void> {
  const digest = digestOf(text)
  await runner.run(insert, [networkOf(address), digest[0], bytea(digest), purpose, timestamp(now + challengeMs)])
}

/** The purpose of a challenge. Uses it up, even if another purpose was expected. */
export const takeChallenge = async (runner: Runner, text: Secret<string>, now: number): Promise<string | undefined> =>
  (await runner.run(take, [bytea(digestOf(text)), timestamp(now)]))[0]?.purpose

export const forgetChallenges = async (runner: Runner, now: number): Promise<void> =>
  void (await runner.run(forget, [timestamp(now)]))
