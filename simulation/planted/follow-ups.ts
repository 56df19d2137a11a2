import { isNotFollowed } from '../../src/order/decide/follow.ts'
import { follow, type Work } from '../../src/order/decide/work.ts'
import { judgeKeys, keysHeld, KeysTaken, repeatRow, rowsFor } from '../../src/order/door/idempotency.ts'
import type { Advanced, Happened } from '../../src/order/door/submission.ts'
import type { Order, Transaction } from '../../src/order/decide/order.ts'
import { cellMarks } from '../../src/base/cell-mark.ts'
import { orderKeyText } from '../../src/order/decide/change.ts'
import { enrolmentOf } from '../model/configuration.ts'
import type { GatewayParts, Wraps } from '../world/gateway-parts.ts'
import type { Planted } from './planting.ts'

type Follow = Extract<Happened, { is: 'follow' }>

/** Decides on the order as `seen`. A sweep finds the steps that follow. */
function decideOn(seen: Order, { ask }: Follow, { clock, random, registry }: GatewayParts): Work | ReturnType<typeof follow> {
  const work: Work = { before: seen, after: seen, rows: [], deliveries: [], eraseCvv2: false, card: undefined, entries: [] }
  const planner = { enrolment: enrolmentOf, marks: cellMarks(random, 0), steering: false }
  const number = () => 0n
  return follow(work, ask, { now: clock.now(), processId: 0n, registry: registry(), planner, number, hold: false }) ?? work
}

/** Applies a decision on the order as it was seen to the order as it is. */
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

/**
 * Decides on a request by the order as `view` shows it. `early`: by the order as it was when the
 * request arrived, not as it is in the commit.
 */
export const judgedBy = (view: (order: Order) => Order, early = false): Wraps => ({
  door: (door, _performers, parts) => ({
    ...door,
    async submit(submission) {
      if (submission.is !== 'follow') return door.submit(submission)
      const [first] = await parts.stores.orders.load([submission])
      for (;;) {
        const result = await judgeOnce(submission, (order) => view(early ? first! : order), parts)
        if (result) return result
      }
    },
  }),
})

/** Judges in one transaction, as the door does. Undefined: it must be judged again. */
async function judgeOnce(item: Follow, view: (order: Order) => Order, parts: GatewayParts): Promise<Advanced | undefined> {
  const { orders } = parts.stores
  const now = parts.clock.now()
  const entries = [{ item, at: 0 }]
  const byKey = judgeKeys(entries, await keysHeld(orders, entries, now), now)
  const [answered] = byKey.answered
  const answer = orders.transaction(async (tables): Promise<Advanced | undefined> => {
    await tables.insertRepeats(byKey.repeats)
    if (answered) return answered[1]
    const [order] = await tables.load([item])
    const decided = decideOn(view(order!), item, parts)
    if (!decided) throw new Error('nothing was decided')
    const bind = async (transactionNo: number) => {
      const bound = [{ item, orderId: item.orderId, transactionNo }]
      if (!('rows' in decided)) await tables.insertRepeats(bound.map((one) => repeatRow(one, now)))
      const rows = rowsFor(bound, now)
      if (rows.length > 0 && !(await tables.claimIdempotencyKeys(rows, now))) throw new KeysTaken('another process took a key')
    }
    if ('rows' in decided) {
      const work = addedTo(order!, decided)
      if (!(await tables.save([work], undefined)).has(orderKeyText(work.after))) return undefined
      await bind(work.after.transactions.length)
      return { is: 'applied', order: work.after }
    }
    if (decided.is !== 'repeat') return isNotFollowed(decided) ? { is: 'not followed', judged: decided } : undefined
    await bind(decided.transaction.no)
    return { is: 'repeated', transactionNo: decided.transaction.no }
  })
  return answer.catch((error) => {
    if (error instanceof KeysTaken) return undefined
    throw error
  })
}

export const withTransactions =
  (change: (t: Transaction) => Transaction) =>
  (order: Order): Order => ({
    ...order,
    transactions: order.transactions.map(change),
  })

const forgetUnknown = withTransactions((t) => (t.state === 'unknown' && t.no > 1 ? { ...t, state: 'error' } : t))
const trustUnknown = withTransactions((t) => (t.state === 'unknown' && t.kind === 'capture' ? { ...t, state: 'approved' } : t))

/** Stores wanted reversals as acknowledged. `asks`: sends the message first. */
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

/** The next amount of the list that the merchant sent. */
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

/** Finds a card reference by its id alone, whichever merchant it belongs to. */
const findAnybodys: Wraps = {
  stores: ({ references, ...stores }) => ({
    ...stores,
    references: {
      ...references,
      async find(names) {
        const anybodys = names.map(({ merchantId, cardRefId }) =>
          references.find([merchantId, 1n, 2n, 3n].map((anybody) => ({ merchantId: anybody, cardRefId }))),
        )
        return (await Promise.all(anybodys)).map((found) => found.find((one) => one !== undefined))
      },
    },
  }),
}

const captured = 'no more is captured than was authorised'
const returned = 'no more is returned than was settled'

// oxfmt-ignore
export const plantedInFollowUps: readonly Planted[] = [
  { name: 'forget that what is unknown counts as used', breaks: [captured, returned, 'what is released is not charged', 'a request is done once'], wrap: judgedBy(forgetUnknown) },
  { name: 'give back of a capture that is unknown', breaks: [returned, 'a request is done once'], wrap: judgedBy(trustUnknown) },
  { name: 'judge amounts outside the commit', breaks: [captured, returned, 'what is released is not charged', 'a request is done once'], wrap: judgedBy((order) => order, true) },
  { name: 'forget to reverse a lost capture', breaks: ['the books are equal', captured, 'what is released is not charged'], wrap: takenForReversed(takesBackA('capture'), false) },
  { name: 'forget to reverse a lost return', breaks: ['the books are equal', returned, 'what is released is not charged'], wrap: takenForReversed(takesBackA('return'), false) },
  { name: 'take a lost void for an acknowledged one', breaks: ['what is released is not charged'], wrap: takenForReversed((_order, { kind }) => kind === 'void', true) },
  { name: 'add what an operator asks for under the old version', breaks: ['no decision is lost'], wrap: {
    operator: (change) => ({ ...change, after: { ...change.after, version: change.before!.version } }) } },
  { name: 'charge the next amount after an unknown answer', breaks: ['a list of amounts is charged once', 'the books are equal'], wrap: chargeTheNext },
  { name: 'charge another amount than the list has', breaks: ['a list of amounts is charged once'], wrap: {
    connector: (c) => ({ ...c, authorise: (ask, ...rest) => c.authorise(ask.recurrent ? { ...ask, amountMinor: ask.amountMinor + 1n } : ask, ...rest) }) } },
  { name: 'find the card reference of another merchant', breaks: ['no merchant charges the card of another'], wrap: findAnybodys },
  { name: 'name the amount that was asked, not the one that was approved', breaks: ['the acquirer can read what it is sent'], wrap: {
    connector: (c) => ({ ...c, follow: (ask, ...rest) => c.follow({ ...ask, originalMinor: ask.originalMinor + 1n }, ...rest) }) } },
]
