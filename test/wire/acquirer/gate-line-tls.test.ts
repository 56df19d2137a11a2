import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createServer, connect, type AddressInfo } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import { Client } from 'pg'
import { systemClock } from '../../../src/base/clock.ts'
import { openLog } from '../../../src/base/log.ts'
import type { GateRow } from '../../../src/merchant/fields/gate.ts'
import { certificateFacts, type CertificateFact } from '../../../src/operator/certificates.ts'
import { gateFindings } from '../../../src/operator/doctor/gates.ts'
import { startAcquirer } from '../../../simulators/acquirer/start.ts'
import { newOrderId, order, sale, settled } from '../../conformance/requests/client.ts'
import { AcquirerPeer, until as holds } from '../../harness/acquirer/acquirer-peer.ts'
import { certificatesIn, makeLineCertificates } from '../../harness/acquirer/line-certificates.ts'
import { closing, openWorld } from '../../harness/world/opening.ts'
import { until } from '../../harness/clock/until.ts'
import { cliOf, run } from '../operator/cli-run.ts'

// TLS of a gate as an operator sets it, and what the running gateway makes of it.

const world = await openWorld()
const { tell, json } = cliOf(() => world)
const { file, pem, acquirer } = certificatesIn(join(world.directory, 'certificates'))
const old = await makeLineCertificates(Date.now() - 11 * 365 * 86_400_000)
const database = closing(new Client({ connectionString: world.databaseUrl }))
await database.connect()
const name = newOrderId()
closing({ close: () => tell(['gate', 'disable', name]) })

const log = openLog({ level: 'silent', destination: { write: () => true } })
const simulated = closing(
  await startAcquirer({ log, tls: { port: 0, ca: pem('ds-ca.pem'), cert: pem('acquirer.pem'), key: pem('acquirer.key') } }),
)

