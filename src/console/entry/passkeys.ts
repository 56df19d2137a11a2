/** Passkeys: what a browser is asked, and what its answer shows (WebAuthn, level 3). */
import { hash } from 'node:crypto'
import type { AuthenticationResponseJSON, RegistrationResponseJSON } from '@simplewebauthn/server'
import { isObject, objectIn } from '../../base/json.ts'
import { secret, type Secret } from '../../base/secret.ts'
import { challengeMs, openChallenge, takeChallenge } from '../../entry/challenge-rows.ts'
import { addFactor, endFactor, factorIds, factorOf, factorsOf, isSecondFactor } from '../../entry/factor-rows.ts'
import { useFactor, type Factor, type Passkey } from '../../entry/factor-rows.ts'
import { change } from '../../operator/change.ts'
import type { Office } from '../../operator/office.ts'
import { Refused, unfit } from '../../operator/refused.ts'
import type { ConsoleParts, Visitor } from './visitor.ts'

/** Loaded with the first passkey: most starts of a console need none. */
const library = () => import('@simplewebauthn/server')
const mostPasskeys = 10

export type PasskeyFactor = Factor & { facts: Passkey }
export const passkeysIn = (factors: readonly Factor[]): PasskeyFactor[] =>
  factors.filter((one): one is PasskeyFactor => one.kind === 'passkey')

/** The authenticator's id of a user: always the same, and never the name. */
const handleOf = (userId: bigint): Buffer => hash('sha256', `user ${userId} of the console`, 'buffer')

/**
 * The options of a ceremony as JSON, for the script of the page. `what`: sign-in (whichever passkey
 * the browser has for this host), prove (one of this visitor's) or add. Undefined if it may not be.
 */
export async function passkeyOptions({ office, origin }: ConsoleParts, what: string, address: string, visitor?: Visitor) {
  const { pool, clock, random } = office
  const { sessionId, provenAt, hasPasskey } = visitor?.session ?? {}
  const may = what === 'sign-in' || (what === 'prove' && hasPasskey) || (what === 'add' && provenAt !== undefined)
  if (!may) return undefined
  const purpose = what === 'sign-in' ? what : `${what} ${sessionId}`
  const challenge = new Uint8Array(random.bytes(32))
  const text = secret(Buffer.from(challenge).toString('base64url'))
  await openChallenge(pool, { text, purpose, address }, clock.now())
  const known = what === 'sign-in' ? [] : passkeysIn(await factorsOf(pool, visitor!.user.userId, clock.now()))
  const credentials = known.map(({ facts: { id, transports } }) => ({ id, transports: [...transports] }))
  const shared = { challenge, rpID: new URL(origin).hostname, timeout: challengeMs }
  const userVerification = 'required'
  const { generateAuthenticationOptions, generateRegistrationOptions } = await library()
  if (what !== 'add') return generateAuthenticationOptions({ ...shared, allowCredentials: credentials, userVerification })
  return generateRegistrationOptions({
    ...shared,
    rpName: 'Tollgate',
    userName: visitor!.user.name,
    userID: new Uint8Array(handleOf(visitor!.user.userId)),
    excludeCredentials: credentials,
    authenticatorSelection: { residentKey: 'required', userVerification },
  })
}

/** The expected answer, if its challenge was open for this purpose. Uses the challenge up. */
async function expectedOf({ office: { pool, clock }, origin }: ConsoleParts, answer: Secret<string>, purpose: string) {
  const given = objectIn(answer.reveal())
  const { clientDataJSON } = isObject(given?.['response']) ? given['response'] : {}
  if (typeof given?.['id'] !== 'string' || typeof clientDataJSON !== 'string') return undefined
  const { challenge } = objectIn(Buffer.from(clientDataJSON, 'base64url').toString()) ?? {}
  if (typeof challenge !== 'string' || (await takeChallenge(pool, secret(challenge), clock.now())) !== purpose) return undefined
  const response = given as unknown as AuthenticationResponseJSON & RegistrationResponseJSON
  const where = { expectedOrigin: origin, expectedRPID: new URL(origin).hostname, requireUserVerification: true }
  return { response, expectedChallenge: challenge, ...where }
}

