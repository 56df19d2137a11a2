/** The value below which this share of the sorted values lies (nearest rank); undefined of none. */
export function percentile(sorted: readonly number[], share: number): number | undefined {
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)]
}

export const sortedBySize = (values: readonly number[]): number[] => values.toSorted((a, b) => a - b)

export const median = (values: readonly number[]): number | undefined => percentile(sortedBySize(values), 0.5)

export function rounded(value: number, digits: number): number
export function rounded(value: number | undefined, digits: number): number | null
export function rounded(value: number | undefined, digits: number): number | null {
  return value === undefined || !Number.isFinite(value) ? null : Number(value.toFixed(digits))
}
