/**
 * What the pages of 3-D Secure show of an order, and their effect on it: the same as a merchant's
 * uploads.
 */
import { defined } from '../base/defined.ts'
import type { Turns } from '../base/turn.ts'
import { returnPairs } from '../gateway-api/callback.ts'
import { callbackControl } from '../merchant/control.ts'
import type { Merchant } from '../merchant/merchant.ts'
import { returnToken } from '../merchant/return-token.ts'
import { authenticated, cresReader, isOf, methodBegunEvent, saleDescribes, unfitFor } from '../order/authentication/browser.ts'
import { givesBack } from '../order/decide/amounts.ts'
import { statusOfState, type Order, type Transaction } from '../order/decide/order.ts'
import type { LegacyAuthentication } from '../order/authentication/legacy.ts'
import { uploadCres, uploadMethod, uploadPares, type UploadParts } from '../order/authentication/uploads.ts'
import { authenticationKey, pageKey } from '../order/decide/locator-keys.ts'
import type { OrderKey } from '../order/decide/change.ts'
import { declineReason } from '../spec/action-codes.ts'
import { finalStatuses, type Status } from '../spec/words.ts'
import { emvVersion } from '../three-d-secure/authentication.ts'
import { payerFields, type HostedUrls } from '../three-d-secure/forms.ts'
import type { ThreeDSecureParts } from './three-d-secure.ts'
import type { PageOrder, Return } from './three-d-secure-pages.ts'

export interface HostedWorld extends UploadParts {
  legacy: Pick<LegacyAuthentication, 'form' | 'judge'>
  turns: Turns
  locate: (key: string) => Promise<OrderKey | undefined>
  order: (orderKey: OrderKey) => Promise<Order | undefined>
  merchant: (merchantId: bigint) => Merchant | undefined
  pages: (token: string) => HostedUrls
}

type Authenticated = NonNullable<ReturnType<typeof authenticated>>

export function hostedOrders(
  world: HostedWorld,
): Pick<
  ThreeDSecureParts,
  'turns' | 'find' | 'collects' | 'methodBegun' | 'browserCollected' | 'challengeReturned' | 'paresReturned'
> {
  const find = (token: string) => findBy(pageKey(token))
  async function findBy(key: string) {
    const orderKey = await world.locate(key)
    const order = orderKey && (await world.order(orderKey))
    const transaction = order && authenticated(order)
    const merchant = order && world.merchant(order.merchantId)
    return transaction && merchant && { order, transaction, merchant }
  }
  return {
    turns: world.turns,
    async find(token) {
      const found = await find(token)
      return found && pageOrderOf(world, found.order, found.transaction, found.merchant)
    },
    async collects(threeDSServerTransId, url) {
      const found = await findBy(authenticationKey(threeDSServerTransId))
      if (found?.transaction.authentication.threeDSServerTransId !== threeDSServerTransId) return false
      return found.transaction.state === 'awaiting method' && mayCollect(world, found, url)
    },
    async methodBegun(token, seen) {
      const found = await find(token)
      if (!found) return undefined
      const event = methodBegunEvent(found.order, found.transaction, seen, world.clock.now())
      if (!event) return undefined
      const { merchantId, orderId } = found.order
      const done = await world.door.submit({ is: 'event', merchantId, orderId, event })
      return done.is === 'applied' ? authenticated(done.order)?.authentication.methodUntil : undefined
    },
    async browserCollected(token, { compInd, browser }) {
      const found = await find(token)
      if (found) await uploadMethod(world, found, { compInd, browser })
    },
    async challengeReturned(token, param) {
      const found = await find(token)
      const cres = await world.turns.run(cresReader(param))
      if (!found || cres.is !== 'cres' || unfitFor(cres, found.order) !== undefined) return false
      if (!isOf(cres, found.transaction.authentication)) return false
      await uploadCres(world, found, cres)
      return true
    },
    async paresReturned(token, answer) {
      const found = await find(token)
      if (found) await uploadPares(world, found, answer)
    },
  }
}

/**
 * The gateway's own notification URL, or one of a host that the merchant named in the request: the
 * gateway never learns where a merchant who runs the method is notified.
 */
