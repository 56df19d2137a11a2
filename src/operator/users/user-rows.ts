import { secret } from '../../base/secret.ts'
import { pick } from '../../entity/json.ts'
import { openIds } from '../../storage/ids.ts'
import { bytea, statement, timestamp, type Runner } from '../../storage/pool.ts'
import { digestOf } from '../../entry/digest.ts'
import { rightsIn, type Whose } from '../bearer.ts'
import { change } from '../change.ts'
import { listTokens, listUsers, merchantNamed, tokenNumbered, userNamed, type TokenEntry, type UserEntry } from '../known.ts'
import type { Office } from '../office.ts'
import { accountText, addFactor, endFactors, factorIds, factorOf, factorsOf } from '../../entry/factor-rows.ts'
import { isSecondFactor, type ProviderAccount } from '../../entry/factor-rows.ts'
import { endSessionsOf } from '../../entry/session-rows.ts'
import { within, type OperatorRole } from '../permissions.ts'
import { Refused } from '../refused.ts'

const insertUser = statement<object>(`
  insert into operator_user (user_id, name, role, merchant_id, enabled, created_at) values ($1, $2, $3, $4, true, $5)`)
const updateUser = statement<object>(`update operator_user set role = $2, enabled = $3 where user_id = $1`)
const insertToken = statement<object>(`
  insert into operator_token (token_id, user_id, digest, role, merchant_id, expires_at, created_at)
  values ($1, $2, $3, $4, $5, $6, $7)`)
const revoke = statement<object>(
  `update operator_token set revoked_at = $2 where token_id = any ($1::bigint[]) and revoked_at is null`,
)
/** Whoever gives rights, or takes them, has all of them. */
export function refuseAbove(office: Office, user: Whose): void {
  if (!within(rightsIn(user), office.rights)) throw new Refused({ what: 'above own rights', role: user.role })
}

export async function addUser(
  office: Office,
  { name, role, merchant }: { name: string; role: OperatorRole; merchant?: string },
): Promise<UserEntry> {
  const userId = await openIds(office.pool, 'user', 1).take()
  return change(office, 'orders', async (runner) => {
    if ((await listUsers(runner)).some((user) => user.name === name)) throw new Refused({ what: 'taken', thing: 'user', name })
    const of = merchant === undefined ? undefined : await merchantNamed(runner, merchant)
    const user = { userId, name, role, enabled: true, createdAt: office.clock.now(), ...(of && pick(of, 'merchantId', 'login')) }
    refuseAbove(office, user)
    await runner.run(insertUser, [userId, name, role, of?.merchantId ?? null, timestamp(user.createdAt)])
    return { note: { subject: `user ${name}`, details: { role, merchant } }, result: user }
  })
}

/** Ends tokens that now have more rights than the user, and all sessions of a user who is off. */
export const setUser = (office: Office, name: string, to: Partial<Pick<UserEntry, 'role' | 'enabled'>>) =>
  change(office, 'orders', async (runner) => {
    const before = await userNamed(runner, name)
    const after = { ...before, ...to }
    for (const one of [before, after]) refuseAbove(office, one)
    await runner.run(updateUser, [after.userId, after.role, after.enabled])
    const own = (await liveTokens(runner, office)).filter(({ userId }) => userId === after.userId)
    const ended = own.filter((token) => !after.enabled || !within(rightsIn(token), rightsIn(after)))
    const now = office.clock.now()
    await runner.run(revoke, [ended.map(({ tokenId }) => tokenId), timestamp(now)])
    if (!after.enabled) await endFactors(runner, after.userId, links, now)
    const sessions = after.enabled ? 0 : await endSessionsOf(runner, after.userId, now)
    return {
      note: { subject: `user ${name}`, details: { ...to, tokens_ended: ended.length, sessions_ended: sessions } },
      result: { after, ended: ended.length, sessions },
    }
  })

export const liveTokens = async (runner: Runner, { clock }: Pick<Office, 'clock'>): Promise<TokenEntry[]> =>
  (await listTokens(runner)).filter(({ revokedAt, expiresAt }) => revokedAt === undefined && expiresAt > clock.now())

