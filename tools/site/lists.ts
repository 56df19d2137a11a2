/** The pages that list all others: where a reader begins, the search, and llms.txt. */
import { html, type Markup } from '../../src/http/page.ts'
import type { SiteDocument } from './document.ts'
import { sections } from './map.ts'

/** The sandbox puts here what it alone knows: who one is there, or a form. */
export const tryMark = '<!--try-->'

const does: Readonly<Record<string, string>> = {
  Tutorials: 'One task from its first command to its result.',
  'How-to': 'Install it, run it, let it grow, and what people do in it.',
  Reference: 'Every operation, field, error, state and command, from the rows that the gateway runs on.',
  Concepts: 'How it works and why: read what you want to rely on.',
  Operations: 'How fast it is, how large it gets, and what happens when a machine dies.',
  Project: 'What changes, how to take part, and what it is made of.',
}

export function homeContent(documents: readonly SiteDocument[], to: (path: string) => string, mark: Markup): Markup {
  return html`<h1>Tollgate</h1>
    <p class="lead">
      A card payment gateway of your own, with the whole card world as simulators. Find a page here, or search for a field, an
      error or a command.
    </p>
    ${mark}
    ${sections.map((section) => {
      const own = documents.filter((one) => one.section === section)
      const groups = [...new Set(own.map(({ group }) => group))]
      return own.length === 0
        ? html``
        : html`<h2>${section}</h2>
            <p class="quiet">${does[section]}</p>
            ${groups.map((group) => groupList(group, own, to))}`
    })}`
}

/** The pages without a heading of their own are cards; those beneath one are names. */
function groupList(group: string, own: readonly SiteDocument[], to: (path: string) => string): Markup {
  const pages = own.filter((one) => one.group === group)
  if (group !== '')
    return html`<p class="group"><b>${group}</b> ${pages.map(({ slug, title }) => html`<a href="${to(slug)}">${title}</a> `)}</p>`
  return html`<ul class="plain cards">
    ${pages.map(
      ({ slug, title, summary }) =>
        html`<li>
          <a href="${to(slug)}"><b>${title}</b><span>${cut(summary)}</span></a>
        </li>`,
    )}
  </ul>`
}

const cut = (text: string): string => (text.length <= 140 ? text : `${text.slice(0, text.lastIndexOf(' ', 137))} …`)

/** Without a script the page lists all headings, so that the browser can search in it. */
export const searchContent = (documents: readonly SiteDocument[], to: (path: string) => string): Markup =>
  html`<h1>Search</h1>
    <div id="found" aria-live="polite"></div>
    <div id="headings">
      <p class="lead">Every page with its headings. Your browser searches in them; the box above does so where scripts run.</p>
      ${documents.map(
        ({ slug, title, section, headings }) =>
          html`<h2><a href="${to(slug)}">${section}: ${title}</a></h2>
            <ul class="plain headings">
              ${headings
                .filter(({ level }) => level > 1)
                .map(({ id, text }) => html`<li><a href="${to(slug)}#${id}">${text}</a></li>`)}
            </ul>`,
      )}
    </div>`

export const missingContent = (to: (path: string) => string): Markup =>
  html`<h1>There is no such page</h1>
    <p class="lead">All pages are in <a href="${to('')}">the list of documents</a>.</p>`

/** As https://llmstxt.org describes it. */
export function llmsText(documents: readonly SiteDocument[]): string {
  const lists = sections.map((section) => {
    const own = documents.filter((one) => one.section === section)
    return `## ${section}\n\n${own.map(({ slug, title, summary }) => `- [${title}](${slug}.md): ${summary}`).join('\n')}\n`
  })
  return `# Tollgate

> An open, self-hosted card payment gateway in TypeScript, with the whole card world as simulators.

Every page below is Markdown.

${lists.join('\n')}`
}
