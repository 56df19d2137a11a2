import type { Bench, Figures, Spender } from '../bench.ts'
import type { Load } from '../load/drive.ts'
import type { LoadReport } from '../load/exchange.ts'
import { rounded } from './figures.ts'
import { openGauges, type Gauges } from './gauges.ts'
import { mostOf, quantileBetween, sumOf } from './metrics.ts'
import { residentBytes } from './proc.ts'
import { kinds } from './processes.ts'
import { gatewaysOf, pidsOf, type Sandbox } from '../sandbox.ts'

export interface Measured {
  figures: Figures
  report: LoadReport
}

/** One load. */
export interface Level {
  bench: Pick<Bench, 'name'>
  /** Sales kept in flight, or the most there may be. */
  inFlight: number
  /** Sales begin by a clock, so many a second; undefined: in a closed loop. */
  arrivalsPerS?: number | undefined
  /** By a clock at more than is carried: refused sales are counted, and the clock goes on. */
  flood?: true
  /** The window opens after so many sales at the earliest. */
  ramp?: number
  measureMs: number
  /** Sales that the sandbox has carried until now. */
  salesBefore: number
}

/** A payment that takes longer has failed. */
const withinMs = 20_000
const rssEveryMs = 500
const warmUpInFlight = 64
/** A ramp that takes longer is cut. A warm-up has as long for each thousand of its sales. */
const rampMs = 60_000
/** prom-client looks at the timers this often, and counts the pause in what it measures. */
const precisionMs = 10

/**
 * Before the window of a level opens, its connections are open and the first wave, in which all
 * sales are as far as each other, is over. By a clock that is after two seconds.
 */
const rampOf = ({ inFlight, arrivalsPerS, ramp = 0 }: Pick<Level, 'inFlight' | 'arrivalsPerS' | 'ramp'>): number =>
  Math.max(arrivalsPerS === undefined ? 4 * inFlight : 2 * arrivalsPerS, ramp, 50)

/**
 * Load that is not measured, before the first level of a sandbox: V8 compiles a function once it
 * has been called often, and the last ones after thousands of sales.
 */
export const warmUp = (load: Load, { site }: Sandbox, bench: Bench, sales: number, tick: (ended: number) => void) =>
  load.run(
    {
      bench: bench.name,
      site,
      inFlight: warmUpInFlight,
      ramp: sales,
      rampMs: rampMs * Math.max(1, sales / 1_000),
      measureMs: 0,
      withinMs,
    },
    (says) => {
      if (says.is === 'tick') tick(says.ended)
    },
  )

/** Long enough for new connections to be accepted beside it. */
const holdMs = 6_000

/** Holds a level of load for some seconds; `reached` is called when it is there. */
export const hold = (load: Load, { site }: Sandbox, bench: Bench, inFlight: number, reached: () => void) => {
  const ramp = rampOf({ inFlight })
  return load.run({ bench: bench.name, site, inFlight, ramp, rampMs, measureMs: holdMs, withinMs }, ({ is }) => {
    if (is === 'opened') reached()
  })
}

/**
 * Puts one level of load on a sandbox for a while, and reads gauges when the window opens and when
 * it closes.
 */
export async function measure(load: Load, sandbox: Sandbox, level: Level, tick: (ended: number) => void): Promise<Measured> {
  const { bench, inFlight, arrivalsPerS, flood, measureMs } = level
  const { site } = sandbox
  const gauges = openGauges(sandbox)
  let before: Promise<Gauges> | undefined
  let after: Promise<Gauges> | undefined
  const rss = { most: undefined as number | undefined, end: undefined as number | undefined }
  const look = () => {
    rss.end = gatewayBytes(sandbox)
    rss.most = rss.end === undefined ? rss.most : Math.max(rss.most ?? 0, rss.end)
  }
  const watching = setInterval(() => {
    if (before && !after) look()
  }, rssEveryMs)
  try {
    // Opens its connections, which costs more than all later readings.
    await gauges.read()
    const order = { bench: bench.name, site, inFlight, arrivalsPerS, flood, ramp: rampOf(level), rampMs, measureMs, withinMs }
    const report = await load.run(order, (says) => {
      if (says.is === 'tick') tick(says.ended)
      if (says.is !== 'opened' && says.is !== 'closed') return
      look()
      const read = gauges.read()
      // Awaited below; until then a failure must not be unhandled.
      read.catch(() => {})
      if (says.is === 'opened') before = read
      else after = read
    })
    const [opened, closed] = [await before!, await after!]
    const fullPageBytes = await gauges.wal.fullPageBytes(opened.wal, closed.wal)
    return { figures: figuresOf(level, report, opened, closed, rss, fullPageBytes), report }
  } finally {
    clearInterval(watching)
    await gauges.stop()
  }
}

