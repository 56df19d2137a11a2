/** Bodies of the API: JSON, whose 64-bit numbers are text. */

export const bodyOf = (value: object): string => `${JSON.stringify(value, textIfLong)}\n`

const textIfLong = (_name: string, value: unknown): unknown => (typeof value === 'bigint' ? String(value) : value)
