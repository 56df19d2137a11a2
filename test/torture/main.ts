// npm run torture: kills and cuts at random under load, then looks whether every promise was kept.
// tools/torture.mjs builds and starts it.
import { randomInt } from 'node:crypto'
import { setMaxListeners } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { reasonOf } from '../../src/base/log.ts'
import { seeded } from '../../simulators/acquirer/faults.ts'
import { Book } from './book.ts'
import { attack } from './hostile.ts'
import { startLoad, type Load } from './load.ts'
import { Merchant } from './merchant.ts'
import { planOf } from './plan.ts'
import { judge, type Verdict } from './promises.ts'
import { Receiver } from './receiver.ts'
import { lifeOf, tableOf } from './report.ts'
import { Sandbox } from './sandbox.ts'
import { readState, untilSettled } from './state.ts'
import { calm, makeTrouble } from './trouble.ts'

const help = `npm run torture                            one minute, with a seed of its own
npm run torture -- --minutes 5 --seed 7    five minutes of the schedule of seed 7

  --minutes 1     how long things are killed and cut, 0.2 to 600
  --seed 7        the same seed and length make the same schedule; what runs beside it has its own pace
  --in-flight 60  sales kept going
  --keep          leaves the directory with database, ledger and logs when a promise was broken

Ends with 1 when a promise was broken. docs/reliability.md tells what is promised and how to read the table.
`

const settleWithinMs = 150_000
const progressEveryMs = 5_000

const { minutes, seed, inFlight, keep } = readArguments()
// Every pause of every worker listens to the end of the run.
setMaxListeners(0)
const beganAt = performance.now()
const interrupted = new AbortController()
watchSignals()
const say = (text: string) => console.log(`[${((performance.now() - beganAt) / 1_000).toFixed(1).padStart(6)} s] ${text}`)

const book = new Book()
const receiver = new Receiver(book, seeded(seed + 1), 0.05)
const sandbox = await Sandbox.open(say)
let merchant: Merchant | undefined
let good = false
try {
  say(`seed ${seed}, ${minutes} minutes, ${inFlight} sales in flight; everything is in ${sandbox.directory}`)
  good = await run()
} catch (thrown) {
  if (!interrupted.signal.aborted)
    console.error(`\nThe torture failed: ${thrown instanceof Error ? thrown.stack : reasonOf(thrown)}`)
} finally {
  await merchant?.close()
  const kept = keep && !good && !interrupted.signal.aborted
  await sandbox.close(kept).catch((thrown: unknown) => console.error(reasonOf(thrown)))
  await receiver.close()
  say(kept ? `stopped; ${sandbox.directory} is left for you` : 'everything is stopped and removed')
  process.exitCode = interrupted.signal.aborted ? 130 : good ? 0 : 1
}

async function run(): Promise<boolean> {
  await receiver.open()
  await sandbox.start()
  receiver.controlKey = sandbox.file.merchant.control_key
  merchant = new Merchant(sandbox.file)
  const load = startLoad({ merchant, receiver, book, inFlight, draw: seeded(seed + 2) })
  const calmed = new AbortController()
  const over = AbortSignal.any([calmed.signal, interrupted.signal])
  const progress = setInterval(() => tell(load), progressEveryMs)
  try {
    const hostile = attack(merchant, book, seeded(seed + 3), over)
    const lengthMs = minutes * 60_000
    const scene = { sandbox, receiver, say, ended: over }
    const troubles = await Promise.all([
      makeTrouble(planOf(seed, lengthMs), scene),
      pause(lengthMs, undefined, { signal: interrupted.signal }),
    ])
    calmed.abort()
    say('no more troubles, and no new sales; waiting until every order is final')
    await calm(scene)
    await load.stop(60_000)
    let left = ''
    await untilSettled(sandbox, settleWithinMs, (text) => (left = text), interrupted.signal)
    say(left)
    load.end()
    interrupted.signal.throwIfAborted()
    const longestStopMs = sandbox.longestStopMs
    const hostileAnswered = await hostile
    const verdicts = judge({
      state: await readState(sandbox),
      book,
      hostileAnswered,
      endedByItself: sandbox.endedByItself,
      longestStopMs,
    })
    tell(load)
    return await report(verdicts, troubles[0])
  } finally {
    clearInterval(progress)
    calmed.abort()
    load.end()
  }
}

function tell({ counts, open }: Load): void {
  const finals = [...book.orders.values()].filter((o) => o.final).length
  const { replies = 0, lost = 0 } = merchant ?? {}
  const broken = book.broken.length > 0 ? `; ${book.broken.length} PROMISES BROKEN` : ''
  say(
    `  ${counts.sales} sales, ${book.orders.size} orders, ${finals} final, ${open()} of them slow; ` +
      `${counts.repeated} repeated; ${receiver.received} callbacks; ${replies} replies, ${lost} lost${broken}`,
  )
}

/**
 * Prints the table and, where a promise was broken, the life of the first order it was broken for.
 */
async function report(verdicts: readonly Verdict[], troubles: Record<string, number>): Promise<boolean> {
  console.log(
    `\nTroubles: ${Object.entries(troubles)
      .map(([name, count]) => `${count} × ${name}`)
      .join(', ')}\n`,
  )
  const { text, isGood, firstBroken } = tableOf(verdicts)
  console.log(text)
  if (firstBroken !== undefined) console.log(await lifeOf(firstBroken, sandbox, book))
  console.log(isGood ? `\nEvery promise was kept, seed ${seed}.` : `\nRun it again with --seed ${seed} --minutes ${minutes}.`)
  return isGood
}

function readArguments() {
  const { values } = parsed()
  if (values.help) {
    console.log(help)
    process.exit(0)
  }
  const number = (name: 'minutes' | 'seed' | 'in-flight', usual: number, least: number, most: number) => {
    const given = values[name] === undefined ? usual : Number(values[name])
    if (!(given >= least && given <= most)) refuse(`--${name} is a number from ${least} to ${most}.`)
    return given
  }
  return {
    minutes: number('minutes', 1, 0.2, 600),
    seed: Math.floor(number('seed', randomInt(1, 1_000_000), 0, 1e8)),
    inFlight: Math.floor(number('in-flight', 60, 1, 1_000)),
    keep: values.keep,
  }
}

function parsed() {
  const text = { type: 'string' } as const
  const flag = { type: 'boolean', default: false } as const
  try {
    return parseArgs({ options: { minutes: text, seed: text, 'in-flight': text, keep: flag, help: { ...flag, short: 'h' } } })
  } catch (thrown) {
    return refuse(reasonOf(thrown))
  }
}

function refuse(text: string): never {
  console.error(`${text}\n\n${help}`)
  process.exit(2)
}

/**
 * The first signal ends what is under way, and everything is stopped in order; further ones change
 * nothing.
 */
function watchSignals(): void {
  const interrupt = () => interrupted.abort(new Error('interrupted'))
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(name, interrupt)
  // npm passes a signal on to its shell, which dies of it and leaves this process to itself.
  const parent = process.ppid
  if (process.env['npm_lifecycle_event'] !== undefined)
    setInterval(() => {
      if (process.ppid !== parent) interrupt()
    }, 500).unref()
}
