import { once } from 'node:events'
import { connect } from 'node:net'
import { percentile, rounded, sortedBySize } from '../figures/figures.ts'

/**
 * How long new connections wait while the gateway is at its work; the names are those of the JSON
 * line.
 */
export interface ConnectsRow {
  bench: 'connects'
  in_flight: number
  connections: number
  p50_ms: number | null
  p99_ms: number | null
  max_ms: number | null
}

export const newConnections = 256
const withinMs = 60_000

/**
 * Opens so many connections at the same time, each with one `status` that is refused. Returns how
 * long each took to the first byte of its reply, in milliseconds.
 */
export async function measureConnects(origin: string): Promise<number[]> {
  const { hostname, port, host } = new URL(origin)
  return Promise.all(
    Array.from({ length: newConnections }, async () => {
      const began = performance.now()
      const socket = connect({ host: hostname, port: Number(port), timeout: withinMs })
      socket.once('timeout', () => socket.destroy(new Error(`A new connection got no reply within ${withinMs / 1_000} s.`)))
      try {
        socket.write(`POST /gateway/api/v2/status/0 HTTP/1.1\r\nhost: ${host}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n`)
        const [reply] = (await once(socket, 'data')) as [Buffer]
        if (!reply.toString().startsWith('HTTP/1.1 200 ')) throw new Error(`status answered ${reply.toString().slice(0, 40)}`)
        return performance.now() - began
      } finally {
        socket.destroy()
      }
    }),
  )
}

export function connectsRow(inFlight: number, took: readonly number[]): ConnectsRow {
  const sorted = sortedBySize(took)
  return {
    bench: 'connects',
    in_flight: inFlight,
    connections: took.length,
    p50_ms: rounded(percentile(sorted, 0.5), 1),
    p99_ms: rounded(percentile(sorted, 0.99), 1),
    max_ms: rounded(sorted.at(-1), 1),
  }
}
