import type { Random } from '../base/random.ts'
import { html } from '../http/page.ts'
import type { Answer, Incoming } from '../http/server.ts'
import { textsFor } from './languages.ts'
import { pageAnswer } from './layout.ts'

/** For a page whose payment cannot be looked up now. */
export function awayPage(random: Random, { headers }: Incoming): Answer {
  const texts = textsFor(headers['accept-language'])
  const { title, is, help } = texts.away
  const content = html`<h1>${is}</h1>
    <p>${help}</p>`
  return pageAnswer(random, { status: 503, title, content }, { texts })
}
