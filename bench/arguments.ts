import { parseArgs } from 'node:util'
import type { Bench } from './bench.ts'
import { benches, benchNamed } from './benches.ts'

export interface Wishes {
  benches: readonly Bench[]
  /** Undefined: each bench's own levels. */
  inFlight: readonly number[] | undefined
  measureMs: number
  /** Of each round of the yardstick; undefined leaves it out. */
  roundMs: number | undefined
  json: boolean
}

const usual = { seconds: 15, roundSeconds: 5 }
const quickSeconds = 2
const mostInFlight = 1_000

const help = `npm run bench                       everything, in about five minutes
npm run bench -- sale               one bench

  --in-flight 1,32,256   payments kept in flight, one row each; each bench has levels of its own
  --seconds 15           of each row's window
  --quick                ${quickSeconds} s a window, to try
  --no-yardstick         without the comparison of sale to one change a commit
  --json                 JSON lines only, on standard output
  --help

Benches
${benches.map(({ name, means }) => `  ${name.padEnd(12)} ${means}`).join('\n')}

Ends with 1 when a payment did not end approved or the books of merchant, acquirer and database differ. docs/performance.md tells
what is measured and how to read it.
`

/** Reads the command line. Help and what cannot be understood end the process here. */
export function readArguments(args: readonly string[]): Wishes {
  const { values, positionals } = parsed(args)
  if (values.help) {
    console.log(help)
    process.exit(0)
  }
  const seconds = values.seconds === undefined ? undefined : Number(values.seconds)
  if (seconds !== undefined && !(seconds >= 1 && seconds <= 3_600)) refuse(`--seconds is a number from 1 to 3600.`)
  const inFlight = values['in-flight']?.split(',').map(Number)
  if (inFlight?.some((n) => !(Number.isInteger(n) && n >= 1 && n <= mostInFlight)))
    refuse(`--in-flight is a list of whole numbers from 1 to ${mostInFlight}, such as 1,32,256.`)
  const unknown = positionals.find((name) => benchNamed(name) === undefined)
  if (unknown !== undefined) refuse(`There is no bench ${unknown}; there are ${benches.map(({ name }) => name).join(', ')}.`)
  const wished = seconds ?? (values.quick ? quickSeconds : undefined)
  return {
    benches: positionals.length === 0 ? benches : positionals.map((name) => benchNamed(name)!),
    inFlight,
    measureMs: (wished ?? usual.seconds) * 1_000,
    roundMs: values['no-yardstick'] ? undefined : Math.min(wished ?? usual.roundSeconds, usual.roundSeconds) * 1_000,
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
        seconds: { type: 'string' },
        quick: { type: 'boolean', default: false },
        'no-yardstick': { type: 'boolean', default: false },
        json: { type: 'boolean', default: false },
        help: { type: 'boolean', short: 'h', default: false },
      },
    })
  } catch (thrown) {
    return refuse(thrown instanceof Error ? thrown.message : String(thrown))
  }
}

function refuse(text: string): never {
  console.error(`${text}\n\n${help}`)
  process.exit(2)
}
