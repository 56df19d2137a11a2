import { loadavg } from 'node:os'
import { percentile, rounded, sortedBySize } from '../figures/figures.ts'
import { figure } from '../figures/table.ts'
import { startConsole, type Answered } from '../load/console.ts'
import { pagesWith, someOrders, type PageOf } from '../load/console-pages.ts'
import { countEarlier, writeEarlier } from '../load/earlier.ts'
import { openRun } from '../run.ts'
import { sale } from './sale.ts'
import type { ByName } from '../wishes.ts'

/** How quick each page has to be; one that reads every order is not judged. */
const bounds = { p50Ms: 200, p99Ms: 1_000 }
/** How often each page is requested, each time with another order; the first does not count. */
const rounds = { usual: 25, quick: 5 }

/** One page; the names are those of the JSON line. */
interface PageRow {
  bench: 'console-page'
  page: string
  asked: number
  p50_ms: number
  p99_ms: number
  kilobytes: number
  reads_all_orders: boolean
  within_bounds: boolean
}

export const consolePages: ByName = {
  name: 'console',
  means: 'how long each page of the console takes beside a million orders',
  async run(wishes, output, started) {
    const { people, lines, progress } = output
    const { orders } = wishes.long
    const { carried } = await openRun(sale, wishes, output, started)
    const { sandbox } = carried
    const stored = await writeEarlier(carried, orders, progress, started)
    progress.say('Writing minute counts of as many')
    await countEarlier(sandbox, orders)
    progress.say('Starting the console')
    const visitor = await (await started.keep(startConsole(sandbox))).enter()
    const many = wishes.measureMs < 10_000 ? rounds.quick : rounds.usual
    const times = new Map<string, { page: PageOf; answers: Answered[] }>()
    const unanswered: string[] = []
    for (const [round, order] of (await someOrders(sandbox, stored, many + 1)).slice(0, many + 1).entries()) {
      progress.say(`Every page, round ${round} of ${many}`)
      for (const page of await pagesWith(sandbox, order, round === 1)) {
        started.interrupted.throwIfAborted()
        const answer = await visitor.ask(page)
        if (answer.status !== 200) unanswered.push(`${page.name}: ${answer.status}`)
        if (round === 0) continue
        const one = times.get(page.name) ?? { page, answers: [] }
        one.answers.push(answer)
        times.set(page.name, one)
      }
    }
    const rows = Array.from(times.values(), rowOf).toSorted((a, b) => b.p99_ms - a.p99_ms)
    lines(...rows)
    people(`console: ${consolePages.means}; ${orders} orders, ${many} times each\n`)
    people(rows.map(rowText).join('\n'))
    const slow = rows.filter((row) => !row.within_bounds)
    const load = loadavg().map((one) => rounded(one, 1))
    lines({ bench: 'console', orders, pages: rows.length, slow: slow.length, not_answered: unanswered.length, load })
    people(`\n${rows.length} pages, ${slow.length} above ${bounds.p50Ms} ms at the median or ${bounds.p99Ms} ms at p99.`)
    people(`The machine had ${load.join(', ')} runnable processes in the last minute, five and fifteen.\n`)
    if (unanswered.length > 0) people(`Not answered: ${[...new Set(unanswered)].join('; ')}`)
    return slow.length + unanswered.length === 0
  },
}

function rowOf({ page: { name, reads, isFile }, answers }: { page: PageOf; answers: readonly Answered[] }): PageRow {
  const sorted = sortedBySize(answers.map((one) => (isFile ? one.firstMs : one.ms)))
  const [p50, p99] = [percentile(sorted, 0.5)!, percentile(sorted, 0.99)!]
  return {
    bench: 'console-page',
    page: name,
    asked: answers.length,
    p50_ms: rounded(p50, 1),
    p99_ms: rounded(p99, 1),
    kilobytes: rounded(answers[0]!.text.length / 1_000, 1),
    reads_all_orders: reads !== undefined,
    within_bounds: reads !== undefined || (p50 <= bounds.p50Ms && p99 <= bounds.p99Ms),
  }
}

const rowText = (row: PageRow): string =>
  `${figure(row.p50_ms, 1).padStart(9)} ms ${figure(row.p99_ms, 1).padStart(9)} ms  ${row.page}` +
  (row.reads_all_orders ? ', reads every order' : row.within_bounds ? '' : '   TOO SLOW')
