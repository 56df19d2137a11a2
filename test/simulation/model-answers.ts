/** Comparable: ids as text, bytes as hex, sets sorted, absent as absent. */
export function plain(value: unknown): unknown {
  const text = JSON.stringify(value instanceof Set ? sorted(value) : value, (_key, v: unknown) =>
    typeof v === 'bigint' ? `${v}n` : v instanceof Set ? sorted(v) : v,
  )
  return text === undefined ? null : JSON.parse(text)
}

const sorted = (set: ReadonlySet<unknown>): string[] => [...set].map(String).sort((a, b) => (a < b ? -1 : 1))
