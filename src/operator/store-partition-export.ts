import { dropPieces, noteDetached, partitionSpans, type Span } from '../storage/store-detached.ts'
import { snapshot } from '../storage/transaction.ts'
import type { Desk } from './desk.ts'
import type { Unproven } from './refused.ts'
import { asKeeper, isBegun, note } from './store-partition-detach.ts'
import {
  contentOf,
  judgeFile,
  judgeTable,
  makeDirectory,
  readManifest,
  writeManifest,
  writeTable,
  type ExportedTable,
} from './store-partition-files.ts'

export interface Exported {
  number: bigint
  /** Of orders. */
  rows: number
  /** Whether the files were there already. */
  wasThere: boolean
}

const isOff = ({ pieces }: Span): boolean => pieces.every(({ state }) => state === 'detached')

/** Writes each detached partition to the directory, unless it is there. */
export const exportPartitions = (desk: Desk, directory: string): Promise<Exported[]> =>
  asKeeper(desk, async () => {
    const spans = (await partitionSpans(desk.pool)).filter((span) => isOff(span) && span.note !== undefined)
    if (spans.length > 0) await makeDirectory(directory)
    const exported: Exported[] = []
    for (const span of spans) {
      const there = await filesThere(directory, span)
      const tables = there ?? (await exportSpan(desk, directory, span))
      const { rows } = tables.find(({ table }) => table === 'orders')!
      exported.push({ number: span.number, rows, wasThere: there !== undefined })
    }
    return exported
  })

async function exportSpan(desk: Desk, directory: string, span: Span): Promise<ExportedTable[]> {
  await note(desk, span, 'partitions export')
  const tables = await snapshot(desk.pool, async (runner) => {
    const written: ExportedTable[] = []
    for (const piece of span.pieces) written.push(await writeTable(directory, piece, await contentOf(runner, piece)))
    return written
  })
  const manifest = await writeManifest(directory, span, tables)
  const rows = Object.fromEntries(tables.map((one) => [one.table, one.rows]))
  await note(desk, span, 'partitions exported', (runner) => noteDetached(runner, span, { ...span.note!, manifest }), {
    manifest,
    rows,
  })
  return tables
}

/** The tables of the export, if all of it is as it was written. */
async function filesThere(directory: string, span: Span): Promise<ExportedTable[] | undefined> {
  const manifest = await readManifest(directory, span)
  if (typeof manifest === 'string') return undefined
  for (const table of manifest.tables) if (await judgeFile(directory, table)) return undefined
  return manifest.tables
}

export interface Dropped {
  /** Those that can be dropped, and were if that was wanted. */
  dropped: bigint[]
  left: { number: bigint; unproven: Unproven }[]
}

/** Drops the detached partitions whose rows the files in the directory prove to be kept. */
export const dropPartitions = (desk: Desk, directory: string, isWanted: boolean): Promise<Dropped> =>
  asKeeper(desk, async () => {
    const result: Dropped = { dropped: [], left: [] }
    for (const span of (await partitionSpans(desk.pool)).filter(isBegun)) {
      const { number, note: noted } = span
      const unproven = await unprovenOf(desk, directory, span)
      if (unproven) {
        result.left.push({ number, unproven })
        continue
      }
      if (isWanted)
        await note(desk, span, 'partitions drop', (runner) => dropPieces(runner, span.pieces), { manifest: noted!.manifest })
      result.dropped.push(number)
    }
    return result
  })

async function unprovenOf({ pool }: Desk, directory: string, span: Span): Promise<Unproven | undefined> {
  if (!isOff(span)) return { is: 'half detached' }
  if (span.note?.manifest === undefined) return { is: 'not exported' }
  const manifest = await readManifest(directory, span)
  if (typeof manifest === 'string') return { is: manifest }
  for (const table of manifest.tables) {
    const is = await judgeFile(directory, table)
    if (is) return { is, name: table.file }
  }
  return snapshot(pool, async (runner) => {
    for (const piece of span.pieces) {
      const exported = manifest.tables.find(({ table }) => table === piece.table)
      if (!exported || !(await judgeTable(runner, piece, exported))) return { is: 'table altered', name: piece.name }
    }
    return undefined
  })
}
