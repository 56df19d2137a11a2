/** The files of a detached partition, and whether they are still what was written. */
import { createHash } from 'node:crypto'
import { createReadStream, createWriteStream } from 'node:fs'
import { mkdir, readFile, rename } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGunzip, createGzip } from 'node:zlib'
import { syncDirectory, writeDurably } from '../../storage/durable-file.ts'
import { codeOf } from '../../base/error-code.ts'
import { pick } from '../../entity/json.ts'
import { statement, type Runner } from '../../storage/pool.ts'
import type { PartitionPiece, Span } from '../../storage/detached.ts'
import type { Unproven } from './words.ts'

/** A table of the export; hashes are SHA-256 in hexadecimal digits. */
export interface ExportedTable {
  table: string
  file: string
  columns: { name: string; type: string }[]
  rows: number
  /** Covers the compressed file. */
  sha256: string
  /** Covers the lines, uncompressed. */
  content_sha256: string
}

const manifestName = ({ number }: Span): string => `p${number}.manifest.json`

const rowsAtOnce = 2_000

const columnsOf = statement<{ name: string; type: string; key: bigint | null }>(`
  select a.attname as name, format_type(a.atttypid, a.atttypmod) as type,
    array_position(i.indkey::int2[], a.attnum)::bigint as key
  from pg_attribute a join pg_index i on i.indrelid = a.attrelid and i.indisprimary
  where a.attrelid = to_regclass($1) and a.attnum > 0 and not a.attisdropped and a.attgenerated = '' order by a.attnum`)

/**
 * Makes values look the same on every server, and stops PostgreSQL from ending the transaction
 * while the disk is slow.
 */
const settle = statement<object>(`
  select set_config('datestyle', 'iso', true), set_config('timezone', 'utc', true), set_config('bytea_output', 'hex', true),
    set_config('extra_float_digits', '1', true), set_config('idle_in_transaction_session_timeout', '0', true)`)

/**
 * What `copy` writes in its text format, in the order of the primary key; `count` is complete once
 * the lines were read. Within one transaction. *Rejected:* `copy … to stdout`, which the driver
 * cannot read.
 */
async function contentOf(runner: Runner, { name }: PartitionPiece) {
  await runner.run(settle)
  const columns = await runner.run(columnsOf, [name])
  const key = columns.filter((c) => c.key !== null).sort((a, b) => Number(a.key! - b.key!))
  const texts = columns.map((column) => `${column.name}::text`).join(', ')
  const cursor = `rows_of_${name}`
  const order = key.map((column) => `${name}.${column.name}`).join(', ')
  await runner.run({ name: '', text: `declare ${cursor} no scroll cursor for select ${texts} from ${name} order by ${order}` })
  let count = 0
  async function* lines(): AsyncGenerator<string> {
    const names = columns.map((column) => column.name)
    for (;;) {
      const rows = await runner.run<Record<string, string | null>>({ name: '', text: `fetch ${rowsAtOnce} from ${cursor}` })
      if (rows.length === 0) break
      count += rows.length
      yield rows.map((row) => `${names.map((of) => copied(row[of]!)).join('\t')}\n`).join('')
    }
    await runner.run({ name: '', text: `close ${cursor}` })
  }
  return { columns: columns.map((column) => pick(column, 'name', 'type')), lines: lines(), count: () => count }
}

const escapes = new Map(
  Object.entries({ '\\': '\\\\', '\b': '\\b', '\f': '\\f', '\n': '\\n', '\r': '\\r', '\t': '\\t', '\v': '\\v' }),
)
const copied = (value: string | null): string =>
  value === null ? '\\N' : value.replace(/[\\\b\f\n\r\t\v]/g, (letter) => escapes.get(letter)!)

/** Writes a table under another name, to the disk, and then names it. */
export async function writeTable(directory: string, piece: PartitionPiece, runner: Runner): Promise<ExportedTable> {
  const { columns, lines, count } = await contentOf(runner, piece)
  const file = `${piece.name}.copy.gz`
  const [stored, content] = [createHash('sha256'), createHash('sha256')]
  await pipeline(
    Readable.from(hashed(lines, content)),
    createGzip(),
    (compressed: AsyncIterable<Buffer>) => hashed(compressed, stored),
    createWriteStream(join(directory, `${file}.part`), { mode: 0o600, flush: true }),
  )
  await rename(join(directory, `${file}.part`), join(directory, file))
  return {
    table: piece.table,
    file,
    columns,
    rows: count(),
    sha256: stored.digest('hex'),
    content_sha256: content.digest('hex'),
  }
}

/** The manifest comes last: without it there is no export. Returns its hash. */
export async function writeManifest(directory: string, span: Span, tables: ExportedTable[]): Promise<string> {
  const manifest = {
    format: 'tollgate partition 1',
    partition: Number(span.number),
    first_order_id: Number(span.from),
    last_order_id: Number(span.to - 1n),
    tables,
  }
  const text = `${JSON.stringify(manifest, undefined, 2)}\n`
  await syncDirectory(directory)
  await writeDurably(join(directory, manifestName(span)), text, 0o600)
  return createHash('sha256').update(text).digest('hex')
}

export const makeDirectory = async (directory: string): Promise<void> =>
  void (await mkdir(directory, { recursive: true, mode: 0o700 }))

/** The tables of the export, if all files are as they were written; else what is wrong. */
export async function readExport(directory: string, span: Span): Promise<ExportedTable[] | Unproven> {
  const text = await readFile(join(directory, manifestName(span)), 'utf8').catch((error) => {
    if (codeOf(error) !== 'ENOENT') throw error
  })
  if (text === undefined) return { is: 'no manifest' }
  if (createHash('sha256').update(text).digest('hex') !== span.note?.manifest) return { is: 'other manifest' }
  const { tables } = JSON.parse(text) as { tables: ExportedTable[] }
  for (const table of tables) {
    const is = await judgeFile(directory, table)
    if (is) return { is, name: table.file }
  }
  return tables
}

/** Whether the file is what was written: as it is, and what comes out of it. */
async function judgeFile(directory: string, table: ExportedTable): Promise<'no file' | 'file altered' | undefined> {
  const [stored, content] = [createHash('sha256'), createHash('sha256')]
  try {
    await pipeline(
      createReadStream(join(directory, table.file)),
      (read: AsyncIterable<Buffer>) => hashed(read, stored),
      createGunzip(),
      async (plain: AsyncIterable<Buffer>) => {
        for await (const _ of hashed(plain, content));
      },
    )
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return 'no file'
    // It is no archive any more.
    if (codeOf(error).startsWith('Z_')) return 'file altered'
    throw error
  }
  return stored.digest('hex') === table.sha256 && content.digest('hex') === table.content_sha256 ? undefined : 'file altered'
}

/** Whether the table has the rows that were exported. */
export async function holdsTable(table: ExportedTable, piece: PartitionPiece, runner: Runner): Promise<boolean> {
  const { lines, count } = await contentOf(runner, piece)
  const content = createHash('sha256')
  for await (const _ of hashed(lines, content));
  return count() === table.rows && content.digest('hex') === table.content_sha256
}

async function* hashed<Part extends string | Buffer>(
  parts: AsyncIterable<Part>,
  hash: ReturnType<typeof createHash>,
): AsyncGenerator<Part> {
  for await (const part of parts) {
    hash.update(part)
    yield part
  }
}
