import type { Order } from '../../order/decide/order.ts'
import { authenticationTold } from './authentication-story.ts'
import { spanText } from '../../base/moments.ts'

/** Facts about an order that are stored outside of it. */
export interface Life {
  events: readonly { transactionNo: number; event: string; from: string; to: string; facts: object; at: number }[]
  /** Requests that created no transaction: repeats, and uploads of 3-D Secure. */
  repeats: readonly { serialNumber: string; operation: string; transactionNo: number; at: number }[]
  deliveries: readonly LifeDelivery[]
}

export interface LifeDelivery {
  deliveryNo: number
  transactionNo: number
  kind: string
  url: string
  state: string
  dueAt?: number
  createdAt: number
  tries: readonly { at: number; durationMs: number; httpStatus?: number; failure?: string }[]
}

export interface LifeMoment {
  at: number
  what: 'request' | 'owed' | '3ds' | 'state' | 'sent' | 'answer' | 'message'
  /** The result, if there is one: for colour. */
  went?: 'well' | 'badly'
  says: string
}

/**
 * The life of an order as one story, oldest first; entries of the same time are in the order of
 * cause and effect.
 */
export function momentsOf(order: Order, life: Life, gateName: (gateId: bigint) => string): LifeMoment[] {
  const moments: LifeMoment[] = [
    ...requests(order, life),
    ...authentications(order, life),
    ...states(order, life),
    ...attempts(order, gateName),
    ...messages(life),
  ]
  return moments
    .map((moment, i) => ({ moment, i }))
    .sort((a, b) => a.moment.at - b.moment.at || rank(a.moment) - rank(b.moment) || a.i - b.i)
    .map(({ moment }) => moment)
}

const ranks = { request: 0, answer: 1, owed: 2, '3ds': 3, state: 4, sent: 5, message: 6 }
const rank = (moment: LifeMoment) => ranks[moment.what]

const requests = (order: Order, life: Life): LifeMoment[] => [
  ...order.transactions.map((t): LifeMoment =>
    t.origin === 'request'
      ? { at: t.createdAt, what: 'request', says: `${t.kind} asked for, serial ${t.serialNumber}` }
      : { at: t.createdAt, what: 'owed', says: `#${t.no} ${t.kind}, by the gateway itself` },
  ),
  ...life.repeats.map((r): LifeMoment => ({
    at: r.at,
    what: 'request',
    says: order.transactions.some((t) => t.kind === r.operation)
      ? `the same ${r.operation} again, serial ${r.serialNumber}: answered with this order`
      : `${r.operation}, serial ${r.serialNumber}`,
  })),
]

const authentications = (order: Order, life: Life): LifeMoment[] =>
  life.events.flatMap(({ transactionNo, event, facts, at }) => {
    const transaction = order.transactions.find((t) => t.no === transactionNo)
    const sentence = transaction && authenticationTold(event, facts, transaction)
    return sentence ? [{ at, what: '3ds' as const, ...sentence }] : []
  })

/**
 * Consecutive steps at the same instant are combined into one line. If a step keeps the state, its
 * event is named.
 */
function states(order: Order, life: Life): LifeMoment[] {
  const several = order.transactions.length > 1
  const moments: LifeMoment[] = []
  let chain: { transactionNo: number; at: number; names: string[]; to: string } | undefined
  const close = () => {
    if (chain)
      moments.push({
        at: chain.at,
        what: 'state',
        ...goodOrBad(chain.to),
        says: `${several ? `#${chain.transactionNo} ` : ''}${chain.names.join(' → ')}`,
      })
    chain = undefined
  }
  for (const e of life.events) {
    // These have their own lines.
    if (e.event === 'method begun' || e.event === 'challenge returned') continue
    const why = reasonOf(e.facts)
    const to = why === undefined ? e.to : `${e.to} (${why})`
    if (chain && chain.at === e.at && chain.transactionNo === e.transactionNo && e.from !== e.to) {
      chain.names.push(to)
      chain.to = e.to
      continue
    }
    close()
    const names = e.from === e.to ? [`${e.from}: ${e.event}${why === undefined ? '' : ` (${why})`}`] : [e.from, to]
    chain = { transactionNo: e.transactionNo, at: e.at, names, to: e.to }
  }
  close()
  return moments
}

const reasonOf = (facts: object): string | undefined => ('why' in facts && typeof facts.why === 'string' ? facts.why : undefined)

const goodOrBad = (state: string): Pick<LifeMoment, 'went'> => {
  if (/^(approved|reversed)/.test(state)) return { went: 'well' }
  return /^(declined|error|unknown|filtered)/.test(state) ? { went: 'badly' } : {}
}

const attempts = (order: Order, gateName: (gateId: bigint) => string): LifeMoment[] =>
  order.attempts.flatMap((a) => {
    const sent: LifeMoment = {
      at: a.startedAt,
      what: 'sent',
      says: `attempt ${a.no} to gate ${a.gateId} (${gateName(a.gateId)}): terminal ${a.terminalId}, STAN ${a.stan}, RRN ${a.rrn}`,
    }
    if (a.outcome === undefined || a.endedAt === undefined) return [{ ...sent, says: `${sent.says}; no outcome yet` }]
    const code = a.actionCode === undefined ? '' : ` with action code ${a.actionCode}`
    const why = a.why === undefined ? '' : `: ${a.why}`
    const answer: LifeMoment = {
      at: a.endedAt,
      what: 'answer',
      went: a.outcome === 'approved' ? 'well' : 'badly',
      says: `attempt ${a.no} ${a.outcome}${code} after ${spanText(a.endedAt - a.startedAt)}${why}`,
    }
    return [sent, answer]
  })

const answerText = (httpStatus: number | undefined) => `answered ${httpStatus}${httpStatus === 200 ? '' : ', not 200'}`

const messages = (life: Life): LifeMoment[] =>
  life.deliveries.flatMap((d) => {
    const name = `${d.kind} ${d.deliveryNo}`
    const owed: LifeMoment = { at: d.createdAt, what: 'message', says: `${name} owed to ${d.url}` }
    const tries = d.tries.map((t, i): LifeMoment => ({
      at: t.at,
      what: 'message',
      went: t.failure === undefined && t.httpStatus === 200 ? 'well' : 'badly',
      says: `${name}, try ${i + 1}: ${t.failure ?? answerText(t.httpStatus)}, ${spanText(t.durationMs)}`,
    }))
    return [owed, ...tries]
  })
