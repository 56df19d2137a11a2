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
import type { Engine } from './engine.ts'
import { gapsOf, type Gap } from './gaps.ts'
import { keyDirectory, openInstallation, type Installation } from './installation.ts'
import { planOf } from './plan.ts'
import { rotate, startProbes } from './probes.ts'
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
  openEngine: (alsoRemoved: readonly string[]) => Promise<Engine>
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
  const engine = await openEngine(run, cvv2Keys)
  say(`seed ${wishes.seed}, ${wishes.minutes} minutes; everything is in ${engine.site.directory}`)
  say(await engine.start(interrupted))
  const installation = await openInstallation(engine, cvv2Keys, interrupted)
  await started.keep({ stop: installation.close })
  say('two gateways serve')
  const outcome = await underLoad(run, engine, installation)
  kept.isGood = outcome.verdicts.every(({ broken }) => broken.length === 0)
  return outcome
}

async function openEngine({ wishes, openEngine: open, started, kept }: Run, cvv2Keys: string): Promise<Engine> {
  const engine = await open([cvv2Keys])
  await started.keep({
    async stop() {
      await engine.close(wishes.keep)
      rmSync(cvv2Keys, { recursive: true, force: true })
      if (wishes.keep) kept.left = engine.site.directory
    },
  })
  return engine
}

/** The merchant of one cell, with its receiver of callbacks. */
interface Seller {
  cellNo: number
  merchant: Merchant
  receiver: Receiver
}

async function sellersOf(installation: Installation, book: Book, { wishes, started }: Run, over: AbortSignal): Promise<Seller[]> {
  const origin = rotate(installation, seeded(wishes.seed + 4), over)
  return Promise.all(
    installation.shops.map(async ({ cellNo, shop }, at) => {
      const receiver = new Receiver(book, seeded(wishes.seed + 1 + 100 * at), 0.05)
      await receiver.open()
      receiver.controlKey = shop.merchant.control_key
      const merchant = new Merchant(shop, origin)
      await started.keep({
        async stop() {
          await merchant.close()
          await receiver.close()
        },
      })
      return { cellNo, merchant, receiver }
    }),
  )
}

async function underLoad(run: Run, engine: Engine, installation: Installation): Promise<Outcome> {
  const { started, say } = run
  const { seed, minutes, inFlight, kinds } = run.wishes
  const { interrupted } = started
  const { books, origins } = installation
  const calmed = new AbortController()
  const over = AbortSignal.any([calmed.signal, interrupted])
  const book = new Book()
  const sellers = await sellersOf(installation, book, run, over)
  const each = Math.ceil(inFlight / sellers.length)
  const work = sellers.map((seller, at) => startLoad({ ...seller, book, inFlight: each, draw: seeded(seed + 2 + 100 * at) }))
  const timelines = sellers.flatMap((seller, at) =>
    startProbes(origins, { ...seller, book, draw: seeded(seed + 5 + 100 * at), ended: over }),
  )
  const loads: number[] = []
  const progress = setInterval(() => {
    loads.push(loadavg()[0]!)
    say(`  ${progressOf(work, book, sellers)}; load ${loads.at(-1)!.toFixed(1)}`)
  }, progressEveryMs)
  try {
    const hostile = attack(sellers[0]!.merchant, book, seeded(seed + 3), over)
    const scene = { engine, installation, say, ended: interrupted }
    const { made, strayed } = await makeTroubles(planOf(seed, mostActs, kinds), minutes * 60_000, scene)
    interrupted.throwIfAborted()
    const gaps = gapsOf(made, timelines, performance.now())
    calmed.abort()
    say('no more troubles, and no new sales; waiting until every order is final')
    await Promise.all(work.map((one) => one.stop(60_000)))
    let rest = ''
    await untilSettled(books, settleWithinMs, (text) => (rest = text), interrupted)
    say(rest)
    for (const one of work) one.end()
    interrupted.throwIfAborted()
    for (const { receiver } of sellers) receiver.errorChance = 0
    const state = await readState(books)
    const hostileAnswered = await hostile
    const verdicts = [
      ...judge({ state, book, hostileAnswered, endedByItself: engine.site.endedByItself, longestStopMs: 0 }),
      ...verdictsOn(gaps, strayed, engine.promise),
    ]
    const { firstBroken } = tableOf(verdicts)
    return { gaps, verdicts, loads, life: firstBroken === undefined ? undefined : await lifeOf(firstBroken, books, book) }
  } finally {
    clearInterval(progress)
    calmed.abort()
    for (const one of work) one.end()
  }
}

function progressOf(work: readonly Load[], book: Book, sellers: readonly Seller[]): string {
  const sum = (all: readonly number[]) => all.reduce((total, one) => total + one, 0)
  const finals = [...book.orders.values()].filter((o) => o.final).length
  const broken = book.broken.length > 0 ? `; ${book.broken.length} PROMISES BROKEN` : ''
  const orders = `${book.orders.size} orders, ${finals} final, ${sum(work.map((one) => one.open()))} slow`
  const sales = sum(work.map(({ counts }) => counts.sales))
  return `${sales} sales of the load, ${orders}; ${sum(sellers.map(({ receiver }) => receiver.received))} callbacks${broken}`
}

/** What only a cluster promises. */
function verdictsOn(gaps: readonly Gap[], strayed: readonly string[], promise: string): Verdict[] {
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
      promise,
      looked: `after ${gaps.length} troubles`,
      broken: strayed.map((says) => ({ says })),
    },
  ]
}
