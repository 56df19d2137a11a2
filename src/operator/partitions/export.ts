import { join } from 'node:path'
import { dropPieces, noteDetached, partitionSpans, type Span } from '../../storage/detached.ts'
import { snapshot } from '../../storage/transaction.ts'
import type { CellDesk, OrderDesk } from '../desk.ts'
import type { Unproven } from './words.ts'
import { asKeeper, isBegun, note, type DoneAndLeft } from './detach.ts'
import { holdsTable, makeDirectory, readExport, writeManifest, writeTable, type ExportedTable } from './files.ts'

const isOff = ({ pieces }: Span): boolean => pieces.every(({ state }) => state === 'detached')

/** Each cell has the same numbers of partitions, so those of other cells than 0 are apart. */
export const filesOf = (directory: string, { cellNo }: CellDesk): string =>
  cellNo === 0 ? directory : join(directory, `cell-${cellNo}`)

/** Writes each detached partition of a cell to the directory, unless it is there. */
export const exportPartitions = (desk: OrderDesk, cell: CellDesk, directory: string) =>
  asKeeper(cell, async () => {
    const spans = (await partitionSpans(cell.pool)).filter((span) => isOff(span) && span.note !== undefined)
    if (spans.length > 0) await makeDirectory(directory)
    const exported = []
    for (const span of spans) {
      const there = await readExport(directory, span)
      const wasThere = Array.isArray(there)
      const tables = wasThere ? there : await exportSpan(desk, cell, directory, span)
      const { rows: orders } = tables.find(({ table }) => table === 'orders')!
      exported.push({ number: span.number, orders, wasThere })
    }
    return exported
  })

async function exportSpan(desk: OrderDesk, cell: CellDesk, directory: string, span: Span): Promise<ExportedTable[]> {
  await note(desk, cell, span)
  const tables = await snapshot(cell.pool, async (runner) => {
    const written: ExportedTable[] = []
    for (const piece of span.pieces) written.push(await writeTable(directory, piece, runner))
    return written
  })
  const manifest = await writeManifest(directory, span, tables)
  const rows = Object.fromEntries(tables.map((one) => [one.table, one.rows]))
  await note({ ...desk, action: 'partitions exported' }, cell, span, {
    body: (runner) => noteDetached(runner, span, { ...span.note!, manifest }),
    details: { manifest, rows },
  })
  return tables
}

/**
 * Drops the detached partitions whose rows the files in the directory prove to be kept. Unless it
 * is wanted, they are only named.
 */
export const dropPartitions = (
  desk: OrderDesk,
  cell: CellDesk,
  { directory, isWanted }: { directory: string; isWanted: boolean },
): Promise<DoneAndLeft<{ unproven: Unproven }>> =>
  asKeeper(cell, async () => {
    const result: DoneAndLeft<{ unproven: Unproven }> = { done: [], left: [] }
    for (const span of (await partitionSpans(cell.pool)).filter(isBegun)) {
      const { number, note: noted } = span
      const unproven = await unprovenOf(cell, directory, span)
      if (unproven) {
        result.left.push({ number, unproven })
        continue
      }
      if (isWanted)
        await note(desk, cell, span, {
          body: (runner) => dropPieces(runner, span.pieces),
          details: { manifest: noted!.manifest },
        })
      result.done.push(number)
    }
    return result
  })

async function unprovenOf({ pool }: CellDesk, directory: string, span: Span): Promise<Unproven | undefined> {
  if (!isOff(span)) return { is: 'half detached' }
  if (span.note?.manifest === undefined) return { is: 'not exported' }
  const tables = await readExport(directory, span)
  if (!Array.isArray(tables)) return tables
  return snapshot(pool, async (runner) => {
    for (const piece of span.pieces) {
      const exported = tables.find(({ table }) => table === piece.table)
      if (!exported || !(await holdsTable(exported, piece, runner))) return { is: 'table altered', name: piece.name }
    }
    return undefined
  })
}