function mayCollect(
  { pages }: HostedWorld,
  { order, transaction }: { order: Order; transaction: Authenticated },
  url: URL,
): boolean {
  if (url.href === pages(transaction.authentication.pageToken).method) return true
  const { redirectUrl, redirectSuccessUrl, redirectFailUrl, serverCallbackUrl, siteUrl } = order.request
  return [redirectUrl, redirectSuccessUrl, redirectFailUrl, serverCallbackUrl, siteUrl].some(
    (own) => own !== undefined && URL.canParse(own) && new URL(own).hostname === url.hostname,
  )
}

/**
 * How long a page shows personal data after the outcome, or after the request if there is none. An
 * address that is found later, in a history or a log, shows none.
 */
const personalMs = 3_600_000

function pageOrderOf(world: HostedWorld, order: Order, transaction: Authenticated, merchant: Merchant): PageOrder {
  const { authentication, state } = transaction
  const now = world.clock.now()
  const isOld = now - (transaction.finalAt ?? transaction.createdAt) > personalMs
  const { methodUrl, methodUntil, threeDSServerTransId, acsTransId, acsUrl, cardholderInfo } = authentication
  const shown = {
    merchantName: merchant.page?.name ?? merchant.name,
    merchant: defined({ merchantId: merchant.merchantId, page: merchant.page }),
    amountText: transaction.amountText,
    currency: order.currency,
    ...defined({ cardholderInfo: isOld ? undefined : cardholderInfo, languages: order.request.browser?.language }),
  }
  if (state === 'awaiting method')
    return {
      ...shown,
      is: 'method',
      threeDSServerTransId,
      ...defined({ methodUrl, methodUntil }),
      ...(saleDescribes(order, authentication) && { saleDescribes: true }),
    }
  if (state === 'awaiting challenge' && authentication.cresAt === undefined)
    return {
      ...shown,
      is: 'challenge',
      threeDSServerTransId,
      acsTransId: acsTransId!,
      acsUrl: acsUrl!,
      version: emvVersion(authentication),
    }
  if (state === 'awaiting pares') {
    const { pares: termUrl } = world.pages(authentication.pageToken)
    return { ...shown, is: 'payer', acsUrl: acsUrl!, fields: payerFields({ ...world.legacy.form(order, transaction), termUrl }) }
  }
  const status = statusOfState(state)
  const isOver = finalStatuses.has(status)
  const isBack = status === 'approved' && givesBack(order)
  const back = isOld ? undefined : returnOf(order, transaction, merchant, isOver && !isBack ? status : 'processing', now)
  if (isOver) {
    const held = order.kind === 'preauth' && { held: true as const }
    const why = declineReason(status, transaction.result.errorCode)
    return { ...shown, is: 'over', status: isBack ? 'given back' : status, why, ...held, ...(back && { back }) }
  }
  return { ...shown, is: 'working', ...(back && { later: back }) }
}

/**
 * docs/choices.md, "Return of the cardholder". An unknown, missing or outdated outcome is reported
 * as `processing` to the shop, which then asks for it.
 */
function returnOf(order: Order, transaction: Transaction, merchant: Merchant, status: Status, now: number): Return | undefined {
  const url = returnUrlOf(order, status)
  if (url === undefined) return undefined
  const ids = { status, orderid: String(order.orderId), client_orderid: order.clientOrderid }
  const control = callbackControl(ids, merchant.controlKeys[0]!)
  const replaced: Record<string, string> = { status, control }
  const pairs = returnPairs(order, transaction, merchant).map(([name, value]) => [name, replaced[name] ?? value] as const)
  const { login, signingSecret: key } = merchant
  if (!key) return { url, pairs }
  const { type = '', amount = '', currency = '' } = Object.fromEntries(pairs)
  const token = returnToken({ ...ids, type, amount, currency }, { login, key }, now)
  return { url, pairs: [...pairs, ['token', token]] }
}

function returnUrlOf({ request }: Order, status: Status): string | undefined {
  const { redirectUrl, redirectSuccessUrl, redirectFailUrl } = request
  if (status === 'approved') return redirectSuccessUrl ?? redirectUrl
  return status === 'declined' || status === 'filtered' ? (redirectFailUrl ?? redirectUrl) : redirectUrl
}
