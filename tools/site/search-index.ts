/** What the search finds: every heading of every page, with the text beneath it. */
import MiniSearch from 'minisearch'
import type { SiteDocument } from './document.ts'

const shownCharacters = 120
/** The script in the browser takes them from the file, since both have to agree. */
const options = {
  fields: ['heading', 'page', 'text'],
  storeFields: ['heading', 'page', 'begins'],
  searchOptions: { boost: { heading: 4, page: 2 }, prefix: true, fuzzy: 0.15, combineWith: 'AND' as const },
}

export function indexOf(documents: readonly SiteDocument[]): string {
  const search = new MiniSearch(options)
  for (const { slug, title, section, headings, texts } of documents)
    for (const [i, { id, text }] of headings.entries())
      search.add({
        id: i === 0 ? slug : `${slug}#${id}`,
        page: i === 0 ? section : `${section}: ${title}`,
        heading: text,
        text: texts[i],
        begins: beginningOf(texts[i]!.trim()),
      })
  return JSON.stringify({ options, index: search })
}

const beginningOf = (text: string): string =>
  text.length <= shownCharacters ? text : `${text.slice(0, text.lastIndexOf(' ', shownCharacters))} …`
