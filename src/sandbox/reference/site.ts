/** The pages that the build made from docs/, as the sandbox serves them. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { extname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { bar, type BarPages } from '../../http/bar.ts'
import type { Markup } from '../../http/page.ts'
import type { Answer } from '../../http/server.ts'

/** Beside the compiled sources, in a package too. */
const folder = fileURLToPath(new URL('../../../site/', import.meta.url))

/** Nothing is loaded from elsewhere, no script in a page runs, and no site frames it. */
const policy =
  "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self'; " +
  "frame-ancestors 'none'; base-uri 'none'; form-action 'self'"

const headers = {
  'content-security-policy': policy,
  // With no-referrer, browsers omit the origin of their own form posts, which then look like a
  // stranger's.
  'referrer-policy': 'same-origin',
  'x-content-type-options': 'nosniff',
  'cache-control': 'private, no-store',
}

const types: Readonly<Record<string, string>> = {
  '.html': 'text/html;charset=utf-8',
  '.md': 'text/markdown;charset=utf-8',
  '.txt': 'text/plain;charset=utf-8',
  '.css': 'text/css;charset=utf-8',
  '.js': 'text/javascript;charset=utf-8',
  '.json': 'application/json;charset=utf-8',
  '.png': 'image/png',
  '.svg': 'image/svg+xml',
}

/** Where a page has room for what the sandbox alone knows. */
const mark = '<!--try-->'

export interface DocsSite {
  /** A page with this at its mark; undefined if there is no such page. */
  page: (slug: string, status: number, inserted?: Markup) => Answer | undefined
  /** A style, script, picture or text. */
  file: (path: string) => Answer | undefined
}

export function openSite(places: BarPages): DocsSite {
  const names = existsSync(folder) ? readdirSync(folder, { recursive: true }) : []
  const known = new Set(names.map((name) => String(name).replaceAll('\\', '/')))
  const read = (path: string) => readFileSync(join(folder, path))
  return {
    page(slug, status, inserted) {
      const path = `${slug}.html`
      if (!known.has(path)) return undefined
      const body = read(path)
        .toString()
        .replace('<!--bar-->', () => bar(places, 'Docs').text)
        .replace(mark, () => inserted?.text ?? '')
      return { status, type: types['.html']!, headers, body }
    },
    file(path) {
      const type = types[extname(path)]
      return type === undefined || !known.has(path) ? undefined : { status: 200, type, headers, body: read(path) }
    },
  }
}
