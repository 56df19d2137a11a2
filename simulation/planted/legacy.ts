import { inflateParam } from '../../simulators/three-d-secure/legacy.ts'
import type { Order, Transaction } from '../../src/order/decide/order.ts'
import type { Uploads, Wraps } from '../world/gateway-parts.ts'
import { after, askAgainOnRecovery, never } from './three-d-secure.ts'
import type { Planted } from './planting.ts'

/** Bugs around 3-D Secure 1.0.2. */

const inPares = (change: (pares: Uploads['pares']) => Uploads['pares']): Wraps => ({
  uploads: (uploads) => ({ ...uploads, pares: change(uploads.pares) }),
})

/** Adapts the order to its PARes before the PARes is checked. */
const pretending = (change: (payment: Transaction, valueOf: (element: string) => string | undefined) => Transaction): Wraps =>
  inPares((pares) => (asked, ports) => {
    const xml = inflateParam(asked.values.paRes) ?? ''
    const valueOf = (element: string) => new RegExp(`<${element}>([^<]*)</${element}>`).exec(xml)?.[1]
    const [payment, ...others] = asked.order.transactions
    const order: Order = { ...asked.order, transactions: [change(payment!, valueOf), ...others] }
    return pares({ ...asked, order }, ports)
  })

const anyPurchase = pretending((payment, valueOf) => {
  const { authentication } = payment
  const xid = valueOf('xid')
  return authentication?.legacy && xid !== undefined
    ? { ...payment, authentication: { ...authentication, legacy: { ...authentication.legacy, xid } } }
    : payment
})

/** Counts a card as authenticated if it is not enrolled, or is let through without an issuer. */
const enrolledAnyhow: Wraps = {
  performers: (performers) => ({
    ...performers,
    async enrol(held, transaction) {
      const event = await performers.enrol(held, transaction)
      const isNotEnrolled = event.is === 'not authenticated' && event.verdict.errorCode === '2006'
      if (event.is !== 'authenticated' && !isNotEnrolled) return event
      const { transactionNo, learned } = event
      const of = transaction.authentication!.threeDSServerTransId
      return { is: 'authenticated', transactionNo, of, learned, verified: 'AUTHENTICATED', eci: '05' }
    },
  }),
}

const unproven = 'nothing is charged that was not authenticated'

// oxfmt-ignore
export const plantedInLegacy: readonly Planted[] = [
  { name: 'ask about an enrolment again on recovery', breaks: ['an issuer is asked once'], wrap: askAgainOnRecovery('enrol') },
  { name: 'take a card that is not enrolled for an authenticated one', breaks: [unproven], wrap: enrolledAnyhow },
  { name: 'believe a PARes about another amount', breaks: [unproven], wrap:
    pretending((payment, valueOf) => ({ ...payment, amountMinor: BigInt(valueOf('purchAmount') ?? payment.amountMinor) })) },
  { name: 'believe a PARes about another purchase', breaks: [unproven, 'an authentication is used once'], wrap: anyPurchase },
  { name: 'lose the time limit of a PARes', breaks: ['every order ends'], wrap: after(['payer authentication required'], (t) => ({ ...t, dueAt: t.dueAt! + never })) },
]
