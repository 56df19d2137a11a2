import assert from 'node:assert/strict'
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import http, { type IncomingMessage } from 'node:http'
import https from 'node:https'
import { connect, type Socket } from 'node:net'
import { test, type TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'
import { nextTurn } from '../../src/base/clock.ts'
import { openLog } from '../../src/base/log.ts'
import { systemRandom } from '../../src/base/random.ts'
import { openTurns } from '../../src/base/turn.ts'
import { openServer, type ServerSettings } from '../../src/http/server.ts'
import { bindSocket, Entrance, type Handle } from '../../src/http/shared-socket.ts'
import { openAuthority } from '../harness/directory.ts'

/** Servers of one listening socket, of which some accept connections and others do not. */

const log = openLog({ level: 'silent', destination: process.stdout })
const sendBack = fileURLToPath(new URL('../../src/http/send-back.js', import.meta.url))

/** A socket as the parent of several processes keeps it: nobody accepts from its own handle. */
async function socketOf(t: TestContext) {
  const child = fork(sendBack)
  const copyOf = async (handle: Handle) => {
    child.send({ times: 1 }, handle)
    const [, copy] = (await once(child, 'message')) as [unknown, Handle]
    return copy
  }
  const bound = await bindSocket('127.0.0.1', 0)
  const kept = await copyOf(bound.handle)
  bound.close()
  t.after(() => {
    kept.close()
    child.kill()
  })
  return { port: bound.port, take: () => copyOf(kept) }
}

/** A server of the socket, which answers with its name. */
async function serverOf(t: TestContext, name: string, { port, take }: Awaited<ReturnType<typeof socketOf>>, more = {}) {
  let entrance: Entrance
  let leave: (part: number) => void = () => {}
  const socket: ServerSettings['socket'] = {
    port,
    enter(server, leaves) {
      leave = leaves
      return (entrance = new Entrance(server, take))
    },
  }
  const ground = { turns: openTurns(nextTurn), random: systemRandom, log }
  const limits = { maxBodiesBytes: 1_000, maxConnections: 100 }
  const server = await openServer({ host: '127.0.0.1', port, socket, ...limits, ...ground, ...more })
  t.after(() => server.close(0))
  let asked = 0
  const handle = () => {
    asked++
    return { status: 200, type: 'text/plain', body: name }
  }
  await server.serve([{ method: 'GET', path: '/who', handle }])
  return { asked: () => asked, entrance: entrance!, leave: (part: number) => leave(part) }
}

/** A client that keeps its connection. */
function clientOf(t: TestContext, port: number, { Agent, get }: typeof http | typeof https = http) {
  const agent = new Agent({ keepAlive: true, maxSockets: 1, rejectUnauthorized: false })
  t.after(() => agent.destroy())
  return async () => {
    const [response] = (await once(get({ port, agent, host: '127.0.0.1', path: '/who' }), 'response')) as [IncomingMessage]
    return `${String((await response.toArray())[0])} ${response.headers.connection}`
  }
}

const limit = { timeout: 30_000 }

test('a new connection is accepted by the server that is open, and one that is kept stays', limit, async (t) => {
  const socket = await socketOf(t)
  const [a, b] = [await serverOf(t, 'a', socket), await serverOf(t, 'b', socket)]
  const [first, second] = [clientOf(t, socket.port), clientOf(t, socket.port)]
  const answered = first()
  await a.entrance.open()
  assert.equal(await answered, 'a keep-alive', 'it was connected before anybody accepted')
  a.entrance.shut()
  await b.entrance.open()
  assert.equal(await second(), 'b keep-alive')
  assert.equal(await first(), 'a keep-alive')
  b.entrance.shut()
  await a.entrance.open()
  assert.equal(await clientOf(t, socket.port)(), 'a keep-alive', 'it may be opened again')
})

test('what is shut while it opens accepts nothing', limit, async (t) => {
  const socket = await socketOf(t)
  const [a, b] = [await serverOf(t, 'a', socket), await serverOf(t, 'b', socket)]
  const opened = a.entrance.open()
  a.entrance.shut()
  await opened
  const answered = clientOf(t, socket.port)()
  await b.entrance.open()
  assert.equal(await answered, 'b keep-alive')
})

const tls = (await openAuthority()).of('gateway-results')
for (const [name, module, more] of [
  ['HTTP', http, {}],
  ['HTTPS', https, { tls }],
] as const)
  test(`${name}: connections that others should have end with the next reply, new ones stay`, limit, async (t) => {
    const socket = await socketOf(t)
    const { entrance, leave } = await serverOf(t, 'a', socket, more)
    await entrance.open()
    const clients = Array.from({ length: 6 }, () => clientOf(t, socket.port, module))
    const all = async () => (await Promise.all(clients.map((ask) => ask()))).filter((said) => said === 'a close').length
    assert.equal(await all(), 0)
    leave(1 / 3)
    assert.equal(await all(), 2)
    assert.equal(await all(), 0)
    leave(1)
    assert.equal(await all(), 6)
    assert.equal(await all(), 0)
  })

test('a request behind the last one of its connection is not carried out', limit, async (t) => {
  const socket = await socketOf(t)
  const { entrance, leave, asked } = await serverOf(t, 'a', socket)
  await entrance.open()
  const client = connect(socket.port, '127.0.0.1')
  const one = 'GET /who HTTP/1.1\r\nhost: a\r\n\r\n'
  client.write(one)
  await once(client, 'data')
  leave(1)
  let received = ''
  client.on('data', (bytes: Buffer) => (received += String(bytes))).write(one.repeat(3))
  await once(client, 'close')
  assert.equal(received.split('HTTP/1.1 200').length - 1, 1)
  assert.equal(asked(), 2)
})

test('connections are accepted as the server itself would', limit, async (t) => {
  const accepted: unknown[] = []
  const accept = (message: unknown) => void accepted.push((message as { socket: Socket }).socket.allowHalfOpen)
  subscribe('net.server.socket', accept)
  t.after(() => unsubscribe('net.server.socket', accept))
  const socket = await socketOf(t)
  for (const server of [http.createServer(), https.createServer()]) {
    const entrance = new Entrance(server, socket.take)
    await entrance.open()
    const taken = once(server, 'connection')
    connect(socket.port, '127.0.0.1').on('error', () => {})
    const [connection] = (await taken) as [Socket]
    connection.destroy()
    await entrance.close()
  }
  assert.deepEqual(accepted, [true, false], 'who says no more before a handshake would hold his place')
})

test('a slow head ends its connection also there', limit, async (t) => {
  const socket = await socketOf(t)
  const { entrance } = await serverOf(t, 'a', socket, { headWithinMs: 100 })
  await entrance.open()
  const slow = connect(socket.port, '127.0.0.1')
  slow.write('GET /who HTTP/1.1\r\n')
  const [reply] = (await once(slow, 'data')) as [Buffer]
  assert.match(String(reply), /^HTTP\/1\.1 408 /)
})

test('what closes waits for the connections that came before it was shut', limit, async (t) => {
  const socket = await socketOf(t)
  const { entrance } = await serverOf(t, 'a', socket)
  await entrance.open()
  const client = connect(socket.port, '127.0.0.1')
  client.write('GET /who HTTP/1.1\r\nhost: a\r\n\r\n')
  await once(client, 'data')
  entrance.shut()
  let isClosed = false
  const closed = entrance.close().then(() => (isClosed = true))
  await new Promise<void>(nextTurn)
  assert.equal(isClosed, false)
  client.destroy()
  await closed
  await entrance.open()
  assert.equal(entrance.isOpen, false, 'what is closed stays closed')
})
