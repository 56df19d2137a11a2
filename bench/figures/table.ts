/** Tables for people. */

export interface Column<Of> {
  head: readonly [string, string]
  cell: (of: Of) => string
}

export const figure = (value: number | null | undefined, digits = 0): string =>
  value === null || value === undefined ? '–' : value.toFixed(digits)
export const sum = (counts: Readonly<Record<string, number>>): number =>
  Object.values(counts).reduce((all, count) => all + count, 0)
export const percent = (value: number | null): string => (value === null ? '–' : `${value.toFixed(0)} %`)

const width = 9
export const line = (cells: readonly string[]): string => cells.map((cell) => cell.padStart(width)).join('')

export function headOf<Of>(columns: readonly Column<Of>[]): string {
  return [0, 1].map((row) => line(columns.map(({ head }) => head[row]!))).join('\n')
}

export const tableOf = <Of>(title: string, columns: readonly Column<Of>[], rows: readonly Of[]): string =>
  [title, headOf(columns), ...rows.map((row) => line(columns.map(({ cell }) => cell(row))))].join('\n')
