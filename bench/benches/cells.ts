import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import type { Figures, Row } from '../bench.ts'
import { rounded } from '../figures/figures.ts'
import { openGauges } from '../figures/gauges.ts'
import { carryUnmeasured, measured, type Carried, type Run } from '../figures/levels.ts'
import type { Site } from '../load/merchant.ts'
import { tableHead, tableRow } from '../figures/report.ts'
import { endedWell, openRun } from '../run.ts'
import { sale } from './sale.ts'
import { cliEnded, type Gateway, type Sandbox } from '../sandbox.ts'
import type { Started } from '../started.ts'
import { figure, tableOf, type Column } from '../figures/table.ts'
import { startSecondGateway } from './two-processes.ts'
import type { ByName } from '../wishes.ts'

const inFlight = 256
const counts = [1, 2, 4, 8] as const
const rounds = 2
const idleMs = 10_000
/** By then a gateway has done the work of its start. */
const settledMs = 3_000

/** A gateway over so many cells, with sales spread over all of them. */
interface CellsRow extends Row {
  cells: number
  round: string
}

/** Processor time that is used each second without payments. */
interface Idle {
  cells: number
  gatewayMsPerS: number | null
  postgresMsPerS: number | null
}

/**
 * The database has eight cells throughout. The gateways that are compared run one at a time. The
 * sandbox's own serves all eight and is asked for nothing.
 */
export const cells: ByName = {
  name: 'cells',
  means: `sale with ${inFlight} in flight at a gateway over 1, 2, 4 and 8 cells, by turns, and their cost without payments`,
  async run(wishes, output, started) {
    const { run, carried } = await openRun(sale, wishes, output, started)
    output.progress.say(`Adding ${counts.at(-1)! - 1} cells, with a merchant in each`)
    const { callbackUrl } = await started.keep(openCallbacks())
    const sites = (await addCells(carried.sandbox)).map((site) => ({ ...site, callbackUrl }))
    output.people(`${cells.name}: ${cells.means}; ${wishes.measureMs / 1_000} s each\n`)
    output.people(tableHead())
    const rows: CellsRow[] = []
    const idle: Idle[] = [await idleWith(run, carried, 0)]
    for (let round = 1; round <= rounds; round++)
      for (const count of counts) {
        output.progress.say(`Round ${round} of ${rounds}: a gateway over ${count === 1 ? '1 cell' : `${count} cells`}`)
        await withGateway(started, carried, sites.slice(0, count), async (side) => {
          if (round === 1) idle.push(await idleWith(run, side, count))
          await carryUnmeasured(run, side, wishes.warmUp ?? sale.warmUp)
          const { figures, report } = await measured(run, side, { inFlight })
          const row: CellsRow = { bench: 'cells-round', in_flight: inFlight, cells: count, round: String(round), ...figures }
          rows.push(row)
          output.lines(row)
          output.people(`${tableRow(row, report)}   ${count === 1 ? '1 cell' : `${count} cells`}`)
        })
      }
    const all = idle.map((one) => summaryOf(one, rows))
    output.people(`\n${tableOf(`${inFlight} in flight, by cells of the gateway; 0: without it`, columns, all)}\n`)
    output.lines(...all)
    return endedWell(cells.name, [carried], output)
  },
}

/**
 * Takes the callbacks of all merchants. *Rejected:* the simulated merchant server, which knows the
 * keys of one merchant and refuses the callbacks of the others.
 */
async function openCallbacks(): Promise<{ callbackUrl: string; stop(): void }> {
  const server = createServer((_request, response) => void response.end())
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    callbackUrl: `http://127.0.0.1:${port}/callback`,
    stop() {
      server.close()
      server.closeAllConnections()
    },
  }
}

/** Merchants in cells 0 to 7; the first is the sandbox's own. */
async function addCells(sandbox: Sandbox): Promise<Site[]> {
  const { site } = sandbox
  const sites = [site]
  for (let cellNo = 1; cellNo < counts.at(-1)!; cellNo++) {
    const login = `cell-${cellNo}`
    await json(sandbox, 'cell', 'add', String(cellNo))
    const { control_key: controlKey } = await json(sandbox, 'merchant', 'add', '--login', login, '--cell', String(cellNo))
    const own = ['--merchant', login, '--currency', 'USD', '--name', 'plain', '--gate', 'sandbox acquirer']
    const { endpoint_id: plain } = await json(sandbox, 'endpoint', 'add', ...own, '--plain-http-callbacks', 'on')
    sites.push({ ...site, login, controlKey: String(controlKey), endpoints: { plain: Number(plain) } })
  }
  sandbox.schemas = sites.slice(1).map((_, i) => `cell_${i + 1}`)
  return sites
}

