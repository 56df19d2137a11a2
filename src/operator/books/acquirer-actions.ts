/** The sandbox's simulated acquirer: its books, and troubles on purpose. */
import { defined } from '../../base/defined.ts'
import { reasonOf } from '../../base/log.ts'
import { currencyOfNumeric, minorToDecimal } from '../../base/money.ts'
import { jsonOf } from '../../entity/json.ts'
import { exactSpan } from '../../base/moments.ts'
import { anyText, choice, flag, onOff, parsed, span, text, whole } from '../../entity/kinds.ts'
import { hint, numbered } from '../../entity/show.ts'
import { action, listing, type Actions } from '../action.ts'
import type { Office } from '../office.ts'
import { Refused } from '../refused.ts'

/** An entry of its books; only the fields that are shown. */
interface Entry {
  receivedAt: string
  kind: string
  state: 'approved' | 'declined' | 'reversed'
  /** First six and last four digits. */
  card: string
  amountMinor: string
  /** ISO 4217 numeric. */
  currency: string
  orderId: string
}

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

const patienceMs = 5_000

/** Calls the admin port of the running sandbox's acquirer, which documents itself. */
async function askAcquirer<Answer>(
  { sandbox }: Office,
  method: 'GET' | 'POST' | 'DELETE',
  path: string,
  body?: object,
): Promise<Answer> {
  if (!sandbox) throw new Refused({ what: 'no acquirer' })
  const content = body && { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }
  const signal = AbortSignal.timeout(patienceMs)
  const silent = (error: Error): never => {
    throw new Refused({ what: 'acquirer silent', directory: sandbox.directory, why: reasonOf(error.cause ?? error) })
  }
  const reply = await fetch(`${sandbox.acquirerAdminUrl}${path}`, { method, signal, ...content }).catch(silent)
  const answer: unknown = await reply.json().catch(silent)
  if (reply.ok) return answer as Answer
  if (reply.status === 404) throw new Refused({ what: 'unknown', thing: 'fault', name: path.split('/').at(-1)! })
  const why = typeof answer === 'object' && answer !== null && 'error' in answer ? String(answer.error) : `status ${reply.status}`
  throw new Refused({ what: 'acquirer refuses', why })
}

const share = parsed('share', 'a number from 0 to 1, such as 0.1', (written) =>
  /^(0(\.[0-9]+)?|1(\.0+)?)$/.test(written) ? Number(written) : undefined,
)

// oxfmt-ignore
const matches = {
  card:        { is: anyText('digits'),                                      means: 'last four digits, or one to six digits (not four) that the number begins with' },
  amountMinor: { is: whole(0, 999_999_999_999),                            means: 'amount in minor units: 1042 is 10.42' },
  orderId:     { is: anyText('id'), option: 'order',                         means: 'order id of the gateway' },
  message:     { is: choice(['authorisation', 'reversal', 'any'], 'which'), means: 'authorisation (the default), reversal or any' },
  probability: { is: share,                                                means: 'the share of matching messages, from 0 to 1' },
  seed:        { is: whole(0, 4_294_967_295),                              means: 'makes the random choice the same each time' },
  times:       { is: whole(1, 1_000_000_000),                              means: 'applies only to this many messages, the first that match' },
} as const

// oxfmt-ignore
const effects = {
  decline:             { is: anyText('code'),        means: 'declined with this action code, three digits' },
  delayMs:             { is: span('1ms', '1h'),    means: 'answered late, by this span' },
  noAnswer:            { is: flag,                 means: 'booked, but never answered' },
  duplicate:           { is: flag,                 means: 'answered twice' },
  answerAfterReversal: { is: flag,                 means: 'answered after the reversal has arrived' },
  wrongStan:           { is: flag,                 means: 'answered with another STAN' },
  wrongMac:            { is: flag,                 means: 'answered with another MAC, at a gate that has one' },
  noMac:               { is: flag,                 means: 'answered without a MAC, at a gate that has one' },
  garbage:             { is: flag,                 means: 'answered with bytes that are no message' },
  halfFrame:           { is: flag,                 means: 'half an answer, then the connection closes' },
  close:               { is: flag,                 means: 'the connection closes instead of an answer' },
} as const

/** The given inputs of a table, as the admin port names them. */
const saidOf = (table: object, asked: object): Record<string, unknown> =>
  jsonOf(defined(Object.fromEntries(Object.entries(asked).filter(([name]) => name in table))))

const effectOf = (fault: Fault): string =>
  Object.entries(fault.do)
    .map(([name, value]) => {
      const effect = name.replace(/_ms$/, '').replaceAll('_', ' ')
      return value === true ? effect : `${effect} ${name.endsWith('_ms') ? exactSpan(Number(value)) : value}`
    })
    .join(', ')

function matchOf({ match }: Fault): string {
  const { message, times: _times, ...rest } = match
  const about = message === 'any' ? 'any message' : `${message ?? 'authorisation'}s`
  return [about, ...Object.entries(rest).map(([name, value]) => `${name.replaceAll('_', ' ')} ${value}`)].join(', ')
}

const dayMs = 24 * 3_600_000

