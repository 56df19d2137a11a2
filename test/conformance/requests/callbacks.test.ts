import assert from 'node:assert/strict'
import { createServer, type IncomingMessage, type Server } from 'node:http'
import { after, before, describe, it } from 'node:test'
import { startWorld } from '../../harness/sandbox/start.ts'
import type { World } from '../../harness/world/world.ts'
import {
  callbackControl,
  decode,
  nextYear,
  order,
  reversalsAfter,
  settled,
  statusOf,
  untilStatus,
  type Changes,
  type Fields,
  type Order,
} from './client.ts'
import { until } from '../../harness/clock/until.ts'

/** Callbacks: docs/choices.md, "Callbacks". The merchant's server records what it receives. */

interface Call {
  method: string
  path: string
  /** Pairs in the order in which they came; those of a form after those of the URL. */
  pairs: [string, string][]
  contentType: string
  answered: number
}

let world: World
let server: Server
let origin: string
/** All calls by path; the first part of a path says how the server behaves. */
const calls = new Map<string, Call[]>()
/** Paths called once, or never. They are checked again after all other tests. */
const exactlyOnce = new Set<string>()
const never = new Set<string>()

function pairsOf(text: string): [string, string][] {
  const split = text.split('&').filter((one) => one !== '')
  return split.map((one) => one.split(/=(.*)/s)).map(([name, value]) => [decode(name ?? ''), decode(value ?? '')])
}

async function receive(request: IncomingMessage): Promise<number | string> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(Buffer.from(chunk))
  const [path = '', query = ''] = (request.url ?? '').split(/\?(.*)/s)
  const earlier = calls.get(path) ?? []
  const answer = behaviour(path, earlier.length)
  const all = [...pairsOf(query), ...pairsOf(Buffer.concat(chunks).toString('utf8'))]
  const call = { method: request.method ?? '', path, pairs: all, contentType: request.headers['content-type'] ?? '', answered: 0 }
  calls.set(path, [...earlier, { ...call, answered: typeof answer === 'number' ? answer : 302 }])
  return answer
}

function behaviour(path: string, earlierCalls: number): number | string {
  if (path.startsWith('/fails-once/')) return earlierCalls === 0 ? 500 : 200
  if (path.startsWith('/no-content/')) return earlierCalls === 0 ? 204 : 200
  if (path.startsWith('/redirects/')) return `${origin}/elsewhere/`
  return 200
}

