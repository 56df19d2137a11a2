import type { Row } from '../bench.ts'
import { carryUnmeasured, measured, warm } from '../figures/levels.ts'
import { measureStoredStatus, statusText } from './long-status.ts'
import { writeEarlier } from '../load/earlier.ts'
import { costTable, tableHead, tableRow } from '../figures/report.ts'
import { endedWell, openRun } from '../run.ts'
import { sale } from './sale.ts'
import type { ByName } from '../wishes.ts'

const levels = [32, 256]
/** The sales go on in so many stages, each with a row at its end. */
const stages = 10
const stageInFlight = 256

export const long: ByName = {
  name: 'long',
  means: 'sales beside a million earlier orders and their status, and a million sales one after the other',
  async run(wishes, output, started) {
    const { people, lines, progress } = output
    const { orders, sales } = wishes.long
    const { run, carried } = await openRun(sale, wishes, output, started)
    carried.which = 'after many orders'
    const { sandbox } = carried

    const stored = await writeEarlier(carried, orders, progress, started)

    people(`${long.name}: ${sale.means}, beside ${orders} earlier orders; ${wishes.measureMs / 1_000} s each\n`)
    await warm(run, carried, wishes.warmUp ?? sale.warmUp)
    const status = await measureStoredStatus(run, sandbox, stored)
    lines(status.row)
    people(`${statusText(status.row)}\n`)

    people(tableHead())
    const rows: Row[] = []
    const level = async (inFlight: number, stage: string) => {
      const { figures, report } = await measured(run, carried, { inFlight })
      const row = { bench: long.name, in_flight: inFlight, stage, ...figures }
      rows.push(row)
      lines(row)
      people(tableRow(row, report))
    }
    for (const inFlight of levels) await level(inFlight, `after ${orders} orders`)
    const each = Math.ceil(sales / stages)
    for (let stage = 1; stage <= (each === 0 ? 0 : stages); stage++) {
      await carryUnmeasured(run, carried, each)
      await level(stageInFlight, `after ${orders} orders and ${stage} times ${each} sales`)
    }
    people(`\n${costTable(rows)}\n`)
    return endedWell(long.name, [carried], output, [status.report])
  },
}