/** Passes bytes on to a port and keeps them all. */
async function recorder(port: number) {
  const seen: Buffer[] = []
  const server = createServer((client) => {
    const there = connect({ host: '127.0.0.1', port })
    for (const [from, to] of [
      [client, there],
      [there, client],
    ] as const) {
      from.on('data', (bytes) => seen.push(bytes) && to.write(bytes))
      from.on('error', () => to.destroy())
      from.on('close', () => to.destroy())
    }
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  closing({ close: () => new Promise((resolve) => server.close(resolve)) })
  return { port: (server.address() as AddressInfo).port, text: () => Buffer.concat(seen).toString('latin1') }
}

const secure = await recorder(simulated.tlsPort!)
const clear = await recorder(simulated.port)
const client = ['--tls-cert', file('gateway-line.pem'), '--tls-key', file('gateway-line.key')]
const byTls = ['--tls', 'on', '--tls-ca', file('ds-ca.pem'), ...client]
const facts = ['--terminal-id', 'TLS1', '--card-acceptor-id', 'SHOP', '--card-acceptor-name', 'Shop', '--acquirer-id', '400001']
const rest = [...facts, '--mcc', '5999', '--descriptor', 'SHOP']
const add = (gate: string, ...more: string[]) => ['gate', 'add', '--name', gate, ...rest, ...more]
const printed: string[] = []
const say = async (...args: string[]) => void printed.push(await tell(args))

await say(...add(name, '--host', '127.0.0.1', '--port', String(secure.port), ...byTls))
const endpoint = ['endpoint', 'add', '--merchant', world.merchant.login, '--currency', 'USD', '--gate', name, '--name', name]
const { endpoint_id: path } = await json<{ endpoint_id: number }>(...endpoint)
await until(
  () => sale(world, {}, { path }),
  (reply) => reply['error-code'] !== '4',
)
const pan = '4111111111111111'
const pay = async () => (await settled(world, await order(world, { credit_card_number: pan, cvv2: '123' }, { path }))).status

test('a sale goes through a gate by TLS, and neither card number nor CVV2 is readable on the way', async () => {
  assert.equal(await pay(), 'approved')
  assert.ok(secure.text().length > 1_000)
  for (const text of [pan, '92003123']) assert.ok(!secure.text().includes(text), text)
})

test('a gate is switched to an unencrypted line and back while the gateway runs; only then is the line readable', async () => {
  await say('gate', 'set', name, '--port', String(clear.port), '--tls', 'off')
  assert.equal((await secrets()).secrets_sealed, null)
  await holds('the line signs on', () => clear.text().includes('1814'))
  assert.equal(await pay(), 'approved')
  for (const text of [pan, '92003123']) assert.ok(clear.text().includes(text), text)
  const before = secure.text().length
  await say('gate', 'set', name, '--port', String(secure.port), ...byTls)
  await holds('the line is opened', () => secure.text().length > before + 1_000)
  assert.equal(await pay(), 'approved')
})

test('another certificate is used by the next connection, without a restart', async () => {
  const peer = closing(await AcquirerPeer.listen(0, acquirer))
  await say('gate', 'set', name, '--port', String(peer.port))
  await holds('the line is opened', () => peer.clients.length === 1)
  await say('gate', 'set', name, '--tls-cert', file('stranger.pem'), '--tls-key', file('stranger.key'))
  await holds('and opened again', () => peer.clients.length === 2)
  assert.deepEqual(peer.clients, ['tollgate-line', 'stranger'])
  await say('gate', 'set', name, '--port', String(secure.port), ...client)
})

test('a different authority of the same name counts as a change', async () => {
  await say(...add('spare', '--host', '127.0.0.1', '--port', '1', ...byTls))
  const other = (await makeLineCertificates()).file('ds-ca.pem')
  const said = await tell(['gate', 'set', 'spare', '--tls-ca', other])
  assert.match(said, /^Gate \d+ \(spare\) is changed\.\n\n +Acquirer authority .*SHA-256 (\w{64}) → .*SHA-256 (?!\1)\w{64}\n$/)
  assert.match(await tell(['gate', 'set', 'spare', '--tls-ca', other]), /^Gate \d+ \(spare\) already has this value\.\n$/)
})

const secrets = async () =>
  (
    await database.query<{ secrets_sealed: Buffer | null; key: string | null }>(
      'select secrets_sealed, secrets_key::text as key from gate where name = $1',
      [name],
    )
  ).rows[0]!

test('the private key is stored sealed with its key version, and is in no row, no audit line and nothing printed', async () => {
  const { secrets_sealed: sealed, key } = await secrets()
  assert.ok(sealed && key === '1')
  for (const form of [[], ['--json']]) {
    await say('gate', 'show', name, ...form)
    await say('gate', 'list', ...form)
    await say('audit', 'list', ...form)
  }
  const rows = await database.query<{ text: string }>('select g::text as text from gate g union all select a::text from audit a')
  const everything = [...printed, ...rows.rows.map(({ text }) => text), readFileSync(join(world.directory, 'log', 'gateway.log'))]
  const all = everything.join('\n')
  assert.match(all, /BEGIN CERTIFICATE/)
  assert.ok(!all.includes('PRIVATE KEY'))
  for (const which of ['gateway-line.key', 'stranger.key']) {
    const [, line = ''] = pem(which).split('\n')
    assert.ok(line.length > 40 && !all.includes(line), which)
    assert.ok(!all.includes(Buffer.from(line).toString('hex')), `${which} in hex`)
  }
  const shown = printed.find((text) => text.includes('Our certificate'))
  assert.match(shown ?? '', /CN=tollgate-line, until 20\d\d-/)
})

// oxfmt-ignore
const refusals: [why: RegExp, args: string[]][] = [
  [/--tls-ca is needed/,                       add('other', '--host', '127.0.0.1', '--port', '1', '--tls', 'on')],
  [/--tls is needed: on/,                      add('other', '--host', '127.0.0.1', '--port', '1', '--tls-ca', file('ds-ca.pem'))],
  [/--tls-ca must be a file of certificates/,  ['gate', 'set', name, '--tls-ca', file('cavv.key')]],
  [/--tls-ca: .*cannot be read/,               ['gate', 'set', name, '--tls-ca', file('none.pem')]],
  [/--tls-ca must .*expired on 20/,            ['gate', 'set', name, '--tls-ca', old.file('ds-ca.pem')]],
  [/--tls-cert must .*tollgate-line ex/, ['gate', 'set', name, '--tls-cert', old.file('gateway-line.pem'), '--tls-key', old.file('gateway-line.key')]],
  [/--tls-key is needed/,                      ['gate', 'set', name, '--tls-cert', file('stranger.pem')]],
  [/--tls-cert is needed/,                     ['gate', 'set', name, '--tls-key', file('stranger.key')]],
  [/--tls-key must be the key of our first/, ['gate', 'set', name, '--tls-cert', file('stranger.pem'), '--tls-key', file('acs.key')]],
  [/--tls-key must be a private key in PEM/,   ['gate', 'set', name, '--tls-cert', file('stranger.pem'), '--tls-key', file('acs.pem')]],
  [/--tls-name must be a host name/,           ['gate', 'set', name, '--tls-name', 'a b']],
  [/--tls-name must be left out/,              ['gate', 'set', name, '--tls', 'off', '--tls-name', 'a']],
  [/--host must be a private address/,         add('other', '--host', '203.0.113.9', '--port', '1')],
  [/--host must be a private address/,         ['gate', 'set', name, '--tls', 'off', '--host', '2001:db8::1']],
]

test('settings that cannot protect a line are refused by their option, and change nothing', async () => {
  const before = await json('gate', 'show', name)
  for (const [why, args] of refusals) {
    const { code, out, err } = await run({ TOLLGATE_DIR: world.directory }, args)
    assert.deepEqual([code, out], [2, ''], args.join(' '))
    assert.match(err, why)
  }
  assert.deepEqual(await json('gate', 'show', name), before)
})

test('an unencrypted line to a public address is accepted with --plain-line on, and with TLS', async () => {
  const quiet = newOrderId()
  await tell(add(quiet, '--host', '127.0.0.1', '--port', String(secure.port)))
  await tell(['gate', 'disable', quiet])
  const address = ['--host', '203.0.113.9']
  await tell(['gate', 'set', quiet, ...address, '--plain-line', 'on'])
  await tell(['gate', 'set', quiet, ...address, '--plain-line', 'off', '--tls', 'on', '--tls-ca', file('ds-ca.pem')])
})

test('the doctor opens the line as the gateway does, and says why it fails', async () => {
  const examine = async () => {
    const { out } = await run({ TOLLGATE_DIR: world.directory }, ['doctor', '--json'])
    const { checks } = JSON.parse(out) as { checks: { is: string; says: string }[] }
    return checks.filter(({ says }) => says.includes(`(${name})`)).map(({ is, says }) => `${is}: ${says}`)
  }
  assert.match((await examine()).join('\n'), /^ok: gate .* takes connections by TLS, .*$/)
  await tell(['gate', 'set', name, '--tls-name', 'bank.example'])
  assert.match(
    (await examine()).join('\n'),
    /^problem: gate .* cannot be reached: TLS: Host: bank\.example\. is not in the cert's altnames.*$/,
  )
  await tell(['gate', 'set', name, '--tls', 'off'])
  assert.match((await examine()).join('\n'), /^ok: gate .* takes connections, .*$/)
})

test('the doctor warns of an unencrypted line that leaves the machine, and of expiring certificates', async () => {
  const gate = { gateId: 1n, name: 'g', enabled: true }
  const { settings } = (await database.query<{ settings: GateRow }>('select settings from gate where name = $1', [name])).rows[0]!
  const warned = async (changes: Partial<GateRow>, at = systemClock.now()) => {
    const clock = { ...systemClock, now: () => at }
    const found = await gateFindings({ ...gate, settings: { ...settings, ...changes } }, clock)
    return found.slice(1).map(({ is, says }) => `${is}: ${says}`)
  }
  assert.deepEqual(await warned({}), [])
  // Link-local without a link: nothing leaves this machine.
  assert.match((await warned({ host: 'fe80::1' })).join(), /^warning: the line of gate 1 \(g\) at fe80::1:\d+ is not encrypted/)
  const tls = { ca: pem('ds-ca.pem') }
  const [{ until: ends }] = certificateFacts(tls.ca) as [CertificateFact]
  const dayMs = 86_400_000
  assert.deepEqual(await warned({ tls }, ends - 31 * dayMs), [])
  assert.match((await warned({ tls }, ends - 29 * dayMs)).join(), /^warning: a certificate of gate .* expires on \d{4}-/)
  assert.match((await warned({ tls }, ends)).join(), /^problem: a certificate of gate .* has expired on /)
})
