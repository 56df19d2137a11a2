import { auditTrail } from './audit-trail.ts'
import { cells } from './cells.ts'
import { clicks } from './clicks.ts'
import { consolePages } from './console.ts'
import { long } from './long.ts'
import { newKey } from './new-key.ts'
import { overload } from './overload.ts'
import { secured } from './secured.ts'
import { slowAcquirer } from './slow-acquirer.ts'
import { start } from './start.ts'
import { twoProcesses } from './two-processes.ts'
import type { ByName } from '../wishes.ts'

/** The benches that are not part of everything. */
export const byName: readonly ByName[] = [
  overload,
  slowAcquirer,
  twoProcesses,
  cells,
  start,
  long,
  newKey,
  secured,
  auditTrail,
  consolePages,
  clicks,
]
