/** The factors of users: an invitation that works once, a password, a second factor. */
import type { Random } from '../base/random.ts'
import { secret, type Secret } from '../base/secret.ts'
import type { KeyRing } from '../keys/ring.ts'
import { sealedColumn } from '../keys/sealed-column.ts'
import { openIds } from '../storage/ids.ts'
import { bytea, entities, statement, timestamp, type Pool, type Runner } from '../storage/pool.ts'
import { digestOf } from './digest.ts'
import type { HashedPassword } from './password.ts'

/** A second factor follows a password, an account or a reset; link and passkey stand for both. */
export type FactorKind = 'link' | 'reset' | 'password' | 'totp' | 'recovery' | 'passkey' | 'account'

/** Id and key in COSE are base64url, as browsers write them. */
export type Passkey = Record<'name' | 'id' | 'publicKey', string> & { transports: readonly string[] }

/** A user's account at the provider of single sign-on. */
export type ProviderAccount = Record<'issuer' | 'subject', string>

export interface Factor extends Partial<Record<'digest', Buffer>> {
  factorId: bigint
  userId: bigint
  kind: FactorKind
  hashed?: HashedPassword
  secretSealed?: Buffer
  secretKey?: bigint
  /** The last step whose code was taken, or the counter of a passkey. */
  step?: bigint
  facts?: Passkey | ProviderAccount
  createdAt: number
  expiresAt?: number
  usedAt?: number
}

const totpKeys = sealedColumn(
  { table: 'operator_factor', id: 'factor_id', sealed: 'secret_sealed', version: 'secret_key' },
  'second factor',
)
export const sealedTotpKeys = totpKeys.resealed

const columns =
  'factor_id, user_id, kind, digest, hashed, secret_sealed, secret_key, step, facts, created_at, expires_at, used_at'
const ofUser = entities<Factor>(`
  select ${columns} from operator_factor
  where user_id = $1 and ended_at is null and (expires_at is null or expires_at > $2) order by factor_id`)
const ofDigest = entities<Factor>(`
  select ${columns} from operator_factor
  where digest = $1 and ended_at is null and (expires_at is null or expires_at > $2)`)
const insert = statement<object>(`
  insert into operator_factor (factor_id, user_id, kind, digest, hashed, facts, step, created_at, expires_at)
  values ($1, $2, $3, $4, $5, $6, $7, $8, $9)`)
const endOne = statement<object>(
  `update operator_factor set ended_at = $2 where factor_id = $1 and ended_at is null returning factor_id`,
)
const endKind = statement<object>(
  `update operator_factor set ended_at = $3 where user_id = $1 and kind = any ($2::text[]) and ended_at is null`,
)
const takeStep = statement<object>(
  `update operator_factor set step = $2 where factor_id = $1 and (step is null or step < $2) returning factor_id`,
)

const use = statement<object>(`
  update operator_factor set step = coalesce($2, step), used_at = $3
  where factor_id = $1 and ended_at is null and ($2::bigint is null or $2 = 0 or step < $2) returning factor_id`)

/** False if it ended, or if the counter of a passkey is not above the last one. */
export const useFactor = async (runner: Runner, factorId: bigint, now: number, counter?: number): Promise<boolean> =>
  (await runner.run(use, [factorId, counter ?? null, timestamp(now)])).length > 0

/** By what `factorOf` finds it. */
export const accountText = ({ issuer, subject }: ProviderAccount): Secret<string> => secret(`${issuer} ${subject}`)

export const isSecondFactor = ({ kind }: Pick<Factor, 'kind'>): boolean => kind === 'totp' || kind === 'passkey'

export const factorsOf = (runner: Runner, userId: bigint, now: number): Promise<Factor[]> =>
  runner.run(ofUser, [userId, timestamp(now)])

/** The valid factors with this text. */
export const factorOf = async (runner: Runner, text: Secret<string>, now: number): Promise<Factor | undefined> =>
  (await runner.run(ofDigest, [bytea(digestOf(text)), timestamp(now)]))[0]

/** False if somebody else was first: what is used up is used once. */
export const endFactor = async (runner: Runner, factorId: bigint, now: number): Promise<boolean> =>
  (await runner.run(endOne, [factorId, timestamp(now)])).length > 0

export const endFactors = (runner: Runner, userId: bigint, kinds: readonly FactorKind[], now: number): Promise<unknown> =>
  runner.run(endKind, [userId, kinds, timestamp(now)])

/** False if the code of this step, or of a later one, was taken before. */
export const takeTotpStep = async (runner: Runner, factorId: bigint, step: bigint): Promise<boolean> =>
  (await runner.run(takeStep, [factorId, step])).length > 0

type NewFactor = Pick<Factor, 'userId' | 'kind' | 'hashed' | 'facts' | 'createdAt' | 'expiresAt'> & {
  text?: Secret<string>
  step?: number
}

/** Numbers that no two factors share; taken before the transaction. */
export const factorIds = (pool: Pool, many: number) => openIds(pool, 'factor', many)

export async function addFactor(
  runner: Runner,
  factorId: bigint,
  { userId, kind, text, hashed, facts, step, createdAt, expiresAt }: NewFactor,
): Promise<void> {
  const digest = text === undefined ? null : bytea(digestOf(text))
  const times = [timestamp(createdAt), expiresAt === undefined ? null : timestamp(expiresAt)]
  const json = [hashed, facts].map((value) => (value ? JSON.stringify(value) : null))
  await runner.run(insert, [factorId, userId, kind, digest, ...json, step ?? null, ...times])
}

export const sealTotpKey = (
  runner: Runner,
  factorId: bigint,
  key: Secret<Buffer>,
  keys: Pick<KeyRing, 'current'>,
  random: Random,
): Promise<unknown> => totpKeys.replace(runner, factorId, key, keys, random)

export const openTotpKey = (
  { factorId, secretSealed, secretKey }: Factor,
  keys: Pick<KeyRing, 'version'>,
): Secret<Buffer> | undefined => totpKeys.open({ sealed: secretSealed, version: secretKey }, factorId, keys)
