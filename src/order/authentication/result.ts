/**
 * A challenge's result as a directory server posts it: what it must match, and its effect on the
 * order.
 */
import { reasonOf, type Log } from '../../base/log.ts'
import { emvVersion, type Authentication } from '../../three-d-secure/authentication.ts'
import type { Message } from '../../three-d-secure/codec.ts'
import type { ResultVerdict, WantedResult } from '../../three-d-secure/inbound.ts'
import type { Door } from '../door/advance.ts'
import { categoryOf } from './areq.ts'
import type { Order, Transaction } from '../decide/order.ts'
import { resultEvent, type AuthenticationParts } from './ask-issuer.ts'
import { authenticationKey } from '../decide/locator-keys.ts'
import type { Reader } from '../read.ts'

export interface ResultParts extends Pick<AuthenticationParts, 'keys' | 'random' | 'registry'> {
  orders: Pick<Reader, 'locate' | 'byId'>
  door: Door
  log: Log
}

/** The values that the result of this authentication must match; undefined if none is awaited. */
export async function wantedResult(parts: ResultParts, threeDSServerTransId: string): Promise<WantedResult | undefined> {
  const found = await waiting(parts, threeDSServerTransId)
  if (!found) return undefined
  const { authentication } = found.transaction
  const { directory, acsTransId, dsTransId } = authentication
  return {
    version: emvVersion(authentication),
    directory,
    acsTransId: acsTransId!,
    dsTransId: dsTransId!,
    messageCategory: categoryOf(found.order),
  }
}

/**
 * A result counts once it is committed. It may come too late if other events were committed first.
 */
export async function takeResult(parts: ResultParts, message: Message): Promise<ResultVerdict> {
  const found = await waiting(parts, String(message['threeDSServerTransID']))
  if (!found) return { is: 'unknown' }
  const { order, transaction } = found
  try {
    const event = resultEvent(parts, order, transaction, message)
    const { merchantId, orderId } = order
    const advanced = await parts.door.submit({ is: 'event', merchantId, orderId, event })
    return { is: advanced.is === 'applied' ? 'accepted' : 'unknown' }
  } catch (error) {
    parts.log.error({ reason: reasonOf(error) }, 'the result of a challenge could not be stored')
    return { is: 'failed' }
  }
}

type Waiting = { order: Order; transaction: Transaction & { authentication: Authentication } }

/** The transaction that waits for the result of this authentication. */
async function waiting({ orders }: ResultParts, threeDSServerTransId: string): Promise<Waiting | undefined> {
  const orderKey = await orders.locate(authenticationKey(threeDSServerTransId))
  const order = orderKey && (await orders.byId(orderKey))
  const transaction = order?.transactions.find((t) => t.authentication?.threeDSServerTransId === threeDSServerTransId)
  if (!order || transaction?.state !== 'awaiting challenge') return undefined
  return { order, transaction: { ...transaction, authentication: transaction.authentication! } }
}
