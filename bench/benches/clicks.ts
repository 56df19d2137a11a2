import { setTimeout as pause } from 'node:timers/promises'
import { reasonOf } from '../../src/base/log.ts'
import { rounded } from '../figures/figures.ts'
import { warm } from '../figures/levels.ts'
import { startConsole, type Visitor } from '../load/console.ts'
import { pagesWith, someOrders } from '../load/console-pages.ts'
import { countEarlier, writeEarlier } from '../load/earlier.ts'
import { endedWell, openRun } from '../run.ts'
import { compared, measureTurns, turnsText } from './by-turns.ts'
import { sale } from './sale.ts'
import type { ByName } from '../wishes.ts'

const inFlight = 256
const people = 10
/** From an answer to the next click of one of them: the mean of TPC-W. */
const thinkMs = 7_000

export const clicks: ByName = {
  name: 'clicks',
  means: 'sales while ten people click through the console, and without them',
  async run(wishes, output, started) {
    const { orders } = wishes.long
    const { run, carried } = await openRun(sale, wishes, output, started)
    const { sandbox } = carried
    const stored = await writeEarlier(carried, orders, output.progress, started)
    await countEarlier(sandbox, orders)
    const desk = await started.keep(startConsole(sandbox))
    const visitors: Visitor[] = []
    for (let i = 0; i < people; i++) visitors.push(await desk.enter())
    const shown = await someOrders(sandbox, stored, people)
    const failed = new Set<string>()
    let clicked = 0
    let clicking: AbortController | undefined
    const clickThrough = async (visitor: Visitor, i: number, { signal }: AbortController) => {
      const all = await pagesWith(sandbox, shown[i % shown.length]!, false)
      const pages = all.filter(({ isFile }) => !isFile)
      await pause((i * thinkMs) / people)
      for (let at = Math.floor((i * pages.length) / people); !signal.aborted; at++, await pause(thinkMs)) {
        const page = pages[at % pages.length]!
        const { status } = await visitor.ask(page)
        clicked++
        if (status !== 200) failed.add(`${page.name} (${status})`)
      }
    }
    const stop = () => clicking?.abort()
    await started.keep({ stop })
    const begin = () => {
      stop()
      clicking = new AbortController()
      visitors.forEach(
        (visitor, i) => void clickThrough(visitor, i, clicking!).catch((error: unknown) => failed.add(reasonOf(error))),
      )
      return Promise.resolve()
    }
    await warm(run, carried, wishes.warmUp ?? sale.warmUp)
    output.people(`clicks: ${clicks.means}; ${orders} orders, ${inFlight} in flight, ${wishes.measureMs / 1_000} s each\n`)
    const sides = [
      { name: 'no clicks', carried, begin: () => Promise.resolve(stop()) },
      { name: 'ten people click', carried, begin },
    ] as const
    const [alone = [], beside = []] = await measureTurns(run, clicks.name, sides, inFlight)
    stop()
    const rates = compared([alone.map((one) => one.sales_per_s), beside.map((one) => one.sales_per_s)])
    const costs = compared([alone.map(cost), beside.map(cost)])
    const names = sides.map(({ name }) => name)
    output.people(`\n${turnsText('Sales a second', rates, names)}\n`)
    output.people(`${turnsText('Time of the gateway, us a sale', costs, names)}\n`)
    output.people(`${clicked} pages; not answered: ${[...failed].join(', ') || 'none'}\n`)
    const ratios = { sales_ratio: rates.ratio, gateway_cpu_ratio: costs.ratio }
    output.lines({ bench: clicks.name, in_flight: inFlight, orders, pages: clicked, not_answered: failed.size, ...ratios })
    return (await endedWell(clicks.name, [carried], output)) && failed.size === 0
  },
}

const cost = ({ gateway_cpu_us_per_sale: us }: { gateway_cpu_us_per_sale: number | null }): number => rounded(us ?? Number.NaN, 0)
