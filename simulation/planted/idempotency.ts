import { hmacSha256 } from '../../src/base/digest.ts'
import { secret } from '../../src/base/secret.ts'
import type { FollowAsked, Transaction } from '../../src/order/decide/order.ts'
import { orderKeyText } from '../../src/order/decide/change.ts'
import type { Accept, Submission } from '../../src/order/door/submission.ts'
import { statusOfState } from '../../src/order/decide/order.ts'
import type { Wraps } from '../world/gateway-parts.ts'
import type { Invariant } from '../watch/invariant.ts'
import { judgedBy, withTransactions } from './follow-ups.ts'
import { inOrders, inTables, stepByStep, type Planted } from './planting.ts'
import { storedDigest, type KeyedDigest } from '../../src/keys/digest.ts'

/** Changes the earlier requests of an order as the decision sees them. */
const withAsked = (change: (asked: FollowAsked) => FollowAsked) =>
  withTransactions((t) => (t.asked ? { ...t, asked: change(t.asked) } : t))

const hasFailed = ({ state }: Transaction): boolean => ['declined', 'error'].includes(statusOfState(state))

const forgetApprovals = withTransactions((t) => (t.asked && t.state === 'approved' ? { ...t, finalAt: 0 } : t))
const keepApprovals = withTransactions((t) => (t.asked && t.state === 'approved' ? { ...t, finalAt: 8.64e15 } : t))
const takeForApproved = withTransactions((t) => (t.asked && hasFailed(t) ? { ...t, state: 'approved', finalAt: 8.64e15 } : t))
const forgetKeys = withAsked(({ idempotencyKey: _forgotten, ...asked }) => asked)
const nameTheNameless = withAsked((asked) => ({ idempotencyKey: 'none', ...asked }))

/** Changes requests as they arrive at the door. */
const atTheDoor = (change: (submission: Submission) => Submission): Wraps => ({
  door: (door) => ({ ...door, submit: (submission) => door.submit(change(submission)) }),
})

/** Ignores comments, in new requests and in earlier ones. */
const forgetComments: Wraps = {
  door: (door, performers, parts) => {
    const forgetful = judgedBy(withAsked(({ comment: _forgotten, ...asked }) => asked)).door!(door, performers, parts)
    return {
      ...forgetful,
      submit(submission) {
        if (submission.is !== 'follow') return forgetful.submit(submission)
        const { comment: _forgotten, ...ask } = submission.ask
        return forgetful.submit({ ...submission, ask })
      },
    }
  },
}

const forgetAllKeys: Wraps = inOrders((orders) => ({
  ...stepByStep,
  idempotencyKeys: () => Promise.resolve([]),
  transaction: (body) => orders.transaction((tables) => body({ ...tables, claimIdempotencyKeys: () => Promise.resolve(true) })),
}))

/** On the way of one round trip, no key is looked up or written. */
const forgetKeysAtOnce: Wraps = inOrders((orders) => ({
  idempotencyKeys: () => Promise.resolve([]),
  saveAtOnce: (batch) => orders.saveAtOnce({ ...batch, keys: [] }),
}))

/** Limits a key to one order and operation, or to one client_orderid. */
const keyByPlace = atTheDoor((submission) => {
  if (submission.is === 'follow' && submission.ask.idempotencyKey !== undefined) {
    const { operation, idempotencyKey } = submission.ask
    return { ...submission, ask: { ...submission.ask, idempotencyKey: `${submission.orderId} ${operation} ${idempotencyKey}` } }
  }
  if (submission.is !== 'accept' || submission.idempotencyKey === undefined) return submission
  return { ...submission, idempotencyKey: `${submission.order.clientOrderid} ${submission.idempotencyKey}` }
})

/** Takes any request with a key for the first one with that key. */
const believeTheKey = atTheDoor((submission) => {
  const key = submission.is === 'follow' ? submission.ask.idempotencyKey : undefined
  return submission.is === 'follow' && key !== undefined ? { ...submission, digest: digestOf(key) } : submission
})

const digestOf = (text: string): KeyedDigest => storedDigest(hmacSha256(secret(Buffer.alloc(32)), text))

/** Counts the key among the fields that identify the request of a client_orderid. */
const keyInTheDigest = atTheDoor((submission) =>
  submission.is === 'accept'
    ? { ...submission, digest: digestOf(`${submission.digest.stored.toString('hex')} ${keyOf(submission)}`) }
    : submission,
)

const keyOf = ({ idempotencyKey = '' }: Accept): string => idempotencyKey

/** A repeat after a rotation looks like another request. */
const compareAsStored = atTheDoor((submission) => {
  if (submission.is === 'accept') return { ...submission, digest: storedDigest(submission.digest.stored) }
  if (submission.is !== 'follow' || !submission.digest) return submission
  return { ...submission, digest: storedDigest(submission.digest.stored) }
})

