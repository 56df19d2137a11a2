/** The actions of users on their own passwords, second factors and sessions. */
import { secret, type Secret } from '../../base/secret.ts'
import { change } from '../../operator/change.ts'
import type { Desk } from '../../operator/desk.ts'
import type { UserEntry } from '../../operator/known.ts'
import type { Office } from '../../operator/office.ts'
import { Refused, unfit } from '../../operator/refused.ts'
import { addFactor, endFactor, endFactors, factorIds, factorsOf, type Factor } from '../../entry/factor-rows.ts'
import { sealTotpKey, takeTotpStep } from '../../entry/factor-rows.ts'
import { hashPassword, isPassword, weakness } from '../../entry/password.ts'
import { endSessionsOf, openSessions, type Session } from '../../entry/session-rows.ts'
import { passkeysIn } from './passkeys.ts'
import type { Visitor } from './visitor.ts'
import { base32, stepOfCode } from '../../entry/totp.ts'

const codesAtOnce = 10

/** All other sessions of the user end. If there is a password, the user has to know it. */
export async function setOwnPassword(
  office: Office,
  { user, session: { sessionId } }: Visitor,
  { present, password }: { present: Secret<string>; password: Secret<string> },
): Promise<void> {
  const now = office.clock.now()
  const kept = (await factorsOf(office.pool, user.userId, now)).find(({ kind }) => kind === 'password')?.hashed
  if (kept && !(await isPassword(present, kept))) throw new Refused(unfit('present', 'your present password'))
  const weak = weakness(password, user.name)
  if (weak !== undefined) throw new Refused(unfit('password', `stronger: it must ${weak}`))
  await replacePassword(office, user, password, { keeps: sessionId })
}

/** `keeps`: a session that does not end. `link`: a factor that this ends; false if it was over. */
export async function replacePassword(
  office: Desk & Pick<Office, 'random'>,
  { userId, name }: Pick<UserEntry, 'userId' | 'name'>,
  password: Secret<string>,
  { keeps, link }: { keeps?: bigint; link?: bigint },
): Promise<boolean> {
  const now = office.clock.now()
  const hashed = await hashPassword(password, office.random)
  const factorId = await factorIds(office.pool, 1).take()
  const isOver = new Error('another request has used the link')
  return change(office, 'orders', async (runner) => {
    if (link !== undefined && !(await endFactor(runner, link, now))) throw isOver
    await endFactors(runner, userId, ['password'], now)
    await addFactor(runner, factorId, { userId, kind: 'password', hashed, createdAt: now })
    const details = { password: 'set', sessions_ended: await endSessionsOf(runner, userId, now, keeps) }
    return { note: { subject: `user ${name}`, details }, result: true }
  }).catch((error: unknown) => {
    if (error === isOver) return false
    throw error
  })
}

/** The user shows by a code that the app has the key. Returns recovery codes, each for one time. */
export async function setOwnTotp(
  office: Office,
  { user: { userId, name } }: Visitor,
  { key, code }: { key: Secret<Buffer>; code: string },
): Promise<readonly Secret<string>[]> {
  const now = office.clock.now()
  const step = stepOfCode(key, code.replaceAll(/\s/g, ''), now)
  if (step === undefined) throw new Refused(unfit('code', 'the current code of the authenticator'))
  const keys = await office.keys()
  const ids = factorIds(office.pool, codesAtOnce + 1)
  const factorId = await ids.take()
  const codes = Array.from({ length: codesAtOnce }, () => secret(codeText(office.random.bytes(10))))
  const codeIds = await Promise.all(codes.map(() => ids.take()))
  return change(office, 'orders', async (runner) => {
    await endFactors(runner, userId, ['totp', 'recovery'], now)
    await addFactor(runner, factorId, { userId, kind: 'totp', createdAt: now })
    await sealTotpKey(runner, factorId, key, keys, office.random)
    await takeTotpStep(runner, factorId, step)
    for (const [i, text] of codes.entries())
      await addFactor(runner, codeIds[i]!, { userId, kind: 'recovery', text, createdAt: now })
    return { note: { subject: `user ${name}`, details: { second_factor: 'totp' } }, result: codes }
  })
}

/** Sixteen letters and digits in groups of four: 80 bits. */
const codeText = (bytes: Buffer): string => base32(bytes).replace(/.{4}(?!$)/g, '$&-')

/** The ways in that a user has, and the user's open sessions. */
export async function ownAccount({ pool, clock }: Pick<Office, 'pool' | 'clock'>, { userId }: Session) {
  const now = clock.now()
  const [factors, sessions] = await Promise.all([factorsOf(pool, userId, now), openSessions(pool, now)])
  const count = (kind: Factor['kind']) => factors.filter((one) => one.kind === kind).length
  return {
    hasPassword: count('password') > 0,
    hasTotp: count('totp') > 0,
    passkeys: passkeysIn(factors),
    recoveryCodes: count('recovery'),
    sessions: sessions.filter((one) => one.userId === userId),
  }
}
