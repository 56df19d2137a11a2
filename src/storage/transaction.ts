import type { Pool, Runner, Statement } from './pool.ts'

/** A statement with its parameters. */
export interface Write {
  sql: Statement<unknown>
  values: readonly unknown[]
}

/**
 * Runs `body` in one transaction and commits, or rolls back. Statements that `body` starts together
 * share a round trip. Rejects if anything failed; then nothing was stored, unless the connection
 * broke during commit: then only the rows themselves show the outcome.
 */
export const transaction = <T>(pool: Pool, body: (runner: Runner) => Promise<T>, end?: 'commit' | 'rollback'): Promise<T> =>
  within(pool, 'begin', body, end)

/** The same for reads: all statements see the tables as of one moment. */
export const snapshot = <T>(pool: Pool, body: (runner: Runner) => Promise<T>): Promise<T> =>
  within(pool, 'begin isolation level repeatable read, read only', body)

/**
 * Runs statements in one transaction and one round trip, the commit included. Rejects with the
 * first error; then nothing was stored, with the same exception.
 */
export async function atOnce(pool: Pool, writes: readonly Write[]): Promise<void> {
  const connection = await pool.connect()
  let broken = true
  try {
    const begun = connection.command('begin')
    const written = writes.map(({ sql, values }) => connection.run(sql, values))
    const ended = connection.command('commit')
    const results = await Promise.allSettled([begun, ...written, ended])
    const end = results.at(-1)!
    broken = end.status === 'rejected'
    const failed = results.find((one) => one.status === 'rejected')
    if (failed) throw failed.reason
    demandCommit(await ended)
  } finally {
    connection.release(broken)
  }
}

async function within<T>(pool: Pool, begin: string, body: (runner: Runner) => Promise<T>, end = 'commit'): Promise<T> {
  const connection = await pool.connect()
  let broken = true
  try {
    const begun = connection.command(begin)
    const [result] = await Promise.all([body(connection), begun])
    const tag = await connection.command(end)
    if (end === 'commit') demandCommit(tag)
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

/** A commit of a transaction that had failed answers ROLLBACK, and no error. */
function demandCommit(tag: string): void {
  if (tag !== 'COMMIT') throw new Error(`the transaction ended with ${tag}`)
}
