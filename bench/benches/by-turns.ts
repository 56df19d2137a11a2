import type { Figures, Row } from '../bench.ts'
import { rounded } from '../figures/figures.ts'
import { measured, type Carried, type Run } from '../figures/levels.ts'
import { tableHead, tableRow } from '../figures/report.ts'
import { figure } from '../figures/table.ts'

/** One of the ways to carry the same sales. */
export interface Side {
  name: string
  carried: Carried
  /** Before each of its rounds. */
  begin?(): Promise<void>
}

/** A round of one side; `<bench>-round`. */
interface RoundRow extends Row {
  side: string
  round: string
}

/** Sales a second of each round, the mean of each side, and that of the second by the first. */
export interface ByTurns {
  rates: readonly [readonly number[], readonly number[]]
  means: readonly [number, number]
  ratio: number | null
}

const roundsEach = 2

/**
 * Measures the sides by turns: what else runs on the machine comes and goes, and in this way it
 * affects all of them equally. Returns the figures of each side's rounds.
 */
export async function measureTurns(run: Run, name: string, sides: readonly Side[], inFlight: number): Promise<Figures[][]> {
  const { people, lines, progress } = run.output
  const all: Figures[][] = sides.map(() => [])
  people(tableHead())
  for (let round = 1; round <= roundsEach; round++)
    for (const [i, side] of sides.entries()) {
      progress.say(`Round ${round} of ${roundsEach}: ${side.name}`)
      await side.begin?.()
      const { figures, report } = await measured(run, side.carried, { inFlight })
      const row: RoundRow = { bench: `${name}-round`, in_flight: inFlight, side: side.name, round: String(round), ...figures }
      all[i]!.push(figures)
      lines(row)
      people(`${tableRow(row, report)}   ${side.name}`)
    }
  return all
}

/** Measures two sides and compares their rates. */
export async function byTurns(run: Run, name: string, sides: readonly [Side, Side], inFlight: number): Promise<ByTurns> {
  const [first, second] = await measureTurns(run, name, sides, inFlight)
  const ratesOf = (rounds: readonly Figures[] = []) => rounds.map((figures) => figures.sales_per_s)
  return compared([ratesOf(first), ratesOf(second)])
}

/** `names` are those of the sides, in the order of their rates. */
export function turnsText(title: string, { rates, means, ratio }: ByTurns, names: readonly string[]): string {
  const width = Math.max(...names.map((name) => name.length)) + 2
  const cells = (all: readonly number[], mean: number) => [...all, mean].map((rate) => figure(rate).padStart(9)).join('')
  return [
    title,
    `  ${''.padEnd(width)}${rates[0].map((_, i) => `round ${i + 1}`.padStart(9)).join('')}${'mean'.padStart(9)}`,
    ...names.map((name, i) => `  ${name.padEnd(width)}${cells(rates[i]!, means[i]!)}`),
    `  ${'ratio'.padEnd(width)}${figure(ratio, 2).padStart(9 * (rates[0].length + 1))}`,
  ].join('\n')
}

export function compared(rates: ByTurns['rates']): ByTurns {
  const [first, second] = rates.map((all) => all.reduce((sum, rate) => sum + rate, 0) / all.length) as [number, number]
  const means = [rounded(first, 1), rounded(second, 1)] as const
  return { rates, means, ratio: rounded(second / first, 3) }
}
