import { asset } from '../../../src/http/asset.ts'
import { html, verbatim, type Markup } from '../../../src/http/page.ts'
import { iconOf } from '../sending.ts'

/** The common frame of the shop's pages. */
export interface Frame {
  nonce: string
  title: string
  style: string
  script?: string
  links: readonly (readonly [text: string, href: string])[]
  head?: Markup
  /** The page is the shop's front page, so its title is not a link. */
  isFront?: true
}

const shared = asset(new URL('../pages.css', import.meta.url))
const shopName = 'The Loopback Shop'

const mark = asset(new URL('./mark.svg', import.meta.url))

export function shopPage({ nonce, title, style, script, links, head, isFront }: Frame, content: Markup): string {
  const name = html`${verbatim(mark)} ${shopName}`
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <meta name="robots" content="noindex" />
        <title>${title} · ${shopName}</title>
        <link rel="icon" href="${iconOf(mark)}" />
        ${head}
        <style nonce="${nonce}">
          ${verbatim(shared + style)}
        </style>
      </head>
      <body>
        <header class="brand">
          ${isFront ? html`<strong>${name}</strong>` : html`<a href="/">${name}</a>`}
          <nav aria-label="The rest of the sandbox">${links.map(([text, href]) => html`<a href="${href}">${text}</a>`)}</nav>
        </header>
        ${content}
        ${
          script === undefined
            ? undefined
            : html`<script nonce="${nonce}">
                ${verbatim(script)}
              </script>`
        }
      </body>
    </html> `.text
}

const badges: Readonly<Record<string, Markup>> = {
  visa: verbatim(asset(new URL('./visa.svg', import.meta.url))),
  mastercard: verbatim(asset(new URL('./mastercard.svg', import.meta.url))),
}
const names: Readonly<Record<string, string>> = { visa: 'Visa', mastercard: 'Mastercard' }

export const networkBadge = (network: string): Markup =>
  html`<span class="badge">${badges[network]} ${names[network] ?? network}</span>`
