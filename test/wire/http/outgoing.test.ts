import assert from 'node:assert/strict'
import type { LookupAddress } from 'node:dns'
import { createServer, type RequestListener, type ServerResponse } from 'node:http'
import { createServer as createSecureServer, type ServerOptions } from 'node:https'
import { createServer as createTcpServer, type Socket } from 'node:net'
import { test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { systemClock } from '../../../src/base/clock.ts'
import { secret } from '../../../src/base/secret.ts'
import { openOutgoing, type FailureKind, type OutgoingOptions, type OutgoingReply } from '../../../src/http/outgoing.ts'
import { holds } from '../../harness/clock/until.ts'
import { listening } from '../../harness/world/listening.ts'
import { closing } from '../../harness/world/opening.ts'

const sandbox = { plainHttp: true, loopbackAnyPort: true }
const strict = { plainHttp: true, loopbackAnyPort: false }

/** For tests only: a key, and its self-signed certificate for shop.localhost and 127.0.0.1. */
const key = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgd5xF0NlKxvG49eyX6BTbunn2zOjbEa9lsAArSBslUaShRANCAATr1MAAxithn+VWf2HzNLEZajpVhAdS
8Llj4mR3T7gzH2Ga+OjwQHt3q5PGZaNB7Dgx9gkGTaUwdL1Ig/pOsFOr
-----END PRIVATE KEY-----`
const cert = `-----BEGIN CERTIFICATE-----
MIIBdDCCARqgAwIBAgIBATAKBggqhkjOPQQDAjAYMRYwFAYDVQQDDA1Ub2xsZ2F0ZSB0ZXN0MCAXDTIwMDEwMTAwMDAwMFoYDzIxMjAwMTAxMDAwMDAwWjAYMRYwFAYD
VQQDDA1Ub2xsZ2F0ZSB0ZXN0MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE69TAAMYrYZ/lVn9h8zSxGWo6VYQHUvC5Y+Jkd0+4Mx9hmvjo8EB7d6uTxmWjQew4MfYJ
Bk2lMHS9SIP6TrBTq6NTMFEwDwYDVR0TAQH/BAUwAwEB/zAfBgNVHREEGDAWgg5zaG9wLmxvY2FsaG9zdIcEfwAAATAdBgNVHQ4EFgQU1OARnHpaqO8BrEiV9J4wcpKS
/b0wCgYIKoZIzj0EAwIDSAAwRQIgTjjFEKvdD1OweKu1bh/1BiueYapC3vBMDH62e2HCr80CIQC3qaL1FQKzdVVBf3LMQ/KGjDwEXSEUA27Y/xU1qtcAtw==
-----END CERTIFICATE-----`

const ok: RequestListener = (_, response) => response.end('OK')

const web = (answer: RequestListener, host?: string) => listening(createServer({ keepAliveTimeout: 60_000 }, answer), host)
const secureWeb = (options: ServerOptions = {}) => listening(createSecureServer({ key, cert, ...options }, ok))
const raw = (talk: (socket: Socket, heard: Buffer) => void) =>
  listening(createTcpServer((socket) => void socket.once('data', (heard: Buffer) => talk(socket, heard))))
const says = (text: string) => raw((socket) => socket.write(text))

function open(options: Partial<OutgoingOptions> = {}) {
  const outgoing = closing(openOutgoing({ policy: sandbox, clock: systemClock, ...options }))
  const get = (url: string, more: Partial<Parameters<typeof outgoing.send>[0]> = {}) =>
    outgoing.send({ method: 'GET', url, timeoutMs: 20_000, ...more })
  return { ...outgoing, get }
}

function answered(reply: OutgoingReply, status = 200) {
  assert.equal(reply.is, 'answered', JSON.stringify(reply))
  assert.equal(reply.status, status)
  return reply
}

function failed(reply: OutgoingReply, kind: FailureKind, why = /./) {
  assert.equal(reply.is, 'failed', JSON.stringify(reply))
  assert.equal(reply.kind, kind, reply.why)
  assert.match(reply.why, why)
  return reply
}

/** Shorter than the 4 s after which an idle connection ends by itself. */
const soon = (condition: () => boolean, what: string) => holds(condition, what, 3_000)

const resolvesTo = (...answers: string[][]) => {
  const asked: string[] = []
  const resolve = async (host: string) => {
    asked.push(host)
    return answers[Math.min(asked.length, answers.length) - 1]!.map((address) => ({ address, family: 4 }))
  }
  return { asked, resolve }
}

test('a call carries its method, path, query, headers and body, and brings back status, headers and body', async () => {
  const { port } = await web((request, response) => {
    const { accept, 'x-mark': mark, 'content-length': length, 'accept-encoding': encoding } = request.headers
    response.writeHead(418, { 'x-back': JSON.stringify([request.method, request.url, accept, mark, length, encoding]) })
    request.pipe(response)
  })
  const { get } = open()
  const url = `http://127.0.0.1:${port}/a%20b?x=%C3%BC#fragment`
  const got = answered(await get(url), 418)
  const posted = answered(await get(url, { method: 'POST', body: 'ü=1', headers: { 'x-mark': 'm' } }), 418)
  assert.equal(got.headers['x-back'], '["GET","/a%20b?x=%C3%BC","*/*",null,null,"identity"]')
  assert.equal(posted.headers['x-back'], '["POST","/a%20b?x=%C3%BC","*/*","m","4","identity"]')
  assert.deepEqual([got.body.toString(), posted.body.toString()], ['', 'ü=1'])
})

