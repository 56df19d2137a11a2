import type { Random } from '../base/random.ts'
import { asset } from '../http/asset.ts'
import { html, verbatim, type Markup } from '../http/page.ts'
import type { Answer } from '../http/server.ts'
import { lookStyle } from '../look/look.ts'
import { brandStyle, type Look } from './brand.ts'
import { english } from './languages.ts'

export interface Page {
  /** 200 unless given. */
  status?: number
  title: string
  content: Markup
  /** Instead of the style of the hosted pages. */
  style?: string
  script?: string
  /** If no script runs, the page reloads by itself, from this address. */
  refresh?: { seconds: number; to: string }
  /** Its script calls only the gateway. */
  asks?: true
  /**
   * Where its forms may post, and where that may redirect; nowhere by default. The schemes of apps
   * are not known beforehand: only a policy without this directive lets a redirect open an app.
   */
  formAction?: readonly string[] | 'anywhere'
  /** The sources that its frames may show, or open; nothing by default. */
  frameSrc?: readonly string[] | 'anywhere'
  /** It is shown inside a frame of any origin. Every other page refuses to be framed. */
  framed?: true
}

/**
 * A page of the gateway: it loads nothing, and only its own style and script run. In English, and
 * of no merchant, without a look.
 */
export function pageAnswer(random: Random, page: Page, look?: Look): Answer {
  const { texts = english, colour, logo } = look ?? {}
  const nonce = random.bytes(16).toString('base64')
  return {
    status: page.status ?? 200,
    type: 'text/html;charset=utf-8',
    headers: { 'content-security-policy': contentPolicy(page, nonce, logo), ...quietHeaders },
    body: html`<!doctype html>
      <html lang="${texts.lang}" dir="${texts.dir}">
        <head>
          <meta charset="utf-8" />
          <meta name="viewport" content="width=device-width, initial-scale=1" />
          <meta name="robots" content="noindex" />
          ${page.refresh && refreshing(page.refresh, page.script === undefined)}
          <title>${page.title}</title>
          <style nonce="${nonce}">
            ${verbatim(lookStyle + (page.style ?? hostedStyle) + brandStyle(colour))}
          </style>
        </head>
        <body>
          <main>${logo && html`<img class="logo" src="${logo}" alt="" />`} ${page.content}</main>
          ${
            page.script === undefined
              ? undefined
              : html`<script nonce="${nonce}">
                  ${verbatim(page.script)}
                </script>`
          }
        </body>
      </html> `.text,
  }
}

function refreshing({ seconds, to }: NonNullable<Page['refresh']>, always: boolean): Markup {
  const meta = html`<meta http-equiv="refresh" content="${seconds};url=${to}" />`
  return always ? meta : html`<noscript>${meta}</noscript>`
}

/** An address that contains a token must not be sent to other sites or cached. */
const quietHeaders = {
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'cache-control': 'private, no-store',
} as const

/** A word for a script of ours. */
export const quietText = (status: number, body: string): Answer => ({
  status,
  type: 'text/plain;charset=utf-8',
  headers: quietHeaders,
  body,
})

/** After a post, so that a reload repeats nothing. */
export const seeOther = (location: string): Answer => ({ ...quietText(303, ''), headers: { location, ...quietHeaders } })

function contentPolicy({ script, asks, formAction = ["'none'"], frameSrc, framed }: Page, nonce: string, logo?: string): string {
  const directives = [
    `style-src 'nonce-${nonce}'`,
    script !== undefined && `script-src 'nonce-${nonce}'`,
    asks && "connect-src 'self'",
    Array.isArray(frameSrc) && `frame-src ${frameSrc.join(' ')}`,
    logo !== undefined && 'img-src data:',
    // Omitted instead of `*`, which would block the pages inside an app (file: and similar
    // schemes).
    !framed && "frame-ancestors 'none'",
    "base-uri 'none'",
    formAction !== 'anywhere' && `form-action ${formAction.join(' ')}`,
  ]
  const rules = directives.filter((directive) => typeof directive === 'string')
  // `frame-src *` has no schemes of apps, and `default-src` is for frames too: all else is listed.
  const others = fetched.filter((name) => !rules.some((rule) => rule.startsWith(name))).map((name) => `${name} 'none'`)
  return [...(frameSrc === 'anywhere' ? others : ["default-src 'none'"]), ...rules].join('; ')
}

/** The sources that a page can load or run, except frames. */
const fetched = ['connect', 'font', 'img', 'manifest', 'media', 'object', 'script', 'style', 'worker'].map(
  (what) => `${what}-src`,
)

export const hostedStyle = asset(new URL('./hosted.css', import.meta.url))
