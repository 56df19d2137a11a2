/** Who comes into the console: by a link, or by a password and a second factor. */
import { secret, type Secret } from '../../base/secret.ts'
import { endFactor, factorOf, factorsOf, openTotpKey, takeTotpStep, type Factor } from '../../entry/factor-rows.ts'
import { forgive, mayTry, type Tried } from '../../entry/failure-rows.ts'
import { isPassword } from '../../entry/password.ts'
import { beginSession, proveSession } from '../../entry/session-rows.ts'
import { stepOfCode } from '../../entry/totp.ts'
import { networkOf } from '../../http/client-address.ts'
import type { KeyRing } from '../../keys/ring.ts'
import { record } from '../../operator/change.ts'
import { listUsers, type UserEntry } from '../../operator/known.ts'
import type { ServingParts } from '../../operator/serving.ts'
import type { Visitor } from './visitor.ts'

/** Why somebody does not come in, in words that tell nothing of who there is. */
export type SignInRefusal = 'wrong' | 'slowed' | 'link over'

/** From where. */
export interface SignInPlace {
  address: string
  agent: string
}

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
  await forgive(office.pool, network(client))
  return begin(parts, user, client, true)
}

/** A session that shows nothing yet, if the user has a second factor. */
export async function comeInByPassword(
  parts: ServingParts,
  { name, password }: { name: string; password: Secret<string> },
  client: SignInPlace,
): Promise<Entered | SignInRefusal> {
  const { pool, clock } = parts.office
  const now = clock.now()
  const tried: Tried[] = [network(client), { kind: 'account', name }]
  for (const one of tried) if (!(await mayTry(pool, one, now))) return 'slowed'
  const user = (await listUsers(pool)).find((one) => one.name === name && one.enabled)
  const factors = user ? await factorsOf(pool, user.userId, now) : []
  const kept = factors.find(({ kind }) => kind === 'password')?.hashed
  if (!(await isPassword(password, kept)) || !user || !kept) {
    refuse(parts, client, 'wrong password')
    return 'wrong'
  }
  for (const one of tried) await forgive(pool, one)
  return begin(parts, user, client, !factors.some(({ kind }) => kind === 'totp'))
}

/** Proves a session by a code of an authenticator, or by a recovery code, which is used up. */
export async function proveByCode(
  parts: ServingParts,
  { session, user }: Pick<Visitor, 'session' | 'user'>,
  code: Secret<string>,
  client: SignInPlace,
): Promise<boolean | 'slowed'> {
  const { pool, clock, keys } = parts.office
  const now = clock.now()
  const tried: Tried = { kind: 'account', name: user.name }
  if (!(await mayTry(pool, tried, now))) return 'slowed'
  const factors = await factorsOf(pool, session.userId, now)
  if (!(await takeCode(parts, factors, code, await keys(), now))) {
    refuse(parts, client, 'wrong second factor')
    return false
  }
  await forgive(pool, tried)
  await proveSession(pool, session.sessionId, now)
  return true
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

async function begin(parts: ServingParts, { userId, name }: UserEntry, client: SignInPlace, isProven: boolean): Promise<Entered> {
  const { pool, clock, random } = parts.office
  const { cookie, sessionId } = await beginSession(pool, { userId, isProven, ...client }, { random, now: clock.now() })
  await noted(parts, name, 'signed in', { session: String(sessionId), ...client })
  return { cookie }
}

const userOf = async ({ office }: ServingParts, userId: bigint): Promise<UserEntry | undefined> =>
  (await listUsers(office.pool)).find((one) => one.userId === userId && one.enabled)

const network = ({ address }: SignInPlace): Tried => ({ kind: 'network', name: networkOf(address) })

const noted = ({ office }: ServingParts, name: string, action: string, details: object): Promise<void> =>
  record({ ...office, who: name, action }, { subject: 'console', details })

/** A failed try is counted with other refused access: the trail is for what was done. */
const refuse = ({ access }: ServingParts, { address }: SignInPlace, reason: string): void =>
  access.refused({ operation: 'console', endpoint: '', login: '', address, reason })
