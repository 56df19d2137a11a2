import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net'
import { test } from 'node:test'
import { connect as connectTls, createServer as createTlsServer, type ConnectionOptions } from 'node:tls'
import { systemClock } from '../../../src/base/clock.ts'
import { openPeerLink } from '../../../src/gateway/peers/link.ts'
import { packAsk } from '../../../src/gateway/peers/message.ts'
import { tlsOf, tlsTo } from '../../../src/gateway/peers/tls.ts'
import type { PeerEntry } from '../../../src/gateway/peers/rows.ts'
import { openFixedKeys } from '../../harness/world/fixed-keys.ts'
import { closing } from '../../harness/world/opening.ts'
import { clock, keys, ok, random, sale, scene, store } from '../../harness/world/peers.ts'
import { holds } from '../../harness/clock/until.ts'

// What others than the processes of the installation, or somebody on the way between two, can do.

type Keys = typeof keys
const strange = openFixedKeys(random)

/** The key of the installation, and a later one; `current` is what it seals with. */
const turning = (current: bigint, held: readonly bigint[]): Keys => {
  const of = (version: bigint) => (version === 1n ? keys : later).current('digest').key
  return {
    ...keys,
    version: (_, version) => (held.includes(version) ? of(version) : undefined),
    versions: () => [{ version: current, key: of(current) }],
  }
}
const later = openFixedKeys(random)

/** Sends a sale as a process does that has these keys, made so long ago. */
async function post(entry: PeerEntry, ring: Keys, agoMs = 0): Promise<string> {
  const link = openPeerLink(entry, ring, systemClock)
  const sent = await link.post(packAsk(sale(), clock.now() - agoMs), 10_000)
  await link.close()
  return sent.is
}

const portOf = (server: Server) => (server.address() as AddressInfo).port

async function listening(server: Server): Promise<string> {
  closing(server)
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return `https://127.0.0.1:${portOf(server)}`
}

/** What a connection was sent until it ended. */
const ended = (socket: Socket): Promise<string> =>
  new Promise((resolve) => {
    let sent = ''
    socket.on('data', (bytes) => (sent += bytes.toString('latin1'))).on('error', () => {})
    socket.on('close', () => resolve(sent))
  })

/** A connection to a port; `passed` sees what its client sends, and decides what goes on. */
const through = (port: number, passed: (bytes: Buffer) => Buffer): Server =>
  createServer((client) => {
    const server = connect(port, '127.0.0.1')
    client.on('data', (bytes) => server.write(passed(bytes))).on('error', () => {})
    server.on('data', (bytes) => client.write(bytes)).on('error', () => {})
    client.on('close', () => server.destroy())
    server.on('close', () => client.destroy())
  })

test('a request is taken from processes of the installation, for this one and of this time', () =>
  scene(async ({ peer }) => {
    for (const [what, ring, instance, agoMs, is, done] of [
      ['as usual', keys, 'here', 0, 'answered', 1],
      ['of another installation', strange, 'here', 0, 'unsent', 0],
      ['for another process', keys, 'there', 0, 'unsent', 0],
      ['without a name', keys, '', 0, 'unsent', 0],
      ['with a version that is not known', turning(2n, []), 'here', 0, 'unsent', 0],
      ['too old', keys, 'here', 10_001, 'unsent', 0],
      ['of the future', keys, 'here', -10_001, 'unsent', 0],
    ] as const) {
      const { place, handled, counted, close } = await peer(() => ok, { instance: 'here' })
      assert.equal(await post({ ...place, instance }, ring, agoMs), is, what)
      await holds(() => counted.length > 0, what)
      assert.deepEqual([handled.length, counted], [done, [done === 1 ? 'answered' : 'refused']], what)
      await close()
    }
  }))

