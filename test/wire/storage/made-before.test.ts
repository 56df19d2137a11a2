import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { Client } from 'pg'
import { startEmbedded } from '../../../src/embedded/start.ts'
import { optionsFor, ownDirectory } from '../../harness/postgres/embedded.ts'
import { closing } from '../../harness/world/opening.ts'
import { testDatabase } from '../../harness/postgres/postgres.ts'
import { runProgram } from '../operator/cli-run.ts'

/** A database or directory made before version 0.1.0 is refused and left unchanged. */

const key = randomBytes(32).toString('base64')

test('migrate, serve and a sandbox refuse a database of an earlier version, and change nothing in it', async () => {
  const { url } = closing(await testDatabase())
  const database = closing(new Client({ connectionString: url }))
  await database.connect()
  await database.query(`
    create table migration (name text primary key, sha256 text not null, applied_at timestamptz not null);
    create table merchant (merchant_id bigint primary key, login text not null);
    insert into migration values ('0001-foundation.sql', 'abc', now()), ('0046-merchant-pages.sql', 'def', now());
    insert into merchant values (1, 'shop')`)
  const contents = async () => {
    const { rows } = await database.query(`
      select c.relname, c.relkind, c.relacl::text,
        query_to_xml(format('select * from %I', c.relname), true, true, '')::text as rows
      from pg_class c where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p', 'v') order by 1`)
    return rows as unknown[]
  }
  const before = await contents()
  const env = { DATABASE_URL: url, TOLLGATE_KEY: key, ALLOW_DATABASE_OWNER: 'on', PORT: '0', TOLLGATE_DIR: await ownDirectory() }
  for (const command of ['migrate', 'serve', 'sandbox']) {
    const { code, err } = await runProgram(env, [command])
    assert.equal(code, 1, `${command}: ${err}`)
    assert.match(err, /made by a Tollgate before 0\.1\.0.*left unchanged.*a new, empty database in DATABASE_URL/, command)
    assert.deepEqual(await contents(), before, command)
  }
})

test('a sandbox refuses the directory of an earlier version, and changes no file of it', async () => {
  const directory = await ownDirectory()
  const made = await startEmbedded(optionsFor(directory))
  await made.stop()
  rmSync(join(directory, 'postgres', 'tollgate.format'))
  const before = filesOf(directory)
  const { code, err } = await runProgram({ TOLLGATE_DIR: directory }, ['sandbox'])
  assert.equal(code, 1, err)
  assert.match(err, /made by another version.*left unchanged.*a new directory in TOLLGATE_DIR/)
  const after = filesOf(directory)
  assert.deepEqual(
    after.filter((one) => !one.startsWith('log/')),
    before,
  )
})

/** Each file with a digest of its bytes and the time of its last change. */
const filesOf = (directory: string): string[] =>
  readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => {
      const path = join(entry.parentPath, entry.name)
      const digest = createHash('sha256').update(readFileSync(path)).digest('hex')
      return `${path.slice(directory.length + 1)} ${digest} ${statSync(path).mtimeMs}`
    })
    .sort()