/** Resident memory of all gateways together. */
const gatewayBytes = (sandbox: Sandbox): number | undefined =>
  gatewaysOf(sandbox)
    .flatMap(pidsOf)
    .reduce<number | undefined>((sum, pid) => {
      const bytes = residentBytes(pid)
      return sum === undefined || bytes === undefined ? undefined : sum + bytes
    }, 0)

function figuresOf(
  { salesBefore }: Level,
  report: LoadReport,
  before: Gauges,
  after: Gauges,
  rss: { most: number | undefined; end: number | undefined },
  fullPageBytes: number | undefined,
): Figures {
  const { measured, windowMs, accept, final } = report
  const perSale = (value: number | undefined, digits = 0) => rounded(value === undefined ? undefined : value / measured, digits)
  const counted = (name: string, labels = {}) =>
    less(sumOf(after.metrics, name, labels), sumOf(before.metrics, name, labels) ?? 0)
  const ms = (seconds: number | undefined) => (seconds === undefined ? undefined : seconds * 1_000)
  const orders = { batch: 'orders' }
  const batches = counted('tollgate_batches_total', orders)
  const items = counted('tollgate_batch_items_total', orders)
  const late = less(ms(mostOf(after.metrics, 'nodejs_eventloop_lag_p99_seconds')), precisionMs)
  const gcSeconds = counted('nodejs_gc_duration_seconds_sum')
  const allUs = after.machine.allUs - before.machine.allUs
  const stolenUs = less(after.machine.stolenUs, before.machine.stolenUs ?? 0)
  return {
    sales_before: salesBefore + report.ramped,
    sales_per_s: rounded((measured / windowMs) * 1_000, 1),
    accept_p50_ms: rounded(accept.p50, 2),
    accept_p99_ms: rounded(accept.p99, 2),
    accept_p999_ms: rounded(accept.p999, 2),
    final_p50_ms: rounded(final.p50, 2),
    final_p99_ms: rounded(final.p99, 2),
    final_p999_ms: rounded(final.p999, 2),
    polls_per_sale: perSale(report.polls, 2),
    mean_batch: rounded(batches === undefined || items === undefined ? undefined : items / batches, 2),
    callbacks_per_sale: perSale(counted('tollgate_deliveries_total', { result: 'delivered' }), 2),
    ...cpuPerSale(report, before, after),
    gateway_rss_mb: rounded(rss.most === undefined ? undefined : rss.most / 1e6, 1),
    gateway_rss_end_mb: rounded(rss.end === undefined ? undefined : rss.end / 1e6, 1),
    gateway_gc_us_per_sale: perSale(gcSeconds === undefined ? undefined : gcSeconds * 1e6),
    loop_turn_p99_ms: rounded(ms(quantileBetween(before.metrics, after.metrics, 'tollgate_loop_turn_seconds', 0.99)), 2),
    timers_late_p99_ms: rounded(late === undefined ? undefined : Math.max(0, late), 2),
    wal_bytes_per_sale: perSale(after.wal.bytes - before.wal.bytes),
    wal_full_page_bytes_per_sale: perSale(fullPageBytes),
    wal_full_pages_per_sale: perSale(after.wal.fullPages - before.wal.fullPages, 3),
    machine_busy_percent: rounded(((after.machine.busyUs - before.machine.busyUs) / allUs) * 100, 1),
    machine_stolen_percent: rounded(stolenUs === undefined ? undefined : (stolenUs / allUs) * 100, 1),
  }
}

/**
 * The rest of the machine's time belongs to no measured process: a part of the kernel's networking,
 * for instance.
 */
function cpuPerSale({ cpuUs, measured }: LoadReport, before: Gauges, after: Gauges) {
  const spent: [Spender, number | undefined][] = [
    ...kinds.map((kind) => [kind, less(after.cpu?.[kind], before.cpu?.[kind] ?? 0)] satisfies [Spender, number | undefined]),
    ['load', cpuUs],
    ['bench', after.benchUs - before.benchUs],
  ]
  const known = spent.reduce<number | undefined>((sum, [, us]) => less(sum, us === undefined ? undefined : -us), 0)
  spent.push(['other', less(after.machine.busyUs - before.machine.busyUs, known)])
  return Object.fromEntries(
    spent.map(([who, us]) => [`${who}_cpu_us_per_sale`, rounded(us === undefined ? undefined : us / measured, 0)]),
  ) as Record<`${Spender}_cpu_us_per_sale`, number | null>
}

const less = (a: number | undefined, b: number | undefined): number | undefined =>
  a === undefined || b === undefined ? undefined : a - b
