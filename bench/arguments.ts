import { parseArgs } from 'node:util'
import type { Bench } from './bench.ts'
import { bodies } from './bodies.ts'
import { benches, benchNamed } from './benches.ts'

export interface Wishes {
  benches: readonly Bench[]
  /** Whether the worst bodies are sent too. */
  bodies: boolean
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

const help = `npm run bench                       everything, in about six minutes
npm run bench -- sale               one bench

  --in-flight 1,32,256   payments kept in flight, one row each; each bench has levels of its own
  --seconds 15           of each row's window
  --quick                ${quickSeconds} s a window, to try
  --no-yardstick         without the comparison of sale to one change a commit
  --json                 JSON lines only, on standard output
  --help

Benches
${[...benches, bodies].map(({ name, means }) => `  ${name.padEnd(12)} ${means}`).join('\n')}

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
  const seconds = values.seconds === undefined ? undefined : Number(values.seconds)
  if (seconds !== undefined && !(seconds >= 1 && seconds <= 3_600)) refuse(`--seconds is a number from 1 to 3600.`)
  const inFlight = values['in-flight']?.split(',').map(Number)
  if (inFlight?.some((n) => !(Number.isInteger(n) && n >= 1 && n <= mostInFlight)))
    refuse(`--in-flight is a list of whole numbers from 1 to ${mostInFlight}, such as 1,32,256.`)
  const payments = positionals.filter((name) => name !== bodies.name)
  const unknown = payments.find((name) => benchNamed(name) === undefined)
  const names = [...benches, bodies].map(({ name }) => name)
  if (unknown !== undefined) refuse(`There is no bench ${unknown}; there are ${names.join(', ')}.`)
  const wished = seconds ?? (values.quick ? quickSeconds : undefined)
  return {
    benches: positionals.length === 0 ? benches : payments.map((name) => benchNamed(name)!),
    bodies: positionals.length === 0 || positionals.includes(bodies.name),
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
