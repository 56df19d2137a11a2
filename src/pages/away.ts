import type { Random } from '../base/random.ts'
import type { Turns } from '../base/turn.ts'
import { html } from '../http/page.ts'
import type { Answer, Incoming } from '../http/server.ts'
import { textsFor } from './languages.ts'
import { formReader } from '../spec/form.ts'
import { pageAnswer } from './layout.ts'
import { doing } from './three-d-secure-look.ts'
import { returnScript } from './three-d-secure-script.ts'

/** For a page whose payment cannot be looked up now. */
export function awayPage(random: Random, { headers }: Incoming): Answer {
  const texts = textsFor(headers['accept-language'])
  const { title, is, help } = texts.away
  const content = html`<h1>${is}</h1>
    <p>${help}</p>`
  return pageAnswer(random, { status: 503, title, content }, { texts })
}

const againSeconds = 2

/**
 * For a page that can be done in a moment: it loads itself again. What a browser has posted comes
 * once, so the page posts it again; perhaps inside a frame, where the bank's answer came.
 */
export async function momentPage(random: Random, turns: Turns, request: Incoming): Promise<Answer> {
  const texts = textsFor(request.headers['accept-language'])
  const wait = doing(texts.wait.moment)
  const page = { status: 503, title: texts.ended.payment }
  if (request.method !== 'POST') {
    const refresh = { seconds: againSeconds, to: `?${request.query}` }
    return pageAnswer(random, { ...page, refresh, content: wait }, { texts })
  }
  const fields = request.body && (await turns.run(formReader(request.body)))
  if (!fields) return awayPage(random, request)
  // Without an address a form posts to that of its page.
  const content = html`<div class="scripted" data-after-ms="${againSeconds * 1_000}">${wait}</div>
    <form id="three-d-secure-form" method="post">
      ${fields.map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}" />`)}
      <noscript><button>${texts.go.on}</button></noscript>
    </form>`
  return pageAnswer(random, { ...page, script: returnScript, formAction: ["'self'"], framed: true, content }, { texts })
}
