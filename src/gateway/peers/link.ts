/** Connections to another process of the installation, each for one request at a time. */
import { buildConnector, Pool } from 'undici'
import type { Clock } from '../../base/clock.ts'
import { exchange, type Exchanged } from '../../http/exchange.ts'
import type { KeyRing } from '../../keys/ring.ts'
import type { PeerEntry } from './rows.ts'
import { tlsTo } from './tls.ts'

export type SentAsk =
  | { is: 'answered'; body: Buffer }
  /** No byte of it was written, or it was refused before anything was done. */
  | { is: 'unsent'; why: string }
  /** It was written, and its outcome is unknown. */
  | { is: 'lost'; why: string }

export type PeerLink = ReturnType<typeof openPeerLink>

export const peerPath = '/peer'
/** To another machine of the same network. */
const connectMs = 1_000
/** Many that begin together wait for the processors of both ends. */
const handshakeMs = 8_000
const mostReplyBytes = 8 * 1_024 * 1_024
/** It is of another time; or there is no room, or no route yet. */
const refusals: ReadonlySet<number> = new Set([403, 503])

export function openPeerLink({ instance, url }: PeerEntry, keys: KeyRing, clock: Clock) {
  const reach = buildConnector({ timeout: connectMs })
  const secure = buildConnector({ ...tlsTo(instance, keys), timeout: handshakeMs, maxCachedSessions: 0 })
  const pool = new Pool(url, {
    pipelining: 1,
    headersTimeout: 0,
    bodyTimeout: 0,
    connect: (to, connected) =>
      reach({ ...to, protocol: 'http:' }, (...reached) =>
        reached[0] ? connected(...reached) : secure({ ...to, httpSocket: reached[1] }, connected),
      ),
    keepAliveTimeout: 4_000,
    keepAliveMaxTimeout: 30_000,
  })
  return {
    /** Never rejects, and sends nothing twice. */
    post: (bytes: Buffer, timeoutMs: number): Promise<SentAsk> => post(pool, bytes, timeoutMs, clock),
    /** Resolves when what is under way has ended. */
    close: (): Promise<void> => pool.close(),
    /** Ends what is under way, as lost. */
    cut: (): Promise<void> => pool.destroy(),
  }
}

const post = (pool: Pool, body: Buffer, timeoutMs: number, clock: Clock): Promise<SentAsk> =>
  new Promise((resolve) => {
    const headers = { 'content-type': 'application/octet-stream' }
    const request = { path: peerPath, method: 'POST', headers, body } as const
    exchange(pool, request, { timeoutMs, maxReplyBytes: mostReplyBytes, clock }, (sent) => resolve(sentAsk(sent)))
  })

function sentAsk(sent: Exchanged): SentAsk {
  if (sent.is === 'failed') return { is: sent.isSent ? 'lost' : 'unsent', why: sent.error.message || sent.error.name }
  const { status, body, truncated } = sent
  if (truncated) return { is: 'lost', why: 'the answer is too long' }
  return status === 200 ? { is: 'answered', body } : { is: refusals.has(status) ? 'unsent' : 'lost', why: `status ${status}` }
}
