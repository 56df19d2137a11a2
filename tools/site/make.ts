/** Makes every file of the site from the documents of the project. */
import { createHash } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { join, posix } from 'node:path'
import { html, verbatim } from '../../src/http/page.ts'
import { operationNames } from '../../src/spec/gateway/operations.ts'
import { mobileOperationNames } from '../../src/spec/mobile/operations.ts'
import { readDocument, type SiteDocument } from './document.ts'
import { framed, type Framed } from './frame.ts'
import { openHighlighter } from './highlight.ts'
import { brokenLinks, targetOf, type Complaint, type Site, type Target } from './links.ts'
import { homeContent, llmsText, missingContent, searchContent, tryMark } from './lists.ts'
import { sitePages } from './map.ts'
import { contentOf } from './render.ts'
import { expandSamples } from './samples.ts'
import { withRequests } from './operator-requests.ts'
import { scriptText, styleText } from './assets.ts'
import { indexOf } from './search-index.ts'

export interface Making {
  root: string
  /** For a server of files: its links are relative and end in `.html`, and nothing can be tried. */
  isExport: boolean
}

/** The files by their path below /docs; a site with a complaint should not be served. */
export interface Made {
  files: Map<string, string | Buffer>
  complaints: Complaint[]
}

const operatorPage = 'docs/reference/operator.md'
/** The pages with a form. */
const tried = new Set([
  ...operationNames.map((name) => `docs/reference/${name}.md`),
  ...mobileOperationNames.map((name) => `docs/reference/mobile-${name}.md`),
  operatorPage,
])

export function readSite(root: string): Site {
  const textOf = (file: string) => (existsSync(join(root, file)) ? readFileSync(join(root, file), 'utf8') : undefined)
  const sourceOf = (file: string) => (file === operatorPage ? withRequests(textOf(file)!) : textOf(file)!)
  const documents = sitePages(root).map((page) => readDocument(page, sourceOf(page.file), textOf))
  return { root, documents: new Map(documents.map((one) => [one.file, one])) }
}

export async function makeSite({ root, isExport }: Making): Promise<Made> {
  const site = readSite(root)
  const documents = [...site.documents.values()]
  const fences = documents.flatMap(({ tokens }) => tokens.filter(({ type }) => type === 'fence'))
  const highlight = await openHighlighter(['sh', ...fences.map(({ info }) => info.split(' ')[0]!).filter((tag) => tag !== '')])
  const files = new Map<string, string | Buffer>()
  const kept = (name: string, kind: string, text: string) => {
    const path = `${name}-${createHash('sha256').update(text).digest('base64url').slice(0, 12)}.${kind}`
    files.set(path, text)
    return path
  }
  const style = kept('site', 'css', styleText(root))
  const script = kept('site', 'js', await scriptText(root))
  const toFrom = (slug: string) => addressFrom(slug, isExport)
  const policy = isExport ? policyOfFiles : undefined
  const write = (slug: string, page: Framed) => {
    files.set(`${slug}.html`, framed({ documents, style, script, to: toFrom(slug), ...(policy && { policy }) }, page))
  }
  for (const [i, here] of documents.entries()) {
    const to = toFrom(here.slug)
    const addressOf = (target: Target) => {
      if (target.is === 'asset') files.set(target.path, readFileSync(join(root, target.file)))
      return pathOf(target, to)
    }
    const content = contentOf({ ...site, highlight, addressOf }, here)
    const canTry = tried.has(here.file)
    const acted = here.file === operatorPage && !isExport ? withActions(content.text) : content.text
    const filled = canTry ? verbatim(withTry(acted, isExport)) : content
    const { title, section } = here
    const headings = canTry && !isExport ? [tryHeading, ...here.headings] : here.headings
    write(here.slug, { title, section, headings, content: filled, here, before: documents[i - 1], after: documents[i + 1] })
    files.set(`${here.slug}.md`, twinOf(site, here))
  }
  const mark = isExport ? html`` : verbatim(tryMark)
  write('index', { title: 'Documents', content: homeContent(documents, toFrom('index'), mark) })
  write('search', { title: 'Search', content: searchContent(documents, toFrom('search')) })
  write('missing', { title: 'Not found', content: missingContent(toFrom('missing')) })
  files.set('search.json', indexOf(documents))
  files.set('llms.txt', llmsText(documents))
  return { files, complaints: brokenLinks(site) }
}

const policyOfFiles =
  "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; " +
  "base-uri 'none'; form-action 'self'"

const addressFrom =
  (slug: string, isExport: boolean) =>
  (path: string): string => {
    if (!isExport) return path === '' ? '/docs' : `/docs/${path}`
    const to = path === '' ? 'index' : path
    return posix.relative(posix.dirname(slug), to.includes('.') ? to : `${to}.html`)
  }

function pathOf(target: Target, to: (path: string) => string): string | undefined {
  if (target.is === 'page') return to(target.page.slug) + (target.anchor === '' ? '' : `#${target.anchor}`)
  return target.is === 'asset' ? to(target.path) : target.is === 'elsewhere' ? target.url : undefined
}

/** Where a form may stand: after what the page is about, before the fields. */
const withTry = (content: string, isExport: boolean): string =>
  content.replace(/<h2 id="(?:a-)?request">/, (heading) => `${isExport ? tryNote : tryMark}${heading}`)

/** The page of operators has one form, which each action leads to. */
const withActions = (content: string): string =>
  content.replaceAll(/<h3 id="[^"]+">([a-z-]+(?:\/[a-z-]+)?)<a class="anchor".*?<\/h3>/g, (heading, action: string) => {
    return `${heading}<p><a href="/docs/reference/operator?_action=${action}#try-it">Try it</a></p>`
  })

/** Where the sandbox puts its form. */
const tryHeading = { id: 'try-it', level: 2, text: 'Try it' }

const tryNote =
  '<p class="notice">In the sandbox, this page has a form that sends the request: <code>npx tollgate sandbox</code>.</p>'

/** The Markdown of a page, with links to the Markdown of others. */
function twinOf(site: Site, here: SiteDocument): string {
  const sampleOf = (file: string) => (existsSync(join(site.root, file)) ? readFileSync(join(site.root, file), 'utf8') : undefined)
  const relative = (path: string) => posix.relative(posix.dirname(here.slug), path)
  const text = expandSamples(here.source, sampleOf)
  const hrefs = new Set(here.links.map(({ href }) => href))
  return [...hrefs].reduce((twin, href) => {
    const target = targetOf(site, here.file, href)
    const to = target.is === 'page' && !href.startsWith('#') ? pathOf(target, (slug) => relative(`${slug}.md`)) : undefined
    const address = to ?? (target.is === 'asset' ? relative(target.path) : undefined)
    return address === undefined ? twin : twin.replaceAll(`](${href})`, `](${address})`)
  }, text)
}
