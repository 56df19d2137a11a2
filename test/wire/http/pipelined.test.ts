import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { test, type TestContext } from 'node:test'
import { connect as connectTls } from 'node:tls'
import { nextTurn } from '../../../src/base/clock.ts'
import { openLog } from '../../../src/base/log.ts'
import { systemRandom } from '../../../src/base/random.ts'
import { openTurns } from '../../../src/base/turn.ts'
import { openOperatorPort } from '../../../src/gateway/operator-port.ts'
import { openServer, type ServerSettings } from '../../../src/http/server.ts'
import { openInbound } from '../../../src/three-d-secure/inbound.ts'
import { openAuthority } from '../../harness/three-d-secure/directory.ts'
import { holds } from '../../harness/clock/until.ts'

/** Requests that stand in a connection behind each other: a few are open, the rest is not read. */

const log = openLog({ level: 'silent', destination: process.stdout })

/** A server whose replies to `/held` wait; `/free` is answered immediately. */
async function serverOf(t: TestContext, more: Partial<ServerSettings> = {}) {
  const limits = { maxBodiesBytes: 100_000, maxConnections: 300 }
  const ground = { turns: openTurns(nextTurn), random: systemRandom, log }
  const server = await openServer({ host: '127.0.0.1', port: 0, ...limits, ...ground, ...more })
  t.after(() => server.close(0))
  const held: (() => void)[] = []
  const seen: string[] = []
  const reply = { status: 200, type: 'text/plain', body: 'done' }
  await server.serve([
    {
      method: 'POST',
      path: '/held',
      handle: async ({ body }) => {
        seen.push(String(body))
        await new Promise<void>((resolve) => void held.push(resolve))
        return reply
      },
    },
    { method: 'GET', path: '/free', handle: () => (seen.push('free'), reply) },
    { method: 'GET', path: '/large', handle: () => (seen.push('large'), { ...reply, body: large }) },
    {
      method: 'POST',
      path: '/echo',
      bodyLimitBytes: largeBytes,
      handle: ({ body }) => ({ ...reply, body: `<${body?.length} ${body && checksum(body)}>` }),
    },
  ])
  const open = opener(server.port, more.tls !== undefined)
  return { open, held, seen, server }
}

const largeBytes = 2 * 1_024 * 1_024
const large = 'x'.repeat(100_000)
const checksum = (body: string | Buffer) => createHash('sha256').update(body).digest('hex').slice(0, 8)

/** Opens connections to a port of this machine, as an address of it. */
const opener =
  (port: number, isTls: boolean, own: object = {}) =>
  (localAddress = '127.0.0.1'): Socket => {
    const to = { host: '127.0.0.1', port, localAddress }
    return isTls ? connectTls({ ...own, rejectUnauthorized: false, socket: connect(to) }) : connect(to)
  }

/** On one connection. */
const many = 40
const chunked = (body: string) => `transfer-encoding: chunked\r\n\r\n${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`
const sized = (body: string) => `content-length: ${body.length}\r\n\r\n${body}`
// oxfmt-ignore
const kinds: readonly (readonly [string, boolean, string])[] = [
  ['with bodies',              false, `POST /held HTTP/1.1\r\nhost: a\r\n${sized('1\n\n2')}`],
  ['with bodies, by TLS',      true,  `POST /held HTTP/1.1\r\nhost: a\r\n${sized('1\n\n2')}`],
  ['with bodies in chunks',    false, `POST /held HTTP/1.1\r\nhost: a\r\n${chunked('1\n\n2')}`],
  ['without bodies',           false, 'POST /held HTTP/1.1\r\nhost: a\r\n\r\n'],
  ['of HTTP/1.0',              false, 'POST /held HTTP/1.0\r\nconnection: keep-alive\r\n\r\n'],
]
const tls = (await openAuthority()).of('gateway-results')
for (const [what, isTls, one] of kinds)
  test(
    `requests ${what}: eight of a connection are open at most, and all are answered in the end`,
    { timeout: 30_000 },
    async (t) => {
      const { open, held, seen } = await serverOf(t, isTls ? { tls } : {})
      const client = open()
      let text = ''
      client.on('data', (bytes: Buffer) => (text += String(bytes))).write(one.repeat(many))
      const free = open()
      free.write('GET /free HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n')
      free.resume()
      await once(free, 'close')
      await holds(() => held.length === 8, 'eight have begun')
      for (let begun = 8; begun < many; begun++) {
        held[begun - 8]!()
        await holds(() => held.length >= begun + 1, 'a reply lets one more in')
        assert.equal(held.length, begun + 1)
      }
      held.slice(-8).forEach((go) => go())
      await holds(() => text.split('HTTP/1.1 200').length - 1 === many, 'all are answered')
      assert.equal(seen.length, many + 1)
      client.destroy()
    },
  )

