import { follow, isNotFollowed, type Work } from '../src/order/work.ts'
import type { Happened } from '../src/order/submission.ts'
import type { Order, Transaction } from '../src/order/order.ts'
import { placeKey } from '../src/order/store.ts'
import { enrolmentOf } from './configuration.ts'
import type { GatewayParts, Wraps } from './gateway.ts'
import type { Planted } from './planting.ts'

type Follow = Extract<Happened, { is: 'follow' }>

/** Decides about an order as `seen`; what follows from it is found by a sweep. */
function decideOn(
  seen: Order,
  { ask, card }: Follow,
  { clock, random, registry }: GatewayParts,
): Work | ReturnType<typeof follow> {
  const work: Work = { before: seen, after: seen, rows: [], deliveries: [], eraseCvv2: false, card, entries: [] }
  const planner = { enrolment: enrolmentOf, random, steering: false }
  const number = () => 0n
  return follow(work, ask, { now: clock.now(), processId: 0n, registry, planner, number, hold: false }) ?? work
}

/** What was decided about the order as it was seen, put onto the order as it is. */
function addedTo(order: Order, { after, rows }: Work): Work {
  const no = order.transactions.length + 1
  const version = order.version + 1
  const added = { ...after.transactions.at(-1)!, no }
  return {
    before: order,
    after: { ...order, version, events: order.events + rows.length, transactions: [...order.transactions, added] },
    rows: rows.map((r, i) => ({ ...r, transactionNo: no, eventNo: order.events + 1 + i })),
    deliveries: [],
    eraseCvv2: false,
    card: undefined,
    entries: [],
  }
}

/** Judges what a merchant asks by the order as `view` shows it; `early`: as it was when the request came, not as it is in the commit. */
const judgedBy = (view: (order: Order) => Order, early = false): Wraps => ({
  door: (door, _performers, parts) => ({
    ...door,
    async submit(submission) {
      if (submission.is !== 'follow') return door.submit(submission)
      const { orders } = parts.stores
      const [first] = await orders.load([submission])
      for (;;) {
        const result = await orders.transaction(async (tables) => {
          const [order] = await tables.load([submission])
          const decided = decideOn(view(early ? first! : order!), submission, parts)
          if (!decided) throw new Error('nothing was decided')
          if (!('rows' in decided)) return isNotFollowed(decided) ? ({ is: 'not followed', judged: decided } as const) : undefined
          const work = addedTo(order!, decided)
          return (await tables.save([work], undefined)).has(placeKey(work.after))
            ? ({ is: 'applied', order: work.after } as const)
            : undefined
        })
        if (result) return result
      }
    },
  }),
})

const withTransactions =
  (change: (t: Transaction) => Transaction) =>
  (order: Order): Order => ({
    ...order,
    transactions: order.transactions.map(change),
  })

const forgetUnknown = withTransactions((t) => (t.state === 'unknown' && t.no > 1 ? { ...t, state: 'error' } : t))
const trustUnknown = withTransactions((t) => (t.state === 'unknown' && t.kind === 'capture' ? { ...t, state: 'approved' } : t))
const forgetKeys = withTransactions(({ asked, ...t }) => {
  const { idempotencyKey: _forgotten, ...rest } = asked ?? { operation: 'void' }
  return asked ? { ...t, asked: rest } : t
})

/** An answer to these ends a reversal that the acquirer never acknowledged. */
const takenForReversed = (wanted: (order: Order, reversal: Transaction) => boolean, asks: boolean): Wraps => ({
  performers: (performers) => ({
    ...performers,
    async reverse(held, transaction) {
      if (!wanted(held.order, transaction)) return performers.reverse(held, transaction)
      const attempt = held.order.attempts.find((a) => a.transactionNo === transaction.no && a.outcome === undefined)!
      if (asks) await performers.reverse(held, transaction)
      return { is: 'reversal acknowledged', transactionNo: transaction.no, attemptNo: attempt.no, actionCode: '400' }
    },
  }),
})

