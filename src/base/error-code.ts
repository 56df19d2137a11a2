/** The code of a system error such as ENOENT, or of a database error such as 57P03; empty without. */
export const codeOf = (thrown: unknown): string =>
  thrown instanceof Error && 'code' in thrown && typeof thrown.code === 'string' ? thrown.code : ''
