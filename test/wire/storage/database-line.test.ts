import assert from 'node:assert/strict'
import { once } from 'node:events'
import { chmodSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import { Client } from 'pg'
import { lineComplaint, lineDemandOf } from '../../../src/storage/database-line.ts'
import { openAuthority } from '../../harness/three-d-secure/directory.ts'
import { closing, openDirectory } from '../../harness/world/opening.ts'
import { startTestServer, testDatabase } from '../../harness/postgres/postgres.ts'
import { until } from '../../harness/clock/until.ts'
import { run } from '../operator/cli-run.ts'
import { systemClock } from '../../../src/base/clock.ts'
import { openLog } from '../../../src/base/log.ts'
import { migrate } from '../../../src/storage/migrate.ts'
import { openPool } from '../../../src/storage/pool.ts'

interface Checked {
  checks: { is: string; what: string; says: string }[]
}

/** The line to PostgreSQL: when production refuses it, and what the doctor says of it. */

// oxfmt-ignore
const lines: [url: string, production: 'taken' | RegExp][] = [
  ['postgres://u:p@localhost/x',                                                'taken'],
  ['postgres://127.0.0.9/x',                                                    'taken'],
  ['postgres://[::1]:5432/x',                                                   'taken'],
  ['postgres:///x?host=/run/postgresql',                                        'taken'],
  ['postgres://%2Frun%2Fpostgresql/x',                                          'taken'],
  ['postgres://db.example/x?sslmode=verify-full&sslrootcert=ca.pem',            'taken'],
  ['postgres://db.example/x',                                                   /db\.example, .*add sslmode=verify-full&sslrootcert/],
  ['postgres://10.0.0.7/x?sslmode=require&sslrootcert=ca.pem',                  /10\.0\.0\.7/],
  ['postgres://db.example/x?sslmode=verify-full',                               /add sslrootcert=ca\.pem/],
  ['postgres://db.example/x?sslmode=no-verify&sslrootcert=ca.pem',              /add sslmode=verify-full/],
  ['postgres://localhost/x?host=db.example',                                    /db\.example/],
  ['postgres://localhost/x?host=localhost&host=db.example',                     /db\.example/],
  ['postgres://db.example/x?sslmode=verify-full&sslmode=disable&sslrootcert=a', /add sslmode=verify-full/],
]
test('production takes a line to another machine only if the server must prove who it is', () => {
  for (const [url, production] of lines)
    if (production === 'taken') assert.equal(lineComplaint(url), undefined, url)
    else assert.match(lineComplaint(url) ?? 'taken', production, url)
})

// By 0.0.0.0 the system connects to this machine; Tollgate cannot know where it leads.
const elsewhere = (url: string) => Object.assign(new URL(url), { hostname: '0.0.0.0' }).href

test('commands and migrate refuse an unverified line before they connect; the doctor reports it', async () => {
  let connections = 0
  const listener = closing(createServer((socket) => void (connections++, socket.destroy())))
  await once(listener.listen(0, '127.0.0.1'), 'listening')
  const { port } = listener.address() as AddressInfo
  for (const parameters of ['', '?sslmode=require&sslrootcert=ca.pem', '?sslmode=verify-full']) {
    const env = { DATABASE_URL: `postgres://u:p@0.0.0.0:${port}/x${parameters}` }
    for (const words of ['migrate', 'merchant list', 'merchant disable shop', 'keys list', 'audit verify', 'cards forget']) {
      const { code, out, err } = await run(env, words.split(' '))
      assert.equal(code, 2, `${words}: ${out}${err}`)
      assert.match(err, /another machine, 0\.0\.0\.0, .*not verified: add ssl/, words)
    }
  }
  assert.equal(connections, 0)
  const { code, out } = await run({ DATABASE_URL: `postgres://u:p@0.0.0.0:${port}/x` }, ['doctor', '--json'])
  const { checks } = JSON.parse(out) as Checked
  assert.deepEqual([code, connections > 0], [1, true])
  assert.deepEqual(checks.map(({ is, what }) => `${what} ${is}`).slice(1), ['database problem', 'line problem'])
})

test('a line that serve would refuse is a problem for the doctor, who looks at all else', async () => {
  const database = closing(await testDatabase())
  for (const words of [['migrate'], ['cell', 'add', '1']]) {
    const { code, err } = await run({ DATABASE_URL: database.url }, words)
    assert.equal(code, 0, err)
  }
  const whatOf = async (url: string) => {
    const { out } = await run({ DATABASE_URL: url }, ['doctor', '--json'])
    return (JSON.parse(out) as Checked).checks.map(({ is, what }) => `${what} ${is}`)
  }
  const here = await whatOf(database.url)
  assert.ok(here.includes('line ok') && here.includes('cell 1: transactions ok'))
  assert.deepEqual(
    await whatOf(elsewhere(database.url)),
    here.map((check) => (check === 'line ok' ? 'line problem' : check)),
  )
})

test('the doctor says whether the line is encrypted, and to whom', { timeout: 120_000 }, async () => {
  const server = closing(await startTestServer())
  const folder = openDirectory('db')
  const authority = await openAuthority()
  const ca = join(folder, 'ca.pem')
  writeFileSync(ca, authority.ca)

  const admin = closing(new Client({ connectionString: server.url }))
  await admin.connect()
  const { cert, key } = authority.of('directory-server')
  // Its working directory is that of its data; a key that others can read it refuses.
  const put = (name: string, text: string) =>
    admin.query(`copy (select '${Buffer.from(text).toString('base64')}') to program 'umask 077; base64 -d > ${name}'`)
  await put('server.crt', cert)
  await put('server.key', key.reveal())
  await admin.query('alter system set ssl = on')
  await admin.query('select pg_reload_conf()')
  const isOn = async () => (await admin.query<{ ssl: string }>('show ssl')).rows[0]!.ssl === 'on'
  await until(isOn, (on) => on)

  const lineOf = async (parameters: string) => {
    const url = `${server.url}?${parameters}`
    const { out } = await run({ DATABASE_URL: url }, ['doctor', '--json'])
    const { checks } = JSON.parse(out) as Checked
    // Without a line the database is the last thing that it looks at.
    return (checks.find(({ what }) => what === 'line') ?? checks.at(-1)!).says
  }
  const { host } = lineDemandOf(server.url)
  assert.equal(await lineOf(''), `unencrypted, to ${host}`)
  const verified = await lineOf(`sslmode=verify-full&sslrootcert=${ca}`)
  assert.match(verified, /^encrypted, TLSv1\.[23] with \S+, to \S+, whose certificate is verified$/)
  assert.match(await lineOf('sslmode=no-verify'), /^encrypted, .* whose certificate is not verified$/)
  const other = join(folder, 'other.pem')
  writeFileSync(other, (await openAuthority()).ca)
  assert.match(await lineOf(`sslmode=verify-full&sslrootcert=${other}`), /certificate|self.signed|unable/i)
})

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
