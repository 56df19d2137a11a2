import type { Random } from '../base/random.ts'
import { seal, unseal } from '../base/seal.ts'
import { bytea, statement, type Pool, type Runner, type Statement } from '../storage/pool.ts'
import type { KeyPurpose, KeyRing } from './ring.ts'

/** The id of a row: its columns in the order of the primary key. */
export type RowId = readonly (bigint | string)[]

/** A table with sealed columns that share one version of a key. Its room describes it. */
export interface SealedTable {
  table: string
  purpose: KeyPurpose
  id: Readonly<Record<string, 'bigint' | 'text'>>
  /** The column with the version of the key. */
  version: string
  /**
   * The sealed columns, each with the place that its values belong to. The first one is empty only
   * if all are.
   */
  sealed: Readonly<Record<string, (...id: never[]) => string>>
}

interface Statements {
  page: Statement<Record<string, unknown>>
  save: Statement<object>
  uses: Statement<{ uses: boolean }>
  look: Statement<Record<string, unknown>>
}

const made = new Map<SealedTable, Statements>()

function statementsOf(t: SealedTable): Statements {
  const known = made.get(t)
  if (known) return known
  const ids = Object.keys(t.id)
  const columns = Object.keys(t.sealed)
  const [first] = columns
  const params = ids.map((name, i) => `$${i + 2}::${t.id[name]}`).join(', ')
  const arrays = [
    ...ids.map((name) => [name, t.id[name]!] as const),
    ['old_version', 'bigint'] as const,
    ['old_value', 'bytea'] as const,
    ...columns.map((name) => [name, 'bytea'] as const),
  ]
  const lists = arrays.map(([, type], i) => `$${i + 2}::${type}[]`).join(', ')
  const statements: Statements = {
    // The older rows, and the last one that may be looked at, whatever its version.
    page: statement(
      `select * from (
        select ${ids.join(', ')}, ${first} is not null and ${t.version} < $1 as older, ${[t.version, ...columns].join(', ')},
          row_number() over (order by ${ids.join(', ')}) as place
        from ${t.table} where (${ids.join(', ')}) > (${params})
        order by ${ids.join(', ')} limit $${ids.length + 2}) looked
      where older or place = $${ids.length + 2} order by ${ids.join(', ')} limit $${ids.length + 3}`,
    ),
    // Whoever changed a row meanwhile has sealed it under the current key. Whoever is changing it
    // now is not waited for: a batch that waits, and is waited for, is a deadlock.
    save: statement(
      `with n as (select * from unnest(${lists}) as n (${arrays.map(([name]) => name).join(', ')})),
      free as (
        select ${ids.map((name) => `t.${name}`).join(', ')} from ${t.table} t join n using (${ids.join(', ')})
        where t.${t.version} = n.old_version and t.${first} = n.old_value
        for update of t skip locked)
      update ${t.table} t set ${t.version} = $1, ${columns.map((name) => `${name} = n.${name}`).join(', ')}
      from n join free using (${ids.join(', ')})
      where ${ids.map((name) => `t.${name} = n.${name}`).join(' and ')}
      returning 1`,
    ),
    uses: statement(`select exists (select from ${t.table} where ${first} is not null and ${t.version} = $1) as uses`),
    look: statement(
      `select ${[...ids, t.version, ...columns].join(', ')} from ${t.table}
      where (${ids.join(', ')}) > (${params}) and ${first} is not null and random() < $1
      order by ${ids.join(', ')} limit $${ids.length + 2}`,
    ),
  }
  made.set(t, statements)
  return statements
}

/** Smaller than any id. */
const lowest: Readonly<Record<'bigint' | 'text', bigint | string>> = { bigint: -1n, text: '' }

export const firstId = (t: SealedTable): RowId => Object.values(t.id).map((type) => lowest[type])

/** The key of the row: its columns as text. */
export const rowIdOf = (t: SealedTable, columns: readonly string[]): RowId =>
  Object.values(t.id).map((type, i) => (type === 'bigint' ? BigInt(columns[i]!) : columns[i]!))

