import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import { Client } from 'pg'
import { openLog } from '../../../src/base/log.ts'
import type { Effect } from '../../../simulators/acquirer/faults.ts'
import { macHolds, type MacKey } from '../../../simulators/acquirer/mac.ts'
import { startAcquirer } from '../../../simulators/acquirer/start.ts'
import { decode, encode, FrameReader, type Message } from '../../../simulators/acquirer/wire.ts'
import { newOrderId, order, statusOf, untilStatus, type Fields, type Order } from '../../conformance/requests/client.ts'
import { configurationRead } from '../../harness/world/configuration.ts'
import { metricsOf } from '../../harness/world/metrics.ts'
import { closing, openWorld, openDirectory } from '../../harness/world/opening.ts'
import { until } from '../../harness/clock/until.ts'
import { cliOf, run } from '../operator/cli-run.ts'

// The MAC of a gate as an operator sets it, and what somebody on a line in clear can do against it.

const world = await openWorld()
const { tell, json } = cliOf(() => world)
const folder = openDirectory('mac')
const database = closing(new Client({ connectionString: world.databaseUrl }))
await database.connect()
const name = newOrderId()
closing({ close: () => tell(['gate', 'disable', name]) })

function file(content: string): string {
  const path = join(folder, newOrderId())
  writeFileSync(path, content)
  return path
}

// oxfmt-ignore
const hexKeys = {
  first:  '8d4f2a6c0b9e7731c5e8a2d41f6b3097',
  second: 'c7701e5f93ab46d20864fe1bd59c38a2e1f04b7d2c8596ba39e07f51d48c62ab',
  retail: '2f6e8a31c4d97b0e51b3f09a7c62d48e',
}
const acquirerWith = async (algorithm: MacKey['algorithm'], key: string) =>
  closing(
    await startAcquirer({
      log: openLog({ level: 'silent', destination: { write: () => true } }),
      mac: { algorithm, key: Buffer.from(key, 'hex') },
    }),
  )
const simulated = await acquirerWith('aes-cmac', hexKeys.first)

type Meddle = { request?: (fields: Message['fields']) => void; reply?: (fields: Message['fields']) => void }
/** The change to messages of the sale of this amount. */
const meddled = new Map<string, Meddle>()

