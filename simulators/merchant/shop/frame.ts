import { asset } from '../../../src/http/asset.ts'
import { html, verbatim, type Markup } from '../../../src/http/page.ts'

/** What every page of the shop has around it. */
export interface Frame {
  nonce: string
  title: string
  style: string
  script?: string
  links: readonly (readonly [text: string, href: string])[]
  head?: Markup
  /** The page is the shop's front, so its name leads nowhere. */
  isFront?: true
}

const shared = asset(new URL('../pages.css', import.meta.url))
const shopName = 'The Loopback Shop'

const icon =
  "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 32 32'%3E%3Crect width='32' height='32' rx='8' fill='%230b6e99'/%3E%3Cpath d='M9 13h14l-1.500 11h-11z' fill='white'/%3E%3Cpath d='M12.500 15v-4a3.500 3.500 0 0 1 7 0v4' stroke='white' stroke-width='2' fill='none'/%3E%3C/svg%3E"
const mark = html`<svg viewBox="0 0 32 32" aria-hidden="true">
  <rect width="32" height="32" rx="8" fill="#0b6e99" />
  <path d="M9 13h14l-1.500 11h-11z" fill="#fff" />
  <path d="M12.500 15v-4a3.500 3.500 0 0 1 7 0v4" stroke="#fff" stroke-width="2" fill="none" />
</svg>`

export function shopPage({ nonce, title, style, script, links, head, isFront }: Frame, content: Markup): string {
  const name = html`${mark} ${shopName}`
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <meta name="robots" content="noindex" />
        <title>${title} · ${shopName}</title>
        <link rel="icon" href="${icon}" />
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

// oxfmt-ignore
const badges: Readonly<Record<string, Markup>> = {
  visa: html`<svg viewBox="0 0 30 20" aria-hidden="true"><rect width="30" height="20" rx="3" fill="#1a3f8f" /><path d="M5 6l3 8h2l3-8M16 6l-1 8M19 13q5 1.500 5-1t-3-2.500 4-3" stroke="#fff" stroke-width="1.700" fill="none" /></svg>`,
  mastercard: html`<svg viewBox="0 0 30 20" aria-hidden="true"><rect width="30" height="20" rx="3" fill="#23272e" /><circle cx="12" cy="10" r="6" fill="#e8443a" /><circle cx="18" cy="10" r="6" fill="#f3a73b" fill-opacity=".85" /></svg>`,
}
const names: Readonly<Record<string, string>> = { visa: 'Visa', mastercard: 'Mastercard' }

export const networkBadge = (network: string): Markup =>
  html`<span class="badge">${badges[network]} ${names[network] ?? network}</span>`
