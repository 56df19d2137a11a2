import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { once } from 'node:events'
import http, { createServer } from 'node:http'
import https from 'node:https'
import { connect, type AddressInfo, type Socket } from 'node:net'
import { after, test, type TestContext } from 'node:test'
import { nextTurn } from '../../../src/base/clock.ts'
import { openLog } from '../../../src/base/log.ts'
import { systemRandom } from '../../../src/base/random.ts'
import { openTurns } from '../../../src/base/turn.ts'
import { openListeners } from '../../../src/http/listeners.ts'
import { readNetworks } from '../../../src/http/client-address.ts'
import { openServer, type ServerSettings } from '../../../src/http/server.ts'
import { until } from '../../harness/clock/until.ts'

/** New connections: how many a turn accepts, and how many there may be. */

const log = openLog({ level: 'silent', destination: process.stdout })
const accepted: Socket[] = []
const accept = (message: unknown) => void accepted.push((message as { socket: Socket }).socket)
subscribe('net.server.socket', accept)
after(() => unsubscribe('net.server.socket', accept))

/** Connects this many times before this process has its next turn; the kernel keeps them. */
function connectWithinATurn(times: number, port: number): void {
  const each = `require('node:net').connect(${port}, '127.0.0.1').once('connect', () => ++made === ${times} && process.exit())`
  execFileSync(process.execPath, ['-e', `let made = 0; for (let i = 0; i < ${times}; i++) ${each}`])
}

async function acceptedByTurn(times: number): Promise<number[]> {
  const turns: number[] = []
  for (let before = accepted.length, all = before + times; before < all; before = accepted.length) {
    await new Promise((resolve) => setImmediate(resolve))
    if (accepted.length > before) turns.push(accepted.length - before)
  }
  return turns
}

/** A server that ends with its test, and ends its connections then. */
async function serverOf(t: TestContext, limits: Pick<ServerSettings, 'maxConnections'> & Partial<ServerSettings>) {
  const ground = { turns: openTurns(nextTurn), random: systemRandom, log }
  const server = await openServer({ host: '127.0.0.1', port: 0, maxBodiesBytes: 1_000, ...ground, ...limits })
  t.after(() => server.close(0))
  return server
}

test('four handles of a socket accept four connections in one turn', { timeout: 30_000 }, async () => {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const listeners = openListeners(server, 3, log)
  await listeners.opened
  connectWithinATurn(12, (server.address() as AddressInfo).port)
  assert.deepEqual(await acceptedByTurn(12), [4, 4, 4])
  server.close()
  server.closeAllConnections()
  await listeners.close()
})

test('listeners that are closed while they open accept nothing', { timeout: 30_000 }, async () => {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const listeners = openListeners(server, 3, log)
  server.close()
  await Promise.all([listeners.close(), listeners.opened])
  const [error] = (await once(connect(port, '127.0.0.1'), 'error')) as [NodeJS.ErrnoException]
  assert.equal(error.code, 'ECONNREFUSED')
})

test('further handles accept connections as the server itself would', { timeout: 30_000 }, async () => {
  const halfOpen: unknown[] = []
  for (const server of [http.createServer(), https.createServer()]) {
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const listeners = openListeners(server, 1, log)
    await listeners.opened
    const { port } = server.address() as AddressInfo
    // The second one of a turn is accepted by the further handle.
    const before = accepted.length
    connectWithinATurn(2, port)
    await acceptedByTurn(2)
    halfOpen.push(...accepted.slice(before).map(({ allowHalfOpen }) => allowHalfOpen))
    server.close()
    for (const socket of accepted.slice(before)) socket.destroy()
    await listeners.close()
  }
  assert.deepEqual(halfOpen, [true, true, false, false], 'who says no more before a handshake would hold his place')
})

test('a connection beyond the limit is closed', { timeout: 30_000 }, async (t) => {
  const server = await serverOf(t, { maxConnections: 2 })
  await server.serve([{ method: 'GET', path: '/here', handle: () => ({ status: 200, type: 'text/plain', body: 'served' }) }])
  const ask = async (socket: Socket) => {
    socket.write('GET /here HTTP/1.1\r\nhost: a\r\n\r\n')
    return String(((await once(socket, 'data')) as [Buffer])[0])
  }
  const first = connect(server.port, '127.0.0.1')
  const second = connect(server.port, '127.0.0.1')
  for (const socket of [first, second]) assert.match(await ask(socket), /served$/)
  const third = connect(server.port, '127.0.0.1').on('error', () => {})
  let received = ''
  third.on('data', (bytes: Buffer) => (received += String(bytes))).write('GET /here HTTP/1.1\r\nhost: a\r\n\r\n')
  await once(third, 'close')
  assert.equal(received, '')
  const gone = accepted.find(({ remotePort }) => remotePort === first.localPort)!
  first.end()
  await once(gone, 'close')
  const fourth = connect(server.port, '127.0.0.1')
  assert.match(await ask(fourth), /served$/)
})

test('an address with as many connections as it may have shuts no other address out', { timeout: 30_000 }, async (t) => {
  const { networks: trustedProxies } = readNetworks('127.0.0.9')
  const server = await serverOf(t, { maxConnections: 20, maxPerAddress: 4, trustedProxies })
  await server.serve([{ method: 'GET', path: '/here', handle: () => ({ status: 200, type: 'text/plain', body: 'served' }) }])
  const from = (localAddress: string) => connect({ host: '127.0.0.1', port: server.port, localAddress }).on('error', () => {})
  /** The reply, or nothing if the connection was ended. */
  const ask = (socket: Socket) =>
    new Promise<string>((resolve) => {
      socket.once('data', (bytes: Buffer) => resolve(String(bytes))).once('close', () => resolve(''))
      socket.write('GET /here HTTP/1.1\r\nhost: a\r\n\r\n')
    })
  const idle = Array.from({ length: 4 }, () => from('127.0.0.2'))
  for (const socket of idle) await once(socket, 'connect')
  assert.equal(await ask(from('127.0.0.2')), '')
  assert.deepEqual(server.connections(), { open: 4, refused: { all: 0, address: 1 } })
  const others = [from('127.0.0.3'), ...Array.from({ length: 6 }, () => from('127.0.0.9'))]
  for (const socket of others) assert.match(await ask(socket), /served$/)
  const gone = accepted.find(({ remotePort }) => remotePort === idle[0]!.localPort)!
  idle[0]!.end()
  await once(gone, 'close')
  const again = from('127.0.0.2')
  assert.match(await ask(again), /served$/)
})

test('once many connections are open, a server accepts several in one turn', { timeout: 60_000 }, async (t) => {
  const server = await serverOf(t, { maxConnections: 100, acceptsInTurn: 4 })
  connectWithinATurn(4, server.port)
  assert.deepEqual(await acceptedByTurn(4), [1, 1, 1, 1])
  for (let i = 0; i < 33; i++) connect(server.port, '127.0.0.1').on('error', () => {})
  await acceptedByTurn(33)
  await until(
    () => {
      connectWithinATurn(4, server.port)
      return acceptedByTurn(4)
    },
    (turns) => turns.length === 1,
  )
})
