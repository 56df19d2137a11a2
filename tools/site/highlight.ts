/** Code with its words in classes. Their colours are in site.css, so that a page has no style. */
import { bundledLanguages, createCssVariablesTheme, createHighlighter, createJavaScriptRegexEngine } from 'shiki'
import { html, verbatim, type Markup } from '../../src/http/page.ts'

const theme = createCssVariablesTheme({ name: 'tollgate', variablePrefix: '--code-', fontStyle: false })
const aliases: Readonly<Record<string, string>> = { sh: 'shellscript', bash: 'shellscript', ts: 'typescript', js: 'javascript' }

export type Highlight = (code: string, language: string) => Markup

/** Languages that it does not know are plain text. */
export async function openHighlighter(languages: Iterable<string>): Promise<Highlight> {
  const meant = (language: string) => aliases[language] ?? language
  const langs = [...new Set([...languages].map(meant))].filter((one) => one in bundledLanguages)
  const highlighter = await createHighlighter({
    themes: [theme],
    langs,
    engine: createJavaScriptRegexEngine({ forgiving: true }),
  })
  return (code, language) => {
    const lang = meant(language)
    if (!langs.includes(lang)) return html`${code}`
    const lines = highlighter.codeToTokensBase(code, { lang: lang as 'typescript', theme })
    const marked = lines.map((line) => line.map(({ content, color }) => wordOf(content, color).text).join(''))
    return verbatim(marked.join('\n'))
  }
}

function wordOf(text: string, colour = ''): Markup {
  const kind = /--code-token-([a-z-]+)/.exec(colour)?.[1]
  return kind === undefined || text.trim() === '' ? html`${text}` : html`<span class="c-${kind}">${text}</span>`
}
