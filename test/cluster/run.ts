import { rmSync } from 'node:fs'
import { loadavg } from 'node:os'
import { seeded } from '../../simulators/acquirer/faults.ts'
import type { Started } from '../../bench/started.ts'
import { Book } from '../torture/book.ts'
import { attack } from '../torture/hostile.ts'
import { startLoad, type Load } from '../torture/load.ts'
import { Merchant } from '../torture/merchant.ts'
import { judge, type Verdict } from '../torture/promises.ts'
import { Receiver } from '../torture/receiver.ts'
import { lifeOf, tableOf } from '../torture/report.ts'
import type { Say } from '../torture/sandbox.ts'
import { readState, untilSettled } from '../torture/state.ts'
import type { Wishes } from './arguments.ts'
import { Cluster } from './cluster.ts'
import { gapsOf, type Gap } from './gaps.ts'
import { keyDirectory, openInstallation, type Installation } from './installation.ts'
import { planOf } from './plan.ts'
import { rotate, startProbes } from './probes.ts'
import type { Programs } from './programs.ts'
import { makeTroubles } from './trouble.ts'

export interface Outcome {
  gaps: readonly Gap[]
  verdicts: readonly Verdict[]
  /** The life of the first order for which a promise was broken. */
  life: string | undefined
  /** Load averages of the machine, read every ten seconds. */
  loads: readonly number[]
}

interface Run {
  wishes: Wishes
  programs: Programs
  started: Started
  say: Say
  /** How it ended, for whoever cleans up; `left` is a directory that stays. */
  kept: { isGood: boolean; left: string }
}

const settleWithinMs = 150_000
const progressEveryMs = 10_000
/** More than any run has time for. */
const mostActs = 10_000

/** Builds a cluster, makes troubles under load, and judges what became of it. */
export async function runCluster(run: Run): Promise<Outcome> {
  const { wishes, started, say, kept } = run
  const { interrupted } = started
  const cvv2Keys = keyDirectory()
  const cluster = await openCluster(run, cvv2Keys)
  say(`seed ${wishes.seed}, ${wishes.minutes} minutes; everything is in ${cluster.layout.directory}`)
  await cluster.start(interrupted)
  say('a primary, a synchronous standby and one more are there')
  const book = new Book()
  const receiver = new Receiver(book, seeded(wishes.seed + 1), 0.05)
  await receiver.open()
  await started.keep({ stop: () => receiver.close() })
  const installation = await openInstallation(cluster, cvv2Keys, interrupted)
  await started.keep({ stop: installation.close })
  receiver.controlKey = installation.shop.merchant.control_key
  say('two gateways serve')
  const outcome = await underLoad(run, cluster, installation, receiver, book)
  kept.isGood = outcome.verdicts.every(({ broken }) => broken.length === 0)
  return outcome
}

async function openCluster({ wishes, programs, started, kept }: Run, cvv2Keys: string): Promise<Cluster> {
  const cluster = await Cluster.open(programs, [cvv2Keys])
  await started.keep({
    async stop() {
      await cluster.close(wishes.keep)
      rmSync(cvv2Keys, { recursive: true, force: true })
      if (wishes.keep) kept.left = cluster.layout.directory
    },
  })
  return cluster
}

async function underLoad(
  { wishes: { seed, minutes, inFlight, only }, started, say }: Run,
  cluster: Cluster,
  installation: Installation,
  receiver: Receiver,
  book: Book,
): Promise<Outcome> {
  const { interrupted } = started
  const { books, origins } = installation
  const calmed = new AbortController()
  const over = AbortSignal.any([calmed.signal, interrupted])
  const merchant = new Merchant(installation.shop, rotate(installation, seeded(seed + 4), over))
  await started.keep({ stop: () => merchant.close() })
  const load = startLoad({ merchant, receiver, book, inFlight, draw: seeded(seed + 2) })
  const acknowledgedAt = startProbes(origins, { merchant, receiver, book, draw: seeded(seed + 5), ended: over })
  const loads: number[] = []
  const progress = setInterval(() => {
    loads.push(loadavg()[0]!)
    say(`  ${progressOf(load, book, receiver)}; load ${loads.at(-1)!.toFixed(1)}`)
  }, progressEveryMs)
  try {
    const hostile = attack(merchant, book, seeded(seed + 3), over)
    const scene = { cluster, installation, say, ended: interrupted }
    const { made, strayed } = await makeTroubles(planOf(seed, mostActs, only), minutes * 60_000, scene)
    interrupted.throwIfAborted()
    const gaps = gapsOf(made, acknowledgedAt, performance.now())
    calmed.abort()
    say('no more troubles, and no new sales; waiting until every order is final')
    await load.stop(60_000)
    let rest = ''
    await untilSettled(books, settleWithinMs, (text) => (rest = text), interrupted)
    say(rest)
    load.end()
    interrupted.throwIfAborted()
    receiver.errorChance = 0
    const state = await readState(books)
    const hostileAnswered = await hostile
    const verdicts = [
      ...judge({ state, book, hostileAnswered, endedByItself: cluster.endedByItself, longestStopMs: 0 }),
      ...verdictsOn(gaps, strayed),
    ]
    const { firstBroken } = tableOf(verdicts)
    return { gaps, verdicts, loads, life: firstBroken === undefined ? undefined : await lifeOf(firstBroken, books, book) }
  } finally {
    clearInterval(progress)
    calmed.abort()
    load.end()
  }
}

function progressOf({ counts, open }: Load, book: Book, { received }: Receiver): string {
  const finals = [...book.orders.values()].filter((o) => o.final).length
  const broken = book.broken.length > 0 ? `; ${book.broken.length} PROMISES BROKEN` : ''
  const orders = `${book.orders.size} orders, ${finals} final, ${open()} slow`
  return `${counts.sales} sales of the load, ${orders}; ${received} callbacks${broken}`
}

/** What only a cluster promises. */
function verdictsOn(gaps: readonly Gap[], strayed: readonly string[]): Verdict[] {
  const late = gaps.filter(({ isKept }) => !isKept)
  const seconds = (ms: number) => `${(ms / 1_000).toFixed(1)} s`
  return [
    {
      promise: 'service is back in time',
      looked: `${gaps.length} troubles`,
      broken: late.map(({ kind, whom, gapMs, aimMs, wellAt }) => ({
        says:
          `${kind} (${whom}): ${seconds(gapMs)} without service, at most ${seconds(aimMs)}` +
          (wellAt === undefined ? '; not all was well again' : ''),
      })),
    },
    {
      promise: 'no gateway at a standby',
      looked: `after ${gaps.length} troubles`,
      broken: strayed.map((says) => ({ says })),
    },
  ]
}
