import type { KeyEncryption } from '../../keys/encryption.ts'
import { bytea, entities, statement, type Runner } from '../../storage/pool.ts'
import { firstId, resealBatch, usesVersion, type RowId } from '../../keys/reseal.ts'
import { activationMs, addKey, contextOf, newKey, type KeyRing, type StoredPurpose } from '../../keys/ring.ts'
import { listResealing, orderResealing, type Resealing } from '../../keys/resealing-rows.ts'
import type { CellDesk, Databases, Desk, OrderDesk } from '../desk.ts'
import { inEach, inTurn } from '../in-cells.ts'
import { Refused } from '../refused.ts'
import type { KeyUse } from './uses.ts'
import { sealedTables } from './sealed-tables.ts'
import { sealedWithOrders } from '../../gateway/sealed-tables.ts'
import { change } from '../change.ts'

/** Keys that an operator may replace. The keys of CVV2 replace themselves every hour. */
export const rotatable = ['pan', 'control', 'digest', 'receipt', 'fingerprint'] as const
export type Rotatable = (typeof rotatable)[number]

export interface KeyVersion {
  purpose: StoredPurpose
  version: bigint
  /** The key-encryption key that wraps it. */
  kek: string
  createdAt: number
  activeAt: number
  /** `coming`: added, and not used yet. `older`: only opens what it sealed. */
  state: 'coming' | 'current' | 'older'
}

type KeyRow = Omit<KeyVersion, 'state'> & { wrapped: Buffer }

const all = entities<KeyRow>(
  `select purpose, version, wrapped, kek, created_at, active_at from key_version order by purpose, version desc`,
)
const locked = entities<KeyRow>(
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
  return rows.map(({ wrapped: _wrapped, ...row }) => ({ ...row, state: stateOf(row, rows, now) }))
}

function stateOf(row: Omit<KeyRow, 'wrapped'>, rows: readonly KeyRow[], now: number): KeyVersion['state'] {
  if (row.activeAt > now) return 'coming'
  const newer = rows.some((one) => one.purpose === row.purpose && one.version > row.version && one.activeAt <= now)
  return newer ? 'older' : 'current'
}

/**
 * Adds a version; every process uses it from the time in the result, and gateways seal what is
 * stored with orders again from then on. The key is wrapped before the transaction, because a key
 * service may take its time, and the rows are locked meanwhile. A command that ended before all
 * cells were told is finished by the next one, which is refused.
 */
export async function rotateKeyOf(
  desk: OrderDesk,
  encryption: KeyEncryption,
  purpose: Rotatable,
): Promise<{ version: bigint; activeAt: number }> {
  const newestIn = (rows: readonly KeyRow[]) => rows.find((row) => row.purpose === purpose)
  const before = newestIn(await desk.pool.run(all))
  const now = desk.clock.now()
  if (before && before.activeAt > now) await orderIn(desk, purpose, before)
  refuseComing(before, now)
  // Nothing is begun while a cell is away.
  await inEach(await cellsWith(desk, purpose), ({ pool }) => listResealing(pool))
  const version = (before?.version ?? 0n) + 1n
  const key = await newKey(encryption, desk.random, purpose, version)
  const added = await change(desk, 'orders', async (runner) => {
    const at = desk.clock.now()
    const activeAt = at + activationMs
    refuseComing(newestIn(await runner.run(locked)), at)
    if (!(await addKey(runner, key, { at, activeAt })))
      throw new Refused({ what: 'rotation under way', purpose, version, activeAt })
    return {
      note: note(purpose, version, { active_at: new Date(activeAt).toISOString() }),
      result: { version, activeAt },
    }
  })
  await orderIn(desk, purpose, { version, activeAt: added.activeAt })
  return added
}

const tablesOf = (purpose: Rotatable): string[] => sealedWithOrders.filter((t) => t.purpose === purpose).map(({ table }) => table)

/** The cells that have values under this key. */
const cellsWith = async ({ cells }: Databases, purpose: Rotatable): Promise<readonly CellDesk[]> =>
  tablesOf(purpose).length === 0 ? [] : cells()

/** Has what is stored with orders sealed again under that version, in every cell. */
async function orderIn(desk: OrderDesk, purpose: Rotatable, { version, activeAt: dueAt }: Pick<KeyRow, 'version' | 'activeAt'>) {
  const order = ({ pool }: CellDesk) => orderResealing(pool, tablesOf(purpose), { version, dueAt })
  await inEach(await cellsWith(desk, purpose), order)
}

export interface CellResealing extends Resealing {
  cellNo: number
}

/** How far that is, in every cell. */
export async function resealingIn({ cells }: Databases): Promise<CellResealing[]> {
  const found = await inEach(await cells(), async ({ cellNo, pool }) =>
    (await listResealing(pool)).map((one) => ({ cellNo, ...one })),
  )
  return found.flat()
}

