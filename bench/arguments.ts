import { parseArgs } from 'node:util'
import { reasonOf } from '../src/base/log.ts'
import { bodies } from './benches/bodies.ts'
import { benches, benchNamed } from './benches.ts'
import { byName } from './benches/by-name.ts'
import { readRun, type Line } from './figures/compare.ts'
import type { Wishes } from './wishes.ts'

const longUsual = { orders: 1_000_000, sales: 1_000_000 }
const usual = { seconds: 15, yardstickSeconds: 4, roundSeconds: 5 }
const quick = { seconds: 2, warmUp: 500 }
const mostInFlight = 1_000
const mostArrivals = 100_000
const mostWarmUp = 1_000_000
const mostLong = 100_000_000

const listOf = (all: readonly { name: string; means: string }[]): string =>
  all.map(({ name, means }) => `  ${name.padEnd(14)} ${means}`).join('\n')

const help = `npm run bench                       everything, in about nine minutes
npm run bench -- sale               one bench; several are separated by blanks

  --in-flight 1,32,256   payments kept in flight, one row each; each bench has levels of its own
  --arrivals 300         sales/s by a clock instead, none waiting for another; "half" of what 256 in flight carry
  --connects             256 simultaneous new connections, beside 256 in flight
  --seconds 15           of each row's window
  --warm-up 5000         sales before the first window of a sandbox; each bench has a number of its own
  --quick                ${quick.seconds} s a window after ${quick.warmUp} sales, to try: V8 is not warm by then
  --no-yardstick         without the yardsticks: bare posts, payments of pgbench, commits of one row
  --compare older.json   this run beside an earlier one: its output, or the JSON lines of it
  --picture sale.svg     draws sales/s and latency of sale over what is in flight
  --of earlier.json      --picture: of that run, and measures nothing
  --one-by-one           sale beside a gateway that commits one change at a time, in a sandbox of its own
  --orders 1000000       long, console, clicks, new-key, audit-trail: earlier orders, their cards, or rows of the audit trail
  --sales 1000000        long: sales, with ten rows on the way; 0 for none
  --json                 JSON lines only, on standard output
  --help

Without --in-flight, --arrivals and --connects, sale has all three.

Benches
${listOf([...benches, bodies])}

Benches that run only by name
${listOf(byName)}

Ends with 1 when a payment did not end approved, the books of merchant, acquirer and database differ, or a body made
the gateway fail.
docs/performance.md tells what is measured and how to read it.
`

/** Reads the command line. Help and what cannot be understood end the process here. */
export function readArguments(args: readonly string[]): Wishes {
  const { values, positionals } = parsed(args)
  if (values.help) {
    console.log(help)
    process.exit(0)
  }
  const inFlight = values['in-flight']?.split(',').map(Number) ?? (values.arrivals || values.connects ? [] : undefined)
  if (inFlight?.some((n) => !(Number.isInteger(n) && n >= 1 && n <= mostInFlight)))
    refuse(`--in-flight is a list of whole numbers from 1 to ${mostInFlight}, such as 1,32,256.`)
  const names = [...benches, bodies, ...byName].map(({ name }) => name)
  const unknown = positionals.find((name) => !names.includes(name))
  if (unknown !== undefined) refuse(`There is no bench ${unknown}; there are ${names.join(', ')}.`)
  const levelled = ['in-flight', 'arrivals', 'connects'].find((name) => values[name as keyof typeof values])
  if (levelled !== undefined && positionals.length > 0 && positionals.every((name) => byName.some((one) => one.name === name)))
    refuse(`--${levelled} is not for ${positionals.join(' and ')}: its levels of load are given.`)
  const seconds = numberIn(values, 'seconds', 1, 3_600) ?? (values.quick ? quick.seconds : undefined)
  const atMost = (usually: number) => Math.min(seconds ?? usually, usually) * 1_000
  return {
    benches: positionals.length === 0 ? benches : positionals.flatMap((name) => benchNamed(name) ?? []),
    byName: byName.filter(({ name }) => positionals.includes(name)),
    bodies: positionals.length === 0 || positionals.includes(bodies.name),
    long: {
      orders: numberIn(values, 'orders', 1, mostLong) ?? longUsual.orders,
      sales: numberIn(values, 'sales', 0, mostLong) ?? longUsual.sales,
    },
    inFlight,
    arrivals: values.arrivals === 'half' ? 'half' : numberIn(values, 'arrivals', 1, mostArrivals, ', or half'),
    connects: values.connects,
    warmUp: numberIn(values, 'warm-up', 0, mostWarmUp) ?? (values.quick ? quick.warmUp : undefined),
    measureMs: (seconds ?? usual.seconds) * 1_000,
    yardstickMs: values['no-yardstick'] ? undefined : atMost(usual.yardstickSeconds),
    roundMs: values['one-by-one'] ? atMost(usual.roundSeconds) : undefined,
    older: values.compare === undefined ? undefined : runIn('compare', values.compare),
    picture: pictureWanted(values),
    json: values.json,
  }
}

function parsed(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        'in-flight': { type: 'string' },
        arrivals: { type: 'string' },
        connects: { type: 'boolean', default: false },
        seconds: { type: 'string' },
        'warm-up': { type: 'string' },
        quick: { type: 'boolean', default: false },
        'no-yardstick': { type: 'boolean', default: false },
        compare: { type: 'string' },
        picture: { type: 'string' },
        of: { type: 'string' },
        orders: { type: 'string' },
        sales: { type: 'string' },
        'one-by-one': { type: 'boolean', default: false },
        json: { type: 'boolean', default: false },
        help: { type: 'boolean', short: 'h', default: false },
      },
    })
  } catch (thrown) {
    return refuse(thrown instanceof Error ? thrown.message : String(thrown))
  }
}

/** A whole number; undefined: the option was not given. */
function numberIn(
  values: Readonly<Record<string, unknown>>,
  name: string,
  least: number,
  most: number,
  or = '',
): number | undefined {
  if (values[name] === undefined) return undefined
  const value = Number(values[name])
  if (!(Number.isInteger(value) && value >= least && value <= most))
    refuse(`--${name} is a whole number from ${least} to ${most}${or}.`)
  return value
}

function pictureWanted({ picture, of }: { picture?: string; of?: string }): Wishes['picture'] {
  if (picture === undefined && of !== undefined) refuse('--of needs --picture.')
  return picture === undefined ? undefined : { path: picture, of: of === undefined ? undefined : runIn('of', of) }
}

function runIn(option: string, path: string): readonly Line[] {
  try {
    return readRun(path)
  } catch (thrown) {
    return refuse(`--${option} cannot read an earlier run: ${reasonOf(thrown)}`)
  }
}

function refuse(text: string): never {
  console.error(`${text}\n\n${help}`)
  process.exit(2)
}
