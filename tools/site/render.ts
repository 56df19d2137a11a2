/** The content of a page as HTML: code in colours, links within the site, tables that scroll. */
import markdownIt, { type Token } from 'markdown-it'
import { html, verbatim, type Markup } from '../../src/http/page.ts'
import { asCurl } from './curl.ts'
import type { SiteDocument } from './document.ts'
import type { Highlight } from './highlight.ts'
import { targetOf, type Site, type Target } from './links.ts'
import { languageOf } from './samples.ts'

export interface Rendering extends Site {
  highlight: Highlight
  /** The address of something of the site, seen from a page. */
  addressOf: (target: Target, from: SiteDocument) => string | undefined
}

/** A longer one may break, so that it fits a phone. */
const longestName = 40

export function contentOf(rendering: Rendering, document: SiteDocument): Markup {
  const { rules } = markdown.renderer
  const { tokens } = document
  for (const token of tokens) for (const child of token.children ?? []) leadOn(rendering, document, child)
  const fence: Rule = (all, at) => codeBlock(rendering.highlight, all[at]!).text
  Object.assign(rules, { fence, code_block: fence })
  return verbatim(markdown.renderer.render(tokens, markdown.options, {}))
}

type Rule = (tokens: Token[], at: number) => string

const markdown = markdownIt({ html: true })
Object.assign(markdown.renderer.rules, {
  code_inline: ((tokens, at) => {
    const { content } = tokens[at]!
    const isName = content.length <= longestName && !content.includes(' ')
    return html`<code ${isName ? verbatim('class="name"') : undefined}>${content}</code>`.text
  }) satisfies Rule,
  table_open: (() => '<div class="rows" tabindex="0"><table>') satisfies Rule,
  table_close: (() => '</table></div>\n') satisfies Rule,
  heading_close: ((tokens, at) => {
    const { tag } = tokens[at]!
    const id = String(tokens[at - 2]!.attrGet('id'))
    return tag === 'h1' ? '</h1>\n' : `<a class="anchor" href="#${id}" aria-hidden="true" tabindex="-1">#</a></${tag}>\n`
  }) satisfies Rule,
})

/** Sends a link or picture to where it is on the site; a link to source code becomes a name. */
function leadOn(rendering: Rendering, from: SiteDocument, token: Token): void {
  if (token.type === 'html_inline' || token.type === 'html_block')
    token.content = token.content.replaceAll(/\b(src|href|srcset)="([^"]+)"/g, (_, name: string, url: string) => {
      return `${name}="${rendering.addressOf(targetOf(rendering, from.file, url), from) ?? url}"`
    })
  const name = token.type === 'image' ? 'src' : 'href'
  const href = token.type === 'image' || token.type === 'link_open' ? token.attrGet(name) : null
  if (href === null) return
  const target = targetOf(rendering, from.file, String(href))
  const address = rendering.addressOf(target, from)
  if (address !== undefined) token.attrSet(name, address)
  else if (target.is === 'source') token.attrs = [['title', `${target.file}, in the repository`]]
  if (target.is === 'elsewhere') token.attrSet('rel', 'noreferrer')
}

function codeBlock(highlight: Highlight, { info, content }: Token): Markup {
  const [tag = ''] = info.split(' ')
  const file = /\bsample=(\S+)/.exec(info)?.[1]
  const code = html`<pre tabindex="0"><code>${highlight(content.trimEnd(), tag)}</code></pre> `
  if (file !== undefined)
    return html`<figure class="sample" data-language="${languageOf(tag)}">
      <figcaption><b>${languageOf(tag)}</b> <span class="quiet">${file}</span></figcaption>
      ${code}
    </figure>`
  const command = asCurl(content)
  return command === undefined ? code : html`${code}${curlOf(highlight, command)}`
}

const curlOf = (highlight: Highlight, command: string): Markup =>
  html`<details class="curl">
    <summary>As a curl command</summary>
    <pre tabindex="0"><code>${highlight(command, 'sh')}</code></pre>
  </details> `
