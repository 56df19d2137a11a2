import assert from 'node:assert/strict'
import { chmodSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { systemClock } from '../../../src/base/clock.ts'
import { openLog } from '../../../src/base/log.ts'
import { migrate } from '../../../src/storage/migrate.ts'
import { openPool } from '../../../src/storage/pool.ts'
import { closing, openDirectory } from '../../harness/world/opening.ts'
import { testDatabase } from '../../harness/postgres/postgres.ts'
import { run } from '../operator/cli-run.ts'

const log = openLog({ level: 'fatal', destination: process.stderr })
const key = Buffer.alloc(32, 7).toString('base64')

test('the password of the database may come from a file that its owner alone can read', async () => {
  const file = join(openDirectory('password'), 'password')
  const database = closing(await testDatabase())
  const owner = closing(openPool({ url: database.url, connections: 1, use: 'admin', log }))
  await migrate(owner, systemClock.now(), log)
  const sql = (text: string) => owner.run({ name: '', text })
  const name = `${new URL(database.url).pathname.slice(1)}_password`
  const tell = (url: string, mode: number) => {
    chmodSync(file, mode)
    return run({ DATABASE_URL: url, DATABASE_PASSWORD_FILE: file, TOLLGATE_KEY: key }, ['merchant', 'list'])
  }
  const without = Object.assign(new URL(database.url), { username: name, password: '' }).href
  await sql(`create role ${name} login in role tollgate_read password 'a %41/@:ü'`)
  writeFileSync(file, 'a %41/@:ü\n')
  assert.equal((await tell(without, 0o600)).code, 0)
  assert.match((await tell(without, 0o644)).err, /DATABASE_PASSWORD_FILE: other users can read/)
  assert.match(
    (await tell(Object.assign(new URL(without), { password: 'a' }).href, 0o600)).err,
    /DATABASE_URL names a host and a user, and has no password/,
  )
  writeFileSync(file, 'another')
  assert.equal((await tell(without, 0o600)).code, 1)
})
