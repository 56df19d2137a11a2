import type { Ledger, Names } from '../../simulators/acquirer/ledger.ts'
import type { Outcome } from '../../src/acquirer/connector.ts'
import type { Clock } from '../../src/base/clock.ts'
import type { Card } from '../../src/card/vault.ts'
import { failureOf } from '../../src/storage/pool.ts'
import type { Pulse } from '../../src/leases/pulse.ts'
import { orderKeyText } from '../../src/order/decide/change.ts'
import type { Attempt, Order } from '../../src/order/decide/order.ts'
import { openAttempt } from '../../src/order/perform.ts'
import type { OrderStore } from '../../src/order/store/store.ts'
import type { Wraps } from '../world/gateway-parts.ts'
import { plantedInCells } from './cells.ts'
import { plantedInCounts } from './counts.ts'
import { plantedInFilters } from './filters.ts'
import { plantedInFollowUps } from './follow-ups.ts'
import { plantedInLegacy } from './legacy.ts'
import { plantedInIdempotency } from './idempotency.ts'
import { plantedInThreeDSecure } from './three-d-secure.ts'
import { plantedInMobile } from './mobile.ts'
import { plantedInPatience } from './patience.ts'
import { plantedInSums } from './sums.ts'
import { plantedInTransfers } from './transfers.ts'
import { cardOf, inDeliveries, inOrders, inTables, stepByStep, type Planted } from './planting.ts'

/**
 * Saves over whatever version is stored, and so overwrites the work of another process.
 */
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

