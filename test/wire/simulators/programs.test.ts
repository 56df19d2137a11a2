import assert from 'node:assert/strict'
import type { ChildProcess } from 'node:child_process'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { readConfiguration } from '../../../simulators/merchant-server/configuration.ts'
import { testDatabase } from '../../harness/postgres/postgres.ts'
import { closing, openDirectory } from '../../harness/world/opening.ts'
import { accessTokenOf, begin, configurationOf, controlKey, kinds } from '../mobile/mobile-merchant.ts'
import { makeDirectory } from '../three-d-secure/three-d-secure-peers.ts'
import { runProgram } from './program-run.ts'

/** The simulators as programs: how they start, how they end, and what they refuse. */

const built = (path: string) => join(import.meta.dirname, '../../..', path)
const [merchant, mobile] = [built('simulators/merchant/program.js'), built('simulators/merchant-server/program.js')]
const database = closing(await testDatabase())
const directory = openDirectory('merchant-server')
const certificates = await makeDirectory()
closing({ close: () => rmSync(join(certificates, '..'), { recursive: true, force: true }) })
const free = ['--port', '0']
const config = JSON.stringify({ login: 'shop', control_key: controlKey, gateway_base_url: 'http://127.0.0.1:8080/gateway' })

function fileOf(configuration: object): string {
  const file = join(directory, 'mobile.json')
  writeFileSync(file, JSON.stringify(configuration), { mode: 0o600 })
  return file
}

interface Ready {
  port: number
  url: string
  [name: string]: unknown
}
// oxfmt-ignore
const programs: [name: string, args: string[], ready: (said: Ready) => object, path: (said: Ready) => string][] = [
  ['acquirer', ['--admin-port', '0'],
    ({ port, admin_url }) => ({ port, admin_url }), ({ admin_url }) => `${String(admin_url)}/health`],
  ['acs', ['--browser-port', '0', '--certificates', certificates, '--time-scale', '0.01'],
    ({ port, browser_port, url }) => ({ port, areq_url: `https://127.0.0.1:${port}/areq`, browser_port, url, admin_url: `${url}/admin` }),
    ({ url }) => `${url}/test-cards.json`],
  ['directory-server', ['--admin-port', '0', '--certificates', certificates, '--acs-url', 'https://127.0.0.1:1/areq', '--acs-base', 'http://127.0.0.1:1'],
    ({ port, url, admin_url, ...rest }) => ({ ...rest, port, url, admin_url, areq_url: `https://127.0.0.1:${port}/areq` }),
    ({ admin_url }) => `${String(admin_url)}/settings`],
  ['merchant', [], ({ port }) => ({ port, url: `http://127.0.0.1:${port}` }), ({ url }) => `${url}/callbacks.json`],
]
// oxfmt-ignore
const ends: [args: string[], how: string, end: (child: ChildProcess) => unknown][] = [
  [['--die-with-parent'], 'with its parent', (child) => child.stdin?.end()],
  [[],                    'on SIGTERM',      (child) => child.kill('SIGTERM')],
  [[],                    'on SIGINT',       (child) => child.kill('SIGINT')],
]
for (const [name, args, ready, path] of programs)
  for (const [more, how, end] of name === 'merchant' ? ends : ends.slice(0, 1))
    test(`${name}: prints its addresses, serves, and ends ${how}, with connections open`, async () => {
      const running = runProgram(built(`simulators/${name}/program.js`), [...free, ...args, ...more], config)
      const said = await running.ready()
      assert.deepEqual(said, { ready: true, ...ready(said) })
      assert.equal((await fetch(path(said))).status, 200)
      end(running.child)
      assert.equal(await running.exited, 0)
      assert.ok(!running.output().includes(controlKey))
    })

test('the server runs by its command on an empty database, ends on a signal, and finds its data at the next start', async () => {
  const file = fileOf(configurationOf(database.url))
  let accessToken: string | undefined
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGKILL'] as const) {
    const running = runProgram(built('src/cli/main.js'), ['merchant-server'], file)
    const { url } = await running.ready()
    accessToken ??= await accessTokenOf(url, 'demo')
    assert.equal((await begin(url, 'sale', accessToken)).endpointId, '112')
    running.child.kill(signal)
    assert.equal(await running.exited, signal === 'SIGKILL' ? null : 0, running.output())
    await assert.rejects(fetch(url), 'the server itself ended too')
    assert.ok(!running.output().includes(controlKey))
  }
})

// oxfmt-ignore
const refused: [program: string, args: string[], configuration: () => string | undefined, says: RegExp][] = [
  [merchant, [...free, '--unknown'], () => config,                                         /--unknown/],
  [merchant, free, () => undefined,                                                        /MERCHANT_SERVER_CONFIG is not set/],
  [merchant, free, () => config.slice(0, -1),                                              /is not a JSON object/],
  [merchant, free, () => `["${controlKey}"]`,                                              /is not a JSON object/],
  [merchant, free, () => `{"control_key":"${controlKey}","login":"","other":"one"}`,       /lacks login, gateway_base_url/],
  [built('src/cli/main.js'), ['merchant-server'], () => undefined,                         /^MERCHANT_SERVER_CONFIG is not set/],
  [mobile, [], () => join(directory, 'nothing.json'),                                      /^MERCHANT_SERVER_CONFIG: ENOENT/],
  [mobile, [], () => `{"control_key": "${controlKey}"`,                                    /^MERCHANT_SERVER_CONFIG is not JSON$/m],
  [mobile, [], () => fileOf(configurationOf(database.url, { control_key: `${controlKey}0` })), /control_key is not 32 hexadecimal digits, dashes not counted/],
  [mobile, [], () => fileOf(configurationOf('postgres://postgres@127.0.0.1:1/none')),      /^The merchant server cannot start: .*ECONNREFUSED/],
]
for (const [program, args, configuration, says] of refused)
  test(`${program.slice(built('').length)} ${args.join(' ')} ends with 2 and says ${says.source}, without the key`, async () => {
    const running = runProgram(program, args, configuration())
    assert.equal(await running.exited, 2, running.output())
    assert.match(running.output(), says)
    assert.ok(!running.output().includes(controlKey.slice(0, 8)))
  })

test('all faults of a configuration are reported together', () => {
  const complaintsOf = (change: object) => {
    const read = readConfiguration(configurationOf(database.url, change))
    return 'complaints' in read ? read.complaints.join('\n') : ''
  }
  assert.match(complaintsOf({ control_key: 'D5F82EC1-8575-4482-AD89-97X6X0X20X22' }), /control_key is not 32 hexadecimal digits/)
  const wrong = { login: '', endpoints: { sale: 'x' }, port: -1, rates: { min: 1 }, check: { random_sum_centis: 99 } }
  const places = [
    'login is missing',
    ...kinds.map((kind) => `endpoints.${kind}`),
    'rates lacks',
    'random_sum_centis',
    'port is not',
  ]
  for (const place of places) assert.ok(complaintsOf(wrong).includes(place), place)
})
