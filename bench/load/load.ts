// The load process: it keeps a number of payments in flight against one sandbox and tells what the
// merchant saw. bench/drive starts and asks it.
import { randomBytes } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { reasonOf } from '../../src/base/log.ts'
import type { Payment } from '../bench.ts'
import type { LoadOrder, LoadReport, LoadSays } from './exchange.ts'
import { percentile, sortedBySize } from '../figures/figures.ts'
import { openGateway } from '../gateway.ts'
import { refusedForLoad } from './merchant.ts'
import { byClock, closedLoop } from './pace.ts'

/** Names differ between runs by a prefix of this process, and within it by a count. */
const prefix = `b${randomBytes(4).toString('hex')}-`
let names = 0
/** After a failure a worker waits, so that a gateway which refuses everything is not flooded. */
const afterFailureMs = 100
const tickMs = 1_000
/** The payment may have been approved all the same; the books count it then. */
const endNotSeen = /^(?:no answer|not final|status was refused)/

const say = (message: LoadSays) => void process.send?.(message)

async function run(order: LoadOrder): Promise<LoadReport> {
  const gateway = openGateway(order)
  const window: { state: 'ramp' | 'open' | 'closed' } = { state: 'ramp' }
  const seen = openTally(order, () => window.state === 'open')
  const [ramp, overrun] = [new AbortController(), new AbortController()]
  const unseen: string[] = []
  let sales = 0
  let ended = 0
  let firstEnded = 0

  async function one(lateMs: number): Promise<void> {
    const isFirst = ++sales <= order.inFlight
    seen.begins(lateMs)
    const name = prefix + ++names
    const payment = await gateway.carry(name).catch((error) => failed(error))
    ended++
    if (isFirst) firstEnded++
    if (ended >= order.ramp && (order.arrivalsPerS !== undefined || firstEnded === order.inFlight)) ramp.abort()
    if (endNotSeen.test(payment.ending)) unseen.push(name)
    if (seen.ends(payment, lateMs) === 'failed') await pause(afterFailureMs)
  }

  function full(): 'stop' | 'go on' {
    if (order.flood) {
      seen.leavesOut()
      return 'go on'
    }
    overrun.abort()
    return 'stop'
  }

  const pace = order.arrivalsPerS === undefined ? closedLoop(order.inFlight) : byClock(order.arrivalsPerS, order.inFlight, full)
  const ticking = setInterval(() => say({ is: 'tick', ended }), tickMs)
  const began = performance.now()
  const running = pace.run(one, () => window.state === 'closed')
  await pauseUnless(order.rampMs, ramp.signal, overrun.signal)
  const ramped = ended
  const before = { at: performance.now(), cpu: process.cpuUsage(), polls: gateway.polls() }
  if (order.measureMs > 0) {
    window.state = 'open'
    say({ is: 'opened' })
    await pauseUnless(order.measureMs, overrun.signal)
  }
  window.state = 'closed'
  const windowMs = performance.now() - before.at
  const cpu = process.cpuUsage(before.cpu)
  const polls = gateway.polls() - before.polls
  if (order.measureMs > 0) say({ is: 'closed' })
  await running
  const wholeMs = performance.now() - began
  clearInterval(ticking)
  const approvedUnseen = await gateway.approvedOf(unseen)
  gateway.close()
  return {
    ramped,
    mostInFlight: pace.most(),
    overrun: overrun.signal.aborted,
    windowMs,
    wholeMs,
    ...seen.report(),
    approvedUnseen,
    polls,
    cpuUs: cpu.user + cpu.system,
    sales,
  }
}

/** Counts how payments end: failures and approved ones of the whole run, the rest of the window. */
function openTally({ flood }: LoadOrder, isOpen: () => boolean) {
  const accepts: number[] = []
  const finals: number[] = []
  const refusals: number[] = []
  const lates: number[] = []
  const failures: Record<string, number> = {}
  let approved = 0
  let leftOut = 0
  return {
    begins(lateMs: number): void {
      if (isOpen()) lates.push(lateMs)
    },
    leavesOut(): void {
      if (isOpen()) leftOut++
    },
    ends({ ending, acceptMs, finalMs }: Payment, lateMs: number): 'well' | 'failed' {
      if (ending === 'approved') {
        approved++
        if (isOpen()) {
          accepts.push(acceptMs + lateMs)
          finals.push(finalMs + lateMs)
        }
        return 'well'
      }
      if (flood && ending === refusedForLoad) {
        if (isOpen()) refusals.push(acceptMs + lateMs)
        return 'well'
      }
      failures[ending] = (failures[ending] ?? 0) + 1
      return 'failed'
    },
    report: () => ({
      measured: finals.length,
      accept: quantiles(accepts),
      final: quantiles(finals),
      begun: lates.length,
      late: quantiles(lates),
      leftOut,
      refused: refusals.length,
      refusal: quantiles(refusals),
      approved,
      failures,
    }),
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