/** A process that takes over an authorisation sends it again, as if it had never been sent. */
const resendOnRecovery: Wraps = {
  door: (door, performers, parts) => ({
    ...door,
    async submit(submission) {
      if (submission.is !== 'resume' || door.holds(submission)) return door.submit(submission)
      const [order] = await parts.stores.orders.load([submission])
      const transaction = order?.transactions.find((t) => t.no === submission.transactionNo)
      if (!order || transaction?.step !== 'authorise' || !openAttempt(order, transaction)) return door.submit(submission)
      const event = await performers.authorise({ order, card: await cardOf(parts, submission) }, transaction)
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

/** Treats a connection lost at the commit as a successful commit. */
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
  saveAtOnce: (batch) =>
    orders.saveAtOnce(batch).catch((error: unknown) => {
      if (failureOf(error) !== 'connection') throw error
      return true
    }),
}))

/** A transaction that failed answers its commit with ROLLBACK, and not with an error. */
const takeRollbackForCommit = inOrders((orders) => ({
  saveAtOnce: (batch) => orders.saveAtOnce(batch).then(() => true),
}))

/** Writes a batch over whatever version is stored. */
const ignoreTheConflict = inOrders((orders) => ({
  async saveAtOnce(batch) {
    const stored = await orders.versions(batch.changes.flatMap(({ before }) => before ?? []))
    const changes = batch.changes.map((change) => {
      const version = change.before && stored.get(orderKeyText(change.before))
      return version === undefined ? change : { ...change, before: { ...change.before!, version } }
    })
    return orders.saveAtOnce({ ...batch, changes })
  },
}))

/** Shows a copy of an order without a look at the stored version. */
const believeTheCopy = inOrders(() => ({
  versions: (orders) => Promise.resolve(new Map((orders as Order[]).map((order) => [orderKeyText(order), order.version]))),
}))

/** A step that is put back keeps the lease of the process that gave it up. */
const keepTheLease = inOrders((orders) => ({
  async putBack(due, processId, ...rest) {
    await orders.putBack(due, processId, ...rest)
    await orders.transaction(async (tables) => {
      const [before] = await tables.load([due])
      if (!before) return
      const transactions = before.transactions.map((t) =>
        t.no === due.transactionNo && t.step !== undefined ? { ...t, lease: processId } : t,
      )
      const after = { ...before, version: before.version + 1, transactions }
      await tables.save([{ before, after, rows: [], deliveries: [], eraseCvv2: false }], undefined)
    })
  },
}))

/** Reuses the numbers of a failed commit, although the commit may have succeeded. */
const reuseNumbers: Wraps = {
  stores({ orders, ...stores }) {
    const unused: string[] = []
    const transaction: OrderStore['transaction'] = async (body) => {
      let drawn: Attempt[] = []
      try {
        return await orders.transaction((tables) =>
          body({
            ...tables,
            save(changes, lease) {
              drawn = changes.flatMap(({ before, after }) => after.attempts.slice(before?.attempts.length ?? 0))
              for (const attempt of drawn) attempt.stan = unused.shift() ?? attempt.stan
              return tables.save(changes, lease)
            },
          }),
        )
      } catch (error) {
        unused.push(...drawn.map(({ stan }) => stan))
        throw error
      }
    }
    return { ...stores, orders: { ...orders, ...stepByStep, transaction } }
  },
}

/** Changes the pulse as the main loop or the heart sees it. */
const inPulse = (side: 'loop' | 'heart', change: (pulse: Pulse, clock: Clock) => PropertyDescriptorMap): Wraps => ({
  pulse: (pulse, seenBy, clock) => (seenBy === side ? (Object.create(pulse, change(pulse, clock)) as Pulse) : pulse),
})

/** Acknowledges the reversal of an answered payment, but changes nothing. */
function ignoresReversals(ledger: Ledger): Ledger {
  const reverse = ledger.reverse.bind(ledger)
  return Object.assign(ledger, {
    reverse(...[by, of, entry, at]: Parameters<Ledger['reverse']>) {
      if (!entry?.answered) reverse(by, of, entry, at)
    },
  })
}

/** Forgets the identifiers of reversed payments, so a late copy is booked as another payment. */
function forgetsTheReversed(ledger: Ledger): Ledger {
  const find = ledger.find.bind(ledger)
  return Object.assign(ledger, {
    find(names: Names) {
      const entry = find(names)
      return entry?.state === 'reversed' ? undefined : entry
    },
  })
}

/** Changes when the reversal of a lost answer may leave. */
const reverseAt = (when: (deadlineAt: number, startedAt: number) => number): Wraps => ({
  performers: (performers) => ({
    ...performers,
    async authorise(held, transaction) {
      const { deadlineAt, startedAt } = openAttempt(held.order, transaction)
      const event = await performers.authorise(held, transaction)
      return event.is === 'answer lost' ? { ...event, reverseAt: when(deadlineAt, startedAt) } : event
    },
  }),
})

/** The card as if it had come without a CVV2, if that was lost. */
const withoutLost = ({ cvv2, ...card }: Card): Card => (cvv2 && cvv2 !== 'lost' ? { ...card, cvv2 } : card)

/** Takes a stray with the STAN of an authorisation for its outcome. */
const takeStraysFor = (outcome: Outcome): Wraps => ({
  connector: (c, _parts, strays) => ({
    ...c,
    authorise: (ask, ...rest) => Promise.race([c.authorise(ask, ...rest), strays.under(ask.stan).then(() => outcome)]),
  }),
})

/** Takes a stray with the STAN of a reversal for its acknowledgement. */
const takeAnyAcknowledgement: Wraps = {
  connector: (c, _parts, strays) => ({
    ...c,
    reverse: (ask, ...rest) =>
      Promise.race([
        c.reverse(ask, ...rest),
        strays.under(ask.stan).then(() => ({ is: 'acknowledged', actionCode: '400' }) as const),
      ]),
  }),
}

/** Looks for an approval in what an acquirer writes, if that is not plain. */
const readTheText: Wraps = {
  connector: (c) => ({
    ...c,
    async authorise(...ask) {
      const outcome = await c.authorise(...ask)
      if (outcome.is !== 'declined' || !/[^ -~]/.test(outcome.text ?? '')) return outcome
      return { is: 'approved', actionCode: '000', data: outcome.data }
    },
  }),
}

// oxfmt-ignore
export const planted: readonly Planted[] = [
  { name: 'forget the fence', breaks: ['no decision is lost', 'a final status stays', 'an issuer is asked once', 'no more is returned than was settled'], wrap: forgetTheFence },
  { name: 'take a lost answer for a decline', breaks: ['a list of amounts is charged once', 'the books are equal', 'a transfer moves money once and whole'], wrap: {
    connector: (c) => ({ ...c, authorise: async (...ask) => {
      const outcome = await c.authorise(...ask)
      return outcome.is === 'unknown' ? { is: 'declined', actionCode: '911', data: {} } : outcome
    } }) } },
  { name: 'take a lost answer for not sent', breaks: ['the books are equal', 'a transfer moves money once and whole'], wrap: {
    connector: (c) => ({ ...c, authorise: async (...ask) => {
      const outcome = await c.authorise(...ask)
      return outcome.is === 'unknown' ? { is: 'not sent', why: outcome.why } : outcome
    } }) } },
  { name: 'take a lost reversal for an acknowledged one', breaks: ['the books are equal', 'what is released is not charged', 'a transfer moves money once and whole'], wrap: {
    connector: (c) => ({ ...c, reverse: async (...ask) => {
      const outcome = await c.reverse(...ask)
      return outcome.is === 'unknown' ? { is: 'acknowledged', actionCode: '400' } : outcome
    } }) } },
  { name: 'reverse another amount', breaks: ['every order ends', 'the books are equal', 'what is released is not charged'], wrap: {
    connector: (c) => ({ ...c, reverse: (ask, ...rest) => c.reverse({ ...ask, amountMinor: ask.amountMinor + 1n }, ...rest) }) } },
  { name: 'drop a delivery row', breaks: ['every outcome is reported', 'a card is sent where it is due'], wrap:
    inTables((t) => ({ save: (changes, lease) => t.save(changes.map((c) => ({ ...c, deliveries: c.deliveries.slice(1) })), lease) })) },
  { name: 'send a final status twice', breaks: ['an outcome is sent once to each'], wrap:
    inTables((t) => ({ save: (changes, lease) => t.save(changes.map((c) => ({
      ...c, deliveries: c.deliveries.flatMap((d) => [d, { ...d, deliveryNo: d.deliveryNo + c.deliveries.length }]) })), lease) })) },
  { name: 'answer before the commit', breaks: ['an acknowledged order exists', 'an invoice ends once'], wrap: answerBeforeTheCommit },
  { name: 'believe a commit whose connection was lost', breaks: ['an acknowledged order exists', 'an attempt is recorded before it is sent', 'every order ends', 'the books are equal', 'nothing is leased forever', 'the same request has the same answer', 'a final status stays', 'every outcome is reported'], wrap: believeTheCommit },
  { name: 'take ROLLBACK for COMMIT', breaks: ['an acknowledged order exists', 'an attempt is recorded before it is sent', 'every order ends', 'the books are equal', 'nothing is leased forever', 'the same request has the same answer', 'a final status stays', 'every outcome is reported'], wrap: takeRollbackForCommit },
  { name: 'save immediately over a version that moved', breaks: ['no decision is lost', 'a final status stays', 'an issuer is asked once', 'no more is returned than was settled'], wrap: ignoreTheConflict },
  { name: 'save immediately without claiming the name', breaks: ['one live order a name', 'the same request has the same answer'], wrap:
    inOrders((o) => ({ saveAtOnce: (batch) => o.saveAtOnce({ ...batch, claims: [] }) })) },
  { name: 'show a copy that is outdated', breaks: ['a final status stays'], wrap: believeTheCopy },
  { name: 'send again on recovery', breaks: ['an attempt is sent once'], wrap: resendOnRecovery },
  { name: 'give a block of STANs out twice', breaks: ['names are used once'], wrap: {
    stores: (s) => ({ ...s, reserve: async (name, count) => (name === 'attempt' ? 1n : s.reserve(name, count)) }) } },
  { name: 'send without looking at the lease', breaks: ['no process sends without its lease', 'an attempt is sent once'], wrap: {
    heartbeat: (h) => ({ ...h, holding: () => true }) } },
  { name: 'forget to erase the CVV2', breaks: ['a CVV2 is gone when it is not needed'], wrap:
    inTables((t) => ({ save: (changes, lease) => t.save(changes.map((c) => ({ ...c, eraseCvv2: false })), lease) })) },
  { name: 'authorise without a CVV2 that cannot be opened', breaks: ['what came with a CVV2 is not charged without it'], wrap: {
    performers: (p) => ({ ...p, authorise: ({ order, card }, transaction) => p.authorise({ order, card: withoutLost(card) }, transaction) }) } },
  { name: 'claim a name that is live', breaks: ['one live order a name', 'the same request has the same answer'], wrap:
    inTables((t) => ({ claimKeys: async (claims) => { await t.claimKeys(claims); return [...claims] } })) },
  { name: 'take a repeat for another request', breaks: ['the same request has the same answer'], wrap:
    inTables((t) => ({ claimKeys: async (claims) => (await t.claimKeys(claims)).map((row) =>
      claims.some((c) => c.orderId === row.orderId) ? row : { ...row, digest: Buffer.alloc(32) }) })) },
  { name: 'never look for what a dead process left', breaks: ['every order ends', 'nothing is leased forever'], wrap:
    inOrders((o) => ({ claimDue: async (...asked) => (await o.claimDue(...asked)).filter((d) => d.hadLease === undefined) })) },
  { name: 'give a message up after the first failure', breaks: ['every outcome is reported', 'a card is sent where it is due'], wrap:
    inDeliveries((d) => ({ saveTries: (tries, id) => d.saveTries(tries.map(({ dueAt: _dueAt, ...t }) => ({ ...t, state: t.state === 'due' ? 'given up' : t.state })), id) })) },
  { name: 'take a failed message for delivered', breaks: ['delivered means accepted', 'a card is sent where it is due'], wrap:
    inDeliveries((d) => ({ saveTries: (tries, id) => d.saveTries(tries.map(({ dueAt: _dueAt, ...t }) => ({ ...t, state: 'delivered' })), id) })) },
  { name: 'reverse immediately when an answer is lost', breaks: ['a reversal never overtakes its original'], wrap: reverseAt((_deadlineAt, startedAt) => startedAt) },
  { name: 'count the time of an original from its record', breaks: ['a reversal never overtakes its original'], wrap: reverseAt((deadlineAt) => deadlineAt) },
  { name: 'reverse immediately what a dead process left', breaks: ['a reversal never overtakes its original'], wrap:
    inTables((t) => ({ save: (changes, lease) => t.save(changes.map((c) => {
      const lost = c.rows.find((r) => r.event === 'lease lost')
      return lost ? { ...c, after: { ...c.after, transactions: c.after.transactions.map((o) => (o.state === 'owed' ? { ...o, dueAt: lost.at } : o)) } } : c
    }), lease) })) },
  { name: 'count the lease from the answer to a beat', breaks: ['no process sends without its lease', 'a reversal never overtakes its original'], wrap:
    inPulse('heart', (pulse, clock) => ({ beatenAt: { get: () => pulse.beatenAt, set: () => (pulse.beatenAt = clock.monotonic()) } })) },
  { name: 'judge the lease by the turns of its loop, not by its beats', breaks: ['no process sends without its lease', 'an attempt is sent once'], wrap:
    inPulse('loop', (pulse) => ({ beatenAt: { get: () => pulse.turnedAt } })) },
  { name: 'beat on for a loop that hangs', breaks: ['every order ends', 'nothing is leased forever', 'every outcome is reported'], wrap:
    inPulse('heart', () => ({ turnedAt: { get: () => Infinity } })) },
  { name: 'keep the lease of a step that is put back', breaks: ['a lease is taken by an event or a claim'], wrap: keepTheLease },
  { name: 'give the STANs of a failed commit out again', breaks: ['names are used once', 'an attempt is sent once'], wrap: reuseNumbers },
  { name: 'take the answer to another payment for its own', breaks: ['the books are equal'], wrap: takeStraysFor({ is: 'approved', actionCode: '000', data: {} }) },
  { name: 'let a stray end the waiting', breaks: ['an answer is waited for'], wrap: takeStraysFor({ is: 'unknown', why: 'a stray came', waitedMs: 0 }) },
  { name: 'take the acknowledgement of another reversal for its own', breaks: ['the books are equal', 'what is released is not charged'], wrap: takeAnyAcknowledgement },
  { name: 'take a decline with an odd text for an approval', breaks: ['the books are equal', 'a list of amounts is charged once'], wrap: readTheText },
  { name: 'take a reversal for done after three tries', breaks: ['the books are equal', 'what is released is not charged'], wrap: {
    performers: (p) => ({ ...p, reverse: async (held, transaction) => {
      const event = await p.reverse(held, transaction)
      if (event.is !== 'reversal unanswered' || transaction.tries < 2) return event
      return { is: 'reversal acknowledged', transactionNo: event.transactionNo, attemptNo: event.attemptNo, actionCode: '400' }
    } }) } },
  { name: 'acknowledge and ignore the reversal of a payment that it answered', by: 'an acquirer', breaks: ['the books are equal', 'what is released is not charged'], wrap: {
    ledger: ignoresReversals } },
  { name: 'forget a reversal that came before its original', by: 'an acquirer', breaks: ['the books are equal', 'what is released is not charged'], wrap: {
    ledger: (ledger) => Object.assign(ledger, { isForestalled: () => false }) } },
  { name: 'book a payment again that it reversed', by: 'an acquirer', breaks: ['the books are equal', 'what is released is not charged', 'a list of amounts is charged once'], wrap: {
    ledger: forgetsTheReversed } },
  ...plantedInThreeDSecure,
  ...plantedInLegacy,
  ...plantedInFollowUps,
  ...plantedInIdempotency,
  ...plantedInFilters,
  ...plantedInMobile,
  ...plantedInSums,
  ...plantedInTransfers,
  ...plantedInPatience,
  ...plantedInCounts,
  ...plantedInCells,
]
