import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { openLog } from '../../../src/base/log.ts'
import { failureOf, openPool, statement, type Pool } from '../../../src/storage/pool.ts'
import { transaction } from '../../../src/storage/transaction.ts'
import { optionsFor, ownDirectory, query, withServer } from '../../harness/postgres/embedded.ts'
import { closing } from '../../harness/world/opening.ts'
import { testDatabase } from '../../harness/postgres/postgres.ts'
import { holds } from '../../harness/clock/until.ts'

/** What the pools of a gateway make of a server that is no primary. */

const log = openLog({ level: 'silent', destination: process.stderr })
const write = statement<object>('insert into written values (1)')
const written = (pool: Pool) => pool.run(statement<{ n: number }>('select count(*)::int as n from written'))

test('a connection that refuses writes is not used again', async () => {
  const database = closing(await testDatabase())
  const name = new URL(database.url).pathname.slice(1)
  await query(database.url, 'create table written (n int)')
  await query(database.url, `alter database "${name}" set default_transaction_read_only = on`)
  const pool = closing(openPool({ url: database.url, connections: 1, use: 'oltp', log }))
  const tried = transaction(pool, (runner) => runner.run(write))
  await assert.rejects(tried, (error) => failureOf(error) === 'connection')
  await query(database.url, `begin read write; alter database "${name}" reset default_transaction_read_only; commit`)
  await transaction(pool, (runner) => runner.run(write))
  assert.deepEqual(await written(pool), [{ n: 1 }])
})

/** A server on this data alone, which waits for more of the log as a standby does. */
async function startStandby(): Promise<string> {
  const options = optionsFor(await ownDirectory())
  const [url, bin, data] = await withServer(options, async ({ url: at }) => {
    await query(at, 'create table written (n int)')
    const [row] = await query(
      at,
      `select (select setting from pg_config where name = 'BINDIR') as bin, current_setting('data_directory') as data`,
    )
    return [at, String(row!['bin']), String(row!['data'])] as const
  })
  writeFileSync(join(data, 'standby.signal'), '')
  const { uid, gid } = statSync(data)
  const { port } = new URL(url)
  const child = spawn(join(bin, 'postgres'), ['-D', data, '-p', port], { cwd: '/', stdio: 'ignore', uid, gid })
  const ended = once(child, 'exit')
  closing({
    async close() {
      child.kill('SIGINT')
      await ended
    },
  })
  await holds(() => query(url, 'select 1').then(Boolean, () => false), 'the standby answers', 120_000)
  return url
}

test('a gateway connects to no standby, and does once it is promoted; operators may read one', async () => {
  const url = await startStandby()
  const [oltp, heartbeat, search] = (['oltp', 'heartbeat', 'search'] as const).map((use) =>
    closing(openPool({ url, connections: 1, use, log })),
  ) as [Pool, Pool, Pool]
  for (const pool of [oltp, heartbeat])
    await assert.rejects(written(pool), (error) => failureOf(error) === 'connection' && /is a standby/.test(String(error)))
  assert.deepEqual(await written(search), [{ n: 0 }])
  await query(url, 'select pg_promote()')
  await transaction(oltp, (runner) => runner.run(write))
  assert.deepEqual(await written(heartbeat), [{ n: 1 }])
})
