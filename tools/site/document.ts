/** Reads the Markdown of a page: its tokens, its headings, and its text for the search. */
import markdownIt, { type Token } from 'markdown-it'
import { expandSamples, sampleComment } from './samples.ts'
import type { SitePage } from './map.ts'

export interface Heading {
  id: string
  level: number
  text: string
}

export interface SiteDocument extends SitePage {
  /** As it is in the file. */
  source: string
  /** With its samples in place. */
  tokens: Token[]
  headings: Heading[]
  /** The text beneath each heading, in their order; the first is the title of the page. */
  texts: string[]
  /** The first sentence. */
  summary: string
  links: readonly Link[]
}

/** As it is written, and the line of the file. */
export interface Link {
  href: string
  line: number
}

const markdown = markdownIt({ html: true })

export function readDocument(page: SitePage, source: string, sampleOf: (file: string) => string | undefined): SiteDocument {
  const expand = ({ content }: Token) => markdown.parse(expandSamples(content, sampleOf), {})
  const tokens = markdown
    .parse(withoutComments(source), {})
    .flatMap((token) => (token.type === 'html_block' && sampleComment.test(token.content) ? expand(token) : [token]))
  const headings: Heading[] = []
  const texts: string[] = []
  let summary = ''
  const taken = new Map<string, number>()
  for (const [i, token] of tokens.entries()) {
    if (token.type !== 'inline') continue
    const words = textOf(token)
    const before = tokens[i - 1]
    if (before?.type === 'heading_open') {
      const id = idOf(words, taken)
      before.attrSet('id', id)
      headings.push({ id, level: Number(before.tag.slice(1)), text: words })
      texts.push('')
    } else {
      if (texts.length > 0) texts[texts.length - 1] += ` ${words}`
      if (before?.type === 'paragraph_open' && headings.length > 0) summary ||= firstSentence(words)
    }
  }
  return { ...page, source, tokens, headings, texts, summary, links: linksOf(tokens, source.split('\n')) }
}

/** What is left has as many lines, so that a complaint names the right one. */
const withoutComments = (text: string): string =>
  text.replaceAll(/^(```|~~~)[^]*?^\1|<!--(?! samples:)[^]*?-->/gm, (found) =>
    found.startsWith('<') ? found.replaceAll(/[^\n]/g, '') : found,
  )

const textOf = (token: Token): string =>
  (token.children ?? [])
    .map(({ type, content }) => (type === 'text' || type === 'code_inline' ? content : type === 'softbreak' ? ' ' : ''))
    .join('')

/** The cells of a table do not know their lines, but its rows do. */
function linksOf(tokens: readonly Token[], lines: readonly string[]): Link[] {
  let [first, end] = [0, 0]
  return tokens.flatMap(({ map, children }) => {
    if (map) [first, end] = map
    return (children ?? []).flatMap(hrefOf).map((href) => {
      const within = lines.slice(first, end).findIndex((line) => line.includes(href))
      return { href, line: first + 1 + Math.max(within, 0) }
    })
  })
}

const hrefOf = (token: Token): string[] => {
  const href = token.type === 'link_open' ? token.attrGet('href') : token.type === 'image' ? token.attrGet('src') : null
  return href === null ? [] : [String(href)]
}

/** As GitHub makes them, since links in documents work there too. */
function idOf(words: string, taken: Map<string, number>): string {
  const id = words
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\p{M}_\- ]/gu, '')
    .replaceAll(' ', '-')
  const times = taken.get(id) ?? 0
  taken.set(id, times + 1)
  return times === 0 ? id : `${id}-${times}`
}

const firstSentence = (text: string): string => /^.*?[.!?:](?=\s|$)/.exec(text)?.[0].replace(/:$/, '.') ?? text
