import { failureOf } from '../src/storage/pool.ts'
import { openAttempt } from '../src/order/perform.ts'
import type { OrderStore, OrderTables } from '../src/order/store.ts'
import type { Wraps } from './gateway.ts'
import type { Invariant } from './invariants.ts'
import type { Stores } from './store-line.ts'

/** A bug that somebody might make, put between the parts of the simulation only. */
export interface Planted {
  name: string
  /** Any of these may break first: which one does is up to what else happens. */
  breaks: readonly Invariant[]
  wrap: Wraps
}

const inOrders = (change: (orders: OrderStore) => Partial<OrderStore>): Wraps => ({
  stores: (stores) => ({ ...stores, orders: { ...stores.orders, ...change(stores.orders) } }),
})
const inTables = (change: (tables: OrderTables) => Partial<OrderTables>): Wraps =>
  inOrders((orders) => ({
    transaction: (body) => orders.transaction((tables) => body({ ...tables, ...change(tables) })),
  }))
const inDeliveries = (change: (deliveries: Stores['deliveries']) => Partial<Stores['deliveries']>): Wraps => ({
  stores: (stores) => ({ ...stores, deliveries: { ...stores.deliveries, ...change(stores.deliveries) } }),
})

/** What is stored counts as what was read: an order is saved over whatever another process made of it. */
const forgetTheFence = inTables((tables) => ({
  async save(changes, lease) {
    const stored = await tables.load(changes.filter((c) => c.before).map((c) => c.after))
    return tables.save(
      changes.map((c) => {
        const now = c.before && stored.find((o) => o.merchantId === c.after.merchantId && o.orderId === c.after.orderId)
        return now ? { ...c, before: { ...c.before, version: now.version } as typeof now } : c
      }),
      lease,
    )
  },
}))

/** A process that takes an authorisation over sends it again, as if nobody had. */
const resendOnRecovery: Wraps = {
  door: (door, performers, { stores }) => ({
    ...door,
    async submit(submission) {
      if (submission.is !== 'resume' || door.holds(submission)) return door.submit(submission)
      const [order] = await stores.orders.load([submission])
      const transaction = order?.transactions.find((t) => t.no === submission.transactionNo)
      if (!order || transaction?.step !== 'authorise' || !openAttempt(order, transaction)) return door.submit(submission)
      const event = await performers.authorise({ order, card: submission.card }, transaction)
      const { merchantId, orderId } = submission
      return door.submit({ is: 'event', merchantId, orderId, event })
    },
  }),
}

const answerBeforeTheCommit: Wraps = {
  door: (door) => ({
    ...door,
    submit(submission) {
      const committed = door.submit(submission)
      if (submission.is !== 'accept') return committed
      committed.catch(() => {})
      return Promise.resolve({ is: 'accepted', orderId: submission.order.orderId, repeat: false })
    },
  }),
}

/** A connection lost at the commit is taken for a commit. */
const believeTheCommit = inOrders((orders) => ({
  async transaction(body) {
    let result: Awaited<ReturnType<typeof body>> | undefined
    try {
      return await orders.transaction(async (tables) => (result = await body(tables)))
    } catch (error) {
      if (result === undefined || failureOf(error) !== 'connection') throw error
      return result
    }
  },
}))

