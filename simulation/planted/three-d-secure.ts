import type { SealedCard } from '../../src/card/vault.ts'
import type { Accept, Submission } from '../../src/order/door/submission.ts'
import type { Event } from '../../src/order/decide/event.ts'
import type { Order, Transaction } from '../../src/order/decide/order.ts'
import type { Change } from '../../src/order/decide/change.ts'
import type { OrderStore } from '../../src/order/store/store.ts'
import { authenticationKey, pageKey } from '../../src/order/decide/locator-keys.ts'
import type { Performer } from '../../src/order/perform.ts'
import { refuse } from '../../src/spec/refusals.ts'
import { emvVersion, type Authentication } from '../../src/three-d-secure/authentication.ts'
import { erroAbout, readMessage } from '../../src/three-d-secure/codec.ts'
import type { GatewayParts, Wraps } from '../world/gateway-parts.ts'
import type { Json } from '../parties/issuer-messages.ts'
import { messageIn } from '../parties/issuer-oddities.ts'
import { cardOf, inTables, type Planted } from './planting.ts'

const inChanges = (change: (one: Change) => Change): Wraps =>
  inTables((tables) => ({ save: (changes, lease) => tables.save(changes.map(change), lease) }))

/** Changes saved transactions to which one of these events happened. */
export const after = (
  names: readonly Event['is'][],
  change: (now: Transaction, was: Transaction | undefined) => Transaction,
): Wraps =>
  inChanges((c) => {
    const touched = new Set(c.rows.filter((r) => names.includes(r.event)).map((r) => r.transactionNo))
    if (touched.size === 0) return c
    const transactions = c.after.transactions.map((t, i) => (touched.has(t.no) ? change(t, c.before?.transactions[i]) : t))
    return { ...c, after: { ...c.after, transactions } }
  })

const inAuthenticate = (change: (authenticate: Performer) => Performer): Wraps => ({
  performers: (performers) => ({ ...performers, authenticate: change(performers.authenticate) }),
})

/** Counts a payment as authenticated that the issuer refused, or never answered about. */
const authenticatedInstead = (wanted: (event: Extract<Event, { is: 'not authenticated' }>) => boolean): Wraps =>
  inAuthenticate((authenticate) => async (held, transaction) => {
    const event = await authenticate(held, transaction)
    if (event.is !== 'not authenticated' || event.of === undefined || !wanted(event)) return event
    const { transactionNo, of, learned } = event
    return { is: 'authenticated', transactionNo, of, learned, verified: 'AUTHENTICATED', eci: '05' }
  })

/** Trusts the browser that the challenge was passed, without the result of the issuer. */
const believeTheBrowser: Wraps = {
  door: (door) => ({
    ...door,
    async submit(submission: Exclude<Submission, Accept> | Accept) {
      if (submission.is !== 'event' || submission.event.is !== 'challenge returned') return door.submit(submission)
      const { transactionNo, of } = submission.event
      const event = {
        is: 'authenticated',
        transactionNo,
        of,
        learned: { status: 'Y' },
        verified: 'AUTHENTICATED',
        eci: '05',
      } as const
      return door.submit({ ...submission, event })
    },
  }),
}

/** A process that takes over a dead process's question to an issuer asks it again. */
export const askAgainOnRecovery = (step: 'authenticate' | 'enrol'): Wraps => ({
  door: (door, performers, parts) => ({
    ...door,
    async submit(submission) {
      if (submission.is !== 'resume' || door.holds(submission)) return door.submit(submission)
      const [order] = await parts.stores.orders.load([submission])
      const transaction = order?.transactions.find((t) => t.no === submission.transactionNo)
      if (!order || transaction?.step !== step) return door.submit(submission)
      const { merchantId, orderId } = submission
      const card = await cardOf(parts, submission)
      return door.submit({
        is: 'event',
        merchantId,
        orderId,
        event: await performers[step]({ order, card }, transaction),
      })
    },
  }),
})

async function authenticationOf(orders: OrderStore, id: string): Promise<Authentication | undefined> {
  const [orderKey] = await orders.locate([authenticationKey(id)])
  const [order] = orderKey ? await orders.load([orderKey]) : []
  return order?.transactions.find((t) => t.authentication?.threeDSServerTransId === id)?.authentication
}