const entriesAction = action({
  does: "lists the last entries of the acquirer's books, as a cardholder's bank would show them, with random sums",
  needs: 'cards',
  here: true,
  takes: {
    card: { is: text('digits', /^[0-9]{4}$/, 'four digits, such as 1111'), means: 'last four digits' },
    limit: { is: whole(1, 1_000), usual: 10, means: 'how many, the newest ones' },
  },
  async perform(office, { card: lastFour, limit }) {
    const path = `/ledger?limit=1000000&since=${office.clock.now() - dayMs}`
    const { entries } = await askAcquirer<{ entries: Entry[] }>(office, 'GET', path)
    return entries.filter(({ card }) => lastFour === undefined || card.endsWith(lastFour)).slice(-limit)
  },
  gives: listing<Entry>({
    name: 'entries',
    json: (entry) => entry,
    columns: [
      { title: 'TIME', of: (e) => `${e.receivedAt.slice(11, 19)} UTC` },
      { title: 'CARD', of: (e) => e.card },
      {
        title: 'AMOUNT',
        of: (e) => minorToDecimal(BigInt(e.amountMinor), currencyOfNumeric(e.currency)?.exponent ?? 0),
        align: 'point',
      },
      { title: 'CURRENCY', of: (e) => currencyOfNumeric(e.currency)?.code ?? e.currency },
      { title: 'KIND', of: (e) => e.kind },
      { title: 'STATE', of: (e) => e.state, is: 'status' },
      { title: 'ORDER', of: (e) => e.orderId },
    ],
    none: 'Nothing was asked of the acquirer within a day.',
  }),
  examples: ['acquirer entries', 'acquirer entries --card 1111 --limit 1'],
})

export const acquirerActions: Actions = {
  'acquirer entries': entriesAction,
  'acquirer fault add': action({
    group: { does: 'lost, late, wrong and broken answers, on purpose' },
    does: 'adds a fault; the first fault that matches a message takes it',
    needs: 'configure',
    here: true,
    takes: { ...matches, ...effects },
    perform(office, asked) {
      const effect = saidOf(effects, asked)
      if (Object.keys(effect).length !== 1) throw new Refused({ what: 'not one effect' })
      return askAcquirer<Fault>(office, 'POST', '/faults', { match: saidOf(matches, asked), do: effect })
    },
    gives: {
      json: (fault) => fault,
      blocks: (fault) => [
        `Fault ${fault.id}: ${effectOf(fault)} for ${matchOf(fault)}.`,
        hint('To forget it', `acquirer fault clear ${fault.id}`),
      ],
    },
    more: 'Give exactly one effect, from --decline to --close. A message must match all the other options.',
    examples: [
      'acquirer fault add --card 1111 --no-answer --times 1',
      'acquirer fault add --decline 116 --amount-minor 1042',
      'acquirer fault add --delay 2s --probability 0.1 --seed 7',
      'acquirer fault add --message reversal --no-answer --times 2',
    ],
  }),
  'acquirer fault list': action({
    does: 'lists the faults in the order in which they are tried, with the number of messages that each took',
    needs: 'read',
    here: true,
    takes: {},
    perform: async (office) => (await askAcquirer<{ faults: Fault[] }>(office, 'GET', '/faults')).faults,
    gives: listing<Fault>({
      name: 'faults',
      json: (fault) => fault,
      columns: [
        numbered('ID', (f) => f.id),
        { title: 'EFFECT', of: effectOf },
        {
          title: 'MET',
          of: ({ hits, match: { times } }) => (times === undefined ? String(hits) : `${hits} of ${times}`),
          align: 'right',
        },
        { title: 'FOR', of: matchOf },
      ],
      none: hint('No faults: the acquirer behaves. Add one', 'acquirer fault add --card 1111 --no-answer --times 1'),
    }),
    examples: ['acquirer fault list'],
  }),
  'acquirer fault clear': action({
    does: 'removes one fault, or all',
    needs: 'configure',
    here: true,
    takes: { id: { is: whole(1, 1_000_000_000), argument: true, means: 'number of the fault' } },
    perform: (office, { id }) =>
      askAcquirer<{ removed: number }>(office, 'DELETE', id === undefined ? '/faults' : `/faults/${id}`),
    gives: {
      json: ({ removed }) => ({ removed }),
      blocks: ({ removed }) => [removed === 0 ? 'There were no faults.' : `${removed} forgotten.`],
    },
    examples: ['acquirer fault clear', 'acquirer fault clear 3'],
  }),
  'acquirer fault line': action({
    does: 'shows the line between gateway and acquirer, or disturbs it',
    needs: 'configure',
    here: true,
    takes: {
      refuse: { is: onOff, means: 'whether connections are refused' },
      latencyMs: { is: span('0', '1min'), means: 'how much longer every answer takes' },
      slowReversalMs: { is: span('0', '1h'), means: 'how late to answer the reversal of an unanswered sale (CVV2 217)' },
      close: { is: flag, means: 'drops the open connections now' },
    },
    perform(office, { close, ...kept }) {
      const wish = { ...jsonOf(defined(kept)), ...(close && { close_now: true }) }
      const isWish = Object.keys(wish).length > 0
      return askAcquirer<Line>(office, isWish ? 'POST' : 'GET', '/line', isWish ? wish : undefined)
    },
    gives: {
      json: (line) => line,
      blocks: (line) => [
        {
          facts: [
            ['Refuses connections', line.refuse ? 'on' : 'off'],
            ['Added latency', exactSpan(line.latency_ms)],
            ['Slow reversals', `answered after ${exactSpan(line.slow_reversal_ms)}`],
            ['Connections', String(line.connections)],
          ],
        },
      ],
    },
    examples: [
      'acquirer fault line',
      'acquirer fault line --latency 380ms',
      'acquirer fault line --refuse on --close',
      'acquirer fault line --refuse off --latency 0',
    ],
  }),
}
