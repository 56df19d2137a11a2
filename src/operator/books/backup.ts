/** What the facts of a restored copy say, as data. */
import type { ChainFault } from '../../storage/audit-rows.ts'
import type { Health } from '../doctor/doctor.ts'
import {
  isBehind,
  type BookFault,
  type CellBooks,
  type CopyFacts,
  type Counts,
  type IdBlock,
  type OpenedTable,
} from './backup-rows.ts'

export type BackupFinding = { is: Health } & BackupFound

type BackupFound =
  /** It answers. */
  | { finds: 'copy'; databaseUrl: string }
  | { finds: 'cell away'; error: unknown }
  | { finds: 'sealed values open'; table: string; column: string; opened: number }
  | { finds: 'sealed values closed'; table: OpenedTable }
  | { finds: 'moment'; at: number }
  | { finds: 'nothing dated' }
  | { finds: 'counts'; counts: Counts }
  | { finds: 'books add up' }
  | { finds: 'books broken'; fault: BookFault }
  | { finds: 'ids are new'; blocks: readonly IdBlock[] }
  | { finds: 'ids drawn again'; block: IdBlock }
  | { finds: 'trail whole'; rows: bigint }
  | { finds: 'trail altered'; faults: readonly ChainFault[]; count: number }

export const sealedFindings = (tables: readonly OpenedTable[]): BackupFinding[] =>
  tables.map((table) =>
    table.closed === 0
      ? { is: 'ok', finds: 'sealed values open', table: table.table, column: table.column, opened: table.opened }
      : { is: 'problem', finds: 'sealed values closed', table },
  )

export const booksFindings = ({ newestAt, counts, faults }: CellBooks): BackupFinding[] => [
  newestAt === undefined ? { is: 'warning', finds: 'nothing dated' } : { is: 'ok', finds: 'moment', at: newestAt },
  { is: 'ok', finds: 'counts', counts },
  ...(faults.length === 0
    ? [{ is: 'ok', finds: 'books add up' } as const]
    : faults.map((fault) => ({ is: 'problem', finds: 'books broken', fault }) as const)),
]

export function copyFindings({ blocks, trail }: CopyFacts): BackupFinding[] {
  const behind = blocks.filter(isBehind)
  return [
    ...(behind.length === 0
      ? [{ is: 'ok', finds: 'ids are new', blocks } as const]
      : behind.map((block) => ({ is: 'problem', finds: 'ids drawn again', block }) as const)),
    trail.faultCount === 0
      ? { is: 'ok', finds: 'trail whole', rows: trail.rows }
      : { is: 'problem', finds: 'trail altered', faults: trail.faults, count: trail.faultCount },
  ]
}