test('processes reach each other while the key is replaced, and none by a version that is destroyed', () =>
  scene(async ({ peer }) => {
    const old = turning(1n, [1n])
    const learnt = turning(1n, [1n, 2n])
    const turned = turning(2n, [1n, 2n])
    const after = turning(2n, [2n])
    for (const [sender, receiver, is] of [
      [old, learnt, 'answered'],
      [old, turned, 'answered'],
      [learnt, turned, 'answered'],
      [turned, learnt, 'answered'],
      [turned, after, 'answered'],
      [turned, old, 'unsent'],
      [learnt, after, 'unsent'],
    ] as const) {
      const { place } = await peer(() => ok, { ring: receiver })
      assert.equal(await post(place, sender), is)
    }
  }))

test('strangers get no answer to any message, and others are served meanwhile', () =>
  scene(async ({ peer }) => {
    const { place, handled, counted } = await peer(() => ok)
    const port = Number(new URL(place.url).port)
    const psk = Buffer.alloc(32, 7)
    const known = tlsTo(place.instance, keys)
    const named = (identity: string): ConnectionOptions => ({ ...known, pskCallback: () => ({ psk, identity }) })
    const empty = { ...known, pskCallback: () => ({ psk: Buffer.alloc(0), identity: '1' }) }
    const tls = (options: ConnectionOptions) =>
      ended(connectTls({ ...options, port, host: '127.0.0.1', rejectUnauthorized: false }))
    const bytes = (text: string) => {
      const socket = connect(port, '127.0.0.1')
      socket.end(text)
      return ended(socket)
    }
    const all = [
      ...['1', '2', '0', '-1', '1.5', '1e3', '0x1', ' 1', '99999999999999999999999999', 'x'.repeat(120), 'ключ'].map((identity) =>
        tls(named(identity)),
      ),
      tls(empty),
      tls({ ...known, minVersion: 'TLSv1.3', maxVersion: 'TLSv1.3' }),
      tls({}),
      tls({ ...known, ciphers: 'PSK-AES256-CBC-SHA:PSK-CHACHA20-POLY1305:ECDHE-PSK-AES256-CBC-SHA384' }),
      tls({ ...known, ciphers: 'AECDH-NULL-SHA:ADH-AES256-GCM-SHA384:@SECLEVEL=0' }),
      tls({ ...known, ecdhCurve: 'P-256' }),
      bytes('POST /peer HTTP/1.1\r\nhost: a\r\ncontent-length: 0\r\n\r\n'),
      bytes('\x16\x03\x01\xff\xff'),
    ]
    // Older versions of Node.js end when this throws.
    assert.equal(tlsOf('here', keys).pskCallback(undefined, 'x'), null)
    for (const sent of await Promise.all(all)) assert.doesNotMatch(sent, /HTTP|Refused/)
    await holds(
      () => counted.length === all.length,
      () => `${counted.length} of ${all.length} are counted`,
    )
    assert.deepEqual([new Set(counted), handled.length], [new Set(['refused']), 0])
    assert.equal(await post(place, keys), 'answered')
  }))

test('a silent connection is closed', () =>
  scene(async ({ peer }) => {
    const { place, counted } = await peer(() => ok)
    const silent = connect(Number(new URL(place.url).port), '127.0.0.1')
    assert.equal(await ended(silent), '')
    assert.deepEqual(counted, ['refused'])
  }))

test('a connection has forward secrecy, and none is resumed', () =>
  scene(async ({ peer }) => {
    const { place } = await peer(() => ok)
    const options = { ...tlsTo(place.instance, keys), port: Number(new URL(place.url).port), host: '127.0.0.1' }
    const sessions: Buffer[] = []
    async function look(more: ConnectionOptions) {
      const socket = connectTls({ ...options, ...more }).on('session', (session) => sessions.push(session))
      await once(socket, 'secureConnect')
      const { name } = socket.getCipher()
      const seen = [socket.getProtocol(), name, socket.getEphemeralKeyInfo(), socket.isSessionReused(), socket.getTLSTicket()]
      sessions.push(socket.getSession()!)
      socket.destroy()
      return seen
    }
    const asItIs = ['TLSv1.2', 'ECDHE-PSK-CHACHA20-POLY1305', { type: 'ECDH', name: 'X25519', size: 253 }, false, undefined]
    assert.deepEqual(await look({}), asItIs)
    // Also for a client that would.
    assert.deepEqual(await look({ secureOptions: 0 }), asItIs)
    for (const session of sessions.splice(0)) assert.deepEqual(await look({ secureOptions: 0, session }), asItIs)
  }))

