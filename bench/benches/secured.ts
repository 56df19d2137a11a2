import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Figures } from '../bench.ts'
import { measureTurns } from './by-turns.ts'
import { rounded } from '../figures/figures.ts'
import { carryUnmeasured, type Carried } from '../figures/levels.ts'
import { endedWell, openRun } from '../run.ts'
import { sale } from './sale.ts'
import { tableOf, figure, type Column } from '../figures/table.ts'
import { startSecondGateway } from './two-processes.ts'
import type { ByName } from '../wishes.ts'

const inFlight = 256

/**
 * The sandbox's own process and both others run in all rounds, so that every figure includes what
 * they do without sales.
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
    const warmUp = wishes.warmUp ?? sale.warmUp
    if (warmUp > 0) for (const side of sides) await carryUnmeasured(run, side.carried, warmUp)
    const all = await measureTurns(run, secured.name, sides, inFlight)
    const costs = costsOf(sides.map(({ name }, i) => ({ name, rounds: all[i]! })))
    output.people(`\n${tableOf(`${inFlight} in flight`, columns, costs)}\n`)
    for (const cost of costs) output.lines({ bench: secured.name, in_flight: inFlight, ...cost })
    return endedWell(secured.name, [carried], output)
  },
}

/** The means of a side's rounds, and by how much they differ from those of the first. */
export interface Cost {
  side: string
  sales_per_s: number | null
  gateway_cpu_us_per_sale: number | null
  sales_ratio: number | null
  gateway_cpu_ratio: number | null
}

type Round = Pick<Figures, 'sales_per_s' | 'gateway_cpu_us_per_sale'>

export function costsOf(sides: readonly { name: string; rounds: readonly Round[] }[]): Cost[] {
  const means = sides.map(({ name, rounds }) => {
    const mean = (of: (round: Round) => number | null) => rounds.reduce((sum, one) => sum + (of(one) ?? NaN), 0) / rounds.length
    return { name, rate: mean((round) => round.sales_per_s), cpu: mean((round) => round.gateway_cpu_us_per_sale) }
  })
  const [first] = means
  return means.map(({ name, rate, cpu }) => ({
    side: name,
    sales_per_s: rounded(rate, 1),
    gateway_cpu_us_per_sale: rounded(cpu, 1),
    sales_ratio: rounded(rate / first!.rate, 3),
    gateway_cpu_ratio: rounded(cpu / first!.cpu, 3),
  }))
}

const columns: readonly Column<Cost>[] = [
  { head: ['', 'side'], cell: ({ side }) => side },
  { head: ['', 'sales/s'], cell: (cost) => figure(cost.sales_per_s) },
  { head: ['', 'ratio'], cell: (cost) => figure(cost.sales_ratio, 2) },
  { head: ['gateway CPU', 'µs/sale'], cell: (cost) => figure(cost.gateway_cpu_us_per_sale) },
  { head: ['', 'ratio'], cell: (cost) => figure(cost.gateway_cpu_ratio, 2) },
]
