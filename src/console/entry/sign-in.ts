/** Who comes into the console: by a link, a passkey, or password or account and second factor. */
import { secret, type Secret } from '../../base/secret.ts'
import { accountText, endFactor, factorOf, factorsOf, isSecondFactor, useFactor } from '../../entry/factor-rows.ts'
import { openTotpKey, takeTotpStep, type ProviderAccount, type Factor } from '../../entry/factor-rows.ts'
import { forgive, mayTry, type Tried } from '../../entry/failure-rows.ts'
import { isPassword, weakness } from '../../entry/password.ts'
import { beginSession, endSessions, proveSession } from '../../entry/session-rows.ts'
import { stepOfCode } from '../../entry/totp.ts'
import { networkOf } from '../../http/client-address.ts'
import type { KeyRing } from '../../keys/ring.ts'
import { record } from '../../operator/change.ts'
import { listUsers, type UserEntry } from '../../operator/known.ts'
import type { ServingParts } from '../../operator/serving.ts'
import { replacePassword } from './own-account.ts'
import { userByPasskey } from './passkeys.ts'
import type { ConsoleParts, Visitor } from './visitor.ts'

/** Why somebody does not come in, in words that tell nothing of who there is. */
export type SignInRefusal = 'wrong' | 'slowed' | 'link over' | 'no passkey' | 'no account' | 'weak' | 'differ' | 'wrong code'

/** From where. `earlier`: the session that the browser has; the new one ends it. */
export interface SignInPlace {
  address: string
  agent: string
  earlier?: bigint | undefined
}

/** `vouched`: the provider of single sign-on stands for the second factor. */
type Shown = { isProven?: boolean; vouched?: boolean }

/** The session of somebody who has come in. */
export interface Entered {
  cookie: Secret<string>
}

/** Takes a link, once. It stands for a password and a second factor. */
export async function comeInByLink(
  parts: ServingParts,
  text: Secret<string>,
  client: SignInPlace,
): Promise<Entered | SignInRefusal> {
  const { office } = parts
  const now = office.clock.now()
  if (!(await mayTry(office.pool, network(client), now))) return 'slowed'
  const link = await factorOf(office.pool, text, now)
  const user = link?.kind === 'link' ? await userOf(parts, link.userId) : undefined
  if (!link || !user || !(await endFactor(office.pool, link.factorId, now))) return 'link over'
  return (await begin(parts, user, client, { isProven: true })) ?? 'link over'
}

/** Takes a link for a new password, which ends all sessions, once the rest is right. */
export async function comeInByReset(
  parts: ConsoleParts,
  text: Secret<string>,
  { password, again, code }: Record<'password' | 'again' | 'code', Secret<string>>,
  client: SignInPlace,
): Promise<Entered | SignInRefusal> {
  const { office } = parts
  const now = office.clock.now()
  if (!(await mayTry(office.pool, network(client), now))) return 'slowed'
  const link = await factorOf(office.pool, text, now)
  const user = link?.kind === 'reset' ? await userOf(parts, link.userId) : undefined
  if (!link || !user) return 'link over'
  if (password.reveal() !== again.reveal()) return 'differ'
  if (weakness(password, user.name) !== undefined) return 'weak'
  const shown = await showsFactor(parts, user, code, client)
  if (shown !== true) return shown === 'slowed' ? shown : 'wrong code'
  const desk = { ...office, who: user.name, action: 'reset password' }
  const isSet = await replacePassword(desk, user, password, { link: link.factorId })
  return (isSet && (await begin(parts, user, client, { isProven: true }))) || 'link over'
}

/** A session that shows nothing yet, if the user has a second factor. */
export async function comeInByPassword(
  parts: ServingParts,
  { name, password }: { name: string; password: Secret<string> },
  client: SignInPlace,
): Promise<Entered | SignInRefusal> {
  const { pool, clock } = parts.office
  const now = clock.now()
  for (const one of triedBy(name, client)) if (!(await mayTry(pool, one, now))) return 'slowed'
  const user = (await listUsers(pool)).find((one) => one.name === name && one.enabled)
  const factors = user ? await factorsOf(pool, user.userId, now) : []
  const kept = factors.find(({ kind }) => kind === 'password')?.hashed
  if (!(await isPassword(password, kept)) || !user || !kept) {
    refuse(parts, client, 'wrong password')
    return 'wrong'
  }
  return (await begin(parts, user, client, {})) ?? 'wrong'
}

/** Who has shown a passkey or an account. No failure slows it, since nothing can be guessed. */
export async function comeInAs(parts: ServingParts, userId: bigint | undefined, client: SignInPlace, shown: Shown) {
  const user = userId === undefined ? undefined : await userOf(parts, userId)
  if (user) return begin(parts, user, client, shown)
  refuse(parts, client, 'unknown passkey or account')
  return undefined
}