export interface Resealed {
  /** Rows that were sealed again. */
  rows: number
  /** Where the next batch begins; undefined after the last one. */
  next?: RowId
}

/** To look at a row is this much cheaper than to seal it again. */
const looksFor = 20

/**
 * Seals the next `most` rows under an older version again, under the current one. Many more rows
 * are looked at, so that new payments, which need nothing, are passed more quickly than they come.
 * After rows that somebody was changing, the next batch begins where this one did. It can be
 * stopped and begun again at any place, and run beside payments and beside itself. Throws if a
 * value does not open, which is a defect. *Rejected:* a page of older rows however far they are,
 * which reads a whole table for the last page.
 */
export async function resealBatch(
  pool: Pool,
  t: SealedTable,
  keys: KeyRing,
  random: Random,
  { after, most }: { after: RowId; most: number },
): Promise<Resealed> {
  const { page, save } = statementsOf(t)
  const current = keys.current(t.purpose)
  const ids = Object.keys(t.id)
  const columns = Object.keys(t.sealed)
  const looks = looksFor * most
  const found = await pool.run(page, [current.version, ...after, looks, most])
  const last = found.at(-1)
  const goesOn = found.length === most || Number(last?.['place']) === looks
  const next = last && goesOn ? { next: ids.map((name) => last[name]) as RowId } : {}
  const rows = found.filter((row) => row['older'])
  if (rows.length === 0) return { rows: 0, ...next }
  const again = rows.map((row) => {
    const version = row[t.version] as bigint
    const key = keys.version(t.purpose, version)
    if (!key) throw new Error(`there is no ${t.purpose} key ${version}, which seals a row of ${t.table}`)
    const id = ids.map((name) => row[name]) as never[]
    const sealed = columns.map((name) => {
      const value = row[name] as Buffer | null
      const place = t.sealed[name]!(...id)
      return value && seal(current.key, unseal(key, value, place), place, random)
    })
    return [...id, version, bytea(row[columns[0]!] as Buffer), ...sealed.map((value) => value && bytea(value))]
  })
  const saved = await pool.run(save, [current.version, ...again[0]!.map((_, i) => again.map((values) => values[i]))])
  return saved.length < rows.length ? { rows: saved.length, next: after } : { rows: saved.length, ...next }
}

export interface Looked {
  opened: number
  /** Rows with a value that does not open. */
  closed: RowId[]
  /** Where the next look begins; undefined after the last one. */
  next?: RowId
}

/**
 * Opens the next `most` rows, or of all rows that `share` which chance picks: 1 is all. What was
 * sealed is thrown away immediately.
 */
export async function openBatch(
  runner: Runner,
  t: SealedTable,
  keys: Pick<KeyRing, 'version'>,
  { after, most, share }: { after: RowId; most: number; share: number },
): Promise<Looked> {
  const ids = Object.keys(t.id)
  const rows = await runner.run(statementsOf(t).look, [share, ...after, most])
  const idOf = (row: Record<string, unknown>) => ids.map((name) => row[name]) as RowId
  const closed = rows.filter((row) => !opens(t, keys, row, idOf(row))).map(idOf)
  const last = rows.length === most ? rows.at(-1) : undefined
  return { opened: rows.length - closed.length, closed, ...(last && { next: idOf(last) }) }
}

function opens(t: SealedTable, keys: Pick<KeyRing, 'version'>, row: Record<string, unknown>, id: RowId): boolean {
  const key = keys.version(t.purpose, row[t.version] as bigint)
  if (!key) return false
  try {
    for (const [name, placeOf] of Object.entries(t.sealed)) {
      const value = row[name] as Buffer | null
      if (value) unseal(key, value, placeOf(...(id as never[]))).fill(0)
    }
    return true
  } catch {
    // Its tag does not fit: another key, another row, or changed bytes.
    return false
  }
}

/** Whether any row is sealed under that version. */
export async function usesVersion(runner: Runner, t: SealedTable, version: bigint): Promise<boolean> {
  const [row] = await runner.run(statementsOf(t).uses, [version])
  return row!.uses
}
