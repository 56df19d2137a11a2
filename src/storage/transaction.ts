import type { Pool, Runner } from './pool.ts'

/**
 * Runs `body` in one transaction and commits. Statements that `body` starts together share a round
 * trip. Rejects if anything failed; then nothing was stored, unless the connection broke during
 * commit: then only the rows themselves show the outcome.
 */
export const transaction = <T>(pool: Pool, body: (runner: Runner) => Promise<T>): Promise<T> => within(pool, 'begin', body)

/** The same for reads: all statements see the tables as of one moment. */
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
