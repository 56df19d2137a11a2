import type { Order } from '../../src/order/decide/order.ts'
import type { TransStatus } from '../../src/three-d-secure/authentication.ts'
import { isLegacyCard } from '../model/configuration.ts'
import type { Breaks } from './invariant.ts'
import type { LegacyIssuers } from '../parties/legacy-issuers.ts'
import type { Installation } from '../world/installation.ts'

/**
 * Watches 3-D Secure 1.0.2: enrolment questions, what browsers carry, and what is charged then.
 */
export interface LegacyAuthentications {
  asked(pan: string): void
  /** A merchant is about to upload this PARes for this order. */
  carried(orderId: bigint, paRes: string): void
  authorised(
    order: Order,
    names: string,
    tags: ReadonlyMap<string, string>,
    charges: ReadonlySet<TransStatus | 'not enrolled'>,
  ): void
}

export function watchLegacy(installation: Installation, issuers: LegacyIssuers, breaks: Breaks): LegacyAuthentications {
  const questions = new Map<string, number>()
  const carried = new Map<bigint, string[]>()
  const usedBy = new Map<string, string>()

  return {
    asked(pan) {
      questions.set(pan, (questions.get(pan) ?? 0) + 1)
      const orders = installation.orders.values().filter(({ card }) => isLegacyCard(pan, card))
      if (questions.get(pan)! > orders.length)
        breaks(
          'an issuer is asked once',
          `card ${pan.slice(-4)} has ${orders.length} orders, and ${questions.get(pan)} questions were asked about it`,
        )
    },
    carried: (orderId, paRes) => void carried.set(orderId, [...(carried.get(orderId) ?? []), paRes]),
    authorised(order, names, tags, charges) {
      const { orderId, card, transactions } = order
      const { authentication, amountMinor } = transactions[0]!
      const xid = authentication?.legacy?.xid
      const signed = (carried.get(orderId) ?? [])
        .flatMap((paRes) => issuers.signed.get(paRes) ?? [])
        .filter((s) => s.xid === xid && s.purchAmount === String(amountMinor) && s.currency === '840' && charges.has(s.status))
      const cavv = tags.get('AV')
      if (cavv === undefined) {
        const enrolments = [...issuers.enrolments].filter(([pan]) => isLegacyCard(pan, card)).flatMap(([, answers]) => answers)
        const isLetThrough =
          (enrolments.includes('N') && charges.has('not enrolled')) ||
          (charges.has('U') && (enrolments.includes('U') || signed.some(({ status }) => status === 'U')))
        if (!isLetThrough)
          breaks(
            'nothing is charged that was not authenticated',
            `order ${orderId} is authorised after ${enrolments.join() || 'no answer'}`,
          )
        return
      }
      const used = signed.find((s) => s.cavv === cavv)
      if (!used)
        return breaks(
          'nothing is charged that was not authenticated',
          `no issuer signed for order ${orderId} what it is authorised with`,
        )
      if (tags.get('EC') !== used.eci || tags.get('DT') !== xid || tags.get('TV') !== '1.0.2')
        breaks('the acquirer gets the proof that the issuer gave', `order ${orderId} is authorised with ${[...tags].join(' ')}`)
      if ((usedBy.get(cavv) ?? names) !== names)
        breaks('an authentication is used once', `order ${orderId} is authorised as ${names} and as ${usedBy.get(cavv)}`)
      usedBy.set(cavv, names)
    },
  }
}
