// npm run rolling: updates a gateway under load. tools/rolling.mjs builds both versions and calls
// it.
import { setMaxListeners } from 'node:events'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { openStarted, type Started } from '../../bench/started.ts'
import { reasonOf } from '../../src/base/log.ts'
import { seeded } from '../../simulators/acquirer/faults.ts'
import { Book } from '../torture/book.ts'
import { attack } from '../torture/hostile.ts'
import { startLoad } from '../torture/load.ts'
import { pick } from '../torture/plan.ts'
import { judge, type Verdict } from '../torture/promises.ts'
import { Receiver } from '../torture/receiver.ts'
import { lifeOf, tableOf } from '../torture/report.ts'
import { askAdmin, hastenReversals, readState, untilSettled, type Books } from '../torture/state.ts'
import { Installation, type Version } from './installation.ts'
import { WatchedMerchant } from './merchant.ts'

export interface Wishes {
  /** How long each part of the update takes. */
  seconds: number
  inFlight: number
  seed: number
  keep: boolean
  /** For everything that is written. */
  directory: string
  /** The compiled versions. */
  dists: Readonly<Record<Version, string>>
}

const settleWithinMs = 150_000
/** A gateway that gets no new requests answers those that it has within this time. */
const drainMs = 3_000
const stopWithinMs = 15_000

/** Resolves with the exit code. */
export async function runRolling(wishes: Wishes): Promise<number> {
  setMaxListeners(0)
  const started = openStarted()
  const beganAt = performance.now()
  const say = (text: string) => console.log(`[${((performance.now() - beganAt) / 1_000).toFixed(1).padStart(6)} s] ${text}`)
  let isGood = false
  try {
    isGood = await update(wishes, started, say)
  } catch (thrown) {
    if (!started.interrupted.aborted)
      console.error(`\nThe update failed: ${thrown instanceof Error ? thrown.stack : reasonOf(thrown)}`)
  } finally {
    await started.stopAll(() => say('stopping'))
    say(wishes.keep ? `stopped; ${wishes.directory} is left for you` : 'everything is stopped and removed')
  }
  return started.interrupted.aborted ? 130 : isGood ? 0 : 1
}

async function update(wishes: Wishes, started: Started, say: (text: string) => void): Promise<boolean> {
  const { seed, inFlight, seconds, directory, dists } = wishes
  const { interrupted } = started
  say(`seed ${seed}; everything is in ${directory}`)
  const installation = await Installation.open(directory, dists, started)
  say(`the old version migrates: ${appliedIn(await installation.migrate('old'))}`)
  const shop = await installation.settle('old')
  const books: Books = {
    databaseUrl: installation.databaseUrl,
    admin: (...asked) => askAdmin(installation.acquirerAdminUrl, ...asked),
  }
  await hastenReversals(books)
  const book = new Book()
  const receiver = new Receiver(book, seeded(seed + 1), 0.05)
  await receiver.open()
  await started.keep({ stop: () => receiver.close() })
  receiver.controlKey = shop.merchant.control_key

  const old = await installation.serve('old', interrupted)
  await started.keep({ stop: () => old.part.end('SIGTERM', stopWithinMs) })
  let origins = [old.origin]
  const draw = seeded(seed + 4)
  const merchant = new WatchedMerchant({ base_url: old.origin, ...shop }, () => pick(draw, origins))
  await started.keep({ stop: () => merchant.close() })
  const load = startLoad({ merchant, receiver, book, inFlight, draw: seeded(seed + 2) })
  const over = new AbortController()
  const hostile = attack(merchant, book, seeded(seed + 3), AbortSignal.any([over.signal, interrupted]))
  const go = async (what: string) => {
    await pause(seconds * 1_000, undefined, { signal: interrupted })
    say(`  ${what}: ${book.orders.size} orders, ${merchant.lost} requests without an answer`)
  }
  try {
    await go('the old gateway alone')
    say(`the new version migrates: ${appliedIn(await installation.migrate('new'))}`)
    await go('the old gateway on the new tables')
    const fresh = await installation.serve('new', interrupted)
    await started.keep({ stop: () => fresh.part.end('SIGTERM', stopWithinMs) })
    origins = [old.origin, fresh.origin]
    say('a gateway of the new version serves beside it')
    await go('both')
    // As a load balancer does before an operator stops a process.
    origins = [fresh.origin]
    over.abort()
    await pause(drainMs, undefined, { signal: interrupted })
    await old.part.end('SIGTERM', stopWithinMs)
    say('the old gateway is stopped')
    await go('the new gateway alone')
    await load.stop(60_000)
    say('no new sales; waiting until every order is final')
    let rest = ''
    await untilSettled(books, settleWithinMs, (text) => (rest = text), interrupted)
    say(rest)
    interrupted.throwIfAborted()
    // The counts of callbacks are compared, so those on their way arrive before.
    receiver.errorChance = 0
    load.end()
    const state = await readState(books)
    const run = { state, book, hostileAnswered: await hostile, endedByItself: installation.endedByItself, longestStopMs: 0 }
    const verdicts = [...judged(run, dists.old), ...ofUpdates(merchant, [old.origin, fresh.origin])]
    return await report(verdicts, books, book)
  } finally {
    over.abort()
    load.end()
  }
}

/** From what `migrate` prints. */
function appliedIn(printed: string): string {
  const names = printed.match(/\b\d{4}-[\w.-]+/g) ?? []
  if (names.length > 3) return `${names.length} migrations, the last is ${names.at(-1)}`
  return names.length === 0 ? 'nothing to do' : names.join(', ')
}

async function report(verdicts: readonly Verdict[], books: Books, book: Book): Promise<boolean> {
  const { text, isGood, firstBroken } = tableOf(verdicts)
  console.log(`\n${text}\n${firstBroken === undefined ? '' : await lifeOf(firstBroken, books, book)}`)
  return isGood
}

/** What an update promises besides. */
function ofUpdates(merchant: WatchedMerchant, origins: readonly string[]): Verdict[] {
  const counts = origins.map((origin) => merchant.acknowledgedBy.get(origin) ?? 0)
  return [
    {
      promise: 'no request is refused',
      looked: `${merchant.replies} replies`,
      broken: [...merchant.refusals].map(([says, times]) => ({ says: `${times} times ${says}` })),
    },
    {
      promise: 'every request is answered',
      looked: `${merchant.replies + merchant.lost} requests`,
      broken: merchant.lost === 0 ? [] : [{ says: `${merchant.lost} were not` }],
    },
    {
      promise: 'both versions take sales',
      looked: `${counts[0]} answers by the old one, ${counts[1]} by the new one`,
      broken: counts.includes(0) ? [{ says: 'one of them took none' }] : [],
    },
  ]
}

/** An earlier version may not count yet. */
function judged(run: Parameters<typeof judge>[0], oldDist: string): Verdict[] {
  const isCounted = existsSync(join(oldDist, 'src/order/store/minute-counts.js'))
  return judge(run).filter(({ promise }) => isCounted || promise !== 'counts equal the books')
}