interface NewToken {
  user: string
  /** The user's, unless it is given. */
  role?: OperatorRole
  /** The one merchant that the token is for, where its user works for all. */
  merchant?: string
  /** For so many milliseconds. */
  expires: number
}

const links = ['link', 'reset'] as const

/** It works once: a `link` signs in, a `reset` sets a new password. Earlier ones end. */
export async function linkUser(office: Office, name: string, kind: (typeof links)[number], expiresMs: number) {
  const factorId = await factorIds(office.pool, 1).take()
  const text = secret(office.random.bytes(32).toString('base64url'))
  return change(office, 'orders', async (runner) => {
    const user = await userNamed(runner, name)
    if (!user.enabled) throw new Refused({ what: 'user off', name })
    refuseAbove(office, user)
    const createdAt = office.clock.now()
    const expiresAt = createdAt + expiresMs
    const isUnguarded = kind === 'reset' && !(await factorsOf(runner, user.userId, createdAt)).some(isSecondFactor)
    if (isUnguarded) throw new Refused({ what: 'no second factor', name })
    await endFactors(runner, user.userId, links, createdAt)
    await addFactor(runner, factorId, { userId: user.userId, kind, text, createdAt, expiresAt })
    const path = `/${kind === 'link' ? 'come-in' : 'new-password'}/${text.reveal()}`
    return {
      note: { subject: `user ${name}`, details: { link_until: new Date(expiresAt) } },
      result: { user: name, path: secret(path), expiresAt },
    }
  })
}

/** One account comes in as a user, and as no other; or none does. */
export async function tieUser(office: Office, name: string, account?: ProviderAccount): Promise<void> {
  const factorId = await factorIds(office.pool, 1).take()
  const createdAt = office.clock.now()
  await change(office, 'orders', async (runner) => {
    const { userId, ...user } = await userNamed(runner, name)
    refuseAbove(office, user)
    await endFactors(runner, userId, ['account'], createdAt)
    if (account) {
      const text = accountText(account)
      if (await factorOf(runner, text, createdAt)) throw new Refused({ what: 'account tied', ...account })
      await addFactor(runner, factorId, { userId, kind: 'account', text, facts: account, createdAt })
    }
    return { note: { subject: `user ${name}`, details: { account: account ?? 'none' } }, result: undefined }
  })
}

/** Its text is in the result alone: the database has its digest. */
export async function addToken(office: Office, { user: name, role, merchant, expires }: NewToken) {
  const tokenId = await openIds(office.pool, 'token', 1).take()
  const text = secret(`tollgate_${office.random.bytes(32).toString('base64url')}`)
  return change(office, 'orders', async (runner) => {
    const user = await userNamed(runner, name)
    if (!user.enabled) throw new Refused({ what: 'user off', name })
    const of = merchant === undefined ? user : { ...user, ...pick(await merchantNamed(runner, merchant), 'merchantId', 'login') }
    const createdAt = office.clock.now()
    const token: TokenEntry = { ...of, tokenId, user: name, role: role ?? user.role, createdAt, expiresAt: createdAt + expires }
    if (!within(rightsIn(token), rightsIn(user))) throw new Refused({ what: 'above own rights', role: token.role })
    refuseAbove(office, token)
    const times = [token.expiresAt, createdAt].map(timestamp)
    await runner.run(insertToken, [tokenId, user.userId, bytea(digestOf(text)), token.role, of.merchantId ?? null, ...times])
    const details = { token: String(tokenId), role: token.role, merchant: token.login, expires_at: new Date(token.expiresAt) }
    return { note: { subject: `user ${name}`, details }, result: { ...token, text } }
  })
}

/** The token ends with its next request. The time of an earlier revocation stays. */
export const revokeToken = (office: Office, tokenId: bigint): Promise<TokenEntry> =>
  change(office, 'orders', async (runner) => {
    const token = await tokenNumbered(runner, tokenId)
    refuseAbove(office, token)
    const now = office.clock.now()
    await runner.run(revoke, [[tokenId], timestamp(now)])
    return { note: { subject: `user ${token.user}`, details: { token: String(tokenId) } }, result: { revokedAt: now, ...token } }
  })