test('a redirect is an answer and is not followed', async () => {
  const elsewhere = await web(ok)
  const location = `http://127.0.0.1:${elsewhere.port}/`
  const { port } = await web((_, response) => response.writeHead(302, { location }).end())
  assert.equal(answered(await open().get(`http://127.0.0.1:${port}/`), 302).headers.location, location)
  assert.equal(elsewhere.connections, 0)
})

test('an endless answer is cut at 64 KiB, and its connection dropped', async () => {
  const shop = await web((_, response) => {
    const more = () => {
      while (!response.destroyed && response.write(Buffer.alloc(10_000, 'x')));
    }
    response.on('drain', more)
    more()
  })
  const { truncated, body } = answered(await open().get(`http://127.0.0.1:${shop.port}/`))
  assert.deepEqual([truncated, body.toString()], [true, 'x'.repeat(65_536)])
  await soon(() => shop.open() === 0, 'the connection is dropped')
  assert.equal(shop.connections, 1)
})

test('an answer of just the limit is whole, one byte more is not, and none is decompressed', async () => {
  const { port } = await web((request, response) => response.end('x'.repeat(Number(request.url!.slice(1)))))
  const { get } = open()
  for (const bytes of [0, 100, 101]) {
    const { truncated, body } = answered(await get(`http://127.0.0.1:${port}/${bytes}`, { maxReplyBytes: 100 }))
    assert.deepEqual([truncated, body.length], [bytes > 100, Math.min(bytes, 100)])
  }
  const packed = gzipSync('x'.repeat(1_000_000))
  const packer = await web((_, response) => response.writeHead(200, { 'content-encoding': 'gzip' }).end(packed))
  assert.deepEqual(answered(await get(`http://127.0.0.1:${packer.port}/`)).body, packed)
})

test('the time of a call covers DNS, TLS, headers and body, and the connection goes with it', async () => {
  const silent = await listening(createTcpServer())
  const headless = await says('HTTP/1.1 200 OK\r\nx-a: ')
  const dripping = await raw((socket) => {
    socket.write('HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n')
    const drip = setInterval(() => socket.write('x'), 20)
    socket.on('close', () => clearInterval(drip))
  })
  const { get } = open({ resolve: () => new Promise(() => {}) })
  const timesOut = async (url: string) => {
    const { durationMs } = failed(await get(url, { timeoutMs: 300 }), 'timeout')
    assert.ok(durationMs >= 299 && durationMs < 5_000, `${url} took ${durationMs} ms`)
  }
  await timesOut('http://nowhere.localhost/')
  await timesOut(`https://127.0.0.1:${silent.port}/`)
  await timesOut(`http://127.0.0.1:${headless.port}/`)
  await timesOut(`http://127.0.0.1:${dripping.port}/`)
  await soon(() => headless.open() + dripping.open() === 0, 'the connections are dropped')
})

test('a call that runs out of time while it waits for a connection is never sent, and costs no connection', async () => {
  const seen: string[] = []
  const held: ServerResponse[] = []
  const shop = await web((request, response) => {
    seen.push(request.url!)
    if (request.url === '/first') held.push(response)
    else response.end()
  })
  const { get } = open({ perOrigin: 1 })
  const first = get(`http://127.0.0.1:${shop.port}/first`)
  await soon(() => held.length === 1, 'the first call arrives')
  failed(await get(`http://127.0.0.1:${shop.port}/second`, { timeoutMs: 100 }), 'timeout')
  const third = get(`http://127.0.0.1:${shop.port}/third`)
  held[0]!.end()
  answered(await first)
  answered(await third)
  assert.deepEqual(seen, ['/first', '/third'])
  assert.equal(shop.connections, 1)
})

