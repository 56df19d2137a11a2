import { randomInt } from 'node:crypto'
import { parseArgs } from 'node:util'
import { reasonOf } from '../../src/base/log.ts'
import { kindsOf, type Carrier, type Kind } from './plan.ts'

const help = (carrier: Carrier): string => `npm run cluster                            one minute, with a seed of its own
npm run cluster -- --minutes 5 --seed 7    five minutes of the troubles of seed 7
CITUS=/usr/lib/postgresql/17 npm run cluster    the same with Citus, installed for that PostgreSQL

Three PostgreSQL under Patroni and three etcd, two HAProxy and two gateways, in a temporary directory and
on loopback; with CITUS a coordinator, two workers with a cell each, and two gateways. Each part is killed
and frozen under load, and cells and merchants are moved; then the books are compared. docs/cluster.md.

  --minutes 1     how long things are killed and frozen, 0.2 to 600
  --seed 7        the same seed makes the same troubles in the same order
  --in-flight 20  sales kept going
  --only <kind>   this trouble alone; may be given more than once:
                  ${kindsInLines(carrier)}
  --json          prints a line of JSON for each trouble, each promise and the whole; the rest goes to standard error
  --keep          leaves the directory with databases, ledger and logs

Ends with 0, with 1 when a promise was broken or there was no service for too long, with 2 for wrong
arguments, with 3 when a program is not installed, and with 130 when it was interrupted.
`

function kindsInLines(carrier: Carrier): string {
  const all = kindsOf(carrier)
  const lines = Array.from({ length: Math.ceil(all.length / 4) }, (_, i) => all.slice(i * 4, i * 4 + 4).join(', '))
  return lines.join(`,\n${' '.repeat(18)}`)
}

export interface Wishes {
  minutes: number
  seed: number
  inFlight: number
  /** The troubles that are made. */
  kinds: readonly Kind[]
  json: boolean
  keep: boolean
}

/** The options, or how to end immediately: with which code, and what to print where. */
export function readArguments(args: readonly string[], carrier: Carrier): Wishes | { code: number; says: string } {
  try {
    const word = { type: 'string' } as const
    const flag = { type: 'boolean', default: false } as const
    const { values } = parseArgs({
      args: [...args],
      // oxfmt-ignore
      options: {
        minutes: word, seed: word, 'in-flight': word, only: { ...word, multiple: true }, json: flag, keep: flag,
        help: { ...flag, short: 'h' },
      },
    })
    if (values.help) return { code: 0, says: help(carrier) }
    const number = (name: 'minutes' | 'seed' | 'in-flight', usual: number, least: number, most: number) => {
      const given = values[name] === undefined ? usual : Number(values[name])
      if (!(given >= least && given <= most)) throw new Error(`--${name} is a number from ${least} to ${most}.`)
      return given
    }
    return {
      minutes: number('minutes', 1, 0.2, 600),
      seed: Math.floor(number('seed', randomInt(1, 1_000_000), 0, 1e8)),
      inFlight: Math.floor(number('in-flight', 20, 1, 1_000)),
      kinds: values.only?.map((text) => kindOf(text, carrier)) ?? kindsOf(carrier),
      json: values.json,
      keep: values.keep,
    }
  } catch (thrown) {
    return { code: 2, says: `${reasonOf(thrown)}\n\n${help(carrier)}` }
  }
}

function kindOf(text: string, carrier: Carrier): Kind {
  const found = kindsOf(carrier).find((kind) => kind === text)
  if (found === undefined) throw new Error(`--only ${JSON.stringify(text)} is none of the troubles.`)
  return found
}
