/** Parts of pages that follow what happens, by server-sent events. */
import { Readable } from 'node:stream'
import { sleep } from '../base/clock.ts'
import { html, type Markup } from '../http/page.ts'
import type { Answer, Incoming } from '../http/server.ts'
import { visitorOf, type ConsoleParts, type Visitor } from './entry/visitor.ts'

const everyMs = 5_000
/** Without script it stays as it is. */
export const live = (address: string, content: Markup): Markup => html`<div data-live="${address}">${content}</div>`

/**
 * Goes on as long as the session does, which it does not prolong: the visitor is looked up each
 * time.
 */
export function liveAnswer(parts: ConsoleParts, request: Incoming, draw: (visitor: Visitor) => Promise<Markup>): Answer {
  async function* events() {
    for (;;) {
      const visitor = await visitorOf(parts, request, 'looks')
      if (visitor?.session.provenAt === undefined) break
      yield `data: ${(await draw(visitor)).text.replaceAll('\n', '\ndata: ')}\n\n`
      await sleep(parts.office.clock, everyMs)
    }
    yield 'event: over\ndata:\n\n'
  }
  return {
    status: 200,
    type: 'text/event-stream',
    headers: { 'cache-control': 'no-store' },
    body: '',
    stream: Readable.from(events()),
  }
}