test('a reply of a request that is under way goes out before a 400 about the bytes behind it', { timeout: 30_000 }, async (t) => {
  for (const behind of ['é}', 'no request\r\n\r\n', '\x16\x03\x01']) {
    const { open, held } = await serverOf(t)
    const client = open()
    let text = ''
    client
      .on('data', (bytes: Buffer) => (text += String(bytes)))
      .write(`POST /held HTTP/1.1\r\nhost: a\r\n${sized('pay')}${behind}`)
    await holds(() => held.length === 1, 'it is under way')
    held[0]!()
    await once(client, 'close')
    assert.deepEqual(
      [...text.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, code]) => code),
      ['200', '400'],
      behind,
    )
  }
})

/** Each with the body that the server has of it; all but the last leave the connection open. */
const page = (lines: string) => Buffer.from(lines.repeat(3))
const inChunks = (body: Buffer, size: number) =>
  Array.from({ length: Math.ceil(body.length / size) }, (_, at) => body.toString('latin1', at * size, (at + 1) * size))
    .map((chunk) => `${chunk.length.toString(16)};a=b\r\n${chunk}\r\n`)
    .join('')
const requestOf = (headers: string, rest: string, version = '1.1') =>
  `POST /echo HTTP/${version}\r\nhost: a\r\n${headers}\r\n\r\n${rest}`
const honest = (body: Buffer, chunk = 5): string =>
  [
    requestOf(`content-length: ${body.length}`, String(body)),
    // A blank line may stand before a request (RFC 9112, 2.2).
    '\r\n' + requestOf('transfer-encoding: chunked', `${inChunks(body, chunk)}0\r\n\r\n`),
    requestOf('transfer-encoding: chunked\r\ntrailer: x', `${inChunks(body, chunk)}0\r\nx: 1\r\ny: 2\r\n\r\n`),
    requestOf(`content-length: ${body.length}\r\nconnection: keep-alive`, String(body), '1.0'),
    requestOf(`content-length: ${body.length}\r\nconnection: close`, String(body)),
  ].join('')
const bodies = ['\r\n\r\n', '\n\n', '\n\r\nGET /free HTTP/1.1\r\nhost: a\r\n\r\n', 'a\r', '\r\r\n\n', '0\r\n\r\n'].map(page)

/** What a server says to these pieces, each sent in a turn of its own, until it ends. */
async function said(client: Socket, pieces: readonly string[]): Promise<string> {
  let text = ''
  client.setNoDelay().on('data', (bytes: Buffer) => (text += String(bytes)))
  for (const piece of pieces) {
    client.write(piece)
    await new Promise(setImmediate)
  }
  await once(client, 'close')
  return text
}
const echoes = (text: string) => [...text.matchAll(/<.*>|HTTP\/1\.1 (?!200).*/g)].map(String)
const allOf = (body: Buffer) => Array<string>(5).fill(`<${body.length} ${checksum(body)}>`)

for (const isTls of [false, true])
  test(
    `wherever honest requests are cut into pieces, each is answered with its whole body${isTls ? ', by TLS' : ''}`,
    { timeout: 120_000 },
    async (t) => {
      const { open, seen } = await serverOf(t, { readsInTurn: 3, ...(isTls ? { tls } : {}) })
      for (const [first, body] of bodies.entries()) {
        const text = honest(body)
        const step = isTls ? 97 : 17
        for (let from = first; from < text.length; from += 50 * step)
          await Promise.all(
            Array.from({ length: 50 }, async (_, at) => {
              const cut = from + at * step
              const pieces = [text.slice(0, cut), text.slice(cut)]
              assert.deepEqual(echoes(await said(open(), pieces)), allOf(body), `cut at ${cut}: ${text}`)
            }),
          )
        assert.deepEqual(echoes(await said(open(), text.split(''))), allOf(body), 'byte by byte')
      }
      assert.deepEqual(seen, [], 'no body is a request')
    },
  )