test('a recorded message has no effect when it is sent again, in a new connection or the same one', () =>
  scene(async ({ peer, sender }) => {
    const { place, handled, counted } = await peer(() => ok, { instance: 'here' })
    const port = Number(new URL(place.url).port)
    const recorded: Buffer[] = []
    await store.renew({ instance: 'here', url: await listening(through(port, (bytes) => (recorded.push(bytes), bytes))) }, [1])
    const first = await sender()
    assert.equal((await first.pass(sale())).is, 'answer')
    await first.stop()
    const again = connect(port, '127.0.0.1')
    for (const bytes of recorded) again.write(bytes)
    again.end()
    await ended(again)
    await holds(() => counted.includes('refused'), 'the recorded connection is refused')
    assert.equal(handled.length, 1)

    const isRequest = (bytes: Buffer) => bytes[0] === 23
    const twice = (bytes: Buffer) => (isRequest(bytes) ? Buffer.concat([bytes, bytes]) : bytes)
    const doubling = through(port, twice)
    await store.renew({ instance: 'here', url: await listening(doubling) }, [1])
    const second = await sender()
    await second.pass(sale())
    // The process ends a connection in which something comes twice.
    await new Promise((resolve) => doubling.close(resolve))
    assert.equal(handled.length, 2)
  }))

test('an altered request is not carried out, and its answer is lost', () =>
  scene(async ({ peer, sender }) => {
    const { place, handled } = await peer(() => ok, { instance: 'here' })
    const alter = (bytes: Buffer) => {
      if (bytes[0] === 23) bytes[bytes.length - 1]! ^= 1
      return bytes
    }
    await store.renew({ instance: 'here', url: await listening(through(Number(new URL(place.url).port), alter)) }, [1])
    const passer = await sender()
    assert.equal((await passer.pass(sale())).is, 'lost')
    assert.equal(handled.length, 0)
  }))

test('a connection that is redirected to another process, or back to its sender, fails', () =>
  scene(async ({ peer, sender }) => {
    const other = await peer(() => ok, { instance: 'other', cells: [1] })
    const own = await peer(() => ok, { instance: 'sender', cells: [1] })
    const echo = await listening(createServer((socket) => socket.on('error', () => {}).pipe(socket)))
    await store.leave(other.place)
    for (const url of [other.place.url, own.place.url, echo]) {
      await store.renew({ instance: 'meant', url }, [1])
      const passer = await sender()
      assert.equal((await passer.pass(sale())).is, 'nobody', url)
    }
    assert.deepEqual([other.handled.length, own.handled.length], [0, 0])
  }))

test('an impostor without the key learns nothing, and its answer is ignored', () =>
  scene(async ({ sender }) => {
    const forged = 'HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nfake'
    let heard = ''
    const take = (socket: Socket) => {
      socket.on('error', () => {}).on('data', (bytes) => (heard += bytes.toString('latin1')))
      socket.once('data', () => socket.end(forged))
    }
    for (const forger of [createServer(take), createTlsServer(tlsOf('meant', strange), take)]) {
      await store.renew({ instance: 'meant', url: await listening(forger) }, [1])
      const passer = await sender()
      assert.equal((await passer.pass(sale())).is, 'nobody')
    }
    assert.doesNotMatch(heard, /HTTP|sale|a=b/)
  }))
