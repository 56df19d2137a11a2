import { long, type Wishes } from './arguments.ts'
import type { Row } from './bench.ts'
import { readBooks } from './books.ts'
import { startLoad } from './drive.ts'
import { carryUnmeasured, measured, warm, type Carried, type Run } from './levels.ts'
import { multiplyOrders } from './multiply.ts'
import type { Output } from './output.ts'
import { costTable, tableHead, tableRow } from './report.ts'
import { compareBooks, nothingFailed } from './run.ts'
import { sale } from './sale.ts'
import { startSandbox } from './sandbox.ts'
import type { Started } from './started.ts'
import { makeTemplates } from './templates.ts'

const levels = [32, 256]
/** The sales go on in so many stages, each with a row at its end. */
const stages = 10
const stageInFlight = 256

/** Answers whether every sale ended approved and the books agree. */
export async function runLong(
  wishes: Wishes,
  { orders, sales }: NonNullable<Wishes['long']>,
  output: Output,
  started: Started,
): Promise<boolean> {
  const { people, lines, progress } = output
  const { interrupted } = started
  progress.say('Starting a sandbox with an empty database')
  const sandbox = await started.keep(startSandbox({}, interrupted))
  const load = await started.keep(startLoad(interrupted))
  const run: Run = { bench: sale, wishes, output, interrupted, load }
  const carried: Carried = { which: 'after many orders', sandbox, reports: [] }

  progress.say('Making orders of every ending')
  await makeTemplates(sandbox)
  progress.say(`Writing ${orders} orders like them`)
  await multiplyOrders(sandbox.databaseUrl, orders, (made) => {
    interrupted.throwIfAborted()
    progress.add(`${made} written`)
  })
  const earlier = await readBooks(sandbox, 0)

  people(`${long.name}: ${sale.means}, beside ${orders} earlier orders; ${wishes.measureMs / 1_000} s each\n`)
  await warm(run, carried, wishes.warmUp ?? sale.warmUp)
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
  progress.say('Comparing the books')
  const agreed = await compareBooks(long.name, [{ ...carried, earlier }], output)
  return nothingFailed([carried], output) && agreed
}
