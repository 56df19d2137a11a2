import type { Pool, Runner } from './pool.ts'

/**
 * Runs `body` in one transaction and commits. Statements that `body` starts together travel
 * together. Rejects when anything failed; then nothing was stored, except after a connection broke
 * during commit, when only the rows themselves can tell.
 */
export const transaction = <T>(pool: Pool, body: (runner: Runner) => Promise<T>): Promise<T> => within(pool, 'begin', body)

/** The same for reading: all statements see the tables as they were at one moment. */
export const snapshot = <T>(pool: Pool, body: (runner: Runner) => Promise<T>): Promise<T> =>
  within(pool, 'begin isolation level repeatable read, read only', body)

async function within<T>(pool: Pool, begin: string, body: (runner: Runner) => Promise<T>): Promise<T> {
  const connection = await pool.connect()
  let broken = true
  try {
    const begun = connection.command(begin)
    const [result] = await Promise.all([body(connection), begun])
    const tag = await connection.command('commit')
    if (tag !== 'COMMIT') throw new Error(`the transaction ended with ${tag}`)
    broken = false
    return result
  } catch (error) {
    broken = await connection.command('rollback').then(
      () => false,
      () => true,
    )
    throw error
  } finally {
    connection.release(broken)
  }
}
