/** Sessions of users in the console. */
import type { Random } from '../base/random.ts'
import { secret, type Secret } from '../base/secret.ts'
import { openIds } from '../storage/ids.ts'
import { bytea, entities, statement, timestamp, type Pool, type Runner } from '../storage/pool.ts'
import { digestOf } from './digest.ts'

export interface Session {
  sessionId: bigint
  userId: bigint
  /** The last second factor. Absent: only the password is known, and nothing is shown. */
  provenAt?: number
  /** Without one, a user of an installation that is no sandbox sees nothing but how to get one. */
  hasSecondFactor: boolean
  hasPasskey: boolean
  /** The provider of single sign-on stands for the second factor. */
  vouched: boolean
  address: string
  agent: string
  createdAt: number
  seenAt: number
}

/** A session that is not used for so long ends, and each after so long. */
const idleMs = 15 * 60_000
const mostMs = 12 * 3_600_000
/** Its last use is written down no more often. */
const noteEveryMs = 60_000

const has = (kinds: string): string =>
  `exists (select from operator_factor f where f.user_id = s.user_id and f.kind in (${kinds}) and f.ended_at is null)`
const columns = `s.session_id, s.user_id, s.proven_at, s.vouched, s.address, s.agent, s.created_at, s.seen_at,
    s.vouched or ${has(`'totp', 'passkey'`)} as has_second_factor, ${has(`'passkey'`)} as has_passkey
  from operator_session s where s.ended_at is null and s.seen_at > $1 and s.created_at > $2`
const byDigest = entities<Session>(`select ${columns} and s.digest = $3`)
const open = entities<Session>(`select ${columns} order by s.session_id desc`)
/** The lock: a user who is switched off in this moment gets no session after all others ended. */
const insert = statement<object>(`
  insert into operator_session (session_id, user_id, digest, created_at, seen_at, proven_at, vouched, address, agent)
  select $1, user_id, $3, $4, $4, $5, $6, $7, $8 from operator_user where user_id = $2 and enabled for share
  returning session_id`)
const seen = statement<object>(`update operator_session set seen_at = $2 where session_id = $1`)
const prove = statement<object>(`
  update operator_session set digest = $2, proven_at = $3 where digest = $1 and ended_at is null returning session_id`)
const end = statement<object>(
  `update operator_session set ended_at = $2 where session_id = any ($1::bigint[]) and ended_at is null`,
)
const forget = statement<object>(`delete from operator_session where created_at <= $1`)

const since = (now: number) => [timestamp(now - idleMs), timestamp(now - mostMs)]

/** The session of a cookie, if it goes on. Its use prolongs it. */
export async function sessionOf(runner: Runner, cookie: Secret<string>, now: number): Promise<Session | undefined> {
  const [session] = await runner.run(byDigest, [...since(now), bytea(digestOf(cookie))])
  if (session && now - session.seenAt >= noteEveryMs) await runner.run(seen, [session.sessionId, timestamp(now)])
  return session
}

export const openSessions = (runner: Runner, now: number): Promise<Session[]> => runner.run(open, since(now))

type NewSession = Pick<Session, 'userId' | 'address' | 'agent'> & { isProven: boolean; vouched?: boolean }

const keptCharacters = 20

/** The end of a cookie, which stays when the cookie changes: it makes the token of the forms. */
export const keptPart = (cookie: Secret<string>): string => cookie.reveal().slice(-keptCharacters)

const newCookie = (random: Random, kept = random.bytes((keptCharacters * 3) / 4).toString('base64url')): Secret<string> =>
  secret(random.bytes(32).toString('base64url') + kept)

/** Returns the cookie, of which the database has the digest. Undefined if the user is off. */
export async function beginSession(
  pool: Pool,
  { userId, isProven, vouched = false, address, agent }: NewSession,
  { random, now }: { random: Random; now: number },
): Promise<{ sessionId: bigint; cookie: Secret<string> } | undefined> {
  const sessionId = await openIds(pool, 'session', 1).take()
  const cookie = newCookie(random)
  const at = timestamp(now)
  const shown = [isProven ? at : null, vouched, address, agent.slice(0, 200)]
  const [begun] = await pool.run(insert, [sessionId, userId, bytea(digestOf(cookie)), at, ...shown])
  return begun && { sessionId, cookie }
}

/** A second factor was shown: returns the new cookie. Undefined if another request was first. */
export async function proveSession(runner: Runner, cookie: Secret<string>, random: Random, now: number) {
  const next = newCookie(random, keptPart(cookie))
  const [proven] = await runner.run(prove, [bytea(digestOf(cookie)), bytea(digestOf(next)), timestamp(now)])
  return proven && next
}

export const endSessions = (runner: Runner, sessionIds: readonly bigint[], now: number): Promise<unknown> =>
  runner.run(end, [sessionIds, timestamp(now)])

/** Ends all open sessions of a user, except one if it is given. Returns how many. */
export async function endSessionsOf(runner: Runner, userId: bigint, now: number, except?: bigint): Promise<number> {
  const own = (await openSessions(runner, now)).filter((one) => one.userId === userId && one.sessionId !== except)
  const ended = own.map(({ sessionId }) => sessionId)
  await endSessions(runner, ended, now)
  return ended.length
}

/** Those that ended long ago. */
export const forgetSessions = async (runner: Runner, now: number): Promise<void> => {
  await runner.run(forget, [timestamp(now - 30 * 86_400_000)])
}