/** Accepts a result with any acsTransID. */
const anyAcsTransId: Wraps = {
  inbound:
    (inbound, { stores }) =>
    async (text, directory) => {
      const message = messageIn(text)
      const known = await authenticationOf(stores.orders, String(message['threeDSServerTransID']))
      return inbound(
        known?.acsTransId === undefined ? text : JSON.stringify({ ...message, acsTransID: known.acsTransId }),
        directory,
      )
    },
}

/** Confirms every repeated result, whatever its content. */
const confirmEach: Wraps = {
  results: (results, { stores }) => ({
    async wanted(id) {
      const known = await results.wanted(id)
      if (known) return known
      const one = await authenticationOf(stores.orders, id)
      const { acsTransId, dsTransId } = one ?? {}
      if (one === undefined || acsTransId === undefined || dsTransId === undefined) return undefined
      return { version: emvVersion(one), directory: one.directory, acsTransId, dsTransId, messageCategory: '01' }
    },
    async result(message) {
      const verdict = await results.result(message)
      return verdict.is === 'unknown' ? { is: 'accepted' } : verdict
    },
  }),
}

const isLong = (proof: unknown): boolean => typeof proof === 'string' && !proof.endsWith('=')

/** Ignores proofs of 21 bytes. */
const onlyShortProofs: Wraps = {
  inbound: (inbound) => (text, directory) => {
    const { authenticationValue, ...rest } = messageIn(text)
    return inbound(isLong(authenticationValue) ? JSON.stringify(rest) : text, directory)
  },
}

/** Sends only 20 bytes of each proof to the acquirer. */
const cutProofs: Wraps = {
  connector: (connector) => ({
    ...connector,
    authorise(ask, ...rest) {
      const proof = ask.authentication?.authenticationValue
      if (!isLong(proof)) return connector.authorise(ask, ...rest)
      const authenticationValue = Buffer.from(proof!, 'base64').subarray(0, 20).toString('base64')
      return connector.authorise({ ...ask, authentication: { ...ask.authentication, authenticationValue } }, ...rest)
    },
  }),
}

/** Changes a result on its way in; undefined leaves it. */
const inResults = (change: (message: Json) => Json | undefined): Wraps => ({
  inbound: (inbound) => (text, directory) => {
    const changed = change(messageIn(text))
    return inbound(changed ? JSON.stringify(changed) : text, directory)
  },
})

/** Fills in what a No lacks, and its status with it. */
const oddNoForYes = inResults((message) =>
  message['transStatus'] === 'N' && !(message['authenticationType'] && message['transStatusReason'])
    ? { ...message, transStatus: 'Y', authenticationValue: 'AAECAwQFBgcICQoLDA0ODxAREhM=' }
    : undefined,
)

/** Refuses each result that does not fit in every field. */
const strictWithResults: Wraps = {
  inbound: (inbound) => (text, directory) => {
    const read = readMessage(text, { types: ['RReq', 'Erro'] })
    return read.is === 'unusable' ? Promise.resolve(JSON.stringify(erroAbout(read, '2.2.0'))) : inbound(text, directory)
  },
}

const confirmBeforeTheCommit: Wraps = {
  results: (results) => ({
    ...results,
    result(message) {
      void results.result(message)
      return Promise.resolve({ is: 'accepted' })
    },
  }),
}

/** When the acquirer demands a challenge, sends the payment again with the old authentication. */
const useItTwice: Wraps = {
  performers: (performers) => ({
    ...performers,
    async authorise(held, transaction) {
      const event = await performers.authorise(held, transaction)
      const first = transaction.authentication
      return event.is === 'authentication demanded' && first ? { ...event, authentication: { ...first, round: 2 } } : event
    },
    authenticate(held, transaction) {
      const { round, threeDSServerTransId: of } = transaction.authentication!
      if (round === 1) return performers.authenticate(held, transaction)
      const { verified, eci } = transaction.result
      const known = eci === undefined ? {} : { eci }
      return Promise.resolve({
        is: 'authenticated',
        transactionNo: transaction.no,
        of,
        learned: {},
        verified: verified!,
        ...known,
      })
    },
  }),
}

