import type { Random } from '../base/random.ts'
import { html } from '../http/page.ts'
import type { Answer } from '../http/server.ts'
import { pageAnswer } from './layout.ts'

/**
 * For a request whose signature does not hold. The page is the same whatever the cause, so that it
 * does not reveal which check failed.
 */
export const deniedPage = (random: Random): Answer =>
  pageAnswer(random, { status: 403, title: 'Access denied', content: html`<h1>Access is denied</h1>` })
