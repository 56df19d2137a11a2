import assert from 'node:assert/strict'
import { createServer as createTcpServer, type Socket } from 'node:net'
import { test } from 'node:test'
import { createServer, type RequestListener, type ServerResponse } from 'node:http'
import { queryObjects } from 'node:v8'
import { systemClock } from '../../../src/base/clock.ts'
import { listening } from '../../harness/world/listening.ts'
import { closing } from '../../harness/world/opening.ts'
import { Pool } from 'undici'
import { openOutgoing, type OutgoingOptions, type OutgoingReply } from '../../../src/http/outgoing.ts'
import { openHandClock } from '../../harness/clock/hand-clock.ts'
import { until } from '../../harness/clock/until.ts'

/** How the servers of merchants frame their replies, and which of them are replies. */

const policy = { plainHttp: true, loopbackAnyPort: true }
const framed = closing(openOutgoing({ policy, clock: systemClock, perOrigin: 1 }))

/** A server that answers each request in this way; the last argument counts the requests. */
async function answering(answer: (socket: Socket, nth: number) => void) {
  let requests = 0
  const started = await listening(createTcpServer((socket) => socket.on('data', () => answer(socket, requests++))))
  return { url: `http://127.0.0.1:${started.port}/`, started }
}

const ok200 = 'HTTP/1.1 200 OK\r\n'
const two = 'content-length: 2\r\n\r\nOK'
const chunks = 'transfer-encoding: chunked\r\n\r\n'
/** `.` ends the connection; what is not answered 200 with the body "OK" is sent again. */
// oxfmt-ignore
const replies: [says: string, what: string, counts: boolean][] = [
  [`HTTP/1.1 100 Continue\r\n\r\n${ok200}${two}`,                                         '100 before it',                       true],
  [`HTTP/1.1 100 Continue\r\nx: y\r\n\r\nHTTP/1.0 100 \r\n\r\n${ok200}${two}`,           '100 twice, with a field',             true],
  [`HTTP/1.1 102 \r\n\r\nHTTP/1.1 103 Hints\r\nlink: </x>\r\n\r\n${ok200}${two}`,        '102 and 103 before it',               true],
  [`HTTP/1.1 199 ?\n\n${ok200}${two}`,                                                   'an interim status without a meaning', true],
  [`HTTP/1.1 100 Continue\r\ncontent-length: 0\r\nconnection: close\r\n\r\n${ok200}${two}`, '100 with a length',              true],
  ['HTTP/1.1 200 OK\ncontent-length: 2\n\nOK',                                           'line feeds alone',                    true],
  ['HTTP/1.1 200 OK\ntransfer-encoding: chunked\n\n2\nOK\n0\n\n',                        'line feeds alone, in chunks too',     true],
  ['HTTP/1.1 200 OK\r\ncontent-length: 2\n\r\nOK',                                       'line ends of both kinds',             true],
  ['HTTP/1.1 200 OK\r\r\ncontent-length: 2\r\r\n\r\r\nOK',                               'two carriage returns',                true],
  [`${ok200}X Powered By: PHP\r\n${two}`,                                                'a blank in a name',                   true],
  [`${ok200}x : y\r\n${two.replace(':', ' :')}`,                                         'a blank before a colon',              true],
  [`${ok200}Warning in line 7\r\n: y\r\nx-ä: y\r\nx\0y: z\r\n${two}`,                   'lines that are no fields',            true],
  [`${ok200}x: a\0b\x01\x7fc\r\n${two}`,                                                 'control characters in a value',       true],
  [`${ok200}x: y\r\n  z\r\n\t: zz\r\n${two}`,                                             'a field on several lines',            true],
  [`${ok200}x: ${'x'.repeat(20_000)}\r\n${two}`,                                         'a head of 20 kB',                     true],
  [`\r\n\n\ufeff${ok200}${two}`,                                                         'empty lines and a mark before it',    true],
  [`http/1.1  200\r\n${two}`,                                                           'small letters, no reason',            true],
  [`HTTP/2 200 OK\r\n${two}`,                                                           'a version that is none of ours',      true],
  [`${ok200}content-length: 2\r\n${two}`,                                                'one length twice',                    true],
  [`${ok200}content-length: 2, 2\r\n\r\nOK`,                                             'one length in a list',                true],
  [`${ok200}content-length:\r\n\r\nOK.`,                                                 'an empty length',                     true],
  [`${ok200}transfer-encoding: identity\r\ncontent-length: 2\r\n\r\nOK`,               'no coding beside a length',           true],
  [`${ok200}content-length: 9\r\n${chunks}2\r\nOK\r\n0\r\n\r\n`,                         'a length beside chunks',              true],
  [`${ok200}${chunks}1 \r\nO\r\n001;a="b"\r\nK\r\n0\r\nx: y\r\n\r\n`,                     'blanks behind a size, a trailer',     true],
  [`${ok200}${chunks}2\r\nOK0\r\n\r\n`,                                                  'no line end behind a chunk',          true],
  [`${ok200}\r\nOK.`,                                                                    'the end of the connection as its end', true],
  [`${ok200}content-length: 2\r\ncontent-length: 3\r\n\r\nOK.`,                          'two different lengths',               false],
  [`${ok200}content-length: 2, 3\r\n\r\nOK.`,                                             'two different lengths in a list',     false],
  [`${ok200}content-length: -2\r\n\r\nOK.`,                                              'a length below zero',                 false],
  [`${ok200}content-length: 3\r\n\r\nOK.`,                                               'a cut body',                          false],
  [`${ok200}${chunks}3\r\nOK.`,                                                          'a cut chunk',                         false],
  [`${ok200}${chunks}2\r\nOK\r\n.`,                                                      'no last chunk',                       false],
  [`${ok200}${chunks}OK\r\n.`,                                                           'chunks without a size',               false],
  [`${ok200}x: y\r\n.`,                                                                  'a cut head',                          false],
  ['HTTP/1.1 100 Continue\r\n\r\n.',                                                     'nothing after 100',                   false],
  [`HTTP/1.1 101 Switching\r\nupgrade: x\r\n\r\n${ok200}${two}`,                         'another protocol',                    false],
  [`HTTP/1.1 2000 OK\r\n${two}.`,                                                        'a status of four digits',             false],
  [`ICY 200 OK\r\n${two}.`,                                                              'a protocol that is not HTTP',         false],
]