/** Forgets the key of a failed request. */
const forgetFailures: Wraps = inOrders((orders) => ({
  ...stepByStep,
  async idempotencyKeys(keys, now) {
    const rows = await orders.idempotencyKeys(keys, now)
    const found = new Map((await orders.load(rows)).map((order) => [orderKeyText(order), order]))
    return rows.filter((row) => {
      const t = found.get(orderKeyText(row))?.transactions.find(({ no }) => no === row.transactionNo)
      return !t || !hasFailed(t)
    })
  },
  transaction: (body) =>
    orders.transaction((tables) => body({ ...tables, claimIdempotencyKeys: anyway(tables.claimIdempotencyKeys) })),
}))

const anyway =
  <Args extends readonly unknown[]>(claim: (...args: Args) => Promise<boolean>) =>
  async (...args: Args): Promise<boolean> => {
    await claim(...args)
    return true
  }

/** Does not store the key of a request that repeats an older one. */
const forgetRepeats = inTables((tables) => ({
  async claimIdempotencyKeys(rows, now) {
    const found = new Map((await tables.load(rows)).map((order) => [orderKeyText(order), order]))
    const own = rows.filter((row) => {
      const t = found.get(orderKeyText(row))?.transactions.find(({ no }) => no === row.transactionNo)
      return !t || t.serialNumber === row.serialNumber
    })
    return own.length === 0 || tables.claimIdempotencyKeys(own, now)
  },
}))

/** Writes a key only after the commit of its request. */
const writeKeysLater: Wraps = inOrders((orders) => ({
  ...stepByStep,
  async transaction(body) {
    const later: (() => Promise<unknown>)[] = []
    const result = await orders.transaction((tables) =>
      body({
        ...tables,
        claimIdempotencyKeys(rows, now) {
          later.push(() => orders.transaction((own) => own.claimIdempotencyKeys(rows, now)))
          return Promise.resolve(true)
        },
      }),
    )
    for (const claim of later) await claim()
    return result
  },
}))

const forgetSoon = inTables((tables) => ({
  claimIdempotencyKeys: (rows, now) =>
    tables.claimIdempotencyKeys(
      rows.map((row) => ({ ...row, heldUntil: now + 1_000 })),
      now,
    ),
}))

/** All merchants share their keys. */
const shareKeys: Wraps = inOrders((orders) => ({
  async idempotencyKeys(keys, now) {
    const everybody = keys.flatMap(({ key }) => [1n, 2n, 3n].map((merchantId) => ({ merchantId, key })))
    const rows = await orders.idempotencyKeys(everybody, now)
    return rows.flatMap((row) => keys.filter(({ key }) => key === row.key).map(({ merchantId }) => ({ ...row, merchantId })))
  },
}))

const once: readonly Invariant[] = ['a request is done once']
const repeats: readonly Invariant[] = ['a repeat is of the same request']
const keys: readonly Invariant[] = [
  'a key names one request',
  'a request is done once',
  'a repeat is of the same request',
  'the same request has the same answer',
]

/** A bug for each sentence about repeats and keys in docs/choices.md. */
// oxfmt-ignore
export const plantedInIdempotency: readonly Planted[] = [
  { name: 'forget that an equal request was just approved', breaks: once, wrap: judgedBy(forgetApprovals) },
  { name: 'take an equal request for a repeat forever', breaks: repeats, wrap: judgedBy(keepApprovals) },
  { name: 'take a request with a key for another than the same without', breaks: once, wrap: judgedBy(nameTheNameless) },
  { name: 'take two requests that differ in their keys for one', breaks: repeats, wrap: judgedBy(forgetKeys) },
  { name: 'take two requests that differ in their comments for one', breaks: [...repeats, 'a key names one request'], wrap: forgetComments },
  { name: 'take one that was declined for an obstacle', breaks: repeats, wrap: judgedBy(takeForApproved) },
  { name: 'forget what a key stands for', breaks: keys, wrap: forgetAllKeys },
  { name: 'save immediately without a look at the key', breaks: keys, wrap: forgetKeysAtOnce },
  { name: 'forget what a key stands for after a second', breaks: keys, wrap: forgetSoon },
  { name: 'let a key stand for one request of each order and operation', breaks: keys, wrap: keyByPlace },
  { name: 'answer any request under a key with its first', breaks: keys, wrap: believeTheKey },
  { name: 'forget a key whose request came to nothing', breaks: keys, wrap: forgetFailures },
  { name: 'refuse a repeat that comes with another key', breaks: ['the same request has the same answer'], wrap: keyInTheDigest },
  { name: 'let a key of a repeat stand for nothing', breaks: keys, wrap: forgetRepeats },
  { name: 'write a key after the commit of what it stands for', breaks: keys, wrap: writeKeysLater },
  { name: 'compare a repeat under the newest key of digests alone', breaks: [...keys, 'the same request has the same answer'], wrap: compareAsStored },
  { name: 'make the ids of cards with a key that is replaced', breaks: [...keys, 'the same request has the same answer'], wrap: {
    keys: (own) => ({ ...own, current: (purpose) => own.current(purpose === 'card-id' ? 'fingerprint' : purpose) }) } },
  { name: 'let merchants share their keys', breaks: [...keys, 'an acknowledged order exists'], wrap: shareKeys },
]
