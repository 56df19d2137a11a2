import { bar, type BarPage, type BarPages } from '../src/http/bar.ts'
import { html, verbatim, type Markup } from '../src/http/page.ts'
import { lookStyle, sandboxStyle } from '../src/look/look.ts'

interface Frame {
  /** Unique to this reply; the content security policy names it. */
  nonce: string
  title: string
  places: BarPages
  here: BarPage
  /** In addition to the style that all share. */
  style: string
  script?: string
  icon: string
  head?: Markup | undefined
}

/** A picture inside the address itself, so that the browser need not load it. */
export const iconOf = (svg: string): string => `data:image/svg+xml,${encodeURIComponent(svg)}`

/** The frame of every page for people: the bar, the content, a script where there is one. */
export function peoplePage({ nonce, title, places, here, style, script, icon, head }: Frame, content: Markup): string {
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <meta name="robots" content="noindex" />
        <title>${title}</title>
        <link rel="icon" href="${icon}" />
        ${head}
        <style nonce="${nonce}">
          ${verbatim(lookStyle + sandboxStyle + style)}
        </style>
      </head>
      <body>
        ${bar(places, here)} ${content}
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

/** For a page that runs its own script and style, and calls only its own server. */
export const ownPolicy = (nonce: string, formAction: "'self'" | "'none'"): string =>
  `default-src 'none'; style-src 'nonce-${nonce}'; script-src 'nonce-${nonce}'; img-src data:; connect-src 'self'; ` +
  `form-action ${formAction}; base-uri 'none'; frame-ancestors 'none'`
