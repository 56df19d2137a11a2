import type { Random } from '../base/random.ts'
import { html } from '../http/page.ts'
import type { Answer } from '../http/server.ts'
import { pageAnswer } from './layout.ts'

/** For a page whose payment cannot be looked up now. */
export const awayPage = (random: Random): Answer =>
  pageAnswer(random, {
    status: 503,
    title: 'Please try again',
    content: html`<h1>Your payment cannot be shown right now</h1>
      <p>Nothing is lost. Please load this page again in a moment.</p>`,
  })