/** Somebody on the way, who reads all messages and can write others. */
async function openMeddler(port: number) {
  const seen: Buffer[] = []
  const line = { to: port, seen, port: 0 }
  function pass(from: Socket, to: Socket, side: keyof Meddle) {
    const reader = new FrameReader()
    from.on('data', (bytes: Buffer) => {
      for (const body of reader.push(bytes)) {
        seen.push(body)
        const message = decode(body)
        const change = /^12[01]0$/.test(message.type) ? meddled.get(String(Number(message.fields[4])))?.[side] : undefined
        change?.(message.fields)
        to.write(change ? encode(message) : Buffer.concat([Buffer.from([body.length >> 8, body.length & 255]), body]))
      }
    })
    from.on('error', () => to.destroy())
    from.on('close', () => to.destroy())
  }
  const server = createServer((gateway) => {
    const acquirer = connect({ host: '127.0.0.1', port: line.to })
    pass(gateway, acquirer, 'request')
    pass(acquirer, gateway, 'reply')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  closing({ close: () => new Promise((resolve) => server.close(resolve)) })
  line.port = (server.address() as AddressInfo).port
  return line
}
const line = await openMeddler(simulated.port)

const facts = ['--terminal-id', 'MAC1', '--card-acceptor-id', 'SHOP', '--card-acceptor-name', 'Shop', '--acquirer-id', '400001']
const rest = [...facts, '--mcc', '5999', '--descriptor', 'SHOP', '--answer-timeout', '5s']
const add = (gate: string, ...more: string[]) => ['gate', 'add', '--name', gate, ...rest, '--host', '127.0.0.1', ...more]
const printed: string[] = []
const say = async (...args: string[]) => void printed.push(await tell(args))
const keyFile = file(`${hexKeys.first}\n`)
await say(...add(name, '--port', String(line.port), '--mac', 'aes-cmac', '--mac-key-file', keyFile))
const { gate_id: gateId } = await json<{ gate_id: number }>('gate', 'show', name)
const endpoint = ['endpoint', 'add', '--merchant', world.merchant.login, '--currency', 'USD', '--gate', name, '--name', name]
const { endpoint_id: path } = await json<{ endpoint_id: number }>(...endpoint)
await configurationRead(world)

const pan = '4111111111111111'
const visa = '4012888888881881'
const smallAmount = '000000000001'
const sell = (changes: object = {}): Promise<Order> =>
  order(world, { credit_card_number: pan, cvv2: '123', ...changes }, { path })
const isFinal = ({ status }: Fields) => status !== 'processing' && status !== 'unknown'
const ended = (made: Order) => untilStatus(world, made, isFinal)
const pay = async () => (await ended(await sell())).status
const statesAt = async ({ adminUrl }: { adminUrl: string }, { orderid }: Order) => {
  const { entries } = (await (await fetch(`${adminUrl}/ledger?order_id=${orderid}`)).json()) as { entries: { state: string }[] }
  return entries.map(({ state }) => state)
}

test('a sale goes through, and every message on the line, the sign-on too, ends in a MAC', async () => {
  assert.equal(await pay(), 'approved')
  const types = new Set(line.seen.map((body) => decode(body).type))
  assert.deepEqual([...types].sort(), ['1200', '1210', '1804', '1814'])
  const key: MacKey = { algorithm: 'aes-cmac', key: Buffer.from(hexKeys.first, 'hex') }
  for (const body of line.seen) assert.ok(macHolds(key, body), decode(body).type)
})

const field = (number: number, value: string | undefined) => (fields: Message['fields']) => void (fields[number] = value)
const declined = ['declined', '916', []]
const neverTaken = ['error', '911', []]
const reversed = ['error', '911', ['reversed']]
// The acquirer's answer to a changed request has a MAC; a changed answer is none.
// oxfmt-ignore
const attacks: [what: string, cvv2: string, does: Meddle | Effect, ends: unknown[], why: RegExp][] = [
  ['a decline is turned into an approval', '116', { reply: field(39, '000') },         ['error', '911', ['declined']], /but one with a wrong MAC/],
  ['an answer has a text with a card',     '123', { reply: field(44, pan) },           reversed,                       /but one with a wrong MAC/],
  ['an answer loses its MAC',              '123', { reply: field(64, undefined) },     reversed,                       /but one without a MAC/],
  ['a request has another card',           '123', { request: field(2, visa) },         declined,                       /916 the MAC is incorrect/],
  ['a request loses its MAC',              '123', { request: field(64, undefined) },   declined,                       /916 the MAC is missing/],
  ['a request has another amount',         '123', { request: field(4, smallAmount) },  neverTaken,                     /field 4 differs/],
  ['the acquirer answers without a MAC',   '123', { no_mac: true },                    reversed,                       /but one without a MAC/],
  ['the acquirer has a wrong MAC',         '123', { wrong_mac: true },                 reversed,                       /but one with a wrong MAC/],
]

test('a message that was changed on the way approves nothing and leaves nothing charged, and the metric counts it', async () => {
  const end = async ([what, cvv2, does, ends, why]: (typeof attacks)[number], i: number) => {
    const minor = String(200 + i)
    if ('request' in does || 'reply' in does) meddled.set(minor, does)
    else await script({ amount_minor: minor, times: 1 }, does)
    const made = await sell({ amount: `2.0${i}`, cvv2 })
    const { status, 'error-code': code } = await ended(made)
    assert.deepEqual([status, code, await statesAt(simulated, made)], ends, what)
    assert.match(await tell(['order', 'show', made.orderid]), why, what)
  }
  await Promise.all(attacks.map(end))
  const metric = await metricsOf(world)
  assert.equal(metric(`tollgate_acquirer_strays_total{gate="${gateId}",kind="unauthentic"}`), 5)
})

async function script(match: object, effect: unknown): Promise<void> {
  const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ match, do: effect }) }
  assert.equal((await fetch(`${simulated.adminUrl}/faults`, init)).status, 201)
}

test('under a key that the acquirer lacks the line is down and nothing is charged; then it goes on', async () => {
  const next = await acquirerWith('aes-cmac', hexKeys.second)
  await say('gate', 'set', name, '--mac-key-file', file(hexKeys.second.toUpperCase()))
  await configurationRead(world)
  const isUp = async () => (await metricsOf(world))(`tollgate_gate_up{gate="${gateId}"}`)
  assert.equal(await isUp(), 0)
  const made = await sell()
  const refused = /an answer with a wrong MAC to the sign-on/
  await until(logged, (text) => refused.test(text))
  assert.deepEqual([await isUp(), (await statusOf(world, made)).status], [0, 'processing'])
  line.to = next.port
  assert.equal((await ended(made)).status, 'approved')
  assert.deepEqual([await statesAt(simulated, made), await statesAt(next, made)], [[], ['approved']])
})