function refuseComing(newest: KeyRow | undefined, at: number): void {
  if (!newest || newest.activeAt <= at) return
  const { version, activeAt } = newest
  throw new Refused({ what: 'rotation under way', purpose: newest.purpose, version, activeAt })
}

const note = (purpose: string, version: bigint, details = {}) => ({
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
      return { row, to: await encryption.wrap(await encryption.unwrap(row, context), context) }
    }),
  )
  return change(desk, 'orders', async (runner) => {
    let keys = 0
    for (const { row, to } of again) {
      const values = [row.purpose, row.version, bytea(row.wrapped), bytea(to.wrapped), to.kek]
      keys += (await runner.run(wrapAgain, values)).length
    }
    const from = [...new Set(others.map(({ kek }) => kek))]
    return { note: { subject: 'key-encryption key', details: { keys, from, to: id } }, result: keys }
  })
}

export interface Progress {
  /** Absent for cell 0 and for the configuration. */
  cell?: number
  table: string
  /** Rows sealed again so far. */
  rows: number
}

/**
 * Seals every value of an older version again, under the current one. `rest` is called
 * after each batch, so that payments are not kept waiting; whatever was done until a stop stays
 * done. Returns the rows of each table. Fails if a cell is away, when the others are done.
 */
export async function resealAll(
  desk: OrderDesk,
  keys: KeyRing,
  { batch, rest }: { batch: number; rest: (progress: Progress) => Promise<void> },
): Promise<Progress[]> {
  const done = await inTurn(await desk.cells(), async ({ cellNo, pool }) => {
    const tables: Progress[] = []
    for (const t of cellNo === 0 ? sealedTables : sealedWithOrders) {
      const progress = { ...(cellNo > 0 && { cell: cellNo }), table: t.table, rows: 0 }
      tables.push(progress)
      let after: RowId | undefined = firstId(t)
      while (after) {
        const { rows, next } = await resealBatch(pool, t, keys, desk.random, { after, most: batch })
        progress.rows += rows
        after = next
        await rest(progress)
      }
    }
    return tables
  })
  return done.flat()
}

/**
 * Processes that stopped for a while may still seal with it; requests are repeated, and wrong sums
 * counted, for a day.
 */
const afterMs = { sealed: 3_600_000, hashed: 25 * 3_600_000 }

/**
 * The version of the key that made a stored digest, in SQL; `bytes` is the length of the digest
 * itself (keys/digest.ts).
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

/**
 * Destroys a version that nothing needs any more. The other cells are read first, because the
 * transaction of the installation must not stand idle meanwhile; nothing comes under a version that
 * was superseded long enough ago.
 */
export async function retireKey(desk: OrderDesk, purpose: Rotatable, version: bigint): Promise<void> {
  const refuse = (by: KeyUse | undefined) => {
    if (by) throw new Refused({ what: 'key in use', purpose, version, by })
  }
  const refuseYoung = (rows: readonly KeyRow[]) => {
    const own = rows.filter((row) => row.purpose === purpose)
    if (!own.some((row) => row.version === version)) throw new Refused({ what: 'unknown key', purpose, version })
    refuse(usedBesidesRows(purpose, version, own, desk.clock.now()))
  }
  refuseYoung(await desk.pool.run(all))
  const others = (await desk.cells()).filter(({ cellNo }) => cellNo > 0)
  for (const by of await inEach(others, ({ cellNo, pool }) => rowsUnder(pool, purpose, version, cellNo))) refuse(by)
  await change(desk, 'orders', async (runner) => {
    refuseYoung(await runner.run(locked))
    refuse(await rowsUnder(runner, purpose, version, 0))
    await runner.run(destroy, [purpose, version])
    return { note: note(purpose, version), result: undefined }
  })
}

function usedBesidesRows(purpose: Rotatable, version: bigint, rows: readonly KeyRow[], now: number): KeyUse | undefined {
  const successor = rows.findLast((row) => row.version > version)
  if (!successor) return { is: 'current' }
  if (purpose === 'receipt') return { is: 'ids given out' }
  const hashes = purpose === 'digest' || purpose === 'fingerprint'
  const untilMs = successor.activeAt + (hashes ? afterMs.hashed : afterMs.sealed)
  return now < untilMs ? { is: 'superseded lately', untilMs } : undefined
}

/** The configuration is beside cell 0. */
async function rowsUnder(runner: Runner, purpose: Rotatable, version: bigint, cellNo: number): Promise<KeyUse | undefined> {
  for (const t of cellNo === 0 ? sealedTables : sealedWithOrders)
    if (t.purpose === purpose && (await usesVersion(runner, t, version))) return { is: 'rows', table: t.table, cellNo }
  if (purpose !== 'digest') return undefined
  for (const { table, uses } of digestTables)
    if ((await runner.run(uses, [version]))[0]!.uses) return { is: 'rows', table, cellNo }
  return undefined
}