/** Found by issuer and subject alone: anybody may have an e-mail address somewhere. */
export async function userOfAccount(
  { office: { pool, clock } }: ServingParts,
  account: ProviderAccount,
): Promise<bigint | undefined> {
  const now = clock.now()
  const tie = await factorOf(pool, accountText(account), now)
  return tie?.kind === 'account' && (await useFactor(pool, tie.factorId, now)) ? tie.userId : undefined
}

/** Proves a session, which gets a new cookie. */
export async function proveAgain(parts: ConsoleParts, visitor: Visitor, given: Secret<string>, client: SignInPlace) {
  const { pool, clock, random } = parts.office
  const shown = await showsFactor(parts, visitor.user, given, client, visitor)
  const cookie = shown === true && (await proveSession(pool, visitor.cookie, random, clock.now()))
  if (cookie) visitor.newCookie = cookie
  return shown
}

/** Whether it is a passkey, a code of an authenticator, or a recovery code: each counts once. */
async function showsFactor(
  parts: ConsoleParts,
  { userId, name }: UserEntry,
  given: Secret<string>,
  client: SignInPlace,
  visitor?: Visitor,
) {
  // Failed guesses of others do not slow an open session.
  const open = visitor?.session.provenAt === undefined ? undefined : visitor.session
  const tried: Tried = open ? { kind: 'session', name: String(open.sessionId) } : { kind: 'account', name }
  const isPasskey = given.reveal().startsWith('{')
  const shown = isPasskey ? (await userByPasskey(parts, given, visitor)) === userId : await byCode(parts, userId, given, tried)
  if (shown === true) await forgiveAll(parts, name, client)
  if (shown === false) refuse(parts, client, 'wrong second factor')
  return shown
}

async function byCode(parts: ServingParts, userId: bigint, code: Secret<string>, tried: Tried): Promise<boolean | 'slowed'> {
  const { pool, clock, keys } = parts.office
  const now = clock.now()
  if (!(await mayTry(pool, tried, now))) return 'slowed'
  const factors = await factorsOf(pool, userId, now)
  const isRight = await takeCode(parts, factors, code, await keys(), now)
  if (isRight) await forgive(pool, tried)
  return isRight
}

async function takeCode(
  { office: { pool } }: ServingParts,
  factors: readonly Factor[],
  code: Secret<string>,
  keys: KeyRing,
  now: number,
): Promise<boolean> {
  const text = code.reveal().replaceAll(/[\s-]/g, '')
  for (const factor of factors) {
    const key = factor.kind === 'totp' ? openTotpKey(factor, keys) : undefined
    const step = key && stepOfCode(key, text, now, factor.step)
    if (step !== undefined) return takeTotpStep(pool, factor.factorId, step)
  }
  const recovery = await factorOf(pool, secret(text.toUpperCase().replace(/.{4}(?!$)/g, '$&-')), now)
  const isOwn = recovery?.kind === 'recovery' && factors.some(({ factorId }) => factorId === recovery.factorId)
  return isOwn && endFactor(pool, recovery.factorId, now)
}

/** Without a second factor, a session is proven and sees how to get one. */
async function begin(parts: ServingParts, { userId, name }: UserEntry, { earlier, ...client }: SignInPlace, shown: Shown) {
  const { pool, clock, random } = parts.office
  const now = clock.now()
  const isProven = shown.isProven || !(await factorsOf(pool, userId, now)).some(isSecondFactor)
  if (isProven) await forgiveAll(parts, name, client)
  const begun = await beginSession(pool, { userId, ...client, ...shown, isProven }, { random, now })
  if (!begun) return undefined
  if (earlier !== undefined) await endSessions(pool, [earlier], now)
  await noted(parts, name, 'signed in', { session: String(begun.sessionId), session_ended: earlier?.toString(), ...client })
  return begun
}

const userOf = async ({ office }: ServingParts, userId: bigint): Promise<UserEntry | undefined> =>
  (await listUsers(office.pool)).find((one) => one.userId === userId && one.enabled)

const network = ({ address }: SignInPlace): Tried => ({ kind: 'network', name: networkOf(address) })
const triedBy = (name: string, client: SignInPlace): Tried[] => [network(client), { kind: 'account', name }]

/** After signing in only: with a right password alone, an attacker could guess codes forever. */
async function forgiveAll({ office: { pool } }: ServingParts, name: string, client: SignInPlace): Promise<void> {
  for (const one of triedBy(name, client)) await forgive(pool, one)
}

const noted = ({ office }: ServingParts, name: string, action: string, details: object): Promise<void> =>
  record({ ...office, who: name, action }, { subject: 'console', details })

/** A failed try is counted with other refused access: the trail is for what was done. */
const refuse = ({ access }: ServingParts, { address }: SignInPlace, reason: string): void =>
  access.refused({ operation: 'console', endpoint: '', login: '', address, reason })
