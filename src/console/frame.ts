/** The frame of every page of the console. */
import { html, type Markup } from '../http/page.ts'
import type { Answer } from '../http/server.ts'
import { stylePath } from '../look/look.ts'
import type { Rights } from '../operator/permissions.ts'
import type { Visitor } from './entry/visitor.ts'
import type { Pages } from './links.ts'
import { scriptPath } from './script.ts'

export interface Framed {
  status?: number
  title: string
  content: readonly Markup[]
  /** The path, of which one place in the list is the present one. */
  at?: string
}

/** Nothing is loaded from elsewhere, no inline script runs, no site frames the page. */
const policy = [
  "default-src 'none'",
  "style-src 'self'",
  "script-src 'self'",
  "connect-src 'self'",
  "img-src 'self' data:",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join('; ')

const headers = {
  'content-security-policy': policy,
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  // With no-referrer a browser would not say where a form comes from.
  'referrer-policy': 'same-origin',
  'cache-control': 'no-store',
}

const document = (status: number, title: string, body: Markup): Answer => ({
  status,
  type: 'text/html;charset=utf-8',
  headers,
  body: html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>${title} · Tollgate</title>
        <link rel="stylesheet" href="${stylePath}" />
        <link rel="icon" href="data:," />
      </head>
      <body>
        ${body}
      </body>
    </html> `.text,
})

/** A page for somebody who has not come in yet: one thing to do. */
export const gatePage = (title: string, content: Markup, status = 200): Answer =>
  document(
    status,
    title,
    html`<main class="gate">
      <h1>${title}</h1>
      ${content}
    </main>`,
  )

/** A page under its title, with the list of places that this visitor may see. */
export function framed(
  { user, rights, formToken, views }: Visitor,
  { status = 200, title, content, at = '' }: Framed,
  pages: Pages,
): Answer {
  const isPlace = ({ path, isOwn }: Place) => mayGo(rights, pages, path) && (!isOwn || rights.merchant !== undefined)
  const groups = places.map(({ name, of }) => ({ name, of: of.filter(isPlace) })).filter(({ of }) => of.length > 0)
  const own = views.map(({ name, address }) => html`<li><a href="${address}">${name}</a></li>`)
  return document(
    status,
    title,
    html`<a class="unseen" href="#main">Skip to the page</a>
      <header class="bar">
        <a class="brand" href="/" data-go="o">Tollgate</a>
        <a class="menu" href="#places">Menu</a>
        <form class="find" role="search" method="post" action="/find">
          <input type="hidden" name="form" value="${formToken}" />
          <label class="unseen" for="find">Find a payment</label>
          <input id="find" name="what" placeholder="Find a payment by anything: an id, RRN, e-mail, card" autocomplete="off" />
        </form>
        <div class="who">
          <a href="/me">${user.name}</a>
          <span class="quiet">${user.role}${user.login === undefined ? '' : ` of ${user.login}`}</span>
          <form method="post" action="/sign-out">
            <input type="hidden" name="form" value="${formToken}" />
            <button class="second">Sign out</button>
          </form>
        </div>
      </header>
      <div class="body">
        <nav class="places" id="places" aria-label="Places">
          ${own.length === 0 ? undefined : navGroup('Views', own)}
          ${groups.map(({ name, of }) =>
            navGroup(
              name,
              of.map((place) => placeLink(place, at)),
            ),
          )}
        </nav>
        <main id="main">
          <h1>${title}</h1>
          ${content}
        </main>
      </div>
      ${keysHelp(groups.flatMap(({ of }) => of))}
      <script src="${scriptPath}" defer></script>`,
  )
}

const navGroup = (name: string, links: readonly Markup[]): Markup =>
  html`<h2>${name}</h2>
    <ul>
      ${links}
    </ul>`

const placeLink = ({ path, label, key }: Place, at: string): Markup => {
  const go = key === undefined ? undefined : html`data-go="${key}"`
  const present = isAt(at, path) ? html`aria-current="page"` : undefined
  return html`<li><a href="/${path}" ${go} ${present}>${label}</a></li>`
}

/** The meaning of the keys, which a script handles (desk.js). */
const keysHelp = (of: readonly Place[]): Markup =>
  html`<dialog id="keys" aria-labelledby="keys-title">
    <form method="dialog">
      <h2 id="keys-title">Keys</h2>
      <dl class="facts">
        ${[
          ['/', 'Find a payment'],
          ['g o', 'Overview'],
          ['t', 'Show exact times'],
          ...of.flatMap(({ label, key }) => (key ? [[`g ${key}`, label]] : [])),
        ].map(
          ([keys = '', does = '']) =>
            html`<div>
              <dt>${keys}</dt>
              <dd>${does}</dd>
            </div>`,
        )}
      </dl>
      <button>Close</button>
    </form>
  </dialog>`

/** Whether this visitor may do what is at a path. */
export function mayGo(rights: Rights, pages: Pages, path: string): boolean {
  const action = pages.at(path.split('?')[0]!)?.action
  return action !== undefined && rights.may(action.needs) && (rights.merchant === undefined || action.forMerchants === true)
}

/** A subject is one place, whatever is done in it, but for what is a place of its own. */
const isAt = (at: string, path: string): boolean =>
  at === path ||
  (placeOf(at) === undefined && path === allPlaces.find((one) => one.path.split('/')[0] === at.split('/')[0])?.path)

/** The name of the place that is at a path, if there is one. */
export const placeOf = (at: string): string | undefined => allPlaces.find(({ path, isOwn }) => path === at && !isOwn)?.label

interface Place {
  path: string
  label: string
  /** After g, it leads there. */
  key?: string
  /** For users of one merchant alone, who need not name it. */
  isOwn?: true
}

// oxfmt-ignore
const places: readonly { name: string; of: readonly Place[] }[] = [
  { name: 'Money', of: [
    { path: 'order/find',    label: 'Payments',       key: 'p' },
    { path: 'stats',         label: 'Numbers',        key: 'n' },
    { path: 'delivery/list', label: 'Callbacks',      key: 'c' },
    { path: 'invoice/find',  label: 'Invoices' },
  ] },
  { name: 'Settings', of: [
    { path: 'merchant/list', label: 'Merchants',      key: 'm' },
    { path: 'endpoint/list', label: 'Endpoints',      key: 'e' },
    { path: 'group/list',    label: 'Groups' },
    { path: 'gate/list',     label: 'Gates',          key: 'g' },
    { path: 'filter/list',   label: 'Filters',        key: 'f' },
  ] },
  { name: 'Integrate', of: [
    { path: 'merchant/guide',    label: 'Guide',            key: 'i' },
    { path: 'signature/explain', label: 'Signature doctor', key: 's' },
    { path: 'merchant/show',       label: 'Account',        isOwn: true },
    { path: 'merchant/rotate-key', label: 'Control key',    isOwn: true },
    { path: 'merchant/signing-secret', label: 'Signing secret', isOwn: true },
    { path: 'merchant/key-list',   label: 'Public keys',    isOwn: true },
  ] },
  { name: 'People', of: [
    { path: 'user/list',     label: 'Users',          key: 'u' },
    { path: 'token/list',    label: 'Tokens' },
    { path: 'access',        label: 'Refused access' },
    { path: 'proposal/list', label: 'Proposals' },
    { path: 'audit/list',    label: 'Audit trail',    key: 'a' },
    { path: 'subject/find',  label: 'Personal data' },
  ] },
  { name: 'System', of: [
    { path: 'doctor',          label: 'Health',       key: 'h' },
    { path: 'cell/list',       label: 'Cells' },
    { path: 'keys/list',       label: 'Keys' },
    { path: 'partitions/list', label: 'Partitions' },
  ] },
]

const allPlaces = places.flatMap(({ of }) => of)
