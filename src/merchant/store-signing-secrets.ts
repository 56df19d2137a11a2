/** The signing secrets of merchants: one for each, for signatures by HMAC-SHA256. */
import type { Random } from '../base/random.ts'
import { seal, unseal } from '../base/seal.ts'
import { secret, type Secret } from '../base/secret.ts'
import { bytea, statement, type Runner } from '../storage/pool.ts'
import type { SealedTable } from '../storage/reseal.ts'
import type { KeyRing } from '../storage/store-keys.ts'
import type { SignedRequests } from './merchant.ts'

export interface SigningSecretRow {
  signing_secret_sealed: Buffer | null
  signing_secret_key: bigint | null
}

const replace = statement<object>(
  `update merchant set signing_secret_sealed = $2, signing_secret_key = $3 where merchant_id = $1`,
)
const demand = statement<object>(`update merchant set signed_requests = $2 where merchant_id = $1`)
/** Changes of one merchant run one after the other, so that nobody is shown a replaced secret. */
const held = statement<SigningSecretRow>(
  `select signing_secret_sealed, signing_secret_key from merchant where merchant_id = $1 for update`,
)

/** As Standard Webhooks writes a secret, and as receivers' libraries read it. */
export const signingSecretText = (key: Secret<Buffer>): string => `whsec_${key.reveal().toString('base64')}`

/** Made here, never chosen, so that it cannot be guessed from what it signs. */
export const newSigningSecret = (random: Random): Secret<Buffer> => secret(random.bytes(32))

export async function replaceSigningSecret(
  runner: Runner,
  merchant: { merchantId: bigint; signingSecret: Secret<Buffer> },
  keys: Pick<KeyRing, 'current'>,
  random: Random,
): Promise<void> {
  const { merchantId, signingSecret } = merchant
  const { version, key } = keys.current('control')
  const sealed = seal(key, signingSecret.reveal(), contextOf(merchantId), random)
  await runner.run(replace, [merchantId, bytea(sealed), version])
}

/** The secret of a merchant, locked until the transaction ends; undefined if there is none. */
export async function holdSigningSecret(
  runner: Runner,
  merchantId: bigint,
  keys: Pick<KeyRing, 'version'>,
): Promise<Secret<Buffer> | undefined> {
  const [row] = await runner.run(held, [merchantId])
  return row && openSigningSecret(row, merchantId, keys)
}

/** Which requests are refused without a signature; undefined for none. */
export async function demandSignatures(runner: Runner, merchantId: bigint, which: SignedRequests | undefined): Promise<void> {
  await runner.run(demand, [merchantId, which ?? null])
}

export function openSigningSecret(
  { signing_secret_sealed: sealed, signing_secret_key: version }: SigningSecretRow,
  merchantId: bigint,
  keys: Pick<KeyRing, 'version'>,
): Secret<Buffer> | undefined {
  if (sealed === null || version === null) return undefined
  const key = keys.version('control', version)
  if (!key) throw new Error(`control key ${version}, which seals the signing secret of merchant ${merchantId}, is gone`)
  return secret(unseal(key, sealed, contextOf(merchantId)))
}

const contextOf = (merchantId: bigint) => `signing:${merchantId}`

export const sealedSigningSecrets: SealedTable = {
  table: 'merchant',
  purpose: 'control',
  id: { merchant_id: 'bigint' },
  version: 'signing_secret_key',
  sealed: { signing_secret_sealed: contextOf },
}
