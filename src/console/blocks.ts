/** How results look in a page. */
import { agoText } from '../base/moments.ts'
import { printable, type Block, type Column, type Fact, type Finding, type Passage, type Tone, toneOf } from '../entity/show.ts'
import { html, type Markup } from '../http/page.ts'
import { story, type StoryMessage } from '../look/story.ts'
import type { Pages } from './links.ts'
import { live } from './live.ts'

/** A state by shape and colour; any other text as it is. */
function toned(text: string, tone: Tone | undefined): Markup {
  const shown = printable(text)
  return tone === undefined ? html`${shown}` : html`<span class="state ${tone}">${shown}</span>`
}

export function blockMarkup(block: Block, pages: Pages): Markup {
  if (typeof block === 'string') return html`<p class="said">${withLinks(block, pages)}</p>`
  if ('says' in block) return finding(block, pages)
  if ('facts' in block) return facts(block.facts)
  if ('after' in block) return html``
  if ('code' in block)
    return html`<pre class="panel wide" tabindex="0" role="region" aria-label="To copy"><code>${linesOf(block.code)}</code></pre>`
  if ('command' in block) {
    const link = pages.linkOf(block.command) ?? ''
    const isFollowed = pages.at(link.slice(1).split('?')[0]!)?.action.follows
    return html`<p class="said">${printable(block.text)}: ${commandLink(block.command, pages)}</p>
      ${isFollowed ? live(`/live${link}`, html``) : undefined}`
  }
  const shown = table(block.columns, block.rows, pages)
  return block.steps === undefined || block.steps.length === 0 ? shown : picture(block.steps, shown)
}

const mostDrawn = 100
const concernsMoney = ({ from, to, went }: Passage): boolean => went === 'badly' || from === 'acquirer' || to === 'acquirer'

/** A life as a picture, with all of it as a table beneath. */
function picture(steps: readonly Passage[], all: Markup): Markup {
  const drawn = steps.length <= mostDrawn ? steps : steps.filter(concernsMoney).slice(0, mostDrawn)
  const messages = drawn.map(({ at, from, to, name, says, went, isReply = false, fields }, i): StoryMessage => ({
    id: String(i + 1),
    at,
    from,
    to,
    name,
    says: printable(says),
    tone: went === undefined ? 'plain' : went === 'well' ? 'good' : 'bad',
    isReply,
    times: 1,
    via:
      from === 'acquirer' || to === 'acquirer'
        ? 'ISO 8583'
        : from === 'merchant' || to === 'merchant'
          ? 'gateway API'
          : '3-D Secure',
    fields: fields.flatMap(([label, value]) => (value === undefined ? [] : [{ name: label, value: printable(value) }])),
  }))
  return html`<section class="panel story">${story(messages, steps[0]!.at)}</section>
    ${
      drawn.length < steps.length
        ? html`<p>The picture has ${drawn.length} of ${steps.length} messages, with money and errors; the table has all.</p>`
        : undefined
    }
    <details>
      <summary>Everything as a table</summary>
      ${all}
    </details>`
}

/** Lines keep their breaks; what is in braces is a command. */
const withLinks = (text: string, pages: Pages): Markup[] =>
  text.split(/\{([^{}]+)\}/).map((part, i) => (i % 2 === 1 ? commandLink(part, pages) : html`${linesOf(part)}`))

const linesOf = (text: string): string => text.split('\n').map(printable).join('\n')

function commandLink(command: string, pages: Pages): Markup {
  const link = pages.linkOf(command)
  return link === undefined ? html`<code>npx tollgate ${command}</code>` : html`<a href="${link}">${command}</a>`
}

function finding({ is, what, says, advice }: Finding, pages: Pages): Markup {
  return html`<div class="finding">
    ${toned(is, toneOf(is))}
    <div>
      <b>${printable(what)}</b> ${printable(says)}
      ${advice === undefined ? undefined : html`<p class="quiet">${withLinks(advice, pages)}</p>`}
    </div>
  </div>`
}

function facts(all: readonly Fact[]): Markup {
  const shown = all.filter(([, value]) => value !== undefined)
  return html`<dl class="facts">
    ${shown.map(
      ([name, value = '', is]) =>
        html`<div>
          <dt>${name}</dt>
          <dd>${toned(value, is && toneOf(value))}</dd>
        </div>`,
    )}
  </dl>`
}

function table(columns: readonly Column<unknown>[], rows: readonly unknown[], pages: Pages): Markup {
  return html`<div class="wide" tabindex="0" role="region" aria-label="Table">
    <table>
      <thead>
        <tr>
          ${columns.map(({ title, align }) => html`<th scope="col" class="${align}">${headingOf(title)}</th>`)}
        </tr>
      </thead>
      <tbody>
        ${rows.map(
          (row) =>
            html`<tr>
              ${columns.map((column) => cell(column, row, pages))}
            </tr>`,
        )}
      </tbody>
    </table>
  </div>`
}

function cell({ title, of, at, align, is, went, leads }: Column<unknown>, row: unknown, pages: Pages): Markup {
  const text = of(row)
  const time = at?.(row)
  const how = went?.(row)
  const tone = is === 'status' ? toneOf(text) : how && (how === 'well' ? 'good' : 'bad')
  const link = leads && pages.linkOf(leads(row))
  const shown =
    link !== undefined
      ? html`<a href="${link}">${printable(text)}</a>`
      : time === undefined
        ? toned(text, tone)
        : timed(time, text)
  return html`<td data-title="${headingOf(title)}" class="${align}">${shown}</td>`
}

/** The exact time is heard, and shown to whoever asks for it (desk.js). */
function timed(ms: number, text: string): Markup {
  const iso = new Date(ms).toISOString()
  const exact = `${iso.slice(0, 23).replace('T', ' ')} UTC`
  return html`<time datetime="${iso}" title="${exact}">${text}<span class="unseen"> ${exact}</span></time>`
}

export const moment = (ms: number, now: number): Markup => timed(ms, agoText(ms, now))

/** `TIME (UTC)` is Time (UTC). */
const headingOf = (title: string): string =>
  title.replace(/[A-Z]{2,}/g, (word) => (known.has(word) ? word : word[0]! + word.slice(1).toLowerCase()))

const known = new Set(['ID', 'UTC', 'RRN', 'STAN', 'BIN', 'URL', 'IP', 'ISO', 'HTTP', 'TLS', 'MAC', 'ECI', 'CVV2', 'DS'])