async function json(sandbox: Sandbox, ...args: string[]): Promise<Record<string, unknown>> {
  const { code, output, errors } = await cliEnded(sandbox, [...args, '--json'])
  if (code !== 0) throw new Error(`tollgate ${args.join(' ')} failed:\n${output}${errors}`)
  return JSON.parse(output) as Record<string, unknown>
}

/** A gateway over the cells of these merchants, as long as the work takes. */
async function withGateway(
  started: Started,
  carried: Carried,
  sites: readonly Site[],
  work: (side: Carried) => Promise<void>,
): Promise<void> {
  const { sandbox } = carried
  const gateway = await started.keep(startSecondGateway(sandbox, { TOLLGATE_CELLS: sites.map((_, i) => i).join(',') }))
  const at = (site: Site): Site => ({ ...site, baseUrl: gateway.gatewayOrigin + new URL(site.baseUrl).pathname })
  const [first, ...others] = sites.map(at)
  const side = { ...carried, sandbox: { ...sandbox, others: [gateway] satisfies Gateway[], site: { ...first!, others } } }
  try {
    await work(side)
  } finally {
    await gateway.stop()
  }
}

async function idleWith({ output }: Run, { sandbox }: Carried, count: number): Promise<Idle> {
  output.progress.say(`No payments for ${idleMs / 1_000} s`)
  const gauges = openGauges(sandbox)
  try {
    await pause(settledMs)
    const before = (await gauges.read()).cpu
    await pause(idleMs)
    const after = (await gauges.read()).cpu
    const perS = (kind: 'gateway' | 'postgres_backends') =>
      before && after ? rounded((after[kind] - before[kind]) / idleMs, 2) : null
    return { cells: count, gatewayMsPerS: perS('gateway'), postgresMsPerS: perS('postgres_backends') }
  } finally {
    await gauges.stop()
  }
}

interface Summary {
  bench: string
  cells: number
  sales_per_s: number | null
  ratio: number | null
  gateway_cpu_us_per_sale: number | null
  postgres_backends_cpu_us_per_sale: number | null
  idle_gateway_cpu_ms_per_s: number | null
  idle_postgres_cpu_ms_per_s: number | null
}

type Measure = 'sales_per_s' | 'gateway_cpu_us_per_sale' | 'postgres_backends_cpu_us_per_sale'

function summaryOf({ cells: count, gatewayMsPerS, postgresMsPerS }: Idle, rows: readonly CellsRow[]): Summary {
  const mean = (of: number, name: Measure) => meanOf(rows.filter((row) => row.cells === of).map((row: Figures) => row[name]))
  const rate = mean(count, 'sales_per_s')
  const first = mean(1, 'sales_per_s')
  return {
    bench: 'cells',
    cells: count,
    sales_per_s: rounded(rate, 1),
    ratio: rate === undefined || first === undefined ? null : rounded(rate / first, 3),
    gateway_cpu_us_per_sale: rounded(mean(count, 'gateway_cpu_us_per_sale'), 0),
    postgres_backends_cpu_us_per_sale: rounded(mean(count, 'postgres_backends_cpu_us_per_sale'), 0),
    idle_gateway_cpu_ms_per_s: gatewayMsPerS,
    idle_postgres_cpu_ms_per_s: postgresMsPerS,
  }
}

function meanOf(values: readonly (number | null)[]): number | undefined {
  const known = values.filter((value) => value !== null)
  return known.length === 0 ? undefined : known.reduce((sum, value) => sum + value, 0) / known.length
}

// oxfmt-ignore
const columns: readonly Column<Summary>[] = [
  { head: ['',         'cells'],    cell: (row) => String(row.cells) },
  { head: ['',         'sales/s'],  cell: (row) => figure(row.sales_per_s) },
  { head: ['by that',  'of one'],   cell: (row) => figure(row.ratio, 2) },
  { head: ['gateway',  'µs/sale'],  cell: (row) => figure(row.gateway_cpu_us_per_sale) },
  { head: ['Postgres', 'µs/sale'],  cell: (row) => figure(row.postgres_backends_cpu_us_per_sale) },
  { head: ['idle',     'gw ms/s'],  cell: (row) => figure(row.idle_gateway_cpu_ms_per_s, 1) },
  { head: ['idle',     'pg ms/s'],  cell: (row) => figure(row.idle_postgres_cpu_ms_per_s, 1) },
]
