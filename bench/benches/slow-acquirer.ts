import { request } from 'undici'
import { byTurns, turnsText } from './by-turns.ts'
import { rounded } from '../figures/figures.ts'
import { warm } from '../figures/levels.ts'
import { endedWell, openRun } from '../run.ts'
import { sale } from './sale.ts'
import type { Sandbox } from '../sandbox.ts'
import type { ByName } from '../wishes.ts'

/** At 2,000 sales a second some 270 wait for a slow acquirer; the others keep the gateway busy. */
const inFlight = 512
/** How long a slow acquirer takes. */
const wanted = { p50Ms: 120, p99Ms: 380 }

export const slowAcquirer: ByName = {
  name: 'slow-acquirer',
  means: `sale while the acquirer answers without delay, and in ${wanted.p50Ms} ms (p50) and ${wanted.p99Ms} ms (p99), by turns`,
  async run(wishes, output, started) {
    const { run, carried } = await openRun(sale, wishes, output, started)
    const { acquirerAdminUrl } = carried.sandbox
    output.people(`${slowAcquirer.name}: ${slowAcquirer.means}; ${wishes.measureMs / 1_000} s each\n`)
    await warm(run, carried, wishes.warmUp ?? sale.warmUp)
    const answered: Delay[] = []
    const sides = [
      { name: 'as usual', carried, begin: async () => void answered.push(...(await endDelays(acquirerAdminUrl))) },
      { name: 'slow', carried, begin: () => beginDelays(acquirerAdminUrl) },
    ] as const
    const turns = await byTurns(run, slowAcquirer.name, sides, inFlight)
    answered.push(...(await endDelays(acquirerAdminUrl)))
    const { means, ratio } = turns
    const [p50, p99] = [quantileOf(answered, 0.5), quantileOf(answered, 0.99)]
    const names = ['as usual', `answers in ${p50} ms, p99 ${p99} ms`] as const
    output.people(`\n${turnsText(`${inFlight} in flight, sales/s`, turns, names)}\n`)
    output.lines({
      bench: slowAcquirer.name,
      in_flight: inFlight,
      usual_sales_per_s: means[0],
      slow_sales_per_s: means[1],
      ratio,
      acquirer_p50_ms: p50,
      acquirer_p99_ms: p99,
      usual_rounds: turns.rates[0],
      slow_rounds: turns.rates[1],
    })
    return endedWell(slowAcquirer.name, [carried], output)
  },
}

/** A delay, and how many messages had it. */
export interface Delay {
  ms: number
  hits: number
}

/** So many delays share the messages equally: the median is the middle one, the p99 the last. */
const steps = 51

/**
 * Delays at equal shares of a log-logistic curve, the simplest with a long tail that two quantiles
 * give. Nothing takes longer than the p99.
 */
export function delaysOf({ p50Ms, p99Ms }: typeof wanted): number[] {
  const odds = (i: number) => (i + 0.5) / (steps - i - 0.5)
  const shape = Math.log(p99Ms / p50Ms) / Math.log(odds(steps - 1))
  return Array.from({ length: steps }, (_, i) => rounded(p50Ms * odds(i) ** shape, 0))
}

/** The delay below which this share of the messages was answered. */
export function quantileOf(delays: readonly Delay[], share: number): number | null {
  const all = delays.reduce((sum, { hits }) => sum + hits, 0)
  let below = 0
  for (const { ms, hits } of delays.toSorted((a, b) => a.ms - b.ms)) {
    below += hits
    if (hits > 0 && below >= share * all) return ms
  }
  return null
}

/**
 * A message goes from script to script until one takes it. With n scripts left, the next one takes
 * one message in n, so that each gets the same share of all.
 */
async function beginDelays(adminUrl: Sandbox['acquirerAdminUrl']): Promise<void> {
  const delays = delaysOf(wanted)
  for (const [i, ms] of delays.entries())
    await admin('POST', `${adminUrl}/faults`, { match: { probability: 1 / (delays.length - i) }, do: { delay_ms: ms } })
}

/** Ends the delays and returns them. */
async function endDelays(adminUrl: Sandbox['acquirerAdminUrl']): Promise<Delay[]> {
  const { faults } = (await admin('GET', `${adminUrl}/faults`)) as { faults: { do: { delay_ms: number }; hits: number }[] }
  await admin('DELETE', `${adminUrl}/faults`)
  return faults.map(({ do: { delay_ms: ms }, hits }) => ({ ms, hits }))
}

async function admin(method: 'GET' | 'POST' | 'DELETE', url: string, wish?: object): Promise<unknown> {
  const { statusCode, body } = await request(url, {
    method,
    ...(wish && { headers: { 'content-type': 'application/json' }, body: JSON.stringify(wish) }),
  })
  const text = await body.text()
  if (statusCode >= 300) throw new Error(`The simulated acquirer answered ${statusCode} to ${method} ${url}: ${text}`)
  return JSON.parse(text)
}
