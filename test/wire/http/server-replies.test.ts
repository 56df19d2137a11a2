import assert from 'node:assert/strict'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { nextTurn } from '../../../src/base/clock.ts'
import { openLog } from '../../../src/base/log.ts'
import { systemRandom } from '../../../src/base/random.ts'
import { openTurns } from '../../../src/base/turn.ts'
import { openServer, Unanswered, type Incoming, type Route, type ServerSettings } from '../../../src/http/server.ts'
import { holds } from '../../harness/clock/until.ts'
import { closing } from '../../harness/world/opening.ts'
import { freePort } from '../../harness/world/port.ts'

/**
 * What every reply of the server has, whoever answers: a route, the server, or Node.js; a server
 * before it has routes, and requests before they have their turn.
 */

const log = openLog({ level: 'silent', destination: process.stdout })
const settings = { maxBodiesBytes: 1_000, maxConnections: 10, turns: openTurns(nextTurn), random: systemRandom, log }
const open = async (more: Partial<ServerSettings> = {}) => {
  const server = await openServer({ host: '127.0.0.1', port: 0, ...settings, ...more })
  return { ...server, close: () => server.close(1_000) }
}
const server = closing(await open())
const routes: Route[] = [
  { method: 'GET', path: '/here', handle: () => ({ status: 200, type: 'text/plain', body: 'served' }) },
  {
    method: 'GET',
    path: '/kept',
    handle: () => ({ status: 200, type: 'text/plain', headers: { 'cache-control': 'max-age=60' }, body: 'served' }),
  },
  {
    method: 'POST',
    path: '/signed',
    handle: ({ authorization }) => ({ status: 200, type: 'text/plain', body: JSON.stringify(authorization) }),
  },
  {
    method: 'GET',
    path: '/broken',
    handle: () => {
      throw new Error('the secret reason')
    },
  },
  {
    method: 'POST',
    path: '/unanswered',
    handle: async () => {
      throw new Unanswered('the outcome is unknown')
    },
  },
]
await server.serve(routes)

/** All that comes back on a new connection until its end. */
async function talk(bytes: string, port = server.port): Promise<string> {
  const socket = connect({ host: '127.0.0.1', port })
  await once(socket, 'connect')
  socket.write(bytes)
  return text(socket)
}
const request = (line: string, ...headers: string[]) => [`${line} HTTP/1.1`, 'Connection: close', ...headers, '', ''].join('\r\n')

const host = 'Host: x'
const replies: readonly (readonly [what: string, bytes: string, status: number])[] = [
  ['a route', request('GET /here', host), 200],
  ['a route that fails', request('GET /broken', host), 500],
  ['an unknown path', request('GET /there', host), 404],
  ['a path that cannot be read', request('GET /%zz', host), 404],
  ['another method', request('POST /here', host), 405],
  [
    'another method, with a content type that cannot be read',
    request('POST /here', host, 'Content-Type: /', 'Content-Length: 0'),
    405,
  ],
  ['an unknown path with such a content type', request('POST /there', host, 'Content-Type: /', 'Content-Length: 0'), 404],
  ['no host', request('GET /here'), 400],
  ['two hosts', request('GET /here', host, 'Host: y'), 400],
  ['the same host twice', request('GET /here', host, 'hOST: x'), 400],
  ['a header that cannot be read', request('GET /here', host, 'A B: c'), 400],
  ['a head that is too long', request('GET /here', host, `A: ${'a'.repeat(20_000)}`), 431],
  ['an expectation that is not met', request('GET /here', host, 'Expect: the-unexpected'), 417],
]
for (const [what, bytes, status] of replies)
  test(`${what} is answered ${status} as short plain text, which is not cached and whose type is not guessed`, async () => {
    const reply = await talk(bytes)
    assert.match(reply, new RegExp(`^HTTP/1.1 ${status} `))
    assert.match(reply, /^cache-control: no-store\r$/im)
    assert.match(reply, /^x-content-type-options: nosniff\r$/im)
    assert.match(reply, /^content-security-policy: default-src 'none'; frame-ancestors 'none'\r$/im)
    assert.match(reply, /^content-type: text\/plain/im)
    assert.ok(reply.split('\r\n\r\n')[1]!.length < 100, reply)
    assert.equal([...reply.matchAll(/^cache-control/gim)].length, 1)
    assert.doesNotMatch(reply, /secret|strict-transport/i)
  })

const undated = (head: string | undefined) => head?.replace(/^date: .*\r\n/im, '')
for (const path of ['/here', '/kept', '/broken', '/there', '/signed'])
  test(`HEAD of ${path} is answered as another method without a body: the same status and headers`, async () => {
    const [read, headed] = await Promise.all([
      talk(request(path === '/signed' ? 'PUT /signed' : `GET ${path}`, host)),
      talk(request(`HEAD ${path}`, host)),
    ])
    const [head, body] = headed.split('\r\n\r\n')
    assert.match(head!, /^content-length: [1-9]/im)
    assert.equal(body, '')
    assert.equal(undated(head), undated(read.split('\r\n\r\n')[0]))
  })

test('the methods of a path are named, HEAD among them where there is GET', async () => {
  assert.match(await talk(request('PUT /here', host)), /^allow: GET, HEAD\r$/im)
  assert.match(await talk(request('PUT /signed', host)), /^allow: POST\r$/im)
})

