/** What the pages of 3-D Secure show of an order, and what they do to it: the same as a merchant's uploads. */
import type { Clock } from '../base/clock.ts'
import type { Card } from '../card/vault.ts'
import { callbackPairs } from '../gateway-api/callback.ts'
import type { Merchant } from '../merchant/merchant.ts'
import type { Door } from '../order/advance.ts'
import { authenticated, challengeEvent, isOf, methodEvent, readCres } from '../order/browser-returned.ts'
import { statusOfState, type Order } from '../order/order.ts'
import { pageKey, type Place } from '../order/store.ts'
import { finalStatuses, type Status } from '../spec/words.ts'
import { emvVersion } from '../three-d-secure/authentication.ts'
import type { ThreeDSecureParts } from './three-d-secure.ts'
import type { PageOrder } from './three-d-secure-pages.ts'

export interface HostedWorld {
  locate: (key: string) => Promise<Place | undefined>
  order: (place: Place) => Promise<Order | undefined>
  cardOf: (place: Place) => Promise<Card>
  merchant: (merchantId: bigint) => Merchant | undefined
  door: () => Door
  processId: () => bigint
  clock: Clock
}

export function hostedOrders(world: HostedWorld): Pick<ThreeDSecureParts, 'find' | 'browserCollected' | 'challengeReturned'> {
  async function find(token: string) {
    const place = await world.locate(pageKey(token))
    const order = place && (await world.order(place))
    const transaction = order && authenticated(order)
    const merchant = order && world.merchant(order.merchantId)
    return transaction && merchant && { order, transaction, merchant }
  }
  return {
    async find(token) {
      const found = await find(token)
      return found && pageOrderOf(found.order, found.transaction, found.merchant)
    },
    async browserCollected(token, { compInd, browser }) {
      const found = await find(token)
      if (found?.transaction.state !== 'awaiting method') return
      const { order, transaction } = found
      const event = methodEvent(transaction, { compInd, browser }, world.processId(), world.clock.now())
      const { merchantId, orderId } = order
      await world.door().submit({ is: 'event', merchantId, orderId, event, card: await world.cardOf(order) })
    },
    async challengeReturned(token, param) {
      const found = await find(token)
      const cres = readCres(param)
      if (!found || cres.is !== 'cres' || !isOf(cres, found.transaction.authentication)) return
      const event = challengeEvent(found.transaction, world.clock.now())
      const { merchantId, orderId } = found.order
      if (event) await world.door().submit({ is: 'event', merchantId, orderId, event })
    },
  }
}

function pageOrderOf(order: Order, transaction: NonNullable<ReturnType<typeof authenticated>>, merchant: Merchant): PageOrder {
  const { authentication, state } = transaction
  const { methodUrl, threeDSServerTransId, acsTransId, acsUrl, cardholderInfo } = authentication
  const shown = {
    merchantName: merchant.name,
    amountText: order.amountText,
    currency: order.currency,
    ...(cardholderInfo === undefined ? {} : { cardholderInfo }),
  }
  if (state === 'awaiting method')
    return { ...shown, is: 'method', threeDSServerTransId, ...(methodUrl === undefined ? {} : { methodUrl }) }
  if (state === 'awaiting challenge' && authentication.cresAt === undefined)
    return {
      ...shown,
      is: 'challenge',
      threeDSServerTransId,
      acsTransId: acsTransId!,
      acsUrl: acsUrl!,
      version: emvVersion(authentication),
    }
  const status = statusOfState(state)
  if (!finalStatuses.has(status)) return { ...shown, is: 'working' }
  const returnUrl = returnUrlOf(order, status)
  const pairs = callbackPairs(order, transaction, merchant)
  return { ...shown, is: 'over', status, pairs, ...(returnUrl === undefined ? {} : { returnUrl }) }
}

/** docs/choices.md, "Return of the cardholder". */
function returnUrlOf({ request }: Order, status: Status): string | undefined {
  const { redirectUrl, redirectSuccessUrl, redirectFailUrl } = request
  if (status === 'approved') return redirectSuccessUrl ?? redirectUrl
  return status === 'error' ? redirectUrl : (redirectFailUrl ?? redirectUrl)
}