const logged = () => readFileSync(join(world.directory, 'log', 'gateway.log'), 'utf8')

test('the other algorithm is taken with a key of its own, and off forgets the key', async () => {
  const retail = await acquirerWith('retail-mac', hexKeys.retail)
  await say('gate', 'set', name, '--port', String(retail.port), '--mac', 'retail-mac', '--mac-key-file', file(hexKeys.retail))
  await configurationRead(world)
  assert.equal(await pay(), 'approved')
  assert.equal((await stored()).version, '1')
  await say('gate', 'set', name, '--mac', 'off')
  assert.deepEqual(await stored(), { sealed: null, version: null })
})

const stored = async () =>
  (
    await database.query<{ sealed: string | null; version: string | null }>(
      `select encode(mac_key_sealed, 'hex') as sealed, mac_key_version::text as version from gate where name = $1`,
      [name],
    )
  ).rows[0]!

test('no key is in a row, an audit line, the log or anything printed; nor is a card that an answer named', async () => {
  for (const form of [[], ['--json']])
    for (const args of [
      ['gate', 'show', name],
      ['gate', 'list'],
      ['audit', 'list'],
    ])
      await say(...args, ...form)
  const rows = await database.query<{ text: string }>('select g::text as text from gate g union all select a::text from audit a')
  const all = [...printed, ...rows.rows.map(({ text }) => text), logged()].join('\n').toLowerCase()
  assert.match(all, /iso 9797-1 algorithm 3/)
  assert.match(all, /a message with a wrong mac came and is ignored/)
  for (const text of [...Object.values(hexKeys), pan]) assert.ok(!all.includes(text))
})

const set = (...more: string[]) => ['gate', 'set', name, ...more]
const bytes = (count: number) => file('5a4b3c2d1e0f6978'.repeat(8).slice(0, count * 2))
// oxfmt-ignore
const refusals: [why: RegExp, args: string[]][] = [
  [/--mac-key-file is needed: a file/,              set('--mac', 'aes-cmac')],
  [/--mac is needed: aes-cmac or retail-mac/,       set('--mac-key-file', keyFile)],
  [/--mac-key-file is needed/,                      add('other', '--port', '1', '--mac', 'retail-mac')],
  [/--mac-key-file must be left out/,               set('--mac', 'off', '--mac-key-file', keyFile)],
  [/--mac must be aes-cmac, retail-mac or off/,      set('--mac', 'hmac', '--mac-key-file', keyFile)],
  [/--mac-key-file: .*cannot be read/,              set('--mac', 'aes-cmac', '--mac-key-file', join(folder, 'none'))],
  [/--mac-key-file: .*too large/,                   set('--mac', 'aes-cmac', '--mac-key-file', file('0'.repeat(2_000)))],
  [/must be a file with one key of 16 bytes for AE/, set('--mac', 'aes-cmac', '--mac-key-file', file('not hexadecimal'))],
  [/must be a file with one key of 16 bytes/,       set('--mac', 'aes-cmac', '--mac-key-file', file(`${hexKeys.first}0`))],
  [/or 32 for AES-256.*; it has 24 bytes/,          set('--mac', 'aes-cmac', '--mac-key-file', bytes(24))],
  [/two DES keys.*; it has 8 bytes/,                set('--mac', 'retail-mac', '--mac-key-file', bytes(8))],
  [/must be two different DES keys/,                set('--mac', 'retail-mac', '--mac-key-file', bytes(16))],
  [/neither of which is weak/,                      set('--mac', 'retail-mac', '--mac-key-file', file(`${'01'.repeat(8)}8d4f2a6c0b9e7731`))],
]

test('an invalid or weak key is refused by its option, is not repeated, and changes nothing', async () => {
  const before = await json('gate', 'show', name)
  for (const [why, args] of refusals) {
    const { code, out, err } = await run({ TOLLGATE_DIR: world.directory }, args)
    assert.deepEqual([code, out], [2, ''], args.join(' '))
    assert.match(err, why)
    assert.doesNotMatch(err, /not hexadecimal|[0-9a-f]{16}/i)
  }
  assert.deepEqual(await json('gate', 'show', name), before)
})
