import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { rounded } from './figures.ts'
import { carryUnmeasured, measured, type Carried, type Run } from './levels.ts'
import { tableHead, tableRow } from './report.ts'
import { endedWell, openRun } from './run.ts'
import { sale } from './sale.ts'
import { tableOf, figure, type Column } from './table.ts'
import { startSecondGateway } from './two-processes.ts'
import type { ByName } from './wishes.ts'

const inFlight = 256
const rounds = 2

/**
 * The sandbox's own process and both others run in all rounds, so that what they do without sales
 * is in every figure alike.
 */
export const secured: ByName = {
  name: 'secured',
  means: `sale with ${inFlight} in flight: plain, with signed requests, and with these over TLS, by turns`,
  async run(wishes, output, started) {
    const { run, carried } = await openRun(sale, wishes, output, started)
    const { sandbox } = carried
    output.progress.say('Starting two gateway processes on its database, one with TLS')
    const file = (name: string) => join(sandbox.directory, 'certificates', name)
    const plain = await started.keep(startSecondGateway(sandbox))
    const settings = { TLS_CERT_FILE: file('gateway-results.pem'), TLS_KEY_FILE: file('gateway-results.key') }
    const tls = await started.keep(startSecondGateway(sandbox, settings))
    const at = ({ gatewayOrigin }: typeof plain, more: object): Carried => ({
      ...carried,
      sandbox: {
        ...sandbox,
        others: [plain, tls],
        site: { ...sandbox.site, baseUrl: gatewayOrigin + new URL(sandbox.site.baseUrl).pathname, ...more },
      },
    })
    const signs = { signingSecret: sandbox.signingSecret }
    const server = { ca: readFileSync(file('ds-ca.pem'), 'utf8'), name: 'localhost' }
    output.people(`${secured.name}: ${secured.means}; ${wishes.measureMs / 1_000} s each\n`)
    const sides = [
      { name: 'plain', carried: at(plain, {}) },
      { name: 'signed', carried: at(plain, signs) },
      { name: 'signed, TLS', carried: at(tls, { ...signs, server }) },
    ]
    const costs = costsOf(await measureSides(run, sides))
    output.people(`\n${tableOf(`${inFlight} in flight`, columns, costs)}\n`)
    for (const cost of costs) output.lines({ bench: secured.name, in_flight: inFlight, ...cost })
    return endedWell(secured.name, [carried], output)
  },
}

/** A measured round of one side. */
export interface Round {
  side: string
  sales_per_s: number
  gateway_cpu_us_per_sale: number | null
}

async function measureSides(run: Run, sides: readonly { name: string; carried: Carried }[]): Promise<Round[]> {
  const { people, lines, progress } = run.output
  const warmUp = run.wishes.warmUp ?? sale.warmUp
  if (warmUp > 0) for (const { carried } of sides) await carryUnmeasured(run, carried, warmUp)
  const all: Round[] = []
  people(tableHead())
  for (let round = 1; round <= rounds; round++)
    for (const { name: side, carried } of sides) {
      progress.say(`Round ${round} of ${rounds}: ${side}`)
      const { figures, report } = await measured(run, carried, { inFlight })
      all.push({ side, ...figures })
      const row = { bench: `${secured.name}-round`, in_flight: inFlight, side, round: String(round), ...figures }
      lines(row)
      people(`${tableRow(row, report)}   ${side}`)
    }
  return all
}

/** The means of a side, and by how much they differ from those of the first. */
export interface Cost extends Round {
  sales_ratio: number | null
  gateway_cpu_ratio: number | null
}

export function costsOf(all: readonly Round[]): Cost[] {
  const means = [...new Set(all.map(({ side }) => side))].map((side) => {
    const own = all.filter((round) => round.side === side)
    const mean = (of: (round: Round) => number | null) => own.reduce((sum, round) => sum + (of(round) ?? NaN), 0) / own.length
    return { side, rate: mean((round) => round.sales_per_s), cpu: mean((round) => round.gateway_cpu_us_per_sale) }
  })
  const [first] = means as [(typeof means)[number]]
  return means.map(({ side, rate, cpu }) => ({
    side,
    sales_per_s: rounded(rate, 1),
    gateway_cpu_us_per_sale: finite(cpu, 1),
    sales_ratio: finite(rate / first.rate, 3),
    gateway_cpu_ratio: finite(cpu / first.cpu, 3),
  }))
}

const finite = (value: number, digits: number): number | null => (Number.isFinite(value) ? rounded(value, digits) : null)

const columns: readonly Column<Cost>[] = [
  { head: ['', 'side'], cell: ({ side }) => side },
  { head: ['', 'sales/s'], cell: (cost) => figure(cost.sales_per_s) },
  { head: ['', 'ratio'], cell: (cost) => figure(cost.sales_ratio, 2) },
  { head: ['gateway CPU', 'µs/sale'], cell: (cost) => figure(cost.gateway_cpu_us_per_sale) },
  { head: ['', 'ratio'], cell: (cost) => figure(cost.gateway_cpu_ratio, 2) },
]
