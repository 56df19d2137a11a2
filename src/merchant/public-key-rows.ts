/** The public keys of merchants, by which they sign. */
import { createHash, createPublicKey, type KeyObject } from 'node:crypto'
import { entities, statement, timestamp, type Runner } from '../storage/pool.ts'

export interface MerchantKey {
  keyNo: number
  name: string
  /** The requests it verifies: v4 calls, or requests that are signed as a whole. */
  type: 'RSA' | 'Ed25519'
  bits: number
  /**
   * SHA-256 of the SubjectPublicKeyInfo in DER, the same as `openssl pkey -pubin -in public.pem
   * -outform der | openssl dgst -sha256`.
   */
  fingerprint: string
  createdAt: number
  retiredAt?: number
}

const keysOf = entities<Pick<MerchantKey, 'keyNo' | 'name' | 'createdAt' | 'retiredAt'> & { publicKey: string }>(
  `select key_no, name, public_key, created_at, retired_at from merchant_key where merchant_id = $1 order by key_no`,
)
/** Two changes of one merchant's keys run one after the other, so that no number is used twice. */
const hold = statement<object>(`select merchant_id from merchant where merchant_id = $1 for update`)
const addKey = statement<object>(
  `insert into merchant_key (merchant_id, key_no, name, public_key, created_at) values ($1, $2, $3, $4, $5)`,
)
const retireKey = statement<object>(`update merchant_key set retired_at = $3 where merchant_id = $1 and key_no = $2`)

/** Including retired ones. */
export const listMerchantKeys = async (runner: Runner, merchantId: bigint): Promise<MerchantKey[]> =>
  (await runner.run(keysOf, [merchantId])).map(({ publicKey, ...key }) => ({ ...key, ...factsOf(createPublicKey(publicKey)) }))

/** In a transaction: no other changes the keys of the merchant before its end. */
export async function holdMerchantKeys(runner: Runner, merchantId: bigint): Promise<MerchantKey[]> {
  await runner.run(hold, [merchantId])
  return listMerchantKeys(runner, merchantId)
}

const factsOf = (key: KeyObject) => ({
  ...(key.asymmetricKeyType === 'rsa'
    ? { type: 'RSA' as const, bits: key.asymmetricKeyDetails!.modulusLength! }
    : { type: 'Ed25519' as const, bits: 256 }),
  fingerprint: createHash('sha256')
    .update(key.export({ type: 'spki', format: 'der' }))
    .digest('hex'),
})

/**
 * In a transaction. A key that is there, or was retired, is not added again: it is returned as it
 * is. Signatures by a new one are accepted within a second.
 */
export async function registerPublicKey(
  runner: Runner,
  merchantId: bigint,
  key: KeyObject,
  now: number,
  name?: string,
): Promise<{ key: MerchantKey; isNew: boolean }> {
  const before = await holdMerchantKeys(runner, merchantId)
  const facts = factsOf(key)
  const same = before.find((one) => one.fingerprint === facts.fingerprint)
  if (same) return { key: same, isNew: false }
  const keyNo = (before.at(-1)?.keyNo ?? 0) + 1
  const added = { keyNo, name: name ?? `key ${keyNo}`, ...facts, createdAt: now }
  // One text for each key, in whatever form it was given.
  const pem = key.export({ type: 'spki', format: 'pem' }).toString()
  await runner.run(addKey, [merchantId, keyNo, added.name, pem, timestamp(now)])
  return { key: added, isNew: true }
}

/**
 * Its signatures are no longer accepted; it stays stored, so that it cannot be registered again.
 */
export const retirePublicKey = async (runner: Runner, merchantId: bigint, keyNo: number, now: number): Promise<void> =>
  void (await runner.run(retireKey, [merchantId, keyNo, timestamp(now)]))
