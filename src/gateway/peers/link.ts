/** Connections to another process of the installation, each for one request at a time. */
import { buildConnector, Pool, type Dispatcher } from 'undici'
import type { Clock } from '../../base/clock.ts'
import type { KeyRing } from '../../keys/ring.ts'
import type { PeerEntry } from './rows.ts'
import { tlsTo } from './tls.ts'

export type SentAsk =
  | { is: 'answered'; body: Buffer }
  /** No byte of it was written, or it was refused before anything was done. */
  | { is: 'unsent'; why: string }
  /** It was written, and nobody here knows what became of it. */
  | { is: 'lost'; why: string }

export interface PeerLink {
  /** Never rejects, and sends nothing twice. */
  post(bytes: Buffer, timeoutMs: number): Promise<SentAsk>
  /** Resolves when what is under way has ended. */
  close(): Promise<void>
  /** Ends what is under way, as lost. */
  cut(): Promise<void>
}

export const peerPath = '/peer'
/** To another machine of the same network. */
const connectMs = 1_000
/** Many that begin at once wait for the processors of both ends. */
const handshakeMs = 8_000
const mostReplyBytes = 8 * 1_024 * 1_024
/** It is of another time; or there is no room, or no route yet. */
const refusals: ReadonlySet<number> = new Set([403, 503])

export function openPeerLink({ instance, url }: PeerEntry, keys: KeyRing, clock: Clock): PeerLink {
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
    post: (bytes, timeoutMs) => exchange(pool, bytes, timeoutMs, clock),
    close: () => pool.close(),
    cut: () => pool.destroy(),
  }
}

/** Its modes: *waiting* for a connection (no controller), *under way*, *settled*. */
function exchange(pool: Pool, body: Buffer, timeoutMs: number, clock: Clock): Promise<SentAsk> {
  return new Promise((resolve) => {
    let controller: Dispatcher.DispatchController | undefined
    let isSettled = false
    let status = 0
    const chunks: Buffer[] = []
    let size = 0
    const settle = (sent: SentAsk) => {
      if (isSettled) return
      isSettled = true
      cancel()
      resolve(sent)
    }
    const fail = (why: string) => settle({ is: controller ? 'lost' : 'unsent', why })
    const end = (error: Error) => {
      fail(error.message)
      controller?.abort(error)
    }
    const cancel = clock.after(timeoutMs, () => end(new Error(`no answer within ${timeoutMs} ms`)))
    const headers = { 'content-type': 'application/octet-stream' }
    pool.dispatch(
      { path: peerPath, method: 'POST', headers, body },
      {
        onRequestStart(started) {
          // Thrown before a byte is written.
          if (isSettled) throw new Error('the request ran out of time before it had a connection')
          controller = started
        },
        onResponseStart(_, statusCode) {
          status = statusCode
        },
        onResponseData(_, chunk) {
          chunks.push(chunk)
          size += chunk.length
          if (size > mostReplyBytes) end(new Error('the answer is too long'))
        },
        onResponseEnd() {
          if (status === 200) settle({ is: 'answered', body: Buffer.concat(chunks) })
          else if (refusals.has(status)) settle({ is: 'unsent', why: `status ${status}` })
          else fail(`status ${status}`)
        },
        onResponseError: (_, error) => fail(error.message || error.name),
      },
    )
  })
}
