import { spanText } from '../../base/moments.ts'
import { printable, type Fact, type Party, type Passage } from '../../entity/show.ts'
import type { Order, Transaction } from '../../order/decide/order.ts'
import { authenticationEvent } from './authentication-story.ts'

/** In the order of cause and effect. */
const causes = ['request', 'answer', 'owed', '3ds', 'state', 'sent', 'message'] as const

/** Facts about an order that are stored outside of it. */
export interface Life {
  events: readonly LifeEvent[]
  /** Requests that created no transaction: repeats, and uploads of 3-D Secure. */
  repeats: readonly { serialNumber: string; operation: string; transactionNo: number; at: number }[]
  deliveries: readonly LifeDelivery[]
}

export interface LifeEvent {
  transactionNo: number
  event: string
  from: string
  to: string
  facts: Readonly<Record<string, string>>
  at: number
}

export interface LifeDelivery {
  deliveryNo: number
  transactionNo: number
  kind: string
  url: string
  state: string
  dueAt?: number
  createdAt: number
  tries: readonly { at: number; durationMs: number; httpStatus?: number; failure?: string; answer?: string }[]
}

export interface LifeMoment {
  at: number
  /** As a picture draws it; absent for what happens within the gateway. */
  step?: Way
  what: (typeof causes)[number]
  /** The result, if there is one: for colour. */
  went?: 'well' | 'badly' | undefined
  says: string
}

/**
 * The life of an order as one story, oldest first; entries of the same time are in the order of
 * cause and effect.
 */
export function momentsOf(order: Order, life: Life, gateName: (gateId: bigint) => string): LifeMoment[] {
  const moments = [
    ...requests(order, life),
    ...authentications(order, life),
    ...states(order, life),
    ...attempts(order, gateName),
    ...messages(life),
  ]
  return moments.sort((a, b) => a.at - b.at || causes.indexOf(a.what) - causes.indexOf(b.what))
}

type Way = Omit<Passage, 'at' | 'went'>

const moment = (at: number, what: LifeMoment['what'], says: string, went?: LifeMoment['went'], step?: Way): LifeMoment => ({
  at,
  what,
  says,
  went,
  ...(step && { step }),
})

/** A message between two, in a few words, with its facts. */
const way = (from: Party, to: Party, name: string, says: string, fields: readonly Fact[] = [], isReply = false): Way => ({
  from,
  to,
  name,
  says,
  fields,
  isReply,
})

/** The messages of a life, for a picture. */
export const stepsOf = (moments: readonly LifeMoment[]): Passage[] =>
  moments.flatMap(({ at, went, step }) => (step ? [{ ...step, at, went }] : []))

const requests = (order: Order, life: Life): LifeMoment[] => [
  ...order.transactions.map(({ no, kind, origin, serialNumber, createdAt, asked }) =>
    origin === 'request'
      ? moment(
          createdAt,
          'request',
          `${kind} asked for${byOperator(asked)}, serial ${serialNumber}`,
          undefined,
          way('merchant', 'gateway', kind, asked?.operator ? `by ${asked.operator.who}` : '', [
            ['Serial number', serialNumber],
            ['Reason', asked?.operator?.reason],
          ]),
        )
      : moment(createdAt, 'owed', `#${no} ${kind}, by the gateway itself`),
  ),
  ...life.repeats.map(({ operation, serialNumber, at }) => {
    const isSame = order.transactions.some(({ kind }) => kind === operation)
    const step = way('merchant', 'gateway', operation, isSame ? 'the same again' : '', [['Serial number', serialNumber]])
    return isSame
      ? moment(at, 'request', `the same ${operation} again, serial ${serialNumber}: answered with this order`, undefined, step)
      : moment(at, 'request', `${operation}, serial ${serialNumber}`, undefined, step)
  }),
]

const byOperator = (asked: Transaction['asked']): string =>
  asked?.operator === undefined ? '' : printable(` by ${asked.operator.who}, because: ${asked.operator.reason}`)

const authentications = (order: Order, life: Life): LifeMoment[] =>
  life.events.flatMap(({ transactionNo, event, facts, at }) => {
    const transaction = order.transactions.find((t) => t.no === transactionNo)
    const sentence = transaction && authenticationEvent(event, facts, transaction)
    if (!sentence) return []
    const [from, to, name] = authenticationWays[event] ?? ['directory', 'gateway', 'answer']
    const fields = Object.entries(facts).map(([fact, value]): Fact => [fact, value])
    return moment(at, '3ds', sentence.says, sentence.went, way(from, to, name, sentence.says, fields, from !== 'gateway'))
  })

