/** How payments go right now, from the minute counts. */
import { spanText } from '../base/moments.ts'
import { tableOf, type Column } from '../entity/show.ts'
import { html, type Markup } from '../http/page.ts'
import type { Answer } from '../http/server.ts'
import type { AnyAction } from '../operator/action.ts'
import { atDesk } from '../operator/at-desk.ts'
import type { ServingParts } from '../operator/serving.ts'
import { blockMarkup } from './blocks.ts'
import { officeOf, type Visitor } from './entry/visitor.ts'
import type { Written } from './forms.ts'
import { framed, mayGo } from './frame.ts'
import type { Pages } from './links.ts'
import { live } from './live.ts'

/** The line of `stats` about a group of payments. */
interface Counted {
  ended: number
  outcomes: Readonly<Record<string, number>>
  approved_percent: number
  p50_ms: number
  p95_ms: number
  /** The dimensions of the counts. */
  [split: string]: unknown
}

const textIn = (row: Counted, split: string, none = 'unknown'): string => {
  const text = row[split]
  return typeof text === 'string' ? text : none
}

// oxfmt-ignore
const spans = {
  '1h': { label: 'Last hour', ms: 3_600_000,      by: 'minute', stepMs: 60_000 },
  '1d': { label: 'Last day',  ms: 86_400_000,     by: 'hour',   stepMs: 3_600_000 },
  '7d': { label: 'Last week', ms: 7 * 86_400_000, by: 'hour',   stepMs: 3_600_000 },
} as const
type Span = keyof typeof spans

const mostLines = 10_000
const mostOwed = 1_000

const spanOf = (query: Written): Span => (query['last'] === '1d' || query['last'] === '7d' ? query['last'] : '1h')

export async function overviewPage(parts: ServingParts, pages: Pages, visitor: Visitor, query: Written): Promise<Answer> {
  const content = await overview(parts, pages, visitor, query)
  return framed(visitor, { title: 'Overview', content: [live(`/live?last=${spanOf(query)}`, content)], at: '' }, pages)
}

export async function overview(parts: ServingParts, pages: Pages, visitor: Visitor, query: Written): Promise<Markup> {
  const last = spanOf(query)
  const { ms, by, stepMs } = spans[last]
  const now = parts.office.clock.now()
  const from = Math.floor((now - ms) / stepMs) * stepMs + stepMs
  const ask = async (path: string, asked: object) => {
    const { action, words } = pages.at(path)!
    return { action, result: await atDesk(officeOf(parts, visitor, { ...action, words }), action, asked) }
  }
  const counted = async (asked: { of?: 'attempts'; by: string[] }): Promise<readonly Counted[]> => {
    const all = { of: 'orders', limit: mostLines, from: () => from, ...asked }
    const { action, result } = await ask('stats', all)
    return (action.gives.json(result, all) as { stats: readonly Counted[] }).stats
  }
  const [{ result: due }, times, kinds, reasons, networks, gates, cells] = await Promise.all([
    ask('delivery/list', { state: 'due', limit: mostOwed }),
    counted({ by: [by] }),
    counted({ by: ['kind'] }),
    counted({ by: ['outcome', 'reason'] }),
    counted({ by: ['network'] }),
    visitor.rights.merchant ? [] : counted({ of: 'attempts', by: ['gate'] }),
    mayGo(visitor.rights, pages, 'cell/list') ? ask('cell/list', {}) : undefined,
  ])
  const owed = (due as { rows: readonly unknown[] }).rows.length
  const total = kinds.reduce((sum, { ended }) => sum + ended, 0)
  const approved = kinds.reduce((sum, { outcomes }) => sum + (outcomes['approved'] ?? 0), 0)
  const percent = total === 0 ? '–' : `${((100 * approved) / total).toFixed(1)} %`
  const failed = reasons.filter(({ outcome }) => outcome !== 'approved')
  return html`${[
    html`<div class="above">
      <nav class="chips" aria-label="Time">
        ${Object.entries(spans).map(([name, { label }]) => {
          const present = name === last ? html`aria-current="page"` : undefined
          return html`<a href="/?last=${name}" ${present}>${label}</a>`
        })}
      </nav>
      <span class="quiet">from ${timeOf(from)} to ${timeOf(now)} UTC</span>
    </div>`,
    html`<div class="tiles">
      ${tile('Payments ended', String(total), `/order/find?from=${last}`)}
      ${tile('Approved', percent, `/order/find?status=approved&from=${last}`)}
      ${tile('Not approved', String(total - approved), `/order/find?status=declined,error,filtered&from=${last}`)}
      ${tile('Median time', longest(kinds, 'p50_ms'), `/stats?by=kind&from=${last}`)}
      ${tile('95 % within', longest(kinds, 'p95_ms'), `/stats?by=kind&from=${last}`)}
      ${tile('Callbacks due', owed < mostOwed ? String(owed) : `${mostOwed} or more`, '/delivery/list?state=due')}
    </div>`,
    html`<section class="panel">
      <h2>Payments by ${by}</h2>
      ${bars(
        times.map((row) => ({ at: Date.parse(String(row[by])), ...split(row) })),
        pages,
        { from, now, stepMs },
      )}
    </section>`,
    listed('Not approved, by reason', [reasonOf(last), ended], failed, pages),
    listed('By network', [{ title: 'NETWORK', of: (row) => textIn(row, 'network') }, ended, ...howWell], networks, pages),
    ...(gates.length > 0 ? [listed('Messages to acquirers, by gate', [gate, ended, ...howWell], gates, pages)] : []),
    ...(cells ? [waiting(cells.action, cells.result, now, pages)] : []),
  ]}`
}

