/** The public keys of merchants: listing, adding and retiring them. */
import { createPublicKey, type KeyObject } from 'node:crypto'
import { insertPublicKey, retirePublicKey } from '../../merchant/rows.ts'
import { entities, statement, type Runner } from '../../storage/pool.ts'
import type { Desk } from '../desk.ts'
import { fingerprintOf, pemOf } from './public-key.ts'
import { Refused } from '../refused.ts'
import { change } from '../change.ts'
import { merchantNamed } from '../known.ts'

export interface MerchantKey {
  keyNo: number
  name: string
  /** What it verifies: v4 calls, or requests that are signed as a whole. */
  type: 'RSA' | 'Ed25519'
  bits: number
  fingerprint: string
  createdAt: number
  retiredAt?: number
}

const ofMerchant = entities<Omit<MerchantKey, 'type' | 'bits' | 'fingerprint'> & { publicKey: string }>(
  `select key_no, name, public_key, created_at, retired_at from merchant_key where merchant_id = $1 order by key_no`,
)

/** Two changes of one merchant's keys run one after the other, so that no number is used twice. */
const hold = statement<object>(`select merchant_id from merchant where merchant_id = $1 for update`)

/** Including retired ones. */
export async function listMerchantKeys(runner: Runner, merchantId: bigint): Promise<MerchantKey[]> {
  const found = await runner.run(ofMerchant, [merchantId])
  return found.map(({ publicKey, ...key }) => ({ ...key, ...factsOf(createPublicKey(publicKey)) }))
}

const factsOf = (key: KeyObject) => ({
  ...(key.asymmetricKeyType === 'rsa'
    ? { type: 'RSA' as const, bits: key.asymmetricKeyDetails!.modulusLength! }
    : { type: 'Ed25519' as const, bits: 256 }),
  fingerprint: fingerprintOf(key),
})

/** Signatures with it are accepted within a second. */
export async function addMerchantKey(desk: Desk, login: string, key: KeyObject, name?: string): Promise<MerchantKey> {
  return change(desk, 'config', async (runner) => {
    const { merchantId } = await merchantNamed(runner, login)
    await runner.run(hold, [merchantId])
    const before = await listMerchantKeys(runner, merchantId)
    const facts = factsOf(key)
    const same = before.find((one) => one.fingerprint === facts.fingerprint)
    if (same) throw new Refused({ what: 'key known', login, keyNo: same.keyNo, retired: same.retiredAt !== undefined })
    const keyNo = (before.at(-1)?.keyNo ?? 0) + 1
    const added = { keyNo, name: name ?? `key ${keyNo}`, ...facts, createdAt: desk.clock.now() }
    await insertPublicKey(runner, { merchantId, keyNo, name: added.name, pem: pemOf(key) }, added.createdAt)
    const details = { key_no: keyNo, name: added.name, type: facts.type, bits: facts.bits, sha256: facts.fingerprint }
    return { note: { subject: `merchant ${login}`, details }, result: added }
  })
}

/** Returns the key and how many of its type are left. */
export async function retireMerchantKey(
  desk: Desk,
  login: string,
  keyNo: number,
): Promise<{ key: MerchantKey; retiredAt: number; left: number }> {
  return change(desk, 'config', async (runner) => {
    const { merchantId } = await merchantNamed(runner, login)
    await runner.run(hold, [merchantId])
    const keys = await listMerchantKeys(runner, merchantId)
    const key = keys.find((one) => one.keyNo === keyNo)
    if (!key) throw new Refused({ what: 'unknown of merchant', thing: 'key', login, name: String(keyNo) })
    if (key.retiredAt !== undefined) throw new Refused({ what: 'key retired', login, keyNo })
    const retiredAt = desk.clock.now()
    await retirePublicKey(runner, merchantId, keyNo, retiredAt)
    const details = { key_no: keyNo, name: key.name, sha256: key.fingerprint }
    return {
      note: { subject: `merchant ${login}`, details },
      result: { key, retiredAt, left: keys.filter((one) => one.retiredAt === undefined && one.type === key.type).length - 1 },
    }
  })
}
