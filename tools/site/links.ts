/** Where the links of a document lead on the site, and which lead nowhere. */
import { existsSync, statSync } from 'node:fs'
import { join, posix } from 'node:path'
import type { SiteDocument } from './document.ts'

/** What a link or picture means. */
export type Target =
  | { is: 'page'; page: SiteDocument; anchor: string }
  /** A picture or a document for programs, below /docs. */
  | { is: 'asset'; path: string; file: string }
  /** Source code, which no page shows. */
  | { is: 'source'; file: string }
  | { is: 'elsewhere'; url: string }
  | { is: 'broken'; why: string }

export interface Site {
  root: string
  /** By file. */
  documents: ReadonlyMap<string, SiteDocument>
}

const assets = /\.(?:png|svg|jpe?g|webp|json|yaml)$/

export function targetOf({ root, documents }: Site, from: string, href: string): Target {
  if (/^[a-z][a-z+.-]*:/i.test(href)) return { is: 'elsewhere', url: href }
  const [path = '', anchor = ''] = decodeURI(href).split('#')
  const file = path === '' ? from : posix.join(path.startsWith('/') ? '' : posix.dirname(from), path)
  const page = documents.get(file) ?? documents.get(posix.join(file, 'README.md'))
  if (page) {
    const isThere = anchor === '' || page.headings.some(({ id }) => id === anchor)
    return isThere ? { is: 'page', page, anchor } : { is: 'broken', why: `${page.file} has no heading #${anchor}` }
  }
  if (file.startsWith('..') || !existsSync(join(root, file))) return { is: 'broken', why: `there is no ${file}` }
  if (file.startsWith('docs/') && assets.test(file) && statSync(join(root, file)).isFile())
    return { is: 'asset', path: file.replace(/^docs\/(?:reference\/)?/, ''), file }
  return { is: 'source', file }
}

export interface Complaint {
  file: string
  line: number
  says: string
}

/** Every link and anchor that leads nowhere. */
export const brokenLinks = (site: Site): Complaint[] =>
  [...site.documents.values()].flatMap((document) =>
    document.links.flatMap(({ href, line }) => {
      const target = targetOf(site, document.file, href)
      return target.is === 'broken' ? [{ file: document.file, line, says: `leads to ${href}, but ${target.why}` }] : []
    }),
  )
