/** How the filters that fired are shown. */
import { numbered, tableOf, type Block } from '../../entity/show.ts'
import type { Fired } from '../../risk/screening.ts'

export const firedTable = (fired: readonly Fired[]): Block =>
  tableOf<Fired>(
    [
      numbered('NO', (f) => f.filterNo),
      numbered('SCORE', (f) => f.score),
      { title: 'CODE', of: (f) => f.code },
      { title: 'FILTER', of: (f) => f.name },
      { title: 'FOUND', of: (f) => f.found },
    ],
    fired,
  )

export const firedJson = (f: Fired) => ({ filter: f.filterNo, name: f.name, code: f.code, score: f.score, found: f.found })
