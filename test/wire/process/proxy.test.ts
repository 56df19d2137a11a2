/** deploy/Caddyfile in front of a gateway, where Caddy is installed. */
import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { text as readText } from 'node:stream/consumers'
import { test } from 'node:test'
import { Agent, setGlobalDispatcher } from 'undici'
import { openClient } from '../../../client/client.ts'
import { until } from '../../harness/clock/until.ts'
import { closing, openDirectory, openHttp, openWorld } from '../../harness/world/opening.ts'
import { freePort } from '../../harness/world/port.ts'

const hasCaddy = spawnSync('caddy', ['version']).status === 0
if (!hasCaddy) console.log('Caddy was not found: deploy/Caddyfile is judged by its text alone. Debian has caddy.')

/** Caddy makes the certificates of these names itself. */
const port = await freePort()
const payments = `https://localhost:${port}`
const pages = `https://console.localhost:${port}`

/**
 * Starts Caddy with the file, but with these upstreams, and without port 80 and HTTP/3: `freePort`
 * keeps the UDP port. From then on our fetch trusts it.
 */
async function startCaddy(gateway: string, console: string): Promise<void> {
  const directory = openDirectory('proxy')
  const file = join(directory, 'Caddyfile')
  const text = readFileSync('deploy/Caddyfile', 'utf8').replace('gateway:8080', gateway).replace('console:9181', console)
  writeFileSync(
    file,
    `{\n\tadmin off\n\tauto_https disable_redirects\n\tskip_install_trust\n\tservers {\n\t\tprotocols h1 h2\n\t}\n}\n${text}`,
  )
  const places = { HOME: directory, XDG_DATA_HOME: directory, XDG_CONFIG_HOME: directory }
  const env = { PATH: process.env['PATH'], ...places, PUBLIC_URL: payments, CONSOLE_ORIGIN: pages }
  const child = spawn('caddy', ['run', '--config', file, '--adapter', 'caddyfile'], { env, stdio: ['ignore', 'ignore', 'pipe'] })
  closing({ close: () => child.kill('SIGKILL') })
  const log = readText(child.stderr)
  const ended = new Promise((resolve) => child.once('exit', resolve)).then(async () => assert.fail(await log))
  const root = join(directory, 'caddy/pki/authorities/local/root.crt')
  await Promise.race([until(() => existsSync(root), Boolean), ended])
  // Not every system resolves names below localhost.
  const lookup = (_name: string, _options: unknown, found: (error: null, all: { address: string; family: number }[]) => void) =>
    found(null, [{ address: '127.0.0.1', family: 4 }])
  setGlobalDispatcher(new Agent({ connect: { ca: readFileSync(root), lookup } }))
  await Promise.race([until(() => fetch(payments).catch(() => undefined), Boolean), ended])
}

async function sellsByProxy(): Promise<void> {
  const world = await openWorld()
  const { origin } = await openHttp(({ url, headers }, response) => response.end(`${url} of ${headers.host}`))
  await startCaddy(new URL(world.baseUrl).host, new URL(origin).host)
  const { login, controlKey } = world.merchant
  const client = openClient({ baseUrl: `${payments}/gateway`, login, controlKey, endpoint: world.endpoints.plain })
  const reply = await client.sale({
    client_orderid: `proxy-${process.pid}`,
    order_desc: 'Shoes',
    amount: '10.42',
    currency: 'USD',
    email: 'jane@example.com',
    ipaddress: '203.0.113.7',
    credit_card_number: '4111111111111111',
    card_printed_name: 'JANE DOE',
    cvv2: '123',
    expire_month: 12,
    expire_year: new Date().getFullYear() + 4,
  })
  assert.equal(reply.is, 'accepted', JSON.stringify(reply))
  const ending = await client.finish(reply)
  assert.ok(ending.is === 'final' && ending.status === 'approved', JSON.stringify(ending))
  for (const path of ['/', '/metrics', '/ready', '/gateways', '/docs'])
    assert.deepEqual([path, (await fetch(payments + path)).status], [path, 404])
  const page = await fetch(`${pages}/gate?x=1`)
  assert.equal(await page.text(), `/gate?x=1 of console.localhost:${port}`)
  assert.equal(page.headers.get('strict-transport-security'), 'max-age=31536000')
}

if (hasCaddy) test('the proxy passes payments to the gateway, and nothing else to it', { timeout: 120_000 }, sellsByProxy)
