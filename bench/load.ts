// The load process: it keeps a number of payments in flight against one sandbox and tells what the
// merchant saw. bench/drive starts and asks it.
import { randomBytes } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { reasonOf } from '../src/base/log.ts'
import type { Payment } from './bench.ts'
import { loadNamed } from './benches.ts'
import type { LoadOrder, LoadReport, LoadSays } from './exchange.ts'
import { percentile, sortedBySize } from './figures.ts'
import { openMerchant } from './merchant.ts'
import { byClock, closedLoop } from './pace.ts'

/** Names are told apart between runs by a prefix of this process and within it by a count. */
const prefix = `b${randomBytes(4).toString('hex')}-`
let names = 0
/** After a failure a worker waits, so that a gateway which refuses everything is not flooded. */
const afterFailureMs = 100
const tickMs = 1_000

const say = (message: LoadSays) => void process.send?.(message)

async function run(order: LoadOrder): Promise<LoadReport> {
  const merchant = openMerchant(order.site, order.withinMs)
  const carry = loadNamed(order.bench)!.open(merchant)
  const seen = { accepts: [] as number[], finals: [] as number[] }
  const failures: Record<string, number> = {}
  const window: { state: 'ramp' | 'open' | 'closed' } = { state: 'ramp' }
  const [ramp, overrun] = [new AbortController(), new AbortController()]
  let approved = 0
  let sales = 0
  let ended = 0
  let firstEnded = 0

  async function one(lateMs: number): Promise<void> {
    const isFirst = ++sales <= order.inFlight
    const payment = await carry(prefix + ++names).catch((error) => failed(error))
    ended++
    if (isFirst) firstEnded++
    if (ended >= order.ramp && (order.arrivalsPerS !== undefined || firstEnded === order.inFlight)) ramp.abort()
    if (payment.ending === 'approved') {
      approved++
      if (window.state === 'open') {
        seen.accepts.push(payment.acceptMs + lateMs)
        seen.finals.push(payment.finalMs + lateMs)
      }
    } else {
      failures[payment.ending] = (failures[payment.ending] ?? 0) + 1
      await pause(afterFailureMs)
    }
  }

  const pace =
    order.arrivalsPerS === undefined
      ? closedLoop(order.inFlight)
      : byClock(order.arrivalsPerS, order.inFlight, () => overrun.abort())
  const ticking = setInterval(() => say({ is: 'tick', ended }), tickMs)
  const began = performance.now()
  const running = pace.run(one, () => window.state === 'closed')
  await pauseUnless(order.rampMs, ramp.signal, overrun.signal)
  const ramped = ended
  const before = { at: performance.now(), cpu: process.cpuUsage(), polls: merchant.polls() }
  if (order.measureMs > 0) {
    window.state = 'open'
    say({ is: 'opened' })
    await pauseUnless(order.measureMs, overrun.signal)
  }
  window.state = 'closed'
  const windowMs = performance.now() - before.at
  const cpu = process.cpuUsage(before.cpu)
  const polls = merchant.polls() - before.polls
  if (order.measureMs > 0) say({ is: 'closed' })
  await running
  const wholeMs = performance.now() - began
  clearInterval(ticking)
  merchant.close()
  return {
    ramped,
    mostInFlight: pace.most(),
    overrun: overrun.signal.aborted,
    windowMs,
    wholeMs,
    measured: seen.finals.length,
    accept: quantiles(seen.accepts),
    final: quantiles(seen.finals),
    polls,
    cpuUs: cpu.user + cpu.system,
    sales,
    approved,
    failures,
  }
}

const pauseUnless = (ms: number, ...signals: AbortSignal[]) =>
  pause(ms, undefined, { signal: AbortSignal.any(signals) }).catch(() => {})

function quantiles(values: readonly number[]) {
  const sorted = sortedBySize(values)
  return { p50: percentile(sorted, 0.5), p99: percentile(sorted, 0.99), p999: percentile(sorted, 0.999) }
}

const failed = (error: unknown): Payment => ({ acceptMs: 0, finalMs: 0, ending: `no answer: ${reasonOf(error)}` })

process.on('message', (order: LoadOrder) => {
  run(order).then(
    (report) => say({ is: 'done', report }),
    (error) => {
      console.error(error)
      process.exit(1)
    },
  )
})
// Whoever started it is gone.
process.on('disconnect', () => process.exit(0))
