import type { Command } from 'commander'
import { defined } from '../../../base/defined.ts'
import { onOff } from '../../../entity/facts.ts'
import type { Terminal } from '../../terminal.ts'
import { verb } from '../entity.ts'
import { askAcquirer } from './acquirer-admin.ts'
import { addEntries } from './acquirer-entries.ts'
import { WrongUsage } from '../failure.ts'
import { aNumber, aSpan, fitting, jsonOption, oneOf } from '../options.ts'
import { facts, table } from '../present.ts'

/** The reply of the simulated acquirer, whose admin port documents itself. */
interface Fault {
  id: number
  match: Record<string, string | number>
  do: Record<string, string | number | true>
  hits: number
}

interface Line {
  refuse: boolean
  latency_ms: number
  slow_reversal_ms: number
  connections: number
}

interface AddOptions {
  card?: string
  amountMinor?: number
  order?: string
  message?: string
  probability?: number
  seed?: number
  times?: number
  decline?: string
  delay?: number
  /** The option is --no-answer, which commander reads as answer: false. */
  answer?: false
  duplicate?: true
  answerAfterReversal?: true
  wrongStan?: true
  wrongMac?: true
  /** Of --no-mac. */
  mac?: false
  garbage?: true
  halfFrame?: true
  close?: true
  json?: true
}

interface LineOptions {
  refuse?: 'on' | 'off'
  latency?: number
  slowReversal?: number
  close?: true
  json?: true
}

export function addAcquirerCommands(program: Command, terminal: Terminal): void {
  const acquirer = program.command('acquirer').description("play with the sandbox's simulated acquirer")
  addEntries(acquirer, terminal)
  const fault = acquirer.command('fault').description('lost, late, wrong and broken answers, on purpose')
  addAdd(fault, terminal)
  verb(
    fault,
    'list',
    'the faults there are, in the order in which they are tried, with how often each was met',
    'acquirer fault list',
  ).action(list.bind(undefined, terminal))
  verb(fault, 'clear', 'forgets one fault, or all', 'acquirer fault clear', 'acquirer fault clear 3')
    .argument('[id]', 'number of the fault', aNumber(1, 1_000_000_000))
    .action(clear.bind(undefined, terminal))
  fault
    .command('line')
    .description('shows the line between gateway and acquirer, or troubles it')
    .option('--refuse <on|off>', 'whether connections are refused', oneOf('on', 'off'))
    .option('--latency <span>', 'every answer takes this much longer', aSpan)
    .option('--slow-reversal <span>', 'how late the reversal of an unanswered sale (CVV2 217) is answered', aSpan)
    .option('--close', 'drops the open connections now')
    .option(...jsonOption)
    .addHelpText(
      'after',
      `
Examples
  npx tollgate acquirer fault line
  npx tollgate acquirer fault line --latency 380ms
  npx tollgate acquirer fault line --refuse on --close
  npx tollgate acquirer fault line --refuse off --latency 0`,
    )
    .action(line.bind(undefined, terminal))
}

const addAdd = (fault: Command, terminal: Terminal) =>
  fault
    .command('add')
    .description('scripts one fault; the first that matches takes a message')
    .option('--card <digits>', 'last four digits, or one to six digits (not four) that the number begins with')
    .option('--amount-minor <number>', 'amount in minor units: 1042 is 10.42', aNumber(0, 999_999_999_999))
    .option('--order <id>', 'order id of the gateway')
    .option(
      '--message <which>',
      'authorisation (unless said otherwise), reversal or any',
      oneOf('authorisation', 'reversal', 'any'),
    )
    .option('--probability <share>', 'only this share of the messages that match, from 0 to 1', fitting(readShare))
    .option('--seed <number>', 'makes the share the same ones every time', aNumber(0, 4_294_967_295))
    .option('--times <number>', 'only the first so many', aNumber(1, 1_000_000_000))
    .option('--decline <code>', 'declined with this action code, three digits')
    .option('--delay <span>', 'answered this much later', aSpan)
    .option('--no-answer', 'booked, but never answered')
    .option('--duplicate', 'answered twice')
    .option('--answer-after-reversal', 'answered when the reversal has come')
    .option('--wrong-stan', 'answered under another number')
    .option('--wrong-mac', 'answered with another MAC, at a gate that has one')
    .option('--no-mac', 'answered without a MAC, at a gate that has one')
    .option('--garbage', 'answered with bytes that are no message')
    .option('--half-frame', 'half an answer, then the connection ends')
    .option('--close', 'the connection ends instead of an answer')
    .option(...jsonOption)
    .addHelpText(
      'after',
      `
Exactly one effect, from --decline to --close; all that is said before it must match.

Examples
  npx tollgate acquirer fault add --card 1111 --no-answer --times 1
  npx tollgate acquirer fault add --decline 116 --amount-minor 1042
  npx tollgate acquirer fault add --delay 2s --probability 0.1 --seed 7
  npx tollgate acquirer fault add --message reversal --no-answer --times 2`,
    )
    .action(add.bind(undefined, terminal))

