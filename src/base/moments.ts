/** Times, spans and counts as an operator writes and reads them. */

const units = { ms: 1, s: 1_000, m: 60_000, min: 60_000, h: 3_600_000, d: 86_400_000 } as const

/** `500ms`, `30s`, `5min`, `24h`, `14d`, or `0`; in milliseconds. Undefined is a refusal. */
export function readSpan(text: string): number | undefined {
  if (text === '0') return 0
  const match = /^([0-9]{1,9})(ms|s|m|min|h|d)$/.exec(text)
  return match ? Number(match[1]) * units[match[2] as keyof typeof units] : undefined
}

/**
 * A date or time of ISO 8601, by default in UTC, or a span before now (`2h`). Milliseconds since
 * 1970; undefined is a refusal.
 */
export function readMoment(text: string, now: number): number | undefined {
  const span = readSpan(text)
  if (span !== undefined) return now - span
  const [, day = '', time = '00:00', zone = 'Z'] =
    /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d(?:\.\d{1,3})?)?)(Z|[+-]\d\d:\d\d)?)?$/.exec(text) ?? []
  const [midnight, at] = [Date.parse(`${day}T00:00Z`), Date.parse(`${day}T${time}${zone}`)]
  // Date.parse reads the 30th of February as the 1st of March.
  return Number.isNaN(midnight) || Number.isNaN(at) || new Date(midnight).toISOString().slice(0, 10) !== day ? undefined : at
}

/** `12 ms`, `3 s`, `5 min`, `2 h`, `3 d`: in the largest unit that fits. */
export function spanText(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`
  if (ms < 10_000) return `${(Math.floor(ms / 100) / 10).toString()} s`
  if (ms < 60_000) return `${Math.floor(ms / 1_000)} s`
  if (ms < 3_600_000) return `${Math.floor(ms / 60_000)} min`
  if (ms < 172_800_000) return `${Math.floor(ms / 3_600_000)} h`
  return `${Math.floor(ms / 86_400_000)} d`
}

/** `90 min`: the whole of it, in the largest unit that has no fraction; days from two on. */
export function exactSpan(ms: number): string {
  const longest = ms < 2 * units.d ? (['h', 'min', 's'] as const) : (['d', 'h', 'min', 's'] as const)
  const unit = (ms !== 0 && longest.find((one) => ms % units[one] === 0)) || 'ms'
  return `${ms / units[unit]} ${unit}`
}

/** `3 min ago`, `in 5 s`, `now`. */
export function agoText(at: number, now: number): string {
  const ms = now - at
  if (Math.abs(ms) < 1_000) return 'now'
  const whole = spanText(Math.floor(Math.abs(ms) / 1_000) * 1_000)
  return ms > 0 ? `${whole} ago` : `in ${whole}`
}

/** `2030-01-31 12:00:00`, UTC. */
export const timeText = (at: number): string => new Date(at).toISOString().slice(0, 19).replace('T', ' ')

export const isoTime = (at: number | undefined): string | null => (at === undefined ? null : new Date(at).toISOString())

/** Singular or plural. */
export const counted = (count: number | bigint, what: string): string => `${count} ${what}${BigInt(count) === 1n ? '' : 's'}`