/**
 * Whose passkey has answered: of `visitor` alone, or of whoever signs in. Undefined if it shows
 * nothing: another challenge or origin, a counter that went back, a passkey that was removed.
 */
export async function userByPasskey(parts: ConsoleParts, answer: Secret<string>, visitor?: Visitor): Promise<bigint | undefined> {
  const { pool, clock } = parts.office
  const purpose = visitor ? `prove ${visitor.session.sessionId}` : 'sign-in'
  const expected = await expectedOf(parts, answer, purpose)
  const factor = expected && (await factorOf(pool, secret(expected.response.id), clock.now()))
  if (factor?.kind !== 'passkey' || (visitor && factor.userId !== visitor.user.userId)) return undefined
  const { id, publicKey } = (factor as PasskeyFactor).facts
  const handle = handleOf(factor.userId).toString('base64url')
  // A browser that was given a list of passkeys may leave it out.
  const { userHandle = visitor && handle } = expected!.response.response
  if (userHandle !== handle) return undefined
  const credential = { id, publicKey: new Uint8Array(Buffer.from(publicKey, 'base64url')), counter: Number(factor.step ?? 0n) }
  const { verifyAuthenticationResponse } = await library()
  const shown = await verifyAuthenticationResponse({ ...expected!, credential }).catch(() => undefined)
  const isUsed = shown?.verified && (await useFactor(pool, factor.factorId, clock.now(), shown.authenticationInfo.newCounter))
  return isUsed ? factor.userId : undefined
}

export async function addOwnPasskey(
  office: Office,
  parts: ConsoleParts,
  { user: { userId, name: user }, session: { sessionId } }: Visitor,
  { name, answer }: { name: string; answer: Secret<string> },
): Promise<void> {
  const now = office.clock.now()
  const expected = await expectedOf(parts, answer, `add ${sessionId}`)
  const { verifyRegistrationResponse } = await library()
  const shown = expected && (await verifyRegistrationResponse(expected).catch(() => undefined))
  if (!shown?.verified) throw new Refused(unfit('passkey', 'requested by this page within the last five minutes; add it again'))
  const { id, publicKey, counter } = shown.registrationInfo.credential
  const transports = [expected!.response.response.transports ?? []].flat().filter((one) => /^[a-z-]{1,20}$/.test(one))
  const facts = { name, id, publicKey: Buffer.from(publicKey).toString('base64url'), transports }
  const factorId = await factorIds(office.pool, 1).take()
  await change(office, 'orders', async (runner) => {
    if (passkeysIn(await factorsOf(runner, userId, now)).length >= mostPasskeys)
      throw new Refused(unfit('passkey', `one of at most ${mostPasskeys}: remove one first`))
    if (await factorOf(runner, secret(id), now)) throw new Refused(unfit('passkey', 'a new one'))
    await addFactor(runner, factorId, { userId, kind: 'passkey', text: secret(id), facts, step: counter, createdAt: now })
    return { note: { subject: `user ${user}`, details: { passkey: name, added: true } }, result: undefined }
  })
}

/** The last second factor stays: a password alone would lead to a new one. */
export async function removeOwnPasskey(office: Office, { user: { userId, name: user } }: Visitor, chosen: string): Promise<void> {
  const now = office.clock.now()
  await change(office, 'orders', async (runner) => {
    const factors = await factorsOf(runner, userId, now)
    const one = passkeysIn(factors).find(({ factorId }) => String(factorId) === chosen)
    const isLast = factors.filter(isSecondFactor).length < 2
    if (!one || isLast) throw new Refused(unfit('passkey', 'one of several: you cannot remove your last second factor'))
    await endFactor(runner, one.factorId, now)
    return { note: { subject: `user ${user}`, details: { passkey: one.facts.name, removed: true } }, result: undefined }
  })
}
