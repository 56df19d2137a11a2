import type { Random } from '../base/random.ts'
import { html } from '../http/page.ts'
import type { Answer } from '../http/server.ts'
import { pageAnswer } from './layout.ts'

/**
 * For a request whose signature does not hold. It is the same whatever the cause, so that nobody
 * learns from it how far they came.
 */
export const deniedPage = (random: Random): Answer =>
  pageAnswer(random, { status: 403, title: 'Access denied', content: html`<h1>Access is denied</h1>` })
