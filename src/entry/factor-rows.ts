/** What users prove themselves by: a link that lets them in once, a password, a second factor. */
import type { Random } from '../base/random.ts'
import type { Secret } from '../base/secret.ts'
import type { KeyRing } from '../keys/ring.ts'
import { sealedColumn, type SealedValue } from '../keys/sealed-column.ts'
import { openIds } from '../storage/ids.ts'
import { bytea, entities, statement, timestamp, type Pool, type Runner } from '../storage/pool.ts'
import { digestOf } from './digest.ts'
import type { HashedPassword } from './password.ts'

/** Second factors come after a password; a link stands for both. */
export type FactorKind = 'link' | 'password' | 'totp' | 'recovery'

export interface Factor extends Partial<Record<'digest', Buffer>> {
  factorId: bigint
  userId: bigint
  kind: FactorKind
  hashed?: HashedPassword
  secretSealed?: Buffer
  secretKey?: bigint
  /** The last step whose code was taken. */
  step?: bigint
  createdAt: number
  expiresAt?: number
}

const totpKeys = sealedColumn(
  { table: 'operator_factor', id: 'factor_id', sealed: 'secret_sealed', version: 'secret_key' },
  'second factor',
)
export const sealedTotpKeys = totpKeys.resealed

const columns = 'factor_id, user_id, kind, digest, hashed, secret_sealed, secret_key, step, created_at, expires_at'
const ofUser = entities<Factor>(`
  select ${columns} from operator_factor
  where user_id = $1 and ended_at is null and (expires_at is null or expires_at > $2) order by factor_id`)
const ofDigest = entities<Factor>(`
  select ${columns} from operator_factor
  where digest = $1 and ended_at is null and (expires_at is null or expires_at > $2)`)
const insert = statement<object>(`
  insert into operator_factor (factor_id, user_id, kind, digest, hashed, created_at, expires_at)
  values ($1, $2, $3, $4, $5, $6, $7)`)
const endOne = statement<object>(
  `update operator_factor set ended_at = $2 where factor_id = $1 and ended_at is null returning factor_id`,
)
const endKind = statement<object>(
  `update operator_factor set ended_at = $3 where user_id = $1 and kind = any ($2::text[]) and ended_at is null`,
)
const takeStep = statement<object>(
  `update operator_factor set step = $2 where factor_id = $1 and (step is null or step < $2) returning factor_id`,
)

export const factorsOf = (runner: Runner, userId: bigint, now: number): Promise<Factor[]> =>
  runner.run(ofUser, [userId, timestamp(now)])

/** A link or a recovery code that is still valid. */
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

interface NewFactor {
  userId: bigint
  kind: FactorKind
  text?: Secret<string>
  hashed?: HashedPassword
  createdAt: number
  expiresAt?: number
}

/** Numbers that no two factors share; taken before the transaction. */
export const factorIds = (pool: Pool, many: number) => openIds(pool, 'factor', many)

export async function addFactor(
  runner: Runner,
  factorId: bigint,
  { userId, kind, text, hashed, createdAt, expiresAt }: NewFactor,
): Promise<void> {
  const digest = text === undefined ? null : bytea(digestOf(text))
  const times = [timestamp(createdAt), expiresAt === undefined ? null : timestamp(expiresAt)]
  await runner.run(insert, [factorId, userId, kind, digest, hashed ? JSON.stringify(hashed) : null, ...times])
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
): Secret<Buffer> | undefined => totpKeys.open({ sealed: secretSealed, version: secretKey } as SealedValue, factorId, keys)
