/** What every page of the site has around its content. */
import { html, verbatim, type Markup } from '../../src/http/page.ts'
import type { Heading, SiteDocument } from './document.ts'
import { sections } from './map.ts'

export interface Framed {
  title: string
  section?: string
  content: Markup
  headings?: readonly Heading[]
  /** Its own address, and those before and after it. */
  here?: SiteDocument
  before?: SiteDocument | undefined
  after?: SiteDocument | undefined
}

export interface Frame {
  documents: readonly SiteDocument[]
  style: string
  script: string
  /** The address of a page or file of the site, seen from the page that is framed. */
  to: (path: string) => string
  /** A site of files has no server that could send it. */
  policy?: string
}

/** The sandbox puts its bar here. */
const barMark = '<!--bar-->'

export function framed({ documents, style, script, to, policy }: Frame, page: Framed): string {
  const { title, section, content, headings = [], here, before, after } = page
  const link = (one: SiteDocument, text = one.title) =>
    html`<a href="${to(one.slug)}" ${one === here ? verbatim('aria-current="page"') : undefined}>${text}</a>`
  const firstOf = (name: string) => documents.find((one) => one.section === name)
  const own = documents.filter((one) => one.section === section)
  const groups = [...new Set(own.map(({ group }) => group))]
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        ${policy && html`<meta http-equiv="content-security-policy" content="${policy}" />`}
        <title>${title} · Tollgate</title>
        ${here && html`<link rel="alternate" type="text/markdown" href="${to(`${here.slug}.md`)}" />`}
        <link rel="stylesheet" href="${to(style)}" />
        <script type="module" src="${to(script)}"></script>
      </head>
      <body data-index="${to('search.json')}" data-page="${to('*')}">
        <a class="unseen" href="#content">To the content</a>
        ${verbatim(barMark)}
        <header class="top">
          <a class="brand" href="${to('')}">Tollgate</a>
          <nav class="chips" aria-label="Sections">
            ${sections.map((name) => {
              const first = firstOf(name)
              const current = name === section ? verbatim('aria-current="true"') : undefined
              return first ? html`<a href="${to(first.slug)}" ${current}>${name}</a>` : html``
            })}
          </nav>
          <form class="find" role="search" action="${to('search')}">
            <input type="search" name="q" placeholder="Search" aria-label="Search the documents" autocomplete="off" />
          </form>
        </header>
        <div class="site">
          ${
            own.length > 0
              ? html`<nav class="pages" id="pages" aria-label="Pages of ${section}">
                  ${groups.map(
                    (group) =>
                      html`${group === '' ? html`` : html`<h2>${group}</h2>`}
                        <ul class="plain">
                          ${own.filter((one) => one.group === group).map((one) => html`<li>${link(one)}</li>`)}
                        </ul>`,
                  )}
                </nav>`
              : undefined
          }
          <main id="content">
            ${own.length > 0 ? html`<p class="jump"><a href="#pages">Pages of ${section}</a></p>` : undefined}
            ${contents(headings)}
            <article>${content}</article>
            <nav class="turn" aria-label="Previous and next">
              ${before && html`<span>Previous: ${link(before)}</span>`} ${after && html`<span>Next: ${link(after)}</span>`}
            </nav>
            <p class="quiet foot">
              ${here && html`<a href="${to(`${here.slug}.md`)}">This page as Markdown</a> · `}
              <a href="${to('llms.txt')}">All pages, for programs</a>
            </p>
          </main>
        </div>
      </body>
    </html> `.text
}

/** The headings of the page beside it. */
function contents(headings: readonly Heading[]): Markup {
  const deepest = headings.filter(({ level }) => level === 3).length > 60 ? 2 : 3
  const shown = headings.filter(({ level }) => level > 1 && level <= deepest)
  return shown.length < 2
    ? html``
    : html`<details class="toc">
        <summary>On this page</summary>
        <ul class="plain">
          ${shown.map(({ id, level, text }) => html`<li class="level-${level}"><a href="#${id}">${text}</a></li>`)}
        </ul>
      </details>`
}