before(async () => {
  server = createServer((request, response) => {
    receive(request).then(
      (answer) =>
        typeof answer === 'number' ? response.writeHead(answer).end() : response.writeHead(302, { location: answer }).end(),
      (failure: unknown) => response.writeHead(500).end(String(failure)),
    )
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  assert.ok(address !== null && typeof address === 'object')
  origin = `http://127.0.0.1:${address.port}`
  world = await startWorld()
  // Keeps the reversal of an unanswered payment open, and with it the payment and its callback.
  await reversalsAfter(world, 3_600_000)
})
after(async () => {
  await world?.stop()
  server.closeAllConnections()
  await new Promise((resolve) => server.close(resolve))
})

let paths = 0
const newPath = (kind: string): string => `/${kind}/${(paths += 1)}`
const got = (path: string): Call[] => calls.get(path) ?? []
/** Waits for so many calls of a path. */
async function callsOf(path: string, count = 1, withinMs = 60_000): Promise<Call[]> {
  const seen = await until(
    () => got(path),
    (all) => all.length >= count,
    withinMs,
  )
  assert.ok(seen.length >= count, `${count} calls of ${path} within ${withinMs} ms, not ${seen.length}`)
  return seen
}
const only = async (path: string): Promise<Call> => {
  const [call] = await callsOf(path)
  assert.ok(call)
  exactlyOnce.add(path)
  return call
}
/** The parameters as fields; each may come once. */
function parameters(call: Call, own: readonly string[] = []): Fields {
  const names = call.pairs.map(([name]) => name)
  assert.equal(new Set(names).size, names.length, `each once: ${names.join(' ')}`)
  return Object.fromEntries(call.pairs.filter(([name]) => !own.includes(name)))
}
function controlHolds(fields: Fields, made: Order): void {
  assert.deepEqual(
    [fields.orderid, fields.client_orderid, fields.merchant_order],
    [made.orderid, made.client_orderid, made.client_orderid],
  )
  assert.equal(fields.control, callbackControl(fields.status ?? '', made.orderid, made.client_orderid, world.merchant.controlKey))
}

// oxfmt-ignore
const customer: Changes = {
  amount: '10.5', phone: '+4912345678', first_name: 'Ada', last_name: 'Lovelace', email: 'ada@example.com', card_printed_name: 'A LOVELACE',
  expire_month: '07', expire_year: String(nextYear), comment: 'as agreed', merchant_data: ' my=data & é😀 ',
}

describe('on a final outcome server_callback_url is called by GET', { concurrency: 8 }, () => {
  it('an approved sale: every parameter that has a value, with the right value and a valid control', async () => {
    const path = newPath('approved')
    const made = await order(world, { ...customer, server_callback_url: `${origin}${path}` })
    const call = await only(path)
    const seen = await settled(world, made)
    const fields = parameters(call)
    assert.equal(call.method, 'GET')
    controlHolds(fields, made)
    // oxfmt-ignore
    const values: [string, string | undefined][] = [
      ['status', 'approved'],                   ['type', 'sale'],                     ['amount', '10.5'],                       ['currency', 'USD'],
      ['merchant_order', made.client_orderid],  ['client_orderid', made.client_orderid], ['orderid', made.orderid],             ['name', 'Ada Lovelace'],
      ['card-holder-name', 'A LOVELACE'],       ['email', 'ada@example.com'],         ['phone', '+4912345678'],                 ['last-four-digits', '1111'],
      ['bin', '411111'],                        ['card-type', seen['card-type']],     ['descriptor', seen.descriptor],          ['approval-code', seen['approval-code']],
      ['processor-rrn', seen['processor-rrn']], ['processor-tx-id', `SIM-${made.orderid}`], ['gate-partial-reversal', 'enabled'], ['gate-partial-capture', 'enabled'],
      ['comment', 'as agreed'],                 ['merchantdata', ' my=data & é😀 '],  ['error_code', undefined],                ['error_message', undefined],
    ]
    for (const [name, value] of values) assert.equal(fields[name], value, name)
    for (const name of ['descriptor', 'approval-code', 'processor-rrn', 'card-type']) assert.ok(fields[name], name)
  })
  it('a declined sale: the same, with error_code and error_message', async () => {
    const path = newPath('declined')
    const made = await order(world, { ...customer, cvv2: '116', server_callback_url: `${origin}${path}` })
    const fields = parameters(await only(path))
    const seen = await settled(world, made)
    controlHolds(fields, made)
    assert.deepEqual([fields.status, fields.type, fields.error_code, fields.amount], ['declined', 'sale', '116', '10.5'])
    assert.ok(fields.error_message)
    assert.equal(fields.error_message, seen['error-message'])
    assert.equal(fields['approval-code'], undefined)
  })
  it('values that are absent are left out', async () => {
    const path = newPath('bare')
    const made = await order(world, { server_callback_url: `${origin}${path}` })
    const fields = parameters(await only(path))
    controlHolds(fields, made)
    for (const name of ['phone', 'name', 'comment', 'merchantdata', 'error_code', 'error_message'])
      assert.ok(!(name in fields), name)
    for (const [name, value] of Object.entries(fields)) assert.notEqual(value, '', name)
  })
  it('it never carries the card number or the CVV2', async () => {
    const path = newPath('masked')
    await order(world, { cvv2: '1234', server_callback_url: `${origin}${path}` })
    for (const [name, value] of (await only(path)).pairs) assert.ok(!value.includes('4111111111111111') && value !== '1234', name)
  })
  it('the parameters are appended to the query that the URL has', async () => {
    const path = newPath('query')
    const made = await order(world, { server_callback_url: `${origin}${path}?shop=7&note=a%20b%26c` })
    const call = await only(path)
    assert.deepEqual(call.pairs.slice(0, 2), [
      ['shop', '7'],
      ['note', 'a b&c'],
    ])
    controlHolds(parameters(call, ['shop', 'note']), made)
  })
  it('a sale of a group', async () => {
    const path = newPath('group')
    const changes = { currency: 'EUR', server_callback_url: `${origin}${path}` }
    const made = await order(world, changes, { path: `group/${world.groups.multi}` })
    const fields = parameters(await only(path))
    controlHolds(fields, made)
    assert.equal(fields.currency, 'EUR')
  })
  it('the status of the callback is the status that is polled', async () => {
    const path = newPath('same')
    const made = await order(world, { cvv2: '119', server_callback_url: `${origin}${path}` })
    const fields = parameters(await only(path))
    const seen = await statusOf(world, made)
    assert.deepEqual([fields.status, fields.error_code], [seen.status, seen['error-code']])
  })
  it('where the URL would exceed 8,000 bytes the same pairs go as a POST form, the query of the URL kept', async () => {
    const path = newPath('long')
    const merchant_data = `${'x '.repeat(4500)}😀`
    const made = await order(world, { ...customer, merchant_data, server_callback_url: `${origin}${path}?shop=7` })
    const call = await only(path)
    assert.equal(call.method, 'POST')
    assert.match(call.contentType, /^application\/x-www-form-urlencoded\b/)
    assert.deepEqual(call.pairs[0], ['shop', '7'])
    const fields = parameters(call, ['shop'])
    controlHolds(fields, made)
    assert.equal(fields.merchantdata, merchant_data)
  })
  it('notify_url is called too, each of the two once', async () => {
    const [one, other] = [newPath('server'), newPath('notify')]
    const made = await order(world, { server_callback_url: `${origin}${one}`, notify_url: `${origin}${other}?n=1` })
    controlHolds(parameters(await only(one)), made)
    const call = await only(other)
    assert.equal(call.method, 'GET')
    controlHolds(parameters(call, ['n']), made)
  })
  it('notify_url alone is called', async () => {
    const path = newPath('notify-alone')
    const made = await order(world, { cvv2: '209', notify_url: `${origin}${path}` })
    const fields = parameters(await only(path))
    controlHolds(fields, made)
    assert.equal(fields.status, 'declined')
  })
  it('a repeated request calls no second time', async () => {
    const path = newPath('repeated')
    const changes = { server_callback_url: `${origin}${path}` }
    const made = await order(world, changes)
    await only(path)
    assert.equal((await order(world, { ...changes, client_orderid: made.client_orderid })).orderid, made.orderid)
  })
  it('nothing is called while the outcome is not final', async () => {
    const path = newPath('unanswered')
    const made = await order(world, { cvv2: '217', server_callback_url: `${origin}${path}` })
    const seen = await untilStatus(world, made, (reply) => reply.status === 'unknown')
    assert.equal(seen.status, 'unknown')
    assert.deepEqual(got(path), [])
    never.add(path)
  })
})

describe('anything but 200 is tried again, until the merchant answers 200', { concurrency: 8 }, () => {
  for (const [kind, code] of [
    ['fails-once', 500],
    ['no-content', 204],
  ] as const) {
    it(`a merchant that first answers ${code} is called again, with the same parameters`, async () => {
      const path = newPath(kind)
      const made = await order(world, { ...customer, server_callback_url: `${origin}${path}` })
      const [first, second] = await callsOf(path, 2, 120_000)
      assert.ok(first && second)
      assert.deepEqual([first.answered, second.answered], [code, 200])
      assert.deepEqual(second.pairs, first.pairs)
      controlHolds(parameters(second), made)
    })
  }
  it('a redirect is not followed', async () => {
    const path = newPath('redirects')
    never.add('/elsewhere/')
    await order(world, { server_callback_url: `${origin}${path}` })
    await callsOf(path)
  })
})

describe('when all of this is over', () => {
  it('each merchant that answered 200 was called once per outcome, and no other server was called', () => {
    assert.ok(exactlyOnce.size >= 10)
    for (const path of exactlyOnce) assert.equal(got(path).length, 1, path)
    for (const path of never) assert.deepEqual(got(path), [], path)
    for (const path of calls.keys()) if (path.startsWith('/fails-once/')) assert.equal(got(path).length, 2, path)
  })
})
