import type { KeyEncryption } from '../../keys/encryption.ts'
import { jsonOf, pick } from '../../entity/json.ts'
import { bytea, entities, statement, timestamp, type Runner } from '../../storage/pool.ts'
import { firstId, resealBatch, usesVersion, type RowId } from '../../keys/reseal.ts'
import { activationMs, addKey, contextOf, newKey, type KeyRing, type StoredPurpose } from '../../keys/ring.ts'
import { listResealing, orderResealing, type Resealing } from '../../keys/resealing-rows.ts'
import type { Databases, Desk, OrderDesk } from '../desk.ts'
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

type DatedVersion = Pick<KeyVersion, 'version' | 'activeAt'>
type KeyRow = Pick<KeyVersion, 'purpose' | 'version' | 'kek' | 'activeAt'> & { wrapped: Buffer }

const listed = entities<KeyVersion>(`
  select purpose, version, kek, created_at, active_at, case
    when active_at > $1 then 'coming'
    when version < max(version) filter (where active_at <= $1) over (partition by purpose) then 'older'
    else 'current' end as state
  from key_version order by purpose, version desc`)
const all = entities<KeyRow>(`select purpose, version, wrapped, kek, active_at from key_version order by purpose, version desc`)
const locked = entities<KeyRow>(`${all.text} for update`)
const wrapAgain = statement<object>(
  `update key_version set wrapped = $4, kek = $5 where purpose = $1 and version = $2 and wrapped = $3 returning version`,
)
const destroy = statement<object>(`delete from key_version where purpose = $1 and version = $2`)

/** By purpose, the newest first. */
export const listKeys = ({ pool, clock }: Desk): Promise<KeyVersion[]> => pool.run(listed, [timestamp(clock.now())])

/**
 * Adds a version; every process uses it from the time in the result, and gateways seal what is
 * stored with orders again from then on. The key is wrapped before the transaction, because a key
 * service may take its time, and the rows are locked meanwhile. A command that ended before it had
 * reached all cells is finished by the next one, which is refused.
 */
export async function rotateKeyOf(desk: OrderDesk, encryption: KeyEncryption, purpose: Rotatable): Promise<DatedVersion> {
  const tables = sealedWithOrders.filter((one) => one.purpose === purpose).map(({ table }) => table)
  const cells = tables.length === 0 ? [] : await desk.cells()
  const orderInCells = ({ version, activeAt: dueAt }: DatedVersion) =>
    inEach(cells, ({ pool }) => orderResealing(pool, tables, { version, dueAt }))
  const underWay = ({ version, activeAt }: DatedVersion) =>
    new Refused({ what: 'rotation under way', purpose, version, activeAt })
  const newestIn = (rows: readonly KeyRow[]) => rows.find((row) => row.purpose === purpose)

  const before = newestIn(await desk.pool.run(all))
  if (before && before.activeAt > desk.clock.now()) {
    await orderInCells(before)
    throw underWay(before)
  }
  // Nothing is begun while a cell is away.
  await inEach(cells, ({ pool }) => listResealing(pool))
  const version = (before?.version ?? 0n) + 1n
  const key = await newKey(encryption, desk.random, purpose, version)
  const added = await change(desk, 'orders', async (runner) => {
    const at = desk.clock.now()
    const result = { version, activeAt: at + activationMs }
    const newest = newestIn(await runner.run(locked))
    if (newest && newest.activeAt > at) throw underWay(newest)
    if (!(await addKey(runner, key, { at, activeAt: result.activeAt }))) throw underWay(result)
    return { note: { subject: `key ${purpose} ${version}`, details: jsonOf(pick(result, 'activeAt')) }, result }
  })
  await orderInCells(added)
  return added
}

export type CellResealing = Resealing & { cellNo: number }

/** How far what is stored with orders is sealed again, in every cell. */
export async function resealingIn({ cells }: Databases): Promise<CellResealing[]> {
  const found = await inEach(await cells(), async ({ cellNo, pool }) =>
    (await listResealing(pool)).map((one) => ({ cellNo, ...one })),
  )
  return found.flat()
}

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
 * A table with digests, whose rows are over at a time. In SQL, the version of the key that made
 * one; `bytes` is the length of the digest itself (keys/digest.ts).
 */
const digestTable = (table: string, { digest, bytes, over }: { digest: string; bytes: number; over: string }) => ({
  table,
  uses: statement<{ uses: boolean }>(`
    select exists (select from ${table} where ${over} > now() and $1::bigint = case length(${digest}) when ${bytes} then 1
      else ('x' || encode(substr(${digest}, 1, 4), 'hex'))::bit(32)::bigint end) as uses`),
})
const digestTables = [
  digestTable('idempotency_key', { digest: 'digest', bytes: 32, over: 'held_until' }),
  digestTable('filter_count', { digest: 'key', bytes: 16, over: 'until' }),
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
    return { note: { subject: `key ${purpose} ${version}` }, result: undefined }
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
