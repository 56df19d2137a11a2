/** The keys that verify a merchant's requests, and the secrets that sign messages to it. */
import type { KeyObject } from 'node:crypto'
import { secret } from '../../base/secret.ts'
import { holdMerchantKeys, registerPublicKey, retirePublicKey, type MerchantKey } from '../../merchant/public-key-rows.ts'
import {
  holdSigners,
  newSigningSecret,
  replaceSigningKey,
  replaceSigningSecret,
  signingKeyText,
} from '../../merchant/signing-secret-rows.ts'
import type { Desk } from '../desk.ts'
import type { Office } from '../office.ts'
import { Refused } from '../refused.ts'
import { changeMerchant } from './merchant-rows.ts'

/** Signatures with it are accepted within a second. */
export const addMerchantKey = (desk: Desk, login: string, key: KeyObject, name?: string): Promise<MerchantKey> =>
  changeMerchant(desk, login, async (runner, { merchantId }) => {
    const { key: own, isNew } = await registerPublicKey(runner, merchantId, key, desk.clock.now(), name)
    if (!isNew) throw new Refused({ what: 'key known', login, keyNo: own.keyNo, retired: own.retiredAt !== undefined })
    const details = { key_no: own.keyNo, name: own.name, type: own.type, bits: own.bits, sha256: own.fingerprint }
    return { details, secrets: ['public key'], result: own }
  })

/** Returns the key and how many of its type are left. */
export const retireMerchantKey = (desk: Desk, { login, number: keyNo }: { login: string; number: number }) =>
  changeMerchant(desk, login, async (runner, { merchantId }) => {
    const keys = await holdMerchantKeys(runner, merchantId)
    const key = keys.find((one) => one.keyNo === keyNo)
    if (!key) throw new Refused({ what: 'unknown of merchant', thing: 'key', login, name: String(keyNo) })
    if (key.retiredAt !== undefined) throw new Refused({ what: 'key retired', login, keyNo })
    const retiredAt = desk.clock.now()
    await retirePublicKey(runner, merchantId, keyNo, retiredAt)
    const left = keys.filter((one) => one.retiredAt === undefined && one.type === key.type).length - 1
    const details = { key_no: keyNo, name: key.name, sha256: key.fingerprint }
    return { details, secrets: ['public key'], result: { key, retiredAt, left } }
  })

/** `new`: another one is made, even where there is one. */
interface SignerWish {
  login: string
  new?: boolean
}

/** Whether it was made just now, so that gateways sign with it within a second; and for whom. */
const made = ({ sandbox }: Office, login: string, isNew: boolean) => ({ isNew, isSandbox: sandbox?.login === login })

/**
 * The secret by which callbacks of a merchant are signed; it is made where there is none. The audit
 * trail has who looked at it too, since whoever has seen it can sign.
 */
export async function signingSecretOf(office: Office, { login, new: isWanted = false }: SignerWish) {
  const keys = await office.keys()
  return changeMerchant(office, login, async (runner, { merchantId }) => {
    const { signingSecret: present } = await holdSigners(runner, merchantId, keys)
    const isNew = isWanted || present === undefined
    const key = isNew ? newSigningSecret(office.random) : present
    if (isNew) await replaceSigningSecret(runner, merchantId, key, keys, office.random)
    const secrets = isNew ? ['signing secret'] : []
    return { details: { made: isNew }, secrets, result: { key, ...made(office, login, isNew) } }
  })
}

/**
 * The public half of the Ed25519 key that signs callbacks of a merchant, as `whpk_` and base64; the
 * pair is made where there is none, and ended by `off`.
 */
export async function signingKeyOf(
  office: Office,
  { login, new: isWanted = false, off = false }: SignerWish & { off?: boolean },
) {
  if (off && isWanted) throw new Refused({ what: 'unfit', field: 'new', must: 'left out where it is off' })
  const keys = await office.keys()
  return changeMerchant(office, login, async (runner, { merchantId }) => {
    const { signingKey: present } = await holdSigners(runner, merchantId, keys)
    const isNew = !off && (isWanted || present === undefined)
    const seed = isNew ? secret(office.random.bytes(32)) : undefined
    const key = isNew || off ? await replaceSigningKey(runner, merchantId, seed, keys, office.random) : present
    const publicKey = key && signingKeyText(key)
    const details = { public_key: publicKey ?? 'none', made: isNew }
    const secrets = isNew || off ? ['signing key'] : []
    return { details, secrets, result: { publicKey, ...made(office, login, isNew) } }
  })
}
