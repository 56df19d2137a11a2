/** One value of the gateway's /metrics: `name{label="value"} 12`. */
export interface Sample {
  name: string
  labels: Readonly<Record<string, string>>
  value: number
}

/** Reads Prometheus text; comments and what is no number are left out. */
export function parseMetrics(text: string): Sample[] {
  return text.split('\n').flatMap((line) => {
    const [, name, labels = '', value] = /^([A-Za-z_:][\w:]*)(?:\{(.*)\})? (\S+)$/.exec(line) ?? []
    if (name === undefined || Number.isNaN(numberOf(value!))) return []
    const pairs = [...labels.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)].map(([, label, is]) => [label!, is!] as const)
    return [{ name, labels: Object.fromEntries(pairs), value: numberOf(value!) }]
  })
}

const numberOf = (text: string): number => (text === '+Inf' ? Infinity : Number(text))

/** The sum of all values of this name that have these labels; undefined: there is none. */
export function sumOf(
  samples: readonly Sample[],
  name: string,
  labels: Readonly<Record<string, string>> = {},
): number | undefined {
  const found = samples.filter(
    (one) => one.name === name && Object.entries(labels).every(([label, value]) => one.labels[label] === value),
  )
  return found.length === 0 ? undefined : found.reduce((sum, { value }) => sum + value, 0)
}

/** The most of these values; undefined: there is none. */
export function mostOf(samples: readonly Sample[], name: string): number | undefined {
  const values = samples.filter((one) => one.name === name).map(({ value }) => value)
  return values.length === 0 ? undefined : Math.max(...values)
}

/**
 * The quantile of what a histogram counted between two readings: the upper bound of its bucket.
 * Undefined: no such histogram, nothing counted, or more than its last bound.
 */
export function quantileBetween(
  before: readonly Sample[],
  after: readonly Sample[],
  histogram: string,
  share: number,
): number | undefined {
  const name = `${histogram}_bucket`
  const bounds = [...new Set(after.filter((one) => one.name === name).map(({ labels }) => labels['le']!))]
  const counted = (le: string) => sumOf(after, name, { le })! - (sumOf(before, name, { le }) ?? 0)
  const sorted = bounds.toSorted((a, b) => numberOf(a) - numberOf(b))
  const last = sorted.at(-1)
  const all = last === undefined ? 0 : counted(last)
  const bound = all === 0 ? undefined : sorted.find((le) => counted(le) >= share * all)
  return bound === undefined || bound === '+Inf' ? undefined : Number(bound)
}
