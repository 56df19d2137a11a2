import type { Random } from '../base/random.ts'
import { asset } from '../http/asset.ts'
import { html, type Markup } from '../http/page.ts'
import type { Answer } from '../http/server.ts'
import { pageAnswer } from './layout.ts'

const style = asset(new URL('./docs.css', import.meta.url))

const mark = html`<svg viewBox="0 0 32 32" aria-hidden="true">
  <rect width="32" height="32" rx="8" fill="#0b6e99" />
  <path d="M9 8v17M9 12l15-3.500v4L9 16z" fill="#fff" stroke="#fff" stroke-width="2" stroke-linejoin="round" />
</svg>`

/**
 * The frame of every page of the reference. Its forms post only to this site, and it runs no
 * script.
 */
export function docsPage(random: Random, status: number, title: string, content: Markup): Answer {
  const page = pageAnswer(random, {
    status,
    title: `${title} · Tollgate`,
    style,
    formAction: ["'self'"],
    content: html`<header class="brand">
        <a href="/docs">${mark} Tollgate reference</a>
        <nav aria-label="Reference">
          <a href="/docs">Operations</a><a href="/docs/reference/errors.md">Errors</a
          ><a href="/docs/reference/callbacks.md">Callbacks</a><a href="/docs/reference/states.md">States</a
          ><a href="/docs/openapi.json">OpenAPI</a>
        </nav>
      </header>
      ${content}`,
  })
  // With no-referrer, browsers omit the origin of their own form posts, which then look like a
  // stranger's.
  return { ...page, headers: { ...page.headers, 'referrer-policy': 'same-origin' } }
}
