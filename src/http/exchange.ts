import type { IncomingHttpHeaders } from 'node:http'
import type { Dispatcher, Pool } from 'undici'
import type { Clock } from '../base/clock.ts'

/** A call was not over in time. */
export class Late extends Error {}

/** `truncated`: the rest of its body was beyond the limit. */
export interface ExchangedReply {
  is: 'answered'
  status: number
  headers: IncomingHttpHeaders
  body: Buffer
  truncated: boolean
  durationMs: number
}

/** `isSent`: it had a connection, so that bytes of it may have been written. */
export type Exchanged = ExchangedReply | { is: 'failed'; error: Error; isSent: boolean; durationMs: number }

/**
 * One call on a connection of the pool. Its modes: *waiting* for a connection (no controller),
 * *under way*, *settled*; only `settle` ends it. With 64 in flight to loopback a call costs 23 to
 * 28 µs of CPU; with `pool.request` it was 10 to 20 % more.
 */
export function exchange(
  pool: Pool,
  request: Dispatcher.DispatchOptions,
  { timeoutMs, maxReplyBytes, clock }: { timeoutMs: number; maxReplyBytes: number; clock: Clock },
  settled: (exchanged: Exchanged) => void,
): void {
  const startedAt = clock.monotonic()
  let controller: Dispatcher.DispatchController | undefined
  let status = 0
  let headers: IncomingHttpHeaders = {}
  const chunks: Buffer[] = []
  let size = 0
  let isSettled = false

  const durationMs = () => clock.monotonic() - startedAt
  const settle = (exchanged: Exchanged) => {
    if (isSettled) return
    isSettled = true
    cancel()
    settled(exchanged)
  }
  const fail = (error: Error) => settle({ is: 'failed', error, isSent: controller !== undefined, durationMs: durationMs() })
  const answer = (truncated: boolean) =>
    settle({ is: 'answered', status, headers, body: Buffer.concat(chunks, size), truncated, durationMs: durationMs() })
  const cancel = clock.after(timeoutMs, () => {
    const late = new Late(`no complete answer within ${timeoutMs} ms`)
    fail(late)
    controller?.abort(late)
  })

  pool.dispatch(request, {
    onRequestStart(started) {
      // Thrown before a byte is written, it ends the call without damage to the connection.
      if (isSettled) throw new Late('the call ran out of time before it had a connection')
      controller = started
    },
    onResponseStart(_, statusCode, received) {
      status = statusCode
      headers = received
    },
    onResponseData(_, chunk) {
      const room = maxReplyBytes - size
      chunks.push(chunk.length > room ? chunk.subarray(0, room) : chunk)
      size += Math.min(chunk.length, room)
      if (chunk.length <= room) return
      answer(true)
      controller?.abort(new Error('the answer is too long'))
    },
    onResponseEnd: () => answer(false),
    onResponseError: (_, error) => fail(error),
  })
}
