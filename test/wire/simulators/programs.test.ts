import assert from 'node:assert/strict'
import type { ChildProcess } from 'node:child_process'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { makeDirectory } from '../three-d-secure/three-d-secure-peers.ts'
import { runProgram } from './program-run.ts'

/** The simulators as programs: how they start, how they end, and what they refuse. */

const controlKey = 'AF4B5DE6-3468-424C-A922-C1DAD7CB4509'
const config = JSON.stringify({ login: 'shop', control_key: controlKey, gateway_base_url: 'http://127.0.0.1:8080/gateway' })
const free = ['--port', '0']

let certificates: string
before(async () => (certificates = await makeDirectory()))
after(() => rmSync(join(certificates, '..'), { recursive: true, force: true }))

interface Ready {
  port: number
  url: string
  [name: string]: unknown
}
// oxfmt-ignore
const programs: [name: string, args: () => string[], ready: (said: Ready) => object, path: (said: Ready) => string][] = [
  ['acquirer', () => ['--admin-port', '0'],
    ({ port, admin_url }) => ({ port, admin_url }), ({ admin_url }) => `${String(admin_url)}/health`],
  ['acs', () => ['--browser-port', '0', '--certificates', certificates, '--time-scale', '0.01'],
    ({ port, browser_port, url }) => ({ port, areq_url: `https://127.0.0.1:${port}/areq`, browser_port, url, admin_url: `${url}/admin` }),
    ({ url }) => `${url}/test-cards.json`],
  ['directory-server', () => ['--admin-port', '0', '--certificates', certificates, '--acs-url', 'https://127.0.0.1:1/areq', '--acs-base', 'http://127.0.0.1:1'],
    ({ port, url, admin_url, ...rest }) => ({ ...rest, port, url, admin_url, areq_url: `https://127.0.0.1:${port}/areq` }),
    ({ admin_url }) => `${String(admin_url)}/settings`],
  ['merchant', () => [], ({ port }) => ({ port, url: `http://127.0.0.1:${port}` }), ({ url }) => `${url}/callbacks.json`],
]
// oxfmt-ignore
const ends: [args: string[], how: string, end: (child: ChildProcess) => unknown][] = [
  [['--die-with-parent'], 'with its parent', (child) => child.stdin?.end()],
  [[],                    'on SIGTERM',      (child) => child.kill('SIGTERM')],
  [[],                    'on SIGINT',       (child) => child.kill('SIGINT')],
]
for (const [name, args, ready, path] of programs) {
  const file = join(import.meta.dirname, `../../../simulators/${name}/program.js`)

  for (const [more, how, end] of name === 'merchant' ? ends : ends.slice(0, 1))
    test(`${name}: prints its addresses, serves, and ends ${how}, with connections open`, async () => {
      const running = runProgram(file, [...free, ...args(), ...more], config)
      const said = await running.ready()
      assert.deepEqual(said, { ready: true, ...ready(said) })
      assert.equal((await fetch(path(said))).status, 200)
      end(running.child)
      assert.equal(await running.exited, 0)
      assert.ok(!running.output().includes(controlKey))
    })

  test(`${name}: an unknown option is refused with exit code 2`, async () => {
    assert.equal(await runProgram(file, [...free, ...args(), '--unknown'], config).exited, 2)
  })
}

test('merchant: a configuration that cannot be used is refused in words that do not repeat it', async () => {
  // oxfmt-ignore
  const refused: [configuration: string | undefined, words: RegExp][] = [
    [undefined,                                                  /MERCHANT_SERVER_CONFIG is not set/],
    [config.slice(0, -1),                                        /is not a JSON object/],
    [`["${controlKey}"]`,                                        /is not a JSON object/],
    [`{"control_key":"${controlKey}","login":"","other":"one"}`, /lacks login, gateway_base_url/],
  ]
  for (const [configuration, words] of refused) {
    const running = runProgram(join(import.meta.dirname, '../../../simulators/merchant/program.js'), free, configuration)
    assert.equal(await running.exited, 2)
    assert.match(running.output(), words)
    assert.ok(!running.output().includes(controlKey))
  }
})
