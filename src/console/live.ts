/** Parts of pages that follow what happens, by server-sent events. */
import { Readable } from 'node:stream'
import { sleep } from '../base/clock.ts'
import { html, type Markup } from '../http/page.ts'
import type { Answer, Incoming } from '../http/server.ts'
import { visitorOf, type ConsoleParts, type Visitor } from './entry/visitor.ts'

const everyMs = 5_000
/** Without script it stays as it is. */
export const live = (address: string, content: Markup): Markup => html`<div data-live="${address}">${content}</div>`

/** Streams of one session at the same time: each asks the database again and again. */
const mostOfSession = 8

/**
 * Each goes on as long as its session does, which it does not prolong: the visitor is looked up
 * each time. One too many is over at its begin, and its page stays as it was.
 */
export function openLive(parts: ConsoleParts) {
  const streams = new Map<bigint, number>()
  async function* looks({ session }: Visitor, request: Incoming, draw: (visitor: Visitor) => Promise<Markup>) {
    for (;;) {
      const visitor = await visitorOf(parts, request, session)
      if (visitor?.session.provenAt === undefined) return
      yield `data: ${(await draw(visitor)).text.replaceAll('\n', '\ndata: ')}\n\n`
      await sleep(parts.office.clock, everyMs)
    }
  }
  async function* events(...asked: Parameters<typeof looks>) {
    const id = asked[0].session.sessionId
    const open = streams.get(id) ?? 0
    if (open < mostOfSession)
      try {
        streams.set(id, open + 1)
        yield* looks(...asked)
      } finally {
        const left = streams.get(id)! - 1
        if (left > 0) streams.set(id, left)
        else streams.delete(id)
      }
    yield 'event: over\ndata:\n\n'
  }
  return (...asked: Parameters<typeof looks>): Answer => ({
    status: 200,
    type: 'text/event-stream',
    headers: { 'cache-control': 'no-store' },
    body: '',
    stream: Readable.from(events(...asked)),
  })
}