const waiting = ({ gives }: AnyAction, cells: unknown, now: number, pages: Pages): Markup =>
  html`<section class="panel">
    <h2><a href="/cell/list">Work that waits, by cell</a></h2>
    ${gives.blocks!(cells, { asked: {}, now }).map((block) => blockMarkup(block, pages))}
  </section>`

const timeOf = (ms: number): string => new Date(ms).toISOString().slice(0, 16).replace('T', ' ')

const split = ({ ended, outcomes }: Counted) => ({ good: outcomes['approved'] ?? 0, other: ended - (outcomes['approved'] ?? 0) })

const longest = (rows: readonly Counted[], name: 'p50_ms' | 'p95_ms'): string =>
  rows.length === 0 ? '–' : spanText(Math.max(...rows.map((row) => row[name])))

const gate: Column<Counted> = { title: 'GATE', of: (row) => textIn(row, 'gate'), leads: () => 'gate list' }
/** Reasons are classes of codes, so the list has all of this outcome. */
const reasonOf = (last: Span): Column<Counted> => ({
  title: 'REASON',
  of: (row) => `${textIn(row, 'outcome')} ${textIn(row, 'reason', '')}`.trim(),
  leads: (row) => `order find --status ${textIn(row, 'outcome')} --from ${last}`,
})

const tile = (label: string, value: string, link: string): Markup =>
  html`<a class="panel tile" href="${link}"><span class="quiet">${label}</span><b>${value}</b></a>`

/** One bar for each step of time; a table says the same to whoever does not see it. */
function bars(all: readonly Bar[], pages: Pages, { from, now, stepMs }: { from: number; now: number; stepMs: number }): Markup {
  const steps = Math.max(1, Math.ceil((now - from) / stepMs))
  const most = Math.max(1, ...all.map(({ good, other }) => good + other))
  const height = (many: number) => (many * 100) / most
  return html`<svg class="bars" viewBox="0 0 ${steps * 10} 100" preserveAspectRatio="none" aria-hidden="true">
      ${all.map(({ at, good, other }) => {
        const x = Math.floor((at - from) / stepMs) * 10 + 1
        return html`<rect class="good" x="${x}" width="8" y="${100 - height(good)}" height="${height(good)}" />
          <rect class="bad" x="${x}" width="8" y="${100 - height(good + other)}" height="${height(other)}" />`
      })}
    </svg>
    <p class="quiet">At most ${most} in one step; green means approved.</p>
    <details>
      <summary>The same as a table</summary>
      ${blockMarkup(tableOf(barColumns, all), pages)}
    </details>`
}

type Bar = { at: number; good: number; other: number }
const barColumns: readonly Column<Bar>[] = [
  { title: 'UTC', of: ({ at }) => timeOf(at) },
  { title: 'APPROVED', of: ({ good }) => String(good), align: 'right' },
  { title: 'NOT APPROVED', of: ({ other }) => String(other), align: 'right' },
]

const ended: Column<Counted> = { title: 'ENDED', of: (row) => String(row.ended), align: 'right' }
const howWell: readonly Column<Counted>[] = [
  { title: 'APPROVED', of: (row) => `${row.approved_percent.toFixed(1)} %`, align: 'right' },
  { title: '95 % WITHIN', of: (row) => spanText(row.p95_ms), align: 'right' },
]

/** The ten most frequent. */
function listed(title: string, columns: readonly Column<Counted>[], rows: readonly Counted[], pages: Pages): Markup {
  const most = rows.toSorted((a, b) => b.ended - a.ended).slice(0, 10)
  return html`<section class="panel">
    <h2>${title}</h2>
    ${most.length === 0 ? html`<p class="quiet">None in this time.</p>` : blockMarkup(tableOf(columns, most), pages)}
  </section>`
}
