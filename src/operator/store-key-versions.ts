import type { KeyEncryption } from '../storage/key-encryption.ts'
import { bytea, statement, type Runner } from '../storage/pool.ts'
import { firstId, resealBatch, usesVersion, type RowId } from '../storage/reseal.ts'
import { activationMs, addKey, contextOf, newKey, wrappedKey, type KeyRing, type StoredPurpose } from '../storage/store-keys.ts'
import { orderResealing } from '../storage/store-resealing.ts'
import type { Desk } from './desk.ts'
import { Refused, type KeyUse } from './refused.ts'
import { sealedTables, sealedWithOrders } from './sealed-tables.ts'
import { change } from './store-audit.ts'

/** Keys that an operator may replace. The keys of CVV2 replace themselves every hour. */
export const rotatable = ['pan', 'control', 'digest', 'receipt', 'fingerprint'] as const
export type Rotatable = (typeof rotatable)[number]

export interface KeyVersion {
  purpose: StoredPurpose
  version: bigint
  /** The key-encryption key that wraps it; undefined if that was not recorded. */
  kek?: string
  createdAt: number
  activeAt: number
  /** `coming`: added, and not used yet. `older`: only opens what it sealed. */
  state: 'coming' | 'current' | 'older'
}

interface KeyRow {
  purpose: StoredPurpose
  version: bigint
  wrapped: Buffer
  kek: string | null
  created_at: number
  active_at: number
}

const all = statement<KeyRow>(
  `select purpose, version, wrapped, kek, created_at, active_at from key_version order by purpose, version desc`,
)
const locked = statement<KeyRow>(
  `select purpose, version, wrapped, kek, created_at, active_at from key_version order by purpose, version desc for update`,
)
const wrapAgain = statement<object>(
  `update key_version set wrapped = $4, kek = $5 where purpose = $1 and version = $2 and wrapped = $3 returning version`,
)
const destroy = statement<object>(`delete from key_version where purpose = $1 and version = $2`)

/** By purpose, the newest first. */
export async function listKeys({ pool, clock }: Desk): Promise<KeyVersion[]> {
  const rows = await pool.run(all)
  const now = clock.now()
  return rows.map((row) => ({
    purpose: row.purpose,
    version: row.version,
    ...(row.kek === null ? {} : { kek: row.kek }),
    createdAt: row.created_at,
    activeAt: row.active_at,
    state: stateOf(row, rows, now),
  }))
}

function stateOf(row: KeyRow, rows: readonly KeyRow[], now: number): KeyVersion['state'] {
  if (row.active_at > now) return 'coming'
  const newer = rows.some((one) => one.purpose === row.purpose && one.version > row.version && one.active_at <= now)
  return newer ? 'older' : 'current'
}

/**
 * Adds a version; every process uses it from the time in the result, and gateways seal what is
 * stored with orders again from then on. The key is wrapped before the
 * transaction, because a key service may take its time, and the rows are locked meanwhile.
 */
export async function rotateKeyOf(
  desk: Desk,
  encryption: KeyEncryption,
  purpose: Rotatable,
): Promise<{ version: bigint; activeAt: number }> {
  const newestIn = (rows: readonly KeyRow[]) => rows.find((row) => row.purpose === purpose)
  const before = newestIn(await desk.pool.run(all))
  refuseComing(before, desk.clock.now())
  const version = (before?.version ?? 0n) + 1n
  const key = await newKey(encryption, desk.random, purpose, version)
  return change(desk, 'orders', async (runner) => {
    const at = desk.clock.now()
    const activeAt = at + activationMs
    refuseComing(newestIn(await runner.run(locked)), at)
    if (!(await addKey(runner, key, { at, activeAt })))
      throw new Refused({ what: 'rotation under way', purpose, version, activeAt })
    const tables = sealedWithOrders.filter((t) => t.purpose === purpose).map(({ table }) => table)
    if (tables.length > 0) await orderResealing(runner, tables, { version, dueAt: activeAt })
    return {
      note: note('rotate', purpose, version, { active_at: new Date(activeAt).toISOString() }),
      result: { version, activeAt },
    }
  })
}

function refuseComing(newest: KeyRow | undefined, at: number): void {
  if (!newest || newest.active_at <= at) return
  const { version, active_at: activeAt } = newest
  throw new Refused({ what: 'rotation under way', purpose: newest.purpose, version, activeAt })
}

const note = (does: string, purpose: string, version: bigint, details = {}) => ({
  action: `keys ${does}`,
  subject: `key ${purpose} ${version}`,
  details,
})

