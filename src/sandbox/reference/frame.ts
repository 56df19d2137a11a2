import type { Random } from '../../base/random.ts'
import { asset } from '../../http/asset.ts'
import { bar, type BarPages } from '../../http/bar.ts'
import { html, type Markup } from '../../http/page.ts'
import type { Answer } from '../../http/server.ts'
import { sandboxStyle } from '../../look/look.ts'
import { pageAnswer } from '../../pages/layout.ts'
import { sentence } from '../../reference/markdown.ts'

const style = sandboxStyle + asset(new URL('./reference.css', import.meta.url))

/** A heading with a list of operations, each with its page. */
export const operationList = (heading: string, operations: readonly ListedOperation[]): Markup =>
  html`<h2>${heading}</h2>
    <ul class="plain operations">
      ${operations.map(
        ({ name, at, call, means }) =>
          html`<li>
            <a href="${at}"><b>${name}</b><code>${call}</code><span>${sentence(means)}</span></a>
          </li>`,
      )}
    </ul>`

interface ListedOperation {
  name: string
  at: string
  /** Method and path. */
  call: string
  means: string
}

interface Parts {
  random: Random
  places: BarPages
}

/**
 * The frame of every page of the reference. Its forms post only to this site, and it runs no
 * script.
 */
export function docsPage({ random, places }: Parts, status: number, title: string, content: Markup): Answer {
  const page = pageAnswer(random, {
    status,
    title: `${title} · Tollgate`,
    style,
    formAction: ["'self'"],
    content: html`${bar(places, 'API')}
      <nav class="chips" aria-label="Reference">
        <a href="/docs">Operations</a><a href="/docs/reference/errors.md">Errors</a
        ><a href="/docs/reference/callbacks.md">Callbacks</a><a href="/docs/reference/states.md">States</a
        ><a href="/docs/openapi.json">OpenAPI</a>
      </nav>
      ${content}`,
  })
  // With no-referrer, browsers omit the origin of their own form posts, which then look like a
  // stranger's.
  return { ...page, headers: { ...page.headers, 'referrer-policy': 'same-origin' } }
}
