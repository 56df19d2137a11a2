import type { Random } from '../base/random.ts'
import { html } from '../http/page.ts'
import type { Answer, Incoming } from '../http/server.ts'
import { textsFor } from './languages.ts'
import { pageAnswer } from './layout.ts'

/**
 * For a request whose signature does not hold. The page is the same whatever the cause, so that it
 * does not reveal which check failed.
 */
export function deniedPage(random: Random, { headers }: Pick<Incoming, 'headers'>): Answer {
  const texts = textsFor(headers['accept-language'])
  const title = texts.problem.denied
  return pageAnswer(random, { status: 403, title, content: html`<h1>${title}</h1>` }, { texts })
}

/** Read by who writes a client, so in English. Nothing of the request was looked at. */
export function tooLongPage(random: Random, limitBytes: number): Answer {
  const title = 'Content too large'
  const content = html`<h1>${title}</h1>
    <p>The body of this request is above ${limitBytes / 1_024} KiB, so nothing of it was read.</p>`
  return pageAnswer(random, { status: 413, title, content })
}