/**
 * Wraps every key with the present key-encryption key; returns how many were under another.
 * Wrapping is done before the transaction. A row that was changed meanwhile is left to whoever
 * changed it.
 */
export async function rewrapKeys(desk: Desk, encryption: KeyEncryption): Promise<number> {
  const id = await encryption.id()
  const others = (await desk.pool.run(all)).filter(({ kek }) => kek !== id)
  if (others.length === 0) return 0
  const again = await Promise.all(
    others.map(async (row) => {
      const context = contextOf(row.purpose, row.version)
      return { row, to: await encryption.wrap(await encryption.unwrap(wrappedKey(row), context), context) }
    }),
  )
  return change(desk, 'orders', async (runner) => {
    let keys = 0
    for (const { row, to } of again) {
      const values = [row.purpose, row.version, bytea(row.wrapped), bytea(to.wrapped), to.kek]
      keys += (await runner.run(wrapAgain, values)).length
    }
    const from = [...new Set(others.map(({ kek }) => kek ?? 'not recorded'))]
    return { note: { action: 'keys rewrap', subject: 'key-encryption key', details: { keys, from, to: id } }, result: keys }
  })
}

export interface Progress {
  table: string
  /** Rows sealed again so far. */
  rows: number
}

/**
 * Seals every value of an older version again, under the current one. `rest` is called
 * after each batch, so that payments are not kept waiting; whatever was done until a stop stays
 * done. Returns the rows of each table.
 */
export async function resealAll(
  desk: Desk,
  keys: KeyRing,
  { batch, rest }: { batch: number; rest: (progress: Progress) => Promise<void> },
): Promise<Progress[]> {
  const done: Progress[] = []
  for (const t of sealedTables) {
    const progress = { table: t.table, rows: 0 }
    done.push(progress)
    let after: RowId | undefined = firstId(t)
    while (after) {
      const { rows, next } = await resealBatch(desk.pool, t, keys, desk.random, { after, most: batch })
      progress.rows += rows
      after = next
      await rest(progress)
    }
  }
  return done
}

/**
 * Processes that stopped for a while may still seal with it; requests are repeated, and wrong sums
 * counted, for a day.
 */
const afterMs = { sealed: 3_600_000, hashed: 25 * 3_600_000 }

/**
 * The version of the key that made a stored digest, in SQL; `bytes` is the length of the digest
 * itself (storage/keyed-digest.ts).
 */
const versionOf = (column: string, bytes: number) => `case length(${column}) when ${bytes} then 1
  else ('x' || encode(substr(${column}, 1, 4), 'hex'))::bit(32)::bigint end`
const digestTables = [
  {
    table: 'idempotency_key',
    uses: statement<{ uses: boolean }>(
      `select exists (select from idempotency_key where ${versionOf('digest', 32)} = $1::bigint and held_until > now()) as uses`,
    ),
  },
  {
    table: 'filter_count',
    uses: statement<{ uses: boolean }>(
      `select exists (select from filter_count where ${versionOf('key', 16)} = $1::bigint and until > now()) as uses`,
    ),
  },
]

/** Destroys a version that nothing needs any more. */
export async function retireKey(desk: Desk, purpose: Rotatable, version: bigint): Promise<void> {
  await change(desk, 'orders', async (runner) => {
    const rows = (await runner.run(locked)).filter((row) => row.purpose === purpose)
    if (!rows.some((row) => row.version === version)) throw new Refused({ what: 'unknown key', purpose, version })
    const by = await useOf(runner, purpose, version, rows, desk.clock.now())
    if (by) throw new Refused({ what: 'key in use', purpose, version, by })
    await runner.run(destroy, [purpose, version])
    return { note: note('retire', purpose, version), result: undefined }
  })
}

async function useOf(
  runner: Runner,
  purpose: Rotatable,
  version: bigint,
  rows: readonly KeyRow[],
  now: number,
): Promise<KeyUse | undefined> {
  const successor = rows.findLast((row) => row.version > version)
  if (!successor) return { is: 'current' }
  if (purpose === 'receipt') return { is: 'ids given out' }
  const hashes = purpose === 'digest' || purpose === 'fingerprint'
  const untilMs = successor.active_at + (hashes ? afterMs.hashed : afterMs.sealed)
  if (now < untilMs) return { is: 'superseded lately', untilMs }
  for (const t of sealedTables)
    if (t.purpose === purpose && (await usesVersion(runner, t, version))) return { is: 'rows', table: t.table }
  if (purpose !== 'digest') return undefined
  for (const { table, uses } of digestTables) if ((await runner.run(uses, [version]))[0]!.uses) return { is: 'rows', table }
  return undefined
}