const takesBackA =
  (kind: Transaction['kind']) =>
  (order: Order, { kind: own, parentNo }: Transaction) =>
    own === 'reversal' && order.transactions[(parentNo ?? 1) - 1]!.kind === kind

/** The amount after this one, by a list that was given. */
const nextOf = ({ request }: Order, { amountMinor }: Transaction) => {
  const list = request.recurrent?.amounts ?? []
  const next = list[list.findIndex(([minor]) => BigInt(minor) === amountMinor) + 1]
  return next && { minor: BigInt(next[0]), text: next[1] }
}

const chargeTheNext: Wraps = {
  performers: (performers) => ({
    ...performers,
    async authorise(held, transaction) {
      const event = await performers.authorise(held, transaction)
      const next = transaction.no === 1 ? nextOf(held.order, transaction) : undefined
      if ((event.is !== 'answer lost' && event.is !== 'answer awaited') || !next) return event
      return { is: 'amount declined', transactionNo: 1, attemptNo: event.attemptNo, actionCode: '911', next }
    },
  }),
}

/** A card reference is found by its id alone. */
const findAnybodys: Wraps = {
  stores: ({ references, ...stores }) => ({
    ...stores,
    references: {
      ...references,
      async find(merchantId, cardRefId) {
        for (const anybody of [merchantId, 1n, 2n, 3n]) {
          const found = await references.find(anybody, cardRefId)
          if (found) return found
        }
        return undefined
      },
    },
  }),
}

/** A name that came with a repeat means nothing later. */
const forgetOtherNames: Wraps = {
  stores: ({ orders, ...stores }) => ({
    ...stores,
    orders: { ...orders, namedRepeatOf: () => Promise.resolve(undefined) },
  }),
}

const captured = 'no more is captured than was authorised'
const returned = 'no more is returned than was settled'

// oxfmt-ignore
export const plantedInFollowUps: readonly Planted[] = [
  { name: 'forget that what is unknown counts as used', breaks: [captured, returned, 'what is released is not charged', 'a request is done once'], wrap: judgedBy(forgetUnknown) },
  { name: 'give back of a capture that is unknown', breaks: [returned, 'a request is done once'], wrap: judgedBy(trustUnknown) },
  { name: 'judge amounts outside the commit', breaks: [captured, returned, 'what is released is not charged', 'a request is done once'], wrap: judgedBy((order) => order, true) },
  { name: 'forget the name that a client gave its request', breaks: ['a request is done once', 'the same request has the same answer'], wrap: judgedBy(forgetKeys) },
  { name: 'forget the second name of a request', breaks: ['a request is done once', 'the same request has the same answer'], wrap: forgetOtherNames },
  { name: 'forget to reverse a lost capture', breaks: ['the books are equal', captured, 'what is released is not charged'], wrap: takenForReversed(takesBackA('capture'), false) },
  { name: 'forget to reverse a lost return', breaks: ['the books are equal', returned, 'what is released is not charged'], wrap: takenForReversed(takesBackA('return'), false) },
  { name: 'take a lost void for an acknowledged one', breaks: ['what is released is not charged'], wrap: takenForReversed((_order, { kind }) => kind === 'void', true) },
  { name: 'charge the next amount after an unknown answer', breaks: ['a list of amounts is charged once', 'the books are equal'], wrap: chargeTheNext },
  { name: 'charge another amount than the list has', breaks: ['a list of amounts is charged once'], wrap: {
    connector: (c) => ({ ...c, authorise: (ask, ...rest) => c.authorise(ask.recurrent ? { ...ask, amountMinor: ask.amountMinor + 1n } : ask, ...rest) }) } },
  { name: 'find the card reference of another merchant', breaks: ['nobody charges the card of another merchant'], wrap: findAnybodys },
  { name: 'name the amount that was asked, not the one that was approved', breaks: ['the acquirer can read what it is sent'], wrap: {
    connector: (c) => ({ ...c, follow: (ask, ...rest) => c.follow({ ...ask, originalMinor: ask.originalMinor + 1n }, ...rest) }) } },
]