test('an answer that is not HTTP, or too much of it, or cut off, is a failure that says so', async () => {
  const { get } = open()
  const fails = async (server: { port: number }, kind: FailureKind, why: RegExp) =>
    failed(await get(`http://127.0.0.1:${server.port}/`), kind, why)
  await fails(await says('SSH-2.0-OpenSSH_9.6\r\n'), 'protocol', /HTTP/)
  await fails(await says('HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nx'), 'protocol', /Content-Length/i)
  await fails(await says(`HTTP/1.1 200 OK\r\nx-flood: ${'x'.repeat(80_000)}`), 'protocol', /Headers Overflow/)
  await fails(await says(`HTTP/1.1 200 OK\r\n${'a: b\r\n'.repeat(80_000)}`), 'protocol', /Headers Overflow/)
  await fails(await says('HTTP/1.1 101 X\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n'), 'connection', /upgrade/)
  await fails(await raw((socket) => socket.resetAndDestroy()), 'connection', /ECONNRESET|closed/)
  await fails(await raw((socket) => socket.end()), 'connection', /closed/)
  await fails(await raw((socket) => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf')), 'connection', /closed/)
  await fails({ port: 1 }, 'connection', /ECONNREFUSED/)
})

test('a refused URL or header is not sent, and does no harm to later calls', async () => {
  const shop = await web(ok)
  const { get } = open({ perOrigin: 1 })
  const url = `http://127.0.0.1:${shop.port}/`
  failed(await get(`http://user@127.0.0.1:${shop.port}/`), 'refused url', /credentials/)
  failed(await get('http://127.0.0.1/', { policy: strict }), 'refused url', /loopback/)
  failed(await get(url, { headers: { 'x-a': 'a\r\nx-b: b' } }), 'protocol', /x-a/)
  failed(await get(url, { headers: { 'transfer-encoding': 'chunked' } }), 'protocol', /transfer-encoding/)
  assert.equal(shop.connections, 0)
  answered(await get(url))
})

test('every address of a name is judged under the policy of the call, and one bad one refuses it', async () => {
  const shop = await web(ok)
  const refused = async (url: string, addresses: string[], policy = sandbox) =>
    failed(await open({ policy, ...resolvesTo(addresses) }).get(url), 'refused address')
  await refused('http://shop.example.com/', ['127.0.0.1'], strict)
  await refused('http://shop.example.com/', ['169.254.169.254'], sandbox)
  await refused(`http://shop.localhost:${shop.port}/`, ['127.0.0.1', '10.0.0.1'])
  await refused(`http://shop.localhost:${shop.port}/`, [])
  assert.equal(shop.connections, 0)
  const { get } = open(resolvesTo(['127.0.0.1']))
  await get('http://shop.example.com/') // port 80 of this machine: the answer does not matter
  failed(await get('http://shop.example.com/', { policy: strict }), 'refused address', /loopback/)
})

test('a connection goes to the address that was checked for it, and the next one is checked again', async () => {
  const shop = await web((request, response) => {
    if (request.url === '/last') response.setHeader('connection', 'close')
    response.end(request.socket.localAddress)
  }, '127.0.0.2')
  const { asked, resolve } = resolvesTo(['127.0.0.2'], ['10.0.0.1'])
  const { get } = open({ resolve, perOrigin: 1 })
  for (const path of ['first', 'second', 'last']) {
    assert.equal(answered(await get(`http://shop.localhost:${shop.port}/${path}`)).body.toString(), '127.0.0.2')
  }
  failed(await get(`http://shop.localhost:${shop.port}/`), 'refused address', /private/)
  assert.deepEqual([asked.length, shop.connections], [2, 1])
})

test('names of this machine need no DNS, and the next address is tried where one does not answer', async () => {
  const shop = await web(ok)
  answered(await open().get(`http://any.name.localhost:${shop.port}/`))
  answered(await open(resolvesTo(['127.0.0.3', '127.0.0.1'])).get(`http://shop.localhost:${shop.port}/`))
})

test('a certificate must be trusted and name the host; a connection with our own serves no call without it', async () => {
  const { port } = await secureWeb()
  const { get } = open()
  failed(await get(`https://shop.localhost:${port}/`), 'tls', /self-signed/)
  process.env['NODE_TLS_REJECT_UNAUTHORIZED'] = '0'
  failed(await get(`https://shop.localhost:${port}/`), 'tls', /self-signed/)
  delete process.env['NODE_TLS_REJECT_UNAUTHORIZED']
  failed(await get(`https://other.localhost:${port}/`, { tls: { ca: cert } }), 'tls', /altnames/)
  answered(await get(`https://shop.localhost:${port}/`, { tls: { ca: cert } }))
  answered(await get(`https://127.0.0.1:${port}/`, { tls: { ca: cert } }))
  failed(await get(`https://shop.localhost:${port}/`), 'tls', /self-signed/)
  failed(await get(`https://shop.localhost:${port}/`, { tls: { ca: 'x' } }), 'tls')
  const asking = await secureWeb({ requestCert: true, ca: cert })
  answered(await get(`https://shop.localhost:${asking.port}/`, { tls: { ca: cert, cert, key: secret(key) } }))
  assert.equal((await get(`https://shop.localhost:${asking.port}/`, { tls: { ca: cert } })).is, 'failed')
})

test('TLS 1.2 and 1.3 are offered, and the host is named', async () => {
  let hello: Buffer = Buffer.alloc(0)
  const { port } = await raw((socket, heard) => {
    hello = heard
    socket.destroy()
  })
  failed(await open().get(`https://shop.localhost:${port}/`), 'tls')
  assert.ok(hello.includes(Buffer.from('002b00050403040303', 'hex')), 'the supported versions are 0304 and 0303 alone')
  assert.ok(hello.includes('shop.localhost'))
})

test('a kept connection serves the next call, and an origin has no more connections than allowed', async () => {
  const shop = await web((_, response) => setImmediate(() => response.end('OK')))
  const { get } = open({ perOrigin: 3 })
  const call = async () => answered(await get(`http://127.0.0.1:${shop.port}/`))
  await Promise.all(Array.from({ length: 50 }, call))
  assert.deepEqual([shop.most, shop.connections], [3, 3])
})

test('beyond the limit of origins the one used longest ago is let go, its calls under way not', async () => {
  const held: ServerResponse[] = []
  const slow = await web((_, response) => void held.push(response))
  const [second, third] = [await web(ok), await web(ok)]
  const { get } = open({ maxOrigins: 2 })
  const waiting = get(`http://127.0.0.1:${slow.port}/`)
  await soon(() => held.length === 1, 'the first call arrives')
  for (const { port } of [second, third, second]) answered(await get(`http://127.0.0.1:${port}/`))
  assert.equal(slow.open(), 1)
  held[0]!.end()
  answered(await waiting)
  await soon(() => slow.open() === 0, 'the connection let go is closed')
  assert.deepEqual([second.open(), third.open()], [1, 1])
  answered(await get(`http://127.0.0.1:${(await web(ok)).port}/`))
  await soon(() => third.open() === 0, 'the third, used before the second, is closed')
  assert.equal(second.open(), 1)
})

test('closing fails the calls under way, waiting and to come, and leaves no connection', async () => {
  const shop = await listening(createTcpServer((socket) => void socket.resume()))
  const asking: ((found: LookupAddress[]) => void)[] = []
  const outgoing = open({ perOrigin: 2, resolve: () => new Promise((resolve) => asking.push(resolve)) })
  const plain = `http://127.0.0.1:${shop.port}/`
  const targets = [plain, plain, plain, plain, `https://127.0.0.1:${shop.port}/`, `http://late.localhost:${shop.port}/`]
  const calls = targets.map((url) => outgoing.get(url))
  await soon(() => shop.open() === 3, 'the connections are made')
  await outgoing.close()
  for (const call of calls) failed(await call, 'connection')
  failed(await outgoing.get(plain), 'connection', /closed/)
  await soon(() => shop.open() === 0, 'the connections are gone')
  asking[0]!([{ address: '127.0.0.1', family: 4 }])
  await open().get(plain, { timeoutMs: 1_000 })
  assert.equal(shop.connections, 4, 'a name found after closing is not connected to')
})

test('closing ends also the connection made after a first one failed', async () => {
  const shop = await listening(createTcpServer((socket) => void socket.resume()))
  const outgoing = open({ perOrigin: 1, ...resolvesTo([], ['127.0.0.1']) })
  const calls = [1, 2, 3].map(() => outgoing.get(`http://shop.localhost:${shop.port}/`))
  failed(await calls[0]!, 'refused address')
  await soon(() => shop.open() === 1, 'the connection for the others is made')
  await outgoing.close()
  for (const call of calls.slice(1)) failed(await call, 'connection')
  await soon(() => shop.open() === 0, 'the connection is gone')
})