const keptProof = (now: Transaction, was: Transaction | undefined): Transaction => {
  const kept = was?.authentication?.authenticationValue
  return kept === undefined ? now : { ...now, authentication: { ...now.authentication!, authenticationValue: kept } }
}

const placeOfPage = async ({ stores }: GatewayParts, token: string) => (await stores.orders.locate([pageKey(token)]))[0]

/** Restarts the ten seconds when a hosted page is loaded again. */
const beginAnew: Wraps = {
  hosted: (hosted, _performers, parts) => ({
    ...hosted,
    async methodBegun(token, seen) {
      const until = await hosted.methodBegun(token, seen)
      const orderKey = await placeOfPage(parts, token)
      if (until !== undefined || !orderKey) return until
      const extended = parts.clock.now() + 10_000
      await parts.stores.orders.transaction(async (tables) => {
        const [before] = await tables.load([orderKey])
        const [first, ...others] = before?.transactions ?? []
        if (!before || first?.state !== 'awaiting method' || first.authentication?.methodUntil === undefined) return
        const authentication = { ...first.authentication, methodUntil: extended }
        const extendedOrder = {
          ...before,
          version: before.version + 1,
          transactions: [{ ...first, dueAt: extended, authentication }, ...others],
        }
        await tables.save([{ before, after: extendedOrder, rows: [], deliveries: [], eraseCvv2: false }], undefined)
      })
      return extended
    },
  }),
}

/** Asks the issuer again when a browser comes back late. */
const askForTheLate: Wraps = {
  hosted: (hosted, performers, parts) => ({
    ...hosted,
    async browserCollected(token, collected) {
      const orderKey = await placeOfPage(parts, token)
      const [order] = orderKey ? await parts.stores.orders.load([orderKey]) : []
      const [transaction] = order?.transactions ?? []
      if (!order || !transaction || transaction.state === 'awaiting method') return hosted.browserCollected(token, collected)
      await performers.authenticate({ order, card: await cardOf(parts, order) }, transaction)
    },
  }),
}

/** Declines the payment when the time of the hosted page is over. */
const giveUpThePage: Wraps = {
  door: (door, _performers, { stores }) => ({
    ...door,
    async submit(submission) {
      const [order] = submission.is === 'resume' ? await stores.orders.load([submission]) : []
      const transaction = order?.transactions[0]
      if (submission.is !== 'resume' || transaction?.step !== 'await method') return door.submit(submission)
      const { merchantId, orderId, transactionNo } = submission
      const verdict = { go: 'decline', verified: 'UNKNOWN', errorCode: '2009', errorMessage: 'not completed' } as const
      const of = transaction.authentication!.threeDSServerTransId
      return door.submit({
        is: 'event',
        merchantId,
        orderId,
        event: { is: 'not authenticated', transactionNo, of, learned: {}, verdict },
      })
    },
  }),
}

export const never = 12 * 3_600_000
const withoutCvv2 = ({ cvv2Sealed: _sealed, cvv2Key: _key, ...sealed }: SealedCard): SealedCard => sealed
const isOver = (order: Order) => order.finalAt !== undefined

