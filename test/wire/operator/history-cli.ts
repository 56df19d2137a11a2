import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { openLog } from '../../../src/base/log.ts'
import { openPool } from '../../../src/storage/pool.ts'
import { migratedDatabase } from '../../harness/postgres/postgres.ts'
import { closing } from '../../harness/world/opening.ts'
import { run } from './cli-run.ts'

export interface Change {
  change: number
  at: string
  who: string
  action: string
  before: Record<string, unknown> | null
  after: Record<string, unknown>
  secrets: string[]
  undoes: number | null
}

/** An installation without a gateway, so that nothing but commands writes; and its command line. */
export async function openInstallation() {
  const database = closing(await migratedDatabase())
  const log = openLog({ level: 'fatal', destination: process.stderr })
  const pool = closing(openPool({ url: database.url, connections: 4, use: 'admin', log }))
  const env = { DATABASE_URL: database.url, TOLLGATE_KEY: randomBytes(32).toString('base64'), TOLLGATE_ACTOR: 'ann' }

  async function tell(args: readonly string[], input = ''): Promise<string> {
    const { code, out, err } = await run(env, args, input)
    assert.deepEqual([code, err], [0, ''], `${args.join(' ')}\n${out}`)
    return out
  }
  const json = async <T>(args: readonly string[]): Promise<T> => JSON.parse(await tell([...args, '--json'])) as T
  const historyOf = async (...args: string[]) => (await json<{ changes: Change[] }>(args)).changes
  return {
    env,
    sql: (text: string) => pool.run<Record<string, unknown>>({ name: '', text }),
    tell,
    json,
    /** Expects a refusal; returns the complaint. */
    async refuse(args: readonly string[]): Promise<string> {
      const { code, err } = await run(env, args)
      assert.equal(code, 1, args.join(' '))
      return err
    },
    historyOf,
    newest: async (...args: string[]) => (await historyOf(...args))[0]!,
  }
}