test(
  'bodies of 2 MiB, of any bytes and however they are framed, come whole while others wait',
  { timeout: 60_000 },
  async (t) => {
    const { open } = await serverOf(t, { maxBodiesBytes: 100 * largeBytes })
    const body = Buffer.alloc(largeBytes, `${'a line'.repeat(200)}\r\n\r\nand another\n\n`)
    const texts = await Promise.all([1, 2, 3].map(() => said(open(), [honest(body, 65_536)])))
    for (const text of texts) assert.deepEqual(echoes(text), allOf(body))
  },
)

test(
  'a client that asks first whether its body is wanted is let on, behind another request too',
  { timeout: 30_000 },
  async (t) => {
    const { open } = await serverOf(t)
    const client = open()
    let text = ''
    client.on('data', (bytes: Buffer) => (text += String(bytes)))
    for (let at = 1; at <= 3; at++) {
      client.write(`${requestOf(sized('ab').slice(0, -6), 'ab')}${requestOf('expect: 100-continue\r\ncontent-length: 4', '')}`)
      await holds(() => text.split('100 Continue').length > at, 'it may go on')
      client.write('\n\r\n!')
      await holds(() => text.split('200 OK').length > 2 * at, 'both are answered')
    }
    client.destroy()
  },
)

test(
  'clients that send ahead and never read stop nothing, and get every reply once they read',
  { timeout: 60_000 },
  async (t) => {
    const { open, seen } = await serverOf(t, { readsInTurn: 1 })
    const clients = Array.from({ length: 4 }, () => open().pause())
    for (const one of clients) one.write('GET /large HTTP/1.1\r\nhost: a\r\n\r\n'.repeat(200))
    await holds(() => seen.length > 100, 'replies are being written')
    const other = requestOf('content-length: 2\r\nconnection: close', 'ab')
    for (let at = 0; at < 20; at++) assert.equal(echoes(await said(open(), [other])).length, 1)
    let bytes = 0
    for (const one of clients) one.on('data', (part: Buffer) => (bytes += part.length)).resume()
    await holds(() => seen.length === 800 && bytes > 800 * large.length, 'all replies have come')
    for (const one of clients) one.destroy()
  },
)

test('a request after the last one that gets a reply is not carried out', { timeout: 30_000 }, async (t) => {
  const { open, held, seen, server } = await serverOf(t)
  const client = open()
  client.write(`POST /held HTTP/1.1\r\nhost: a\r\n${sized('first')}`)
  await holds(() => held.length === 1, 'it is under way')
  const closed = server.close(10_000)
  client.write(`POST /held HTTP/1.1\r\nhost: a\r\n${sized('last')}`.concat('GET /free HTTP/1.1\r\nhost: a\r\n\r\n'.repeat(20)))
  await holds(() => held.length === 2, 'one more begins')
  held.forEach((go) => go())
  client.resume()
  await closed
  assert.deepEqual(seen, ['first', 'last'])
})

