import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { request } from 'node:https'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { openPool } from '../../../src/storage/pool.ts'
import { openLog } from '../../../src/base/log.ts'
import { makeLineCertificates } from '../../harness/acquirer/line-certificates.ts'
import { closing, openWorld } from '../../harness/world/opening.ts'
import { askApi, tokensOf } from '../../harness/operators/api.ts'
import { freePort } from '../../harness/world/port.ts'
import { cliOf, mainFile, run } from '../operator/cli-run.ts'

// `npx tollgate api` as a process of its own, and the one that the sandbox starts.

const world = await openWorld()
const { tell } = cliOf(() => world)
const { token } = await tokensOf(tell)('owner')
const key = readFileSync(join(world.directory, 'keys', 'master.key'), 'utf8').trim()
const log = openLog({ level: 'fatal', destination: process.stderr })
const owner = closing(openPool({ url: world.databaseUrl, connections: 1, use: 'admin', log }))

const password = 'a-clerk-of-a-test'
const name = `clerk_${process.pid}`
await owner.run({ name: '', text: `create role ${name} login password '${password}' in role tollgate_operator` })
closing({ close: () => owner.run({ name: '', text: `drop role ${name}` }) })
const asClerk = Object.assign(new URL(world.databaseUrl), { username: name, password }).href

/** Runs it until the test is over; resolves once it serves. */
async function startApi(env: Record<string, string>) {
  const child = spawn(process.execPath, [mainFile, 'api'], {
    env: { PATH: process.env.PATH ?? '', DATABASE_URL: asClerk, TOLLGATE_KEY: key, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const ended = new Promise<number | null>((resolve) => child.once('exit', resolve))
  const complaint = text(child.stderr)
  const lines: string[] = []
  const serves = new Promise<void>((resolve) =>
    createInterface(child.stdout).on('line', (line) => {
      lines.push(line)
      if (line.includes('"the API of operators serves"')) resolve()
    }),
  )
  closing({ close: () => void child.kill('SIGKILL') })
  await Promise.race([serves, ended.then(async () => assert.fail(`it ended: ${await complaint}${lines.join('\n')}`))])
  const stop = () => {
    child.kill('SIGTERM')
    return ended
  }
  return { lines, stop }
}

test('the sandbox starts it, with a database user of the role of operators', async () => {
  const file = JSON.parse(readFileSync(join(world.directory, 'sandbox.json'), 'utf8')) as Record<string, string>
  const url = file['operator_api_url']!
  assert.match(url, /^http:\/\/127\.0\.0\.1:[0-9]+$/)
  const { status, json } = await askApi(url, 'merchant/show', { login: world.merchant.login }, { token })
  assert.deepEqual([status, json['login']], [200, world.merchant.login])
  const refused = await askApi(url, 'keys/retire', { purpose: 'pan', version: '1' }, { token })
  assert.ok(refused.status >= 400)
})

test('it serves in clear on loopback, writes no body to its log, and stops at a signal with 0', async () => {
  const port = await freePort()
  const { lines, stop } = await startApi({ OPERATOR_API_URL: `http://127.0.0.1:${port}`, LOG_LEVEL: 'trace' })
  const url = `http://127.0.0.1:${port}`
  const login = `api-${process.pid}`
  assert.equal((await askApi(url, 'merchant/add', { login, name: 'Not to be logged' }, { token })).status, 200)
  const person = 'jane.not.logged@example.com'
  assert.equal((await askApi(url, 'subject/find', { email: person }, { token })).status, 200)
  assert.equal(await stop(), 0)
  const all = lines.join('\n')
  for (const part of ['Not to be logged', person, token]) assert.ok(!all.includes(part), part)
})

test('https:// serves TLS with the files of serve', async () => {
  const { file, pem } = await makeLineCertificates()
  const port = await freePort()
  const tls = { TLS_CERT_FILE: file('acquirer.pem'), TLS_KEY_FILE: file('acquirer.key') }
  await startApi({ OPERATOR_API_URL: `https://127.0.0.1:${port}`, ...tls })
  const status = await new Promise((resolve, reject) => {
    const asked = request(`https://127.0.0.1:${port}/operator/v1/gate/list`, {
      method: 'POST',
      ca: pem('ds-ca.pem'),
      checkServerIdentity: () => undefined,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    })
    asked.on('response', (response) => resolve(response.resume().statusCode)).on('error', reject)
    asked.end('{}')
  })
  assert.equal(status, 200)
})

test('it refuses a token in clear over a network, TLS without a certificate, the owner and the user of gateways', async () => {
  const refused: [Record<string, string>, number, RegExp][] = [
    [{ OPERATOR_API_URL: 'http://10.0.0.5:9180' }, 2, /OPERATOR_API_URL is "http:\/\/10\.0\.0\.5:9180", not https:\/\//],
    [{ OPERATOR_API_URL: 'https://10.0.0.5:9180' }, 2, /TLS_CERT_FILE is missing/],
    [{ OPERATOR_API_URL: 'http://127.0.0.1:1/path' }, 2, /OPERATOR_API_URL is/],
    [{ DATABASE_URL: world.databaseUrl }, 1, /is a superuser|owns the tables/],
    [{ DATABASE_URL: world.gatewayDatabaseUrl }, 1, /may not work for operators.*grant tollgate_operator/],
    [
      { TOLLGATE_KEY: Buffer.from('another key of 32 bytes, made up').toString('base64') },
      1,
      /the key-encryption key does not open this database/,
    ],
  ]
  for (const [env, code, says] of refused) {
    const own = { DATABASE_URL: asClerk, TOLLGATE_KEY: key, OPERATOR_API_URL: `http://127.0.0.1:${await freePort()}` }
    const ran = await run({ ...own, ...env }, ['api'])
    assert.equal(ran.code, code, ran.out + ran.err)
    assert.match(ran.out + ran.err, says)
  }
})
