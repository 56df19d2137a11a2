import type { Bench, Row } from './bench.ts'
import type { Load } from './drive.ts'
import type { LoadReport } from './exchange.ts'
import { rounded } from './figures.ts'
import { readGauges, rssOf, type Gauges } from './gauges.ts'
import type { Sandbox } from './sandbox.ts'

export interface Measured {
  row: Row
  report: LoadReport
  /**
   * Shares of the machine's processors within the window, 0 to 1: all of it, the gateway's and the
   * load process's parts.
   */
  busy: { machine: number; gateway: number | undefined; load: number }
}

/** A payment that takes longer has failed. */
const withinMs = 20_000
const rssEveryMs = 500
/**
 * Long enough for connections to open and for the compiler of Node.js to see what is hot; part of
 * the time when that is short.
 */
const warmUpMs = (measureMs: number) => Math.min(2_000, measureMs / 2)

/**
 * Puts one level of load on a sandbox for a while, and reads gauges when the window opens and when
 * it closes.
 */
export async function measure(
  load: Load,
  sandbox: Sandbox,
  bench: Bench,
  inFlight: number,
  measureMs: number,
  tick: (ended: number) => void,
): Promise<Measured> {
  const { pid, gatewayOrigin, site } = sandbox
  let before: Promise<Gauges> | undefined
  let after: Promise<Gauges> | undefined
  let rss: number | undefined
  const watching = setInterval(() => {
    if (before && !after) rss = greater(rss, rssOf(pid))
  }, rssEveryMs)
  try {
    const order = { bench: bench.name, site, inFlight, warmUpMs: warmUpMs(measureMs), measureMs, withinMs }
    const report = await load.run(order, (says) => {
      if (says.is === 'tick') tick(says.ended)
      if (says.is !== 'opened' && says.is !== 'closed') return
      rss = greater(rss, rssOf(pid))
      const gauges = readGauges(pid, gatewayOrigin)
      // Waited for below; until then a failure has to be nobody's.
      gauges.catch(() => {})
      if (says.is === 'opened') before = gauges
      else after = gauges
    })
    return measuredOf(bench.name, inFlight, report, await before!, await after!, rss)
  } finally {
    clearInterval(watching)
  }
}

function measuredOf(
  bench: string,
  inFlight: number,
  report: LoadReport,
  before: Gauges,
  after: Gauges,
  rss: number | undefined,
): Measured {
  const { measured, windowMs, accept, final } = report
  const cpuUs = grown(before.gatewayCpuUs, after.gatewayCpuUs)
  const batches = grown(before.batches, after.batches)
  const items = grown(before.batchItems, after.batchItems)
  const machineMs = after.machineAllMs - before.machineAllMs
  return {
    row: {
      bench,
      in_flight: inFlight,
      sales_per_s: rounded((measured / windowMs) * 1_000, 1),
      accept_p50_ms: rounded(accept.p50, 2),
      accept_p99_ms: rounded(accept.p99, 2),
      final_p50_ms: rounded(final.p50, 2),
      final_p99_ms: rounded(final.p99, 2),
      mean_batch: rounded(batches === undefined || items === undefined ? undefined : items / batches, 2),
      gateway_cpu_us_per_sale: rounded(cpuUs === undefined ? undefined : cpuUs / measured, 0),
      gateway_rss_mb: rounded(rss === undefined ? undefined : rss / 1e6, 1),
    },
    report,
    busy: {
      machine: (after.machineBusyMs - before.machineBusyMs) / machineMs,
      gateway: cpuUs === undefined ? undefined : cpuUs / 1_000 / machineMs,
      load: report.cpuUs / 1_000 / machineMs,
    },
  }
}

const grown = (before: number | undefined, after: number | undefined): number | undefined =>
  before === undefined || after === undefined ? undefined : after - before

const greater = (a: number | undefined, b: number | undefined): number | undefined =>
  a === undefined || b === undefined ? (a ?? b) : Math.max(a, b)
