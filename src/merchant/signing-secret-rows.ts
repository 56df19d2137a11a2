/**
 * What signs for merchants: a secret of each for signatures by HMAC-SHA256, and for those who ask
 * for it the seed of a key for signatures by Ed25519.
 */
import type { KeyObject } from 'node:crypto'
import { privateKeyOf, rawPublicKey } from '../base/ed25519.ts'
import type { Random } from '../base/random.ts'
import { secret, type Secret } from '../base/secret.ts'
import { entities, statement, type Runner } from '../storage/pool.ts'
import type { KeyRing } from '../keys/ring.ts'
import { sealedColumn } from '../keys/sealed-column.ts'
import type { SignedRequests, Signers } from './merchant.ts'

export interface SealedSigners {
  signingSecretSealed?: Buffer
  signingSecretKey?: bigint
  signingSeedSealed?: Buffer
  signingSeedKey?: bigint
}

const secrets = sealedColumn(
  { table: 'merchant', id: 'merchant_id', sealed: 'signing_secret_sealed', version: 'signing_secret_key' },
  'signing',
)
const seeds = sealedColumn(
  { table: 'merchant', id: 'merchant_id', sealed: 'signing_seed_sealed', version: 'signing_seed_key' },
  'signing seed',
)
export const sealedSigningSecrets = secrets.resealed
export const sealedSigningSeeds = seeds.resealed
const demand = statement<object>(`update merchant set signed_requests = $2 where merchant_id = $1`)
/** Changes of one merchant run one after the other, so that no user is shown a replaced secret. */
const held = entities<SealedSigners>(
  `select signing_secret_sealed, signing_secret_key, signing_seed_sealed, signing_seed_key
   from merchant where merchant_id = $1 for update`,
)

/** As Standard Webhooks writes a secret, and as receivers' libraries read it. */
export const signingSecretText = (key: Secret<Buffer>): string => `whsec_${key.reveal().toString('base64')}`

/** Undefined if it is none: an empty or cut secret would sign what anybody can sign. */
export function readSigningSecret(text: string): Secret<Buffer> | undefined {
  const key = Buffer.from(text.trim().replace(/^whsec_/, ''), 'base64')
  return key.length >= 24 && signingSecretText(secret(key)) === text.trim() ? secret(key) : undefined
}

/** Made here, never chosen, so that it cannot be guessed from what it signs. */
export const newSigningSecret = (random: Random): Secret<Buffer> => secret(random.bytes(32))

export const replaceSigningSecret = secrets.replace

/** As Standard Webhooks writes a public key. */
export const signingKeyText = (key: KeyObject): string => `whpk_${rawPublicKey(key).toString('base64')}`

/** Gives a merchant a key of that seed, or none. Returns the private key. */
export async function replaceSigningKey(
  runner: Runner,
  merchantId: bigint,
  seed: Secret<Buffer> | undefined,
  keys: Pick<KeyRing, 'current'>,
  random: Random,
): Promise<KeyObject | undefined> {
  await (seed ? seeds.replace(runner, merchantId, seed, keys, random) : seeds.drop(runner, merchantId))
  return seed && privateKeyOf(seed)
}

/** The signing secrets of a merchant; their row is locked until the transaction ends. */
export async function holdSigners(runner: Runner, merchantId: bigint, keys: Pick<KeyRing, 'version'>): Promise<Signers> {
  const [row] = await runner.run(held, [merchantId])
  return row ? openSigners(row, merchantId, keys) : {}
}

/** Which requests are refused without a signature; undefined for none. */
export async function demandSignatures(runner: Runner, merchantId: bigint, which: SignedRequests | undefined): Promise<void> {
  await runner.run(demand, [merchantId, which ?? null])
}

export function openSigners(row: SealedSigners, merchantId: bigint, keys: Pick<KeyRing, 'version'>): Signers {
  const signingSecret = secrets.open({ sealed: row.signingSecretSealed, version: row.signingSecretKey }, merchantId, keys)
  const seed = seeds.open({ sealed: row.signingSeedSealed, version: row.signingSeedKey }, merchantId, keys)
  return { signingSecret, signingKey: seed && privateKeyOf(seed) }
}