for (const [text, what, counts] of replies)
  test(`a reply of 200 with ${what} ${counts ? 'counts' : 'is a failure'}, whole or byte by byte`, async () => {
    const ends = text.endsWith('.')
    const bytes = Buffer.from(ends ? text.slice(0, -1) : text)
    for (const step of [bytes.length, bytes.length > 1_000 ? 997 : 1]) {
      const server = await answering((socket) => {
        const say = (at: number): unknown => {
          if (at < bytes.length) return socket.write(bytes.subarray(at, at + step), () => say(at + step))
          return ends && socket.end()
        }
        say(0)
      })
      const reply = await framed.send({ method: 'GET', url: server.url, timeoutMs: 20_000 })
      assert.equal(reply.is, counts ? 'answered' : 'failed', JSON.stringify(reply))
      if (reply.is === 'answered') assert.deepEqual([reply.status, reply.body.toString()], [200, 'OK'])
    }
  })

test('a connection on which a loosely framed reply came serves the next call', async () => {
  const loose = [`HTTP/1.1 100 Continue\n\n${ok200}${two}`, `${ok200}${chunks}2\nOK\n0\n\n`, `${ok200}A B: c\r\n${two}`]
  const server = await answering((socket, nth) => socket.write(loose[nth]!))
  for (let n = 0; n < 3; n++) {
    const reply = await framed.send({ method: 'GET', url: server.url, timeoutMs: 20_000 })
    assert.equal(reply.is === 'answered' && reply.body.toString(), 'OK')
  }
  assert.equal(server.started.connections, 1)
})

/**
 * Calls to many origins, and what is left of them. All names lead to one server, and time stands
 * still until it is moved.
 */