function readShare(text: string): number | string {
  const share = Number(text)
  return /^[01](\.[0-9]+)?$/.test(text) && share <= 1 ? share : 'Say a number from 0 to 1, such as 0.1.'
}

async function add(terminal: Terminal, o: AddOptions): Promise<void> {
  const effects = {
    ...defined({ decline: o.decline, delay_ms: o.delay, duplicate: o.duplicate, garbage: o.garbage, close: o.close }),
    ...defined({ answer_after_reversal: o.answerAfterReversal, half_frame: o.halfFrame }),
    ...defined({ wrong_stan: o.wrongStan, wrong_mac: o.wrongMac }),
    ...(o.answer === false && { no_answer: true }),
    ...(o.mac === false && { no_mac: true }),
  }
  if (Object.keys(effects).length !== 1)
    throw new WrongUsage('Say exactly one effect, such as --no-answer. See: npx tollgate acquirer fault add --help')
  const match = {
    ...defined({ card: o.card, amount_minor: o.amountMinor, order_id: o.order, message: o.message }),
    ...defined({ probability: o.probability, seed: o.seed, times: o.times }),
  }
  const fault = (await askAcquirer(terminal, 'POST', '/faults', { match, do: effects })) as Fault
  if (o.json) return terminal.printJson(fault)
  terminal.print(
    `Fault ${fault.id}: ${effectOf(fault)} for ${matchOf(fault)}.\nTo forget it: npx tollgate acquirer fault clear ${fault.id}`,
  )
}

async function list(terminal: Terminal, options: { json?: true }): Promise<void> {
  const { faults } = (await askAcquirer(terminal, 'GET', '/faults')) as { faults: Fault[] }
  if (options.json) return terminal.printJson({ faults })
  if (faults.length === 0)
    return terminal.print(
      'No faults: the acquirer behaves. Add one: npx tollgate acquirer fault add --card 1111 --no-answer --times 1',
    )
  terminal.print(
    table(
      [
        { title: 'ID', of: (f) => String(f.id), align: 'right' },
        { title: 'EFFECT', of: effectOf },
        {
          title: 'MET',
          of: (f) => (f.match.times === undefined ? String(f.hits) : `${f.hits} of ${f.match.times}`),
          align: 'right',
        },
        { title: 'FOR', of: matchOf },
      ],
      faults,
    ),
  )
}

const effectOf = (fault: Fault) =>
  Object.entries(fault.do)
    .map(([name, value]) => {
      const effect = name.replace(/_ms$/, '').replaceAll('_', ' ')
      return value === true ? effect : `${effect} ${value}${name.endsWith('_ms') ? ' ms' : ''}`
    })
    .join(', ')

function matchOf({ match }: Fault): string {
  const { message, times: _times, ...rest } = match
  const about = message === 'any' ? 'any message' : `${message ?? 'authorisation'}s`
  return [about, ...Object.entries(rest).map(([name, value]) => `${name.replaceAll('_', ' ')} ${value}`)].join(', ')
}

async function clear(terminal: Terminal, id: number | undefined, options: { json?: true }): Promise<void> {
  const path = id === undefined ? '/faults' : `/faults/${id}`
  const { removed } = (await askAcquirer(terminal, 'DELETE', path)) as { removed: number }
  if (options.json) terminal.printJson({ removed })
  else terminal.print(removed === 0 ? 'There were no faults.' : `${removed} forgotten.`)
}

async function line(terminal: Terminal, o: LineOptions): Promise<void> {
  const wish = {
    ...(o.refuse === undefined ? {} : { refuse: o.refuse === 'on' }),
    ...defined({ latency_ms: o.latency, slow_reversal_ms: o.slowReversal }),
    ...(o.close ? { close_now: true } : {}),
  }
  const asked =
    Object.keys(wish).length === 0 ? askAcquirer(terminal, 'GET', '/line') : askAcquirer(terminal, 'POST', '/line', wish)
  const now = (await asked) as Line
  if (o.json) return terminal.printJson(now)
  terminal.print(
    facts([
      ['Refuses connections', onOff(now.refuse)],
      ['Added latency', `${now.latency_ms} ms`],
      ['Slow reversals', `answered after ${now.slow_reversal_ms} ms`],
      ['Connections', String(now.connections)],
    ]),
  )
}