// oxfmt-ignore
export const plantedInThreeDSecure: readonly Planted[] = [
  { name: 'authorise on the word of the browser', breaks: ['nothing is charged that was not authenticated', 'the acquirer gets the proof that the issuer gave'], wrap: believeTheBrowser },
  { name: 'take a result with another acsTransID', breaks: ['only the issuer says how an authentication ended'], wrap: anyAcsTransId },
  { name: 'confirm a result that comes again', breaks: ['a result is taken once', 'a confirmed result counts', 'only the issuer says how an authentication ended'], wrap: confirmEach },
  { name: 'confirm a result before it is stored', breaks: ['a confirmed result counts', 'a result is taken once'], wrap: confirmBeforeTheCommit },
  { name: 'ask the issuer again on recovery', breaks: ['an issuer is asked once'], wrap: askAgainOnRecovery('authenticate') },
  { name: 'lose the time limit of a method', breaks: ['every order ends'], wrap: after(['authentication begun'], (t) => ({ ...t, dueAt: t.dueAt! + never })) },
  { name: 'never begin the time of a hosted page', breaks: ['a hosted page does not hold the payment up'], wrap: {
    hosted: (hosted) => ({ ...hosted, methodBegun: () => Promise.resolve(undefined) }) } },
  { name: 'lose the time limit of a hosted page', breaks: ['a hosted page does not hold the payment up'], wrap: after(['method begun'], (t) => ({ ...t, dueAt: t.dueAt! + never })) },
  { name: 'begin the time of a hosted page anew when it is loaded again', breaks: ['a hosted page does not hold the payment up'], wrap: beginAnew },
  { name: 'give up a payment whose hosted page is closed', breaks: ['a hosted page does not hold the payment up'], wrap: giveUpThePage },
  { name: 'ask the issuer again when the hosted page is late', breaks: ['an issuer is asked once'], wrap: askForTheLate },
  { name: 'lose the time limit of a challenge', breaks: ['every order ends'], wrap: after(['challenge required'], (t) => ({ ...t, dueAt: t.dueAt! + never })) },
  { name: 'lose the time limit of a browser that is back', breaks: ['every order ends'], wrap: after(['challenge returned'], (t) => ({ ...t, dueAt: t.dueAt! + never })) },
  { name: 'keep the proof when the payment is over', breaks: ['a proof is gone when it is not needed'], wrap: after(['approved', 'declined', 'not sent', 'answer lost', 'lease lost'], keptProof) },
  { name: 'keep the CVV2 of a payment that was not authenticated', breaks: ['a CVV2 is gone when it is not needed'], wrap:
    inChanges((c) => (isOver(c.after) && c.after.attempts.length === 0 ? { ...c, eraseCvv2: false } : c)) },
  { name: 'rest without the CVV2 when the issuer is asked immediately', breaks: ['what came with a CVV2 is not charged without it'], wrap:
    inChanges((c) => (c.before || !c.sealed || !c.rows.some((row) => row.event === 'method uploaded') ? c : { ...c, sealed: withoutCvv2(c.sealed) })) },
  { name: 'take an authentication that failed for one that succeeded', breaks: ['nothing is charged that was not authenticated'], wrap: authenticatedInstead((e) => e.learned.status === undefined) },
  { name: 'charge what the issuer refused', breaks: ['nothing is charged that was not authenticated'], wrap: authenticatedInstead((e) => e.learned.status === 'N' || e.learned.status === 'R') },
  { name: 'give the acquirer the usual ECI', breaks: ['the acquirer gets the proof that the issuer gave'], wrap: {
    connector: (c) => ({ ...c, authorise: (ask, ...rest) =>
      c.authorise(ask.authentication ? { ...ask, authentication: { ...ask.authentication, eci: '05' } } : ask, ...rest) }) } },
  { name: 'take a proof of 21 bytes for none', breaks: ['what an issuer says is understood'], wrap: onlyShortProofs },
  { name: 'cut the proof for the acquirer to 20 bytes', breaks: ['the acquirer gets the proof that the issuer gave'], wrap: cutProofs },
  { name: 'use an authentication again when the acquirer wants another', breaks: ['an authentication is used once'], wrap: useItTwice },
  { name: 'take a result of No that lacks something for a Yes', breaks: ['a confirmed result counts', 'nothing is charged that was not authenticated', 'the acquirer gets the proof that the issuer gave'], wrap: oddNoForYes },
  { name: 'take a No without a reason for a Yes', breaks: ['nothing is charged that was not authenticated'], wrap: authenticatedInstead(({ learned }) => learned.status === 'N' && learned.statusReason === undefined) },
  { name: 'refuse a result for what decides nothing', breaks: ['what an issuer says is understood'], wrap: strictWithResults },
  { name: 'leave out an ECI of one digit', breaks: ['the acquirer gets the proof that the issuer gave'], wrap: inResults((message) => (String(message['eci']).length === 1 ? { ...message, eci: undefined } : undefined)) },
  { name: 'refuse an upload that comes again', breaks: ['a repeated upload has the same answer'], wrap: {
    uploads: ({ method, ...others }) => ({ ...others, method: (asked, ports) =>
      asked.order.transactions[0]!.state === 'awaiting method' ? method(asked, ports) : Promise.resolve(refuse('wrong state', 'it is over')) }) } },
]