const web = (answer: RequestListener) => listening(createServer({ keepAliveTimeout: 60_000 }, answer))

function open(options: Partial<OutgoingOptions>) {
  const clock = openHandClock(1_000)
  const resolve = async () => [{ address: '127.0.0.1', family: 4 }]
  const outgoing = closing(openOutgoing({ policy, clock, resolve, ...options }))
  const get = (url: string, owner: string) => outgoing.send({ method: 'GET', url, owner, timeoutMs: 10_000 })
  return { ...outgoing, clock, get }
}

async function holds(held: readonly unknown[], calls: number): Promise<void> {
  const count = () => held.length
  assert.equal(await until(count, (n) => n === calls, 60_000), calls)
}

const isAnswered = (reply: OutgoingReply) => assert.equal(reply.is, 'answered', JSON.stringify(reply))

test('after their calls a thousand hanging origins leave no pool or connection beyond the limit of their owner', async () => {
  const held: ServerResponse[] = []
  const hangs = await web((_, response) => void held.push(response))
  const { clock, get, pools } = open({ originsOfOwner: 32 })
  const pooled = () => Number(queryObjects(Pool))
  const before = pooled()
  const calls = Array.from({ length: 1_000 }, (_, n) => get(`http://h${n}.localhost:${hangs.port}/`, 'evil'))
  await holds(held, 1_000)
  assert.deepEqual(pools(), { kept: 32, ending: 968 })
  clock.pass(10_000)
  for (const reply of await Promise.all(calls)) assert.equal(reply.is === 'failed' && reply.kind, 'timeout')
  assert.deepEqual(pools(), { kept: 32, ending: 0 })
  assert.equal(await until(hangs.open, (n) => n === 0, 60_000), 0)
  const left = () => pooled() - before
  assert.ok((await until(left, (n) => n <= 32, 60_000)) <= 32, `${left()} pools are left in memory`)
})

test('a merchant who calls more origins than he may keep takes no connection that is kept for another', async () => {
  const shop = await web((_, response) => response.end('OK'))
  const other = await web((_, response) => response.end('OK'))
  const { get, pools } = open({ maxOrigins: 4, originsOfOwner: 2 })
  isAnswered(await get(`http://shop.localhost:${shop.port}/`, 'victim'))
  for (let n = 0; n < 20; n++) isAnswered(await get(`http://h${n}.localhost:${other.port}/`, 'evil'))
  isAnswered(await get(`http://shop.localhost:${shop.port}/`, 'victim'))
  assert.equal(shop.connections, 1)
  assert.deepEqual(pools(), { kept: 3, ending: 0 })
})

test(
  'two merchants with one host share no connection, so that one who waits there does not hold up the other',
  { timeout: 60_000 },
  async () => {
    const held: ServerResponse[] = []
    const host = await web((request, response) => void (request.url === '/slow' ? held.push(response) : response.end('OK')))
    const { get } = open({ perOrigin: 1 })
    const waiting = get(`http://host.localhost:${host.port}/slow`, 'evil')
    await holds(held, 1)
    isAnswered(await get(`http://host.localhost:${host.port}/`, 'victim'))
    held[0]!.end()
    isAnswered(await waiting)
  },
)

test('a pool that ends with its last call is kept again when its origin is called before that', async () => {
  const held: ServerResponse[] = []
  const slow = await web((_, response) => void held.push(response))
  const other = await web((_, response) => response.end('OK'))
  const { get, pools } = open({ perOrigin: 1, originsOfOwner: 1 })
  const url = `http://slow.localhost:${slow.port}/`
  const first = get(url, 'one')
  await holds(held, 1)
  isAnswered(await get(`http://other.localhost:${other.port}/`, 'one'))
  assert.deepEqual(pools(), { kept: 1, ending: 1 })
  const second = get(url, 'one')
  held[0]!.end()
  isAnswered(await first)
  await holds(held, 2)
  held[1]!.end()
  isAnswered(await second)
  assert.equal(slow.connections, 1)
  assert.deepEqual(pools(), { kept: 1, ending: 0 })
})
