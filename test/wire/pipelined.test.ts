import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { test, type TestContext } from 'node:test'
import { connect as connectTls } from 'node:tls'
import { nextTurn } from '../../src/base/clock.ts'
import { openLog } from '../../src/base/log.ts'
import { systemRandom } from '../../src/base/random.ts'
import { openTurns } from '../../src/base/turn.ts'
import { openServer, type ServerSettings } from '../../src/http/server.ts'
import { openAuthority } from '../harness/directory.ts'
import { holds } from '../harness/until.ts'

/** Requests that stand in a connection behind each other: a few are open, the rest is not read. */

const log = openLog({ level: 'silent', destination: process.stdout })

/** A server whose replies to `/held` wait; `/free` is answered at once. */
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
  ])
  const open = (): Socket =>
    more.tls ? connectTls({ host: '127.0.0.1', port: server.port, rejectUnauthorized: false }) : connect(server.port, '127.0.0.1')
  return { open, held, seen }
}

/** On one connection. */
const many = 100
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

test(
  'a stranger with a thousand requests on each of many connections lets another client in within a few turns',
  { timeout: 60_000 },
  async (t) => {
    const { open, seen } = await serverOf(t, { readsInTurn: 16 })
    const strangers = Array.from({ length: 100 }, open)
    for (const one of strangers)
      one
        .on('error', () => {})
        .resume()
        .write('GET /free HTTP/1.1\r\nhost: a\r\n\r\n'.repeat(1_000))
    await holds(() => seen.length > 100, 'they are being served')
    const other = open()
    other.write(`POST /held HTTP/1.1\r\nhost: a\r\n${sized('other')}`)
    await holds(() => seen.includes('other'), 'the other has its turn', 50_000)
    // A hundred thousand stand before it, of which each connection has its turn a few times.
    assert.ok(seen.indexOf('other') < 50_000, String(seen.indexOf('other')))
    for (const one of [other, ...strangers]) one.destroy()
  },
)
