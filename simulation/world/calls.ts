import type { Outgoing, OutgoingRequest, OutgoingReply } from '../../src/http/outgoing.ts'
import type { Actor, Events } from './clock.ts'

/** An outgoing call of a gateway. The callee decides how it ends, and only the first end counts. */
export interface Call {
  request: OutgoingRequest
  url: URL
  /** How long the gateway still waits. */
  leftMs(): number
  /** Calls `onTaken` only if the gateway is still waiting when the answer arrives. */
  answer(afterMs: number, reply: { status: number; body: string }, onTaken?: () => void): void
  refuse(afterMs: number): void
  timeOut(): void
}

/** The outgoing calls of a gateway process; `carry` decides how each ends. */
export const outgoingOf = (events: Events, actor: Actor, carry: (call: Call) => void): Outgoing => ({
  send: (request) => new Promise((resolve) => carry(openCall(events, actor, request, resolve))),
  close: () => Promise.resolve(),
})

function openCall(events: Events, actor: Actor, request: OutgoingRequest, resolve: (reply: OutgoingReply) => void): Call {
  const began = events.now
  const leftMs = () => request.timeoutMs - (events.now - began)
  let isOver = false
  const end = (afterMs: number, reply: (durationMs: number) => OutgoingReply, onTaken?: () => void) =>
    events.after(afterMs, actor, () => {
      if (!isOver) onTaken?.()
      isOver = true
      resolve(reply(Math.round(events.now - began)))
    })
  const fail = (afterMs: number, kind: 'timeout' | 'connection', why: string) =>
    void end(afterMs, (durationMs) => ({ is: 'failed', kind, why, durationMs }))
  return {
    request,
    url: new URL(request.url),
    leftMs,
    answer(afterMs, { status, body }, onTaken) {
      const answered = { is: 'answered', status, headers: {}, body: Buffer.from(body), truncated: false } as const
      end(afterMs, (durationMs) => ({ ...answered, durationMs }), onTaken)
    },
    refuse: (afterMs) => fail(afterMs, 'connection', 'connect ECONNREFUSED'),
    timeOut: () => fail(leftMs(), 'timeout', 'no answer in time'),
  }
}