// oxfmt-ignore
export const planted: readonly Planted[] = [
  { name: 'forget the fence', breaks: ['no decision is lost', 'a final status stays'], wrap: forgetTheFence },
  { name: 'take a lost answer for a decline', breaks: ['the books are equal'], wrap: {
    connector: (c) => ({ ...c, authorise: async (...ask) => {
      const outcome = await c.authorise(...ask)
      return outcome.is === 'unknown' ? { is: 'declined', actionCode: '911', data: {} } : outcome
    } }) } },
  { name: 'take a lost answer for not sent', breaks: ['the books are equal'], wrap: {
    connector: (c) => ({ ...c, authorise: async (...ask) => {
      const outcome = await c.authorise(...ask)
      return outcome.is === 'unknown' ? { is: 'not sent', why: outcome.why } : outcome
    } }) } },
  { name: 'take a lost reversal for an acknowledged one', breaks: ['the books are equal'], wrap: {
    connector: (c) => ({ ...c, reverse: async (...ask) => {
      const outcome = await c.reverse(...ask)
      return outcome.is === 'unknown' ? { is: 'acknowledged', actionCode: '400' } : outcome
    } }) } },
  { name: 'reverse another amount', breaks: ['every order ends', 'the books are equal'], wrap: {
    connector: (c) => ({ ...c, reverse: (ask, ...rest) => c.reverse({ ...ask, amountMinor: ask.amountMinor + 1n }, ...rest) }) } },
  { name: 'drop a delivery row', breaks: ['every outcome is told'], wrap:
    inTables((t) => ({ save: (changes, lease) => t.save(changes.map((c) => ({ ...c, deliveries: c.deliveries.slice(1) })), lease) })) },
  { name: 'tell a final status twice', breaks: ['an outcome is told once to each'], wrap:
    inTables((t) => ({ save: (changes, lease) => t.save(changes.map((c) => ({
      ...c, deliveries: c.deliveries.flatMap((d) => [d, { ...d, deliveryNo: d.deliveryNo + c.deliveries.length }]) })), lease) })) },
  { name: 'answer before the commit', breaks: ['an acknowledged order exists'], wrap: answerBeforeTheCommit },
  { name: 'believe a commit whose connection was lost', breaks: ['an acknowledged order exists', 'an attempt is recorded before it is sent', 'every order ends', 'the books are equal', 'nothing is leased forever', 'the same request has the same answer', 'a final status stays', 'every outcome is told'], wrap: believeTheCommit },
  { name: 'send again on recovery', breaks: ['an attempt is sent once'], wrap: resendOnRecovery },
  { name: 'give a block of STANs out twice', breaks: ['names are used once'], wrap: {
    stores: (s) => ({ ...s, reserve: async (name, count) => (name === 'attempt' ? 1n : s.reserve(name, count)) }) } },
  { name: 'send without looking at the lease', breaks: ['nobody sends without its lease', 'an attempt is sent once'], wrap: {
    heartbeat: (h) => ({ ...h, holding: () => true }) } },
  { name: 'forget to erase the CVV2', breaks: ['a CVV2 is gone when it is not needed'], wrap:
    inTables((t) => ({ save: (changes, lease) => t.save(changes.map((c) => ({ ...c, eraseCvv2: false })), lease) })) },
  { name: 'claim a name that is live', breaks: ['one live order a name', 'the same request has the same answer'], wrap:
    inTables((t) => ({ claimKeys: async (claims) => { await t.claimKeys(claims); return [...claims] } })) },
  { name: 'take a repeat for another request', breaks: ['the same request has the same answer'], wrap:
    inTables((t) => ({ claimKeys: async (claims) => (await t.claimKeys(claims)).map((row) =>
      claims.some((c) => c.orderId === row.orderId) ? row : { ...row, digest: Buffer.alloc(32) }) })) },
  { name: 'never look for what a dead process left', breaks: ['every order ends', 'nothing is leased forever'], wrap:
    inOrders((o) => ({ claimDue: async (...asked) => (await o.claimDue(...asked)).filter((d) => d.hadLease === undefined) })) },
  { name: 'give a message up after the first failure', breaks: ['every outcome is told'], wrap:
    inDeliveries((d) => ({ saveTries: (tries, id) => d.saveTries(tries.map(({ dueAt: _dueAt, ...t }) => ({ ...t, state: t.state === 'due' ? 'given up' : t.state })), id) })) },
  { name: 'take a failed message for delivered', breaks: ['delivered means accepted'], wrap:
    inDeliveries((d) => ({ saveTries: (tries, id) => d.saveTries(tries.map(({ dueAt: _dueAt, ...t }) => ({ ...t, state: 'delivered' })), id) })) },
]