/** Every kind of port, with what a stranger may send ahead there. */
const inbound = async (t: TestContext) => {
  const authority = await openAuthority()
  const own = authority.of('directory-server')
  const parts = { turns: openTurns(nextTurn), oddities: { noted: () => {} }, log, random: systemRandom }
  const peers = new Map([['directory-server', 'ds']])
  const port = await openInbound({
    host: '127.0.0.1',
    port: 0,
    tls: { ...authority.of('gateway-results'), ca: authority.ca },
    senders: peers,
    // Clients and server share a processor here, which may be slow.
    limits: { handshakeMs: 120_000, headersMs: 120_000, requestMs: 120_000 },
    ...parts,
  })
  await port.serve({ wanted: () => Promise.resolve(undefined), result: () => Promise.resolve({ is: 'unknown' }) })
  t.after(() => port.close())
  return opener(port.port, true, { cert: own.cert, key: own.key.reveal() })
}
const operator = async (t: TestContext) => {
  const server = await openOperatorPort({ host: '127.0.0.1', port: 0 }, { random: systemRandom, log })
  t.after(() => server.close(0))
  await server.serve([{ method: 'GET', path: '/ready', handle: () => ({ status: 200, type: 'text/plain', body: 'ready' }) }])
  return opener(server.port, false)
}
const repliesIn = (bytes: Buffer) => String(bytes).split('HTTP/1.1 ').length - 1
const get = (path: string) => `GET ${path} HTTP/1.1\r\nhost: a\r\n\r\n`
// oxfmt-ignore
const floods: readonly (readonly [string, (t: TestContext) => Promise<(address?: string) => Socket>, string])[] = [
  ['the API',                    async (t) => (await serverOf(t)).open,          get('/free')],
  ['the API, in a path of none', async (t) => (await serverOf(t)).open,          get('/x')],
  ['the API, with bodies',       async (t) => (await serverOf(t)).open,          requestOf('content-length: 2', 'ab')],
  ['the API, in chunks',         async (t) => (await serverOf(t)).open,          requestOf('transfer-encoding: chunked', '2\r\nab\r\n0\r\n\r\n')],
  ['the API, by HTTP/1.0',       async (t) => (await serverOf(t)).open,          'GET /free HTTP/1.0\r\nconnection: keep-alive\r\n\r\n'],
  ['the API, by TLS',            async (t) => (await serverOf(t, { tls })).open, get('/free')],
  ["the operator's port",        operator,                                       get('/ready')],
  ['the port for results',       inbound,                                        `POST /3ds/results HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\n${sized('{}')}`],
]
for (const [what, openPort, one] of floods)
  test(
    `a hundred connections with a thousand requests each at ${what} let another address in between`,
    { timeout: 120_000 },
    async (t) => {
      const open = await openPort(t)
      let replies = 0
      const before = process.memoryUsage().rss
      const strangers = Array.from({ length: 100 }, () => open())
      for (const stranger of strangers) {
        stranger.on('data', (bytes: Buffer) => (replies += repliesIn(bytes))).on('error', () => {})
        stranger.write(one.repeat(1_000))
      }
      await holds(() => replies > 1_000, 'they are being served')
      const other = open('127.0.0.9')
      let own = 0
      other.on('data', (bytes: Buffer) => (own += repliesIn(bytes)))
      const earlier = replies
      for (let asked = 1; asked <= 2; asked++) {
        other.write(one)
        await holds(() => own === asked, 'the other is answered', 60_000, 0)
      }
      const [meanwhile, mebibytes] = [replies - earlier, (process.memoryUsage().rss - before) / 1_048_576]
      for (const client of [other, ...strangers]) client.destroy()
      // A few turns each, of the hundred thousand that stand before them.
      assert.ok(meanwhile < 40_000, `${meanwhile} replies to strangers meanwhile`)
      assert.ok(mebibytes < 200, `${mebibytes} MiB more`)
    },
  )

test(
  'reading goes in turns by network: one connection of an address gets as much as a hundred of another',
  { timeout: 60_000 },
  async (t) => {
    const { open } = await serverOf(t, { readsInTurn: 16 })
    const replies = { strangers: 0, other: 0 }
    const clients = Array.from({ length: 101 }, (_, at) => {
      const who = at === 100 ? 'other' : 'strangers'
      const client = open(who === 'other' ? '127.0.0.9' : '127.0.0.1')
      client.on('data', (bytes: Buffer) => (replies[who] += repliesIn(bytes))).on('error', () => {})
      return client
    })
    for (const client of clients) client.write(get('/x').repeat(1_000))
    await holds(() => replies.other === 1_000, 'the other has all its replies')
    for (const client of clients) client.destroy()
    // By connections it would be a hundred thousand.
    assert.ok(replies.strangers < 40_000, JSON.stringify(replies))
  },
)
