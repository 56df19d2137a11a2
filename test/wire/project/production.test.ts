/** The tutorial on production, typed in two terminals as by its reader, but on free ports. */
import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { Client } from 'pg'
import { until } from '../../harness/clock/until.ts'
import { commandsIn, typeCommands } from '../../harness/documents/commands.ts'
import { startTestServer } from '../../harness/postgres/postgres.ts'
import { closing, openDirectory } from '../../harness/world/opening.ts'
import { freePort, isFree } from '../../harness/world/port.ts'

const root = join(import.meta.dirname, '../../../..')
const page = join(root, 'docs/tutorials/production.md')

const hasPsql = spawnSync('psql', ['--version']).status === 0
if (!hasPsql) console.log('psql was not found: docs/tutorials/production.md is not typed. Debian has postgresql-client.')

/** The block without a language that the reader types in a second terminal. */
const secondTerminal = (): string => /second terminal[^]*?\n```\n([^]*?)^```/m.exec(readFileSync(page, 'utf8'))![1]!

async function types(): Promise<void> {
  const server = closing(await startTestServer())
  const directory = openDirectory('production')
  const admin = new URL(server.url)
  admin.pathname = '/postgres'
  const superuser = new Client({ connectionString: admin.href })
  await superuser.connect()
  await superuser.query('drop database if exists tollgate')
  await superuser.end()
  // The real npx takes a second of processor time for each call.
  const program = join(root, 'bin/tollgate.mjs')
  writeFileSync(join(directory, 'npx'), `#!/bin/sh\nshift\nexec '${process.execPath}' '${program}' "$@"\n`, { mode: 0o755 })
  let port = await freePort()
  while (!(await isFree(port + 1_000))) port = await freePort()
  const ports = (text: string) => text.replaceAll(/\b[89]080\b/g, (usual) => String(port + Number(usual) - 8_080))
  const env = { ...process.env, PATH: `${directory}:${process.env.PATH}` }

  const first = typeCommands(ports(commandsIn(page)), directory, { ...env, ADMIN: admin.href })
  const settings = join(directory, 'secrets/gateway.env')
  await until(
    () => existsSync(settings) && readFileSync(settings, 'utf8'),
    (text) => text !== false && text.includes('PORT='),
  )
  const gateway = spawn('bash', ['-e', '-c', secondTerminal()], { cwd: directory, env, detached: true, stdio: 'ignore' })
  closing({ close: () => process.kill(-gateway.pid!, 'SIGKILL') })
  const { code, out, errors } = await first
  assert.equal(code, 0, `${out}\n${errors}`)
  assert.match(out, /^ok +gateways +1 running/m)
  assert.match(out, /^warning +cards +no BIN table/m)
  assert.match(out, /^problem +gates +gate 1 \(acme\)/m)
  // Further warnings are about this machine's Node, and about the server of the tests.
  assert.match(out, /^1 problem, \d+ warnings\.$/m)
}

if (hasPsql) test('the commands of the tutorial production work, in their order', { timeout: 300_000 }, types)