test('HTTP/1.0 needs no host', async () => {
  assert.match(await talk('GET /here HTTP/1.0\r\n\r\n'), /^HTTP\/1.1 200 /)
})

test('a server answers 503 with the same headers until it has routes, and then by them on the same connection', async () => {
  const starting = await open()
  const reply = await talk(request('GET /here', host), starting.port)
  assert.match(reply, /^HTTP\/1.1 503 [^]*cache-control: no-store\r\nx-content-type-options: nosniff\r\n/)
  const ask = () => fetch(`http://127.0.0.1:${starting.port}/here`)
  const early = await ask()
  assert.deepEqual([early.status, early.headers.get('retry-after')], [503, '1'])
  await early.text()
  await starting.serve(routes)
  const served = await ask()
  assert.deepEqual([served.status, await served.text()], [200, 'served'])
  assert.equal((await fetch(`http://127.0.0.1:${starting.port}/there`)).status, 404)
  await starting.close()
  await assert.rejects(ask())
})

test('a server that joins others at their port listens with its routes, not before', async () => {
  const port = await freePort()
  const joining = await open({ port, sharing: 'joins' })
  const ask = () => fetch(`http://127.0.0.1:${port}/here`)
  await assert.rejects(ask())
  await joining.serve(routes)
  assert.equal(await (await ask()).text(), 'served')
  await joining.close()
  await assert.rejects(ask())
})

test('a request whose connection has closed while it waited for its turn never begins', { timeout: 20_000 }, async () => {
  let socket: Socket | undefined
  let waited = false
  const seen = (message: unknown) => ({ socket } = message as { socket: Socket })
  subscribe('http.server.request.start', seen)
  const turns = {
    async begin() {
      socket!.destroy()
      waited = true
    },
  }
  const waits = await open({ turns })
  let begun = 0
  const handle = () => (begun++, { status: 200, type: 'text/plain', body: '' })
  await waits.serve([{ method: 'POST', path: '/here', handle }])
  await assert.rejects(fetch(`http://127.0.0.1:${waits.port}/here`, { method: 'POST', body: 'a' }))
  unsubscribe('http.server.request.start', seen)
  await waits.close()
  assert.deepEqual([waited, begun], [true, 0])
})

const full = 'while too many requests wait for their turn, those of every route are refused immediately, new work first'
test(full, { timeout: 20_000 }, async () => {
  const begins: (() => void)[] = []
  const turns = {
    begin: (mostWaiting = Infinity) =>
      begins.length < mostWaiting ? new Promise<void>((resolve) => void begins.push(resolve)) : ('full' as const),
  }
  const busy = closing(await open({ maxWaiting: 2, turns }))
  const handle = ({ overloaded, body }: Incoming) => ({
    status: 200,
    type: 'text/plain',
    body: `${body!.toString()} ${overloaded}`,
  })
  await busy.serve([
    { method: 'POST', path: '/pay', isShed: true, refusesItself: true, handle },
    { method: 'POST', path: '/look', handle },
  ])
  const post = async (path: string, body: string) =>
    (await fetch(`http://127.0.0.1:${busy.port}${path}`, { method: 'POST', body })).text()
  const waiting = [post('/pay', 'first'), post('/pay', 'second')]
  await holds(() => begins.length === 2, 'two requests wait')
  assert.equal(await post('/pay', 'third'), 'third true')
  waiting.push(post('/look', 'fourth'))
  await holds(() => begins.length === 3, 'a request that begins no work waits like others')
  assert.equal(await post('/look', 'fifth'), 'Too many requests wait\n')
  for (const begin of begins) begin()
  assert.deepEqual(await Promise.all(waiting), ['first false', 'second false', 'fourth false'])
})

test('a route may set its own headers', async () => {
  assert.match(await talk(request('GET /kept', host)), /^cache-control: max-age=60\r$/im)
})

test('a route sees every Authorization header', async () => {
  const sent = (...values: string[]) =>
    talk(request('POST /signed', host, 'Content-Length: 0', ...values.map((value) => `Authorization: ${value}`)))
  assert.match(await sent('a'), /\r\n\r\n"a"$/)
  assert.match(await sent('a', 'b'), /\r\n\r\n\["a","b"\]$/)
})

// Below the minute after which any connection of a silent client is closed.
test('a route that knows no answer ends the connection without one', { timeout: 20_000 }, async () => {
  const reply = await talk('POST /unanswered HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\nx').catch(String)
  assert.match(reply, /^$|ECONNRESET/)
})

test('a head that does not come in time ends its connection, whether it began or not', { timeout: 20_000 }, async () => {
  const impatient = closing(await open({ headWithinMs: 100 }))
  assert.match(
    await talk('GET /here HTTP/1.1\r\nHost: x\r\nX-Slow: ', impatient.port),
    /^HTTP\/1.1 408 [^]*\r\n\r\nRequest Timeout\n$/,
  )
  assert.match(await talk('', impatient.port), /^(?:HTTP\/1.1 408 [^]*)?$/)
})

test('a head that is late ends its connection before a body that is', { timeout: 60_000 }, async () => {
  const ended = (what: string, bytes: string) =>
    talk(bytes).then(
      () => what,
      () => what,
    )
  const body = ended('body', request('POST /signed', host, 'Content-Length: 5'))
  const heads = Promise.all([ended('silent', ''), ended('slow', 'GET /here HTTP/1.1\r\nX-Slow: ')])
  assert.deepEqual(await Promise.race([body, heads]), ['silent', 'slow'])
})
