import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { asset } from '../src/http/asset.ts'
import type { BarPage, BarPages } from '../src/http/bar.ts'
import { html, type Markup } from '../src/http/page.ts'
import { systemRandom } from '../src/base/random.ts'
import { iconOf, ownPolicy, peoplePage } from './page.ts'

/**
 * The admin port of a simulator, for people: what it is, what just happened, and each of its calls
 * to open or to send. Programs get the same as text and JSON.
 */

/** A GET is opened; with a body it is sent as it stands in the form. */
export interface AdminCall {
  method: 'GET' | 'POST' | 'DELETE'
  path: string
  means: string
  /** An example, in JSON. */
  body?: string
}

export const get = (path: string, means: string): AdminCall => ({ method: 'GET', path, means })

interface Section {
  title: string
  calls: readonly AdminCall[]
  notes?: readonly (readonly [name: string, means: string])[]
}

export interface Overview {
  title: string
  here: BarPage
  /** Where it is, and what reads it. */
  path: string
  sections: readonly Section[]
}

/** A recent event; lists have the newest first. */
export interface Happened {
  /** Milliseconds since 1970. */
  at: number
  way: string
  name: string
  says: string
}

interface Desk {
  overview: Overview
  places: BarPages
  happened: () => readonly Happened[]
}

const style = asset(new URL('./desk.css', import.meta.url))
const script = asset(new URL('./send.js', import.meta.url))
const icon = iconOf(asset(new URL('./desk.svg', import.meta.url)))

/** One line a call, for whoever asks with curl. */
function overviewText({ title, sections }: Overview): string {
  const call = ({ method, path, means, body }: AdminCall) =>
    `  ${method.padEnd(6)} ${path.padEnd(20)} ${body === undefined ? means : `${body}\n${' '.repeat(30)}${means}`}`
  const blocks = sections.map(({ title: name, calls, notes = [] }) =>
    [name, ...calls.map(call), ...notes.map(([note, means]) => `  ${note.padEnd(20)} ${means}`)].join('\n'),
  )
  return `${title}\n\n${blocks.join('\n\n')}\n`
}

const isForPeople = ({ method, headers }: FastifyRequest): boolean =>
  method === 'GET' && (headers.accept ?? '').includes('text/html')

/**
 * Lets browsers see the JSON of this port on a page, and returns the handler of its overview. A
 * refusal of a stranger stays as it is: such a page would tell it the other addresses.
 */
export function showToPeople(app: FastifyInstance, { overview, places, happened }: Desk) {
  const { here } = overview
  const page = (reply: FastifyReply, title: string, content: Markup) => {
    const nonce = systemRandom.bytes(16).toString('base64')
    void reply.headers({
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy': ownPolicy(nonce, "'none'"),
      'cache-control': 'no-store',
      vary: 'accept',
    })
    return peoplePage({ nonce, title: `${title} · ${here}`, places, here, style, script, icon }, content)
  }
  app.addHook('onSend', async (request, reply, payload) => {
    const type = String(reply.getHeader('content-type'))
    const isStranger = reply.statusCode === 421 || reply.statusCode === 403
    if (isStranger || !isForPeople(request) || !type.startsWith('application/json') || typeof payload !== 'string') return payload
    // As it was sent: what is encoded may be no text.
    const { url } = request
    return page(reply, url, answerContent(overview, url, JSON.stringify(JSON.parse(payload), null, 2)))
  })
  return (request: FastifyRequest, reply: FastifyReply) =>
    isForPeople(request)
      ? reply.send(page(reply, 'What it does', overviewContent(overview, happened())))
      : reply.type('text/plain; charset=utf-8').send(overviewText(overview))
}

const answerContent = ({ here, path }: Overview, url: string, json: string): Markup =>
  html`<main>
    <h1><code>${url}</code></h1>
    <p><a href="${path}">‹ ${here}</a></p>
    <pre class="panel">${json}</pre>
  </main>`

const overviewContent = ({ title, sections }: Overview, happened: readonly Happened[]): Markup =>
  html`<main>
    <h1>${title.replace('.', '')}</h1>
    <section class="panel">
      <h2>What just happened</h2>
      ${
        happened.length === 0
          ? html`<p class="quiet">Nothing yet. Buy something in the shop, and it is here.</p>`
          : html`<ol class="plain happened">
              ${happened.map(happenedContent)}
            </ol>`
      }
    </section>
    ${sections.map(
      ({ title: name, calls, notes = [] }) =>
        html`<section class="panel">
          <h2>${name}</h2>
          ${calls.map(callContent)} ${notes.length === 0 ? undefined : html`<dl class="facts">${notes.map(noteContent)}</dl>`}
        </section>`,
    )}
    <noscript><p class="quiet">The buttons need scripts, which this browser does not run. Use curl instead.</p></noscript>
  </main>`

const happenedContent = ({ at, way, name, says }: Happened): Markup =>
  html`<li>
    <time datetime="${new Date(at).toISOString()}">${new Date(at).toISOString().slice(11, 23)}</time>
    <span class="quiet">${way}</span> <b>${name}</b> <span>${says}</span>
  </li>`

const noteContent = ([name, means]: readonly [string, string]): Markup =>
  html`<div>
    <dt><code>${name}</code></dt>
    <dd>${means}</dd>
  </div>`

function callContent({ method, path, means, body }: AdminCall): Markup {
  if (method === 'GET')
    return html`<p>
      <a href="${path}"><code>${path}</code></a> <span class="quiet">${means}</span>
    </p>`
  return html`<form data-method="${method}" data-path="${path}">
    <p><code>${method} ${path}</code> <span class="quiet">${means}</span></p>
    ${body === undefined ? undefined : bodyField(`${method} ${path}`, body)}
    <button class="second">${method === 'DELETE' ? 'Delete' : 'Send'}</button> <output></output>
  </form>`
}

const bodyField = (call: string, body: string): Markup =>
  html`<textarea name="body" aria-label="Body of ${call}" rows="${Math.ceil(body.length / 36)}">${body}</textarea>`
