import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { test } from 'node:test'
import { connect as connectTls } from 'node:tls'
import { openLog } from '../../../src/base/log.ts'
import { systemRandom } from '../../../src/base/random.ts'
import { openTurns } from '../../../src/base/turn.ts'
import { openOperatorPort } from '../../../src/gateway/operator-port.ts'
import { openInbound } from '../../../src/three-d-secure/inbound.ts'
import { openAuthority } from '../../harness/three-d-secure/directory.ts'

/** One address may hold half of the connections of a port, so that it cannot shut others out. */

const log = openLog({ level: 'silent', destination: process.stderr })
const host = '127.0.0.1'

/** Opens `most` connections of one address, then one more, then one of another address. */
async function holdsOneAddressTo(most: number, port: number, isServed: (socket: Socket) => Promise<boolean>) {
  const open = async (localAddress: string): Promise<Socket> => {
    const socket = connect({ host, port, localAddress }).on('error', () => {})
    held.push(socket)
    await once(socket, 'connect')
    return socket
  }
  const held: Socket[] = []
  try {
    for (let count = 0; count < most; count++) await open('127.1.0.9')
    assert.ok(await isServed(held.at(-1)!), 'the last that there is room for')
    const [refused] = [await open('127.1.0.9')]
    await once(refused.resume(), 'close')
    assert.equal(held.filter((socket) => !socket.destroyed).length, most)
    assert.ok(await isServed(await open('127.1.0.10')), 'another address')
    const gone = held[0]!
    gone.end()
    await once(gone.resume(), 'close')
    assert.ok(await isServed(await open('127.1.0.9')), 'one whose place became free')
  } finally {
    for (const socket of held) socket.destroy()
  }
}

test("one address holds two hundred connections of the operator's port at most", async () => {
  const server = await openOperatorPort({ host, port: 0 }, { random: systemRandom, log })
  try {
    await server.serve([{ method: 'GET', path: '/health', handle: () => ({ status: 200, type: 'text/plain', body: 'ok' }) }])
    await holdsOneAddressTo(200, server.port, async (socket) => {
      socket.write('GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n')
      return String((await once(socket, 'data'))[0]).startsWith('HTTP/1.1 200')
    })
    assert.deepEqual(server.connections().refused, { all: 0, address: 1 })
  } finally {
    await server.close(0)
  }
})

test('one address holds 256 connections of the port for results at most', async () => {
  const authority = await openAuthority()
  const inbound = await openInbound({
    host,
    port: 0,
    tls: { ...authority.of('gateway-results'), ca: authority.ca },
    senders: new Map([['directory-server', 'ds']]),
    turns: openTurns(queueMicrotask),
    oddities: { noted: () => {} },
    log,
    random: systemRandom,
    // The handshakes of those that hold their places must not end before the last has come.
    limits: { handshakeMs: 120_000, headersMs: 120_000, requestMs: 120_000 },
  })
  const { cert, key } = authority.of('directory-server')
  try {
    await holdsOneAddressTo(256, inbound.port, async (socket) => {
      const secure = connectTls({ socket, ca: authority.ca, cert, key: key.reveal(), servername: 'localhost' })
      await once(secure, 'secureConnect')
      return true
    })
  } finally {
    await inbound.close()
  }
})
