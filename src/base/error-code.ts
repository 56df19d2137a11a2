/** The code of a system error (ENOENT) or of a database error (57P03); empty without. */
export const codeOf = (thrown: unknown): string =>
  thrown instanceof Error && 'code' in thrown && typeof thrown.code === 'string' ? thrown.code : ''
