/** What every page of the console has around it. */
import { html, type Markup } from '../http/page.ts'
import type { Answer } from '../http/server.ts'
import { stylePath } from '../look/look.ts'
import type { Rights } from '../operator/permissions.ts'
import type { Visitor } from './entry/visitor.ts'
import type { Pages } from './links.ts'

export interface Framed {
  status?: number
  title: string
  content: readonly Markup[]
  /** The path, of which one place in the list is the present one. */
  at?: string
}

/** Nothing is loaded from elsewhere, nothing runs that is written into a page, nobody frames it. */
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

/** A page with the list of places that this visitor may see. */
export function framed(
  { user, rights, formToken, views }: Visitor,
  { status = 200, title, content, at = '' }: Framed,
  pages: Pages,
): Answer {
  const groups = places.map(({ name, of }) => ({
    name,
    of: of.filter(([path]) => mayGo(rights, pages, path)),
  }))
  return document(
    status,
    title,
    html`<a class="unseen" href="#main">Skip to the page</a>
      <header class="bar">
        <a class="brand" href="/">Tollgate</a>
        <a class="menu" href="#places">Menu</a>
        <form class="find" role="search" method="post" action="/find">
          <input type="hidden" name="form" value="${formToken}" />
          <label class="unseen" for="what">Find a payment</label>
          <input id="what" name="what" placeholder="Find a payment by anything: an id, RRN, e-mail, card" autocomplete="off" />
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
          ${
            views.length === 0
              ? undefined
              : html`<h2>Views</h2>
                  <ul>
                    ${views.map(({ name, address }) => html`<li><a href="${address}">${name}</a></li>`)}
                  </ul>`
          }
          ${groups
            .filter(({ of }) => of.length > 0)
            .map(
              ({ name, of }) =>
                html`<h2>${name}</h2>
                  <ul>
                    ${of.map(
                      ([path, label]) =>
                        html`<li><a href="/${path}" ${isAt(at, path) ? html`aria-current="page"` : undefined}>${label}</a></li>`,
                    )}
                  </ul>`,
            )}
        </nav>
        <main id="main">${content}</main>
      </div>`,
  )
}

/** Whether this visitor may do what is at a path. */
export function mayGo(rights: Rights, pages: Pages, path: string): boolean {
  const action = pages.at(path.split('?')[0]!)?.action
  return action !== undefined && rights.may(action.needs) && (rights.merchant === undefined || action.forMerchants === true)
}

/** A subject is one place, whatever is done in it. */
const isAt = (at: string, path: string): boolean => at.split('/')[0] === path.split(/[/?]/)[0]

/** The name of the place that is at a path, if there is one. */
export const placeOf = (at: string): string | undefined => places.flatMap(({ of }) => of).find(([path]) => path === at)?.[1]

const places: readonly { name: string; of: readonly (readonly [path: string, label: string])[] }[] = [
  {
    name: 'Money',
    of: [
      ['order/find', 'Payments'],
      ['stats', 'Numbers'],
      ['delivery/list', 'Callbacks'],
      ['invoice/find', 'Invoices'],
    ],
  },
  {
    name: 'Settings',
    of: [
      ['merchant/list', 'Merchants'],
      ['endpoint/list', 'Endpoints'],
      ['group/list', 'Groups'],
      ['gate/list', 'Gates'],
      ['filter/list', 'Filters'],
    ],
  },
  {
    name: 'People',
    of: [
      ['user/list', 'Users'],
      ['token/list', 'Tokens'],
      ['access', 'Refused access'],
      ['proposal/list', 'Proposals'],
      ['audit/list', 'Audit trail'],
      ['subject/find', 'Personal data'],
    ],
  },
  {
    name: 'System',
    of: [
      ['cell/list', 'Cells'],
      ['keys/list', 'Keys'],
      ['partitions/list', 'Partitions'],
    ],
  },
]
