import { readFileSync } from 'node:fs'

/** A JSON line of a run. */
export type Line = Readonly<Record<string, unknown>>

/** One row of two runs. */
export interface Compared {
  /** The common part of both rows: `sale, in_flight 256`. */
  row: string
  figures: { name: string; older: number; newer: number; ratio: number | undefined }[]
}

/** The JSON lines of an earlier run, whatever else it printed. Throws if there are none. */
export function readRun(path: string): Line[] {
  const found = linesIn(readFileSync(path, 'utf8'))
  if (found.length === 0) throw new Error(`${path} has no JSON lines of the bench.`)
  return found
}

export const linesIn = (text: string): Line[] =>
  text.split('\n').flatMap((line) => {
    if (!line.startsWith('{"bench":')) return []
    const read: Line = JSON.parse(line)
    return [read]
  })

/** A text says which row it is, not how it went; so does this number. */
const isName = (name: string, value: unknown): boolean => typeof value === 'string' || name === 'in_flight'
/** Numbers that follow from the command line. */
const given: ReadonlySet<string> = new Set(['sales_before', 'connections', 'orders'])

function rowOf(line: Line): string {
  const named = Object.entries(line).filter(([name, value]) => name !== 'bench' && isName(name, value))
  return [String(line['bench']), ...named.map(([name, value]) => `${name} ${String(value)}`)].join(', ')
}

/** The figures that both runs have, row by row, in the order of the newer run. */
export function compareRuns(older: readonly Line[], newer: readonly Line[]): Compared[] {
  const before = new Map(older.map((line) => [rowOf(line), line]))
  return newer.flatMap((line) => {
    if (String(line['bench']).endsWith('-books')) return []
    const row = rowOf(line)
    const figures = Object.entries(line).flatMap(([name, is]) => {
      const was = before.get(row)?.[name]
      if (isName(name, is) || given.has(name) || typeof is !== 'number' || typeof was !== 'number') return []
      return [{ name, older: was, newer: is, ratio: was === 0 ? undefined : is / was }]
    })
    return figures.length === 0 ? [] : [{ row, figures }]
  })
}

/** For programs: the ratios of one row. */
export const lineOfCompared = ({ row, figures }: Compared): Line => ({
  bench: 'compare',
  row,
  ...Object.fromEntries(figures.map(({ name, ratio }) => [name, ratio === undefined ? null : Number(ratio.toFixed(3))])),
})

export function comparedText(all: readonly Compared[]): string {
  if (all.length === 0) return 'The runs have no row in common.'
  const cell = (value: string) => value.padStart(12)
  return all
    .flatMap(({ row, figures }) => [
      `${row.padEnd(44)}${cell('older')}${cell('newer')}${cell('ratio')}`,
      ...figures.map(
        ({ name, older, newer, ratio }) =>
          `  ${name.padEnd(42)}${cell(String(older))}${cell(String(newer))}${cell(ratio === undefined ? '–' : ratio.toFixed(2))}`,
      ),
      '',
    ])
    .join('\n')
}
