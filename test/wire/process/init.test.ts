/** What `tollgate init` writes is what serve, migrate and doctor take. */
import assert from 'node:assert/strict'
import { execFileSync, spawn } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { Client } from 'pg'
import { consoleConfig } from '../../../src/settings/operators.ts'
import { serveConfig } from '../../../src/settings/serve.ts'
import { startTestServer } from '../../harness/postgres/postgres.ts'
import { closing, openDirectory } from '../../harness/world/opening.ts'
import { freePort } from '../../harness/world/port.ts'
import { mainFile, run, type Ran } from '../operator/cli-run.ts'

const scratch = openDirectory('init')
const server = closing(await startTestServer())
const { host } = new URL(server.url)
const admin = closing(new Client({ connectionString: server.url }))
await admin.connect()

async function inits(name: string, ...options: string[]): Promise<{ directory: string; out: string }> {
  const directory = join(scratch, name)
  const { code, out, err } = await run({}, ['init', directory, ...options])
  assert.deepEqual([code, err], [0, ''])
  return { directory, out }
}

/** As the command that `init` prints: a shell reads the file. */
function settingsIn(directory: string): Record<string, string> {
  const script = 'set -a; . "$0"; set +a; exec env -0'
  const text = execFileSync('/bin/sh', ['-c', script, join(directory, 'tollgate.env')], { env: {}, encoding: 'utf8' })
  const pairs = text.split('\0').filter(Boolean)
  return Object.fromEntries(pairs.map((pair) => [pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1)]))
}

test('init writes settings that serve and console take, and secrets for their owner alone', async () => {
  const { directory, out } = await inits("with a ' quote")
  assert.deepEqual(readdirSync(directory).sort(), ['database.sql', 'secrets', 'tollgate.env'])
  assert.deepEqual(readdirSync(join(directory, 'secrets')).sort(), ['clerk', 'gateway', 'key', 'tollgate_owner'])
  assert.equal(statSync(join(directory, 'secrets')).mode & 0o777, 0o700)
  for (const name of readdirSync(join(directory, 'secrets')))
    assert.equal(statSync(join(directory, 'secrets', name)).mode & 0o777, 0o600, name)
  const env = settingsIn(directory)
  const passwordOf = (user: string) => readFileSync(join(directory, 'secrets', user), 'utf8').trim()
  assert.equal(serveConfig(env).databaseUrl, `postgres://gateway:${passwordOf('gateway')}@localhost:5432/tollgate`)
  assert.equal(consoleConfig(env).databaseUrl, `postgres://clerk:${passwordOf('clerk')}@localhost:5432/tollgate`)
  assert.ok(!readFileSync(join(directory, 'database.sql'), 'utf8').includes(passwordOf('tollgate_owner')))
  assert.match(out, /npx tollgate migrate\n {2}npx tollgate serve\n {2}npx tollgate doctor/)
  const other = settingsIn((await inits('other')).directory)
  const keyOf = (one: Record<string, string>) => readFileSync(one['TOLLGATE_KEY_FILE']!, 'utf8')
  assert.notEqual(keyOf(other), keyOf(env))
})

test('init leaves a directory with something in it as it is, and nothing beside it', async () => {
  const taken = join(scratch, 'taken')
  mkdirSync(taken)
  writeFileSync(join(taken, 'mine'), 'x')
  const before = readdirSync(scratch)
  for (const target of [taken, join(taken, 'mine')]) {
    const { code, err } = await run({}, ['init', target])
    assert.equal(code, 1)
    assert.match(err, /already exists, and is not an empty directory\. Nothing was changed/)
  }
  for (const url of ['mysql://localhost/x', 'postgres://u:p@localhost/x', 'postgres://localhost', "postgres://localhost/x';"])
    assert.equal((await run({}, ['init', join(scratch, 'none'), '--database-url', url])).code, 2, url)
  assert.deepEqual(readdirSync(scratch), before)
  mkdirSync(join(scratch, 'empty'))
  await inits('empty')
})

test('init --compose gives the secrets to the user of the containers', async () => {
  const { directory, out } = await inits('compose', '--compose')
  assert.deepEqual(readdirSync(directory).sort(), ['.env', 'Caddyfile', 'compose.yaml', 'secrets', 'tollgate.env'])
  const [uid, gid] = ['UID', 'GID'].map((name) =>
    Number(new RegExp(`TOLLGATE_${name}=(\\d+)`).exec(readFileSync(join(directory, '.env'), 'utf8'))?.[1]),
  )
  assert.ok(uid !== 0 && gid !== 0)
  for (const name of readdirSync(join(directory, 'secrets'))) {
    const found = statSync(join(directory, 'secrets', name))
    assert.deepEqual([found.uid, found.mode & 0o777], [uid, 0o600], name)
  }
  assert.match(out, /docker compose up -d --wait/)
})

test('the printed commands bring up a gateway on an empty server', { timeout: 240_000 }, async () => {
  const { directory } = await inits('whole', '--database-url', `postgres://${host}/shop`)
  for (const one of readFileSync(join(directory, 'database.sql'), 'utf8').split(/;\n/).filter(Boolean)) await admin.query(one)
  const [port, operatorPort] = [await freePort(), await freePort()]
  const env: Record<string, string> = { ...settingsIn(directory), PORT: String(port), OPERATOR_PORT: String(operatorPort) }
  const does = async (...words: string[]): Promise<Ran> => {
    const ran = await run(env, words)
    assert.equal(ran.code, 0, `${words.join(' ')}: ${ran.out}${ran.err}`)
    return ran
  }
  assert.match((await does('migrate')).out, /\nUsers with the passwords of their files: gateway, clerk\n$/)
  const { PATH = '' } = process.env
  const child = spawn(process.execPath, [mainFile, 'serve'], { env: { PATH, ...env }, stdio: 'ignore' })
  closing({ close: () => child.kill('SIGKILL') })
  await does('health', '--wait', '2min')
  const ended = new Promise((resolve) => child.once('exit', resolve))
  await does('doctor')
  await does('merchant', 'add', '--login', 'shop', '--name', 'The Shop')
  child.kill('SIGTERM')
  assert.equal(await ended, 0)

  // A password is changed by its file and another migrate, and a further user is a further file.
  writeFileSync(join(directory, 'secrets', 'clerk'), 'changed')
  assert.match((await run(env, ['merchant', 'list'])).err, /password authentication failed|28P01/)
  writeFileSync(join(directory, 'secrets', 'monitor'), 'new', { mode: 0o600 })
  assert.match((await does('migrate')).out, /gateway, clerk, monitor\n$/)
  await does('merchant', 'list')
  const asMonitor = { ...env, DATABASE_URL: env['DATABASE_URL']!.replace('://', '://monitor@') }
  assert.equal((await run(asMonitor, ['merchant', 'list'])).code, 0)
  assert.match((await run(asMonitor, ['merchant', 'disable', 'shop'])).err, /may not do this/)
})

test('migrate leaves a user of another program as it is', async () => {
  const directory = join(scratch, 'whole')
  await admin.query(`create role retention login password 'theirs'`)
  writeFileSync(join(directory, 'secrets', 'retention'), 'ours', { mode: 0o600 })
  const { code, err } = await run(settingsIn(directory), ['migrate'])
  assert.equal(code, 1)
  assert.match(err, /a database user retention that is no member of tollgate_retention, so it was left as it is/)
})
