import { secret, type Secret } from '../../base/secret.ts'
import type { SignedRequests } from '../../merchant/merchant.ts'
import {
  demandSignatures,
  holdSigners,
  newSigningSecret,
  replaceSigningKey,
  replaceSigningSecret,
  signingKeyText,
} from '../../merchant/signing-secret-rows.ts'
import type { KeyRing } from '../../keys/ring.ts'
import type { Desk } from '../desk.ts'
import { change } from '../change.ts'
import { merchantNamed } from '../known.ts'

export interface SigningSecret {
  key: Secret<Buffer>
  /** Whether it was made just now; running gateways sign with it within a second. */
  isNew: boolean
}

/**
 * The signing secret of a merchant; one is made where there is none, or where a new one is wished.
 * The audit trail has who looked at it too, since whoever has seen it can sign.
 */
export async function signingSecretOf(
  desk: Desk,
  keys: KeyRing,
  login: string,
  wish: 'the present one' | 'a new one',
): Promise<SigningSecret> {
  return change(desk, 'config', async (runner) => {
    const { merchantId } = await merchantNamed(runner, login)
    const { signingSecret: present } = await holdSigners(runner, merchantId, keys)
    const isNew = wish === 'a new one' || present === undefined
    const key = isNew ? newSigningSecret(desk.random) : present
    if (isNew) await replaceSigningSecret(runner, { merchantId, signingSecret: key }, keys, desk.random)
    const details = { made: isNew }
    return { note: { subject: `merchant ${login}`, details }, result: { key, isNew } }
  })
}

export interface SigningKey {
  /** `whpk_` and base64; undefined if the merchant has none. */
  publicKey: string | undefined
  /** Running gateways sign by it within a second. */
  isNew: boolean
}

/**
 * The public half of the Ed25519 key that signs a merchant's callbacks; one is made where there is
 * none, or where a new one is wished.
 */
export async function signingKeyOf(
  desk: Desk,
  keys: KeyRing,
  login: string,
  wish: 'the present one' | 'a new one' | 'none',
): Promise<SigningKey> {
  return change(desk, 'config', async (runner) => {
    const { merchantId } = await merchantNamed(runner, login)
    const { signingKey: present } = await holdSigners(runner, merchantId, keys)
    const isNew = wish === 'a new one' || (wish === 'the present one' && present === undefined)
    const seed = isNew ? secret(desk.random.bytes(32)) : undefined
    const key = isNew || wish === 'none' ? await replaceSigningKey(runner, merchantId, seed, keys, desk.random) : present
    const publicKey = key && signingKeyText(key)
    const details = { public_key: publicKey ?? 'none', made: isNew }
    return { note: { subject: `merchant ${login}`, details }, result: { publicKey, isNew } }
  })
}

/** Which requests of a merchant are refused without a signature, within a second. */
export async function setSignedRequests(desk: Desk, login: string, which: SignedRequests | undefined): Promise<void> {
  await change(desk, 'config', async (runner) => {
    const { merchantId } = await merchantNamed(runner, login)
    await demandSignatures(runner, merchantId, which)
    const details = { demanded: which ?? 'off' }
    return { note: { subject: `merchant ${login}`, details }, result: undefined }
  })
}