/** Who says to whom what an event of 3-D Secure is about. */
const authenticationWays: Readonly<Record<string, readonly [from: Party, to: Party, name: string]>> = {
  'authentication begun': ['gateway', 'shopper', 'method'],
  'enrolment unknown': ['gateway', 'directory', 'VEReq'],
  'payer authentication required': ['directory', 'gateway', 'VERes'],
  'method begun': ['shopper', 'gateway', 'method begun'],
  'method uploaded': ['gateway', 'directory', 'AReq'],
  'challenge required': ['directory', 'gateway', 'ARes'],
  'challenge returned': ['shopper', 'gateway', 'CRes'],
  authenticated: ['directory', 'gateway', 'result'],
  'not authenticated': ['directory', 'gateway', 'result'],
  'authentication demanded': ['acquirer', 'gateway', 'soft decline'],
}

/**
 * Consecutive steps at the same instant are combined into one line. If a step keeps the state, its
 * event is named.
 */
function states(order: Order, life: Life): LifeMoment[] {
  const chains: { transactionNo: number; at: number; names: string[]; to: string }[] = []
  for (const { event, from, to, facts, at, transactionNo } of life.events) {
    // These have their own lines.
    if (event === 'method begun' || event === 'challenge returned') continue
    const why = facts.why === undefined ? '' : ` (${facts.why})`
    const chain = chains.at(-1)
    if (chain?.at === at && chain.transactionNo === transactionNo && from !== to) {
      chain.names.push(`${to}${why}`)
      chain.to = to
    } else {
      const names = from === to ? [`${from}: ${event}${why}`] : [from, `${to}${why}`]
      chains.push({ transactionNo, at, names, to })
    }
  }
  const several = order.transactions.length > 1
  return chains.map(({ transactionNo, at, names, to }) =>
    moment(at, 'state', `${several ? `#${transactionNo} ` : ''}${names.join(' → ')}`, goodOrBad(to)),
  )
}

function goodOrBad(state: string): LifeMoment['went'] {
  if (/^(approved|reversed)/.test(state)) return 'well'
  return /^(declined|error|unknown|filtered)/.test(state) ? 'badly' : undefined
}

const attempts = (order: Order, gateName: (gateId: bigint) => string): LifeMoment[] =>
  order.attempts.flatMap(({ no, gateId, terminalId, stan, rrn, startedAt, endedAt, outcome, ...a }) => {
    const sent = `attempt ${no} to gate ${gateId} (${gateName(gateId)}): terminal ${terminalId}, STAN ${stan}, RRN ${rrn}`
    const { kind } = order.transactions.find((t) => t.no === a.transactionNo) ?? { kind: 'attempt' }
    const asks = way('gateway', 'acquirer', kind, gateName(gateId), [
      ['Attempt', String(no)],
      ['Gate', `${gateId} (${gateName(gateId)})`],
      ['Terminal', terminalId],
      ['STAN', stan],
      ['RRN', rrn],
    ])
    if (outcome === undefined || endedAt === undefined)
      return moment(startedAt, 'sent', `${sent}; no outcome yet`, undefined, { ...asks, says: 'no outcome yet' })
    const code = a.actionCode === undefined ? '' : ` with action code ${a.actionCode}`
    const why = a.why === undefined ? '' : `: ${a.why}`
    const answer = `attempt ${no} ${outcome}${code} after ${spanText(endedAt - startedAt)}${why}`
    const went = outcome === 'approved' ? 'well' : 'badly'
    const says = [outcome, a.actionCode].filter(Boolean).join(' ')
    const answers = way(
      'acquirer',
      'gateway',
      'answer',
      says,
      [
        ['Action code', a.actionCode],
        ['Why', a.why],
      ],
      true,
    )
    return [moment(startedAt, 'sent', sent, undefined, asks), moment(endedAt, 'answer', answer, went, answers)]
  })

const messages = (life: Life): LifeMoment[] =>
  life.deliveries.flatMap((d) => {
    const name = `${d.kind} ${d.deliveryNo}`
    const tries = d.tries.map(({ at, durationMs, httpStatus, failure }, i) => {
      const result = failure ?? `answered ${httpStatus}${httpStatus === 200 ? '' : ', not 200'}`
      const went = failure === undefined && httpStatus === 200 ? 'well' : 'badly'
      const step = way('gateway', 'merchant', d.kind, result, [
        ['Try', String(i + 1)],
        ['Address', d.url],
        ['Took', spanText(durationMs)],
      ])
      return moment(at, 'message', `${name}, try ${i + 1}: ${result}, ${spanText(durationMs)}`, went, step)
    })
    return [moment(d.createdAt, 'message', `${name} owed to ${d.url}`), ...tries]
  })
