import { invalid } from './refused.ts'

/**
 * A JSON object as it came; the readers below take values out of it by their path, or refuse it by
 * the first that does not fit.
 */
export type Body = Readonly<Record<string, unknown>>

export function bodyIn(sent: string): Body {
  let value: unknown
  try {
    value = JSON.parse(sent)
  } catch {
    throw invalid('the body is not JSON')
  }
  if (!isObject(value)) throw invalid('the body is not a JSON object')
  return value
}

export function text(body: Body, path: string, least: number, most: number): string {
  const value = maybeText(body, path, least, most)
  if (value === undefined) throw invalid(`${path} may not be empty`)
  return value
}

/** Absent, null and empty are treated the same. */
export function maybeText(body: Body, path: string, least: number, most: number): string | undefined {
  const value = at(body, path)
  if (value === undefined || value === null || value === '') return undefined
  if (typeof value !== 'string' || value.includes('\0')) throw invalid(`${path} must be text`)
  const length = Array.from(value).length
  if (length < least || length > most) throw invalid(`${path} must have ${span(least, most)} characters`)
  return value
}

export function texts(body: Body, path: string, least: number, most: number): void {
  const value = at(body, path)
  if (value === undefined || value === null) return
  const fits = (one: unknown) => typeof one === 'string' && one.length >= least && one.length <= most
  if (!Array.isArray(value) || !value.every(fits))
    throw invalid(`${path} must be a list of texts of ${span(least, most)} characters`)
}

export function whole(body: Body, path: string, least: number, most = Number.MAX_SAFE_INTEGER): number {
  const value = maybeWhole(body, path, least, most)
  if (value === undefined) throw invalid(`${path} may not be empty`)
  return value
}

export function maybeWhole(body: Body, path: string, least: number, most = Number.MAX_SAFE_INTEGER): number | undefined {
  const value = at(body, path)
  if (value === undefined || value === null) return undefined
  if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < least || value > most)
    throw invalid(`${path} must be a whole number from ${least} to ${most}`)
  return value
}

export function within(body: Body, path: string, limit: number): void {
  const value = at(body, path)
  if (value === undefined || value === null) return
  if (typeof value !== 'number' || Math.abs(value) > limit) throw invalid(`${path} must be a number from -${limit} to ${limit}`)
}

/**
 * An identifier that some clients send as text and others as a number. A number that JSON has
 * rounded would name another card.
 */
export function maybeIdentifier(body: Body, path: string, most: number): string | undefined {
  const value = at(body, path)
  if (typeof value !== 'number') return maybeText(body, path, 1, most)
  if (!Number.isSafeInteger(value) || value < 0) throw invalid(`${path} must be text or an exact whole number`)
  return String(value)
}

/**
 * A fixed number of digits, which some clients send as text and others as a number; a number has no
 * leading zeros.
 */
export function maybeDigits(body: Body, path: string, count: number): string | undefined {
  const value = at(body, path)
  if (value === undefined || value === null || value === '') return undefined
  const digits = typeof value === 'number' ? String(value) : value
  if (typeof digits !== 'string' || digits.length !== count || !/^[0-9]+$/.test(digits))
    throw invalid(`${path} must be ${count} digits, as text or as a whole number`)
  return digits
}

function at(body: Body, path: string): unknown {
  let value: unknown = body
  for (const name of path.split('.')) {
    if (!isObject(value) || !Object.hasOwn(value, name)) return undefined
    value = value[name]
  }
  return value
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const span = (least: number, most: number) => (least === most ? String(most) : `${least} to ${most}`)
