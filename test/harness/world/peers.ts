import { openLog } from '../../../src/base/log.ts'
import { systemRandom } from '../../../src/base/random.ts'
import { openPeers } from '../../../src/gateway/peers/known.ts'
import { openPeerLink } from '../../../src/gateway/peers/link.ts'
import type { Ask } from '../../../src/gateway/peers/message.ts'
import { peerPort } from '../../../src/gateway/peers/port.ts'
import { tlsOf } from '../../../src/gateway/peers/tls.ts'
import { openServer, type Answer, type Incoming } from '../../../src/http/server.ts'
import { openPool, statement } from '../../../src/storage/pool.ts'
import { peerStore, type PeerEntry } from '../../../src/gateway/peers/rows.ts'
import { openFixedKeys } from './fixed-keys.ts'
import { openHandClock } from '../clock/hand-clock.ts'
import { closing } from './opening.ts'
import { migratedDatabase } from '../postgres/postgres.ts'

/** Processes that pass requests to each other, over real sockets and a real table. */

const log = openLog({ level: 'fatal', destination: process.stderr })
export const random = systemRandom
export const keys = openFixedKeys(random)
const database = closing(await migratedDatabase())
const pool = closing(openPool({ url: database.url, connections: 2, use: 'admin', log }))
export const store = peerStore(pool)
/** The time that all processes share; the table goes by the clock of the database. */
export const clock = openHandClock(1_770_000_000_000)

const path = '/gateway/api/v2/sale/:id'
const pagePath = '/gateway/3ds/:token'
export const ok: Answer = { status: 200, type: 'text/plain', body: 'done' }
export const usual: Incoming = {
  method: 'POST',
  path: '/gateway/api/v2/sale/7',
  params: { id: '7' },
  query: '',
  headers: {},
  authorization: undefined,
  clientAddress: '198.51.100.7',
  body: Buffer.from('a=b'),
  overloaded: false,
}
export const sale = (request: Partial<Incoming> = {}, cellNo = 1): Ask => ({
  is: 'request',
  cellNo,
  method: 'POST',
  route: path,
  request: { ...usual, ...request },
})

/** A page, addressed by a token. */
export const page: Ask = {
  is: 'request',
  cellNo: 1,
  method: 'GET',
  route: pagePath,
  request: { ...usual, method: 'GET', path: '/gateway/3ds/x', params: { token: 'x' } },
}

interface PeerSettings {
  instance?: string
  port?: number
  cells?: number[]
  ring?: typeof keys
}

/** A process that serves a cell with one route, and stands in the table. */
async function openPeer(handle: (request: Incoming) => Answer | Promise<Answer>, settings: PeerSettings = {}) {
  const { instance = `peer-${Math.random()}`, port = 0, cells = [1], ring = keys } = settings
  const counted: string[] = []
  const arrived = (result: string) => counted.push(result)
  const gatewayOf = (cellNo: number) => (cells.includes(cellNo) ? gateway : undefined)
  const { route, refused } = peerPort({ gatewayOf, clock, random, log, arrived }, 65_536)
  const server = await openServer({
    host: '127.0.0.1',
    port,
    tls: { psk: tlsOf(instance, ring), refused },
    maxBodiesBytes: 1_000_000,
    maxConnections: 1_000,
    turns: { begin: () => undefined },
    random,
    log,
  })
  const handled: Incoming[] = []
  const none = async () => Promise.reject(new Error('nothing asks for it'))
  const take = (request: Incoming) => (handled.push(request), handle(request))
  const gateway = {
    routes: [
      { method: 'POST' as const, path, handle: take },
      { method: 'GET' as const, path: pagePath, handle: take },
    ],
    results: { wanted: none, result: none },
    collects: none,
  }
  await server.serve([route])
  const place = { instance, url: `https://127.0.0.1:${server.port}` }
  await store.renew(place, cells)
  return { place, handled, counted, close: () => server.close(0) }
}

/** A process that passes on. */
async function openSender({ ring = keys, ...settings }: { withinMs?: number; ring?: typeof keys } = {}) {
  const results: string[] = []
  const open = (entry: PeerEntry) => openPeerLink(entry, ring, clock)
  const passed = (result: string) => results.push(result)
  const peers = openPeers({ rows: store.all, instance: 'sender', open, clock, log, passed, ...settings })
  await peers.look()
  return { ...peers, results }
}

interface Scene {
  peer: typeof openPeer
  sender: typeof openSender
}

/** A test begins with an empty table; what it opens is closed after it. */
export async function scene(work: (opened: Scene) => Promise<void>): Promise<void> {
  await pool.run(statement('delete from peer'))
  const closes: (() => Promise<void>)[] = []
  try {
    await work({
      async peer(...args) {
        const one = await openPeer(...args)
        closes.push(one.close)
        return one
      },
      async sender(...args) {
        const one = await openSender(...args)
        closes.push(one.stop)
        return one
      },
    })
  } finally {
    for (const close of closes.reverse()) await close()
  }
}

/** A process that ends a request only when the test does; `begun` is the end of the next one. */
export async function openSlow(peer: typeof openPeer) {
  const ends: (() => void)[] = []
  let arrived = () => {}
  const { place } = await peer(() => {
    const answer = new Promise<Answer>((resolve) => ends.push(() => resolve(ok)))
    arrived()
    return answer
  })
  async function begun(): Promise<() => void> {
    if (ends.length === 0) await new Promise<void>((resolve) => (arrived = resolve))
    return ends.shift()!
  }
  return { place, begun }
}

export type Slow = Awaited<ReturnType<typeof openSlow>>
export type Sender = Awaited<ReturnType<typeof openSender>>
export const silence = (instance: string) =>
  pool.run(statement(`update peer set beat_at = now() - interval '5 seconds' where instance = $1`), [instance])
export async function lookFor(sender: Sender, seconds: number) {
  for (let i = 0; i < seconds; i++) {
    clock.pass(1_000)
    await sender.look()
  }
}
