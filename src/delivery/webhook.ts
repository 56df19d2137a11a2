/** The headers of Standard Webhooks (https://www.standardwebhooks.com), which sign a message. */
import { sign } from 'node:crypto'
import type { Clock } from '../base/clock.ts'
import { hmacSha256 } from '../base/digest.ts'
import type { Signers } from '../merchant/merchant.ts'
import type { Delivery } from './delivery.ts'
import type { Rendered, TrySettings } from './try.ts'

/**
 * What a signature covers: the query as it is sent, with the merchant's own pairs, or the body of a
 * POST. The URL is written as a parsed one, so that sending does not change it.
 */
const payloadOf = ({ method, url, body }: Rendered): string =>
  method === 'POST' ? (body ?? '') : url.slice(url.indexOf('?') + 1)

/**
 * The same for all tries of a delivery, and of no other one, so that a receiver can tell what it
 * has seen. A dot would be taken for the end of the id.
 */
const idOf = ({ merchantId, orderId, deliveryNo }: Delivery): string => `msg_${merchantId}_${orderId}_${deliveryNo}`

/** Called right before each try, so that the signature has its time. */
export const messageSigner =
  (signersOf: (merchantId: bigint) => Signers | undefined, clock: Clock): TrySettings['sign'] =>
  (message, delivery) => {
    const { signingSecret, signingKey } = signersOf(delivery.merchantId) ?? {}
    if (!signingSecret && !signingKey) return message
    const id = idOf(delivery)
    const timestamp = String(Math.floor(clock.now() / 1000))
    const signed = `${id}.${timestamp}.${payloadOf(message)}`
    const signatures = [
      ...(signingSecret ? [`v1,${hmacSha256(signingSecret, signed).toString('base64')}`] : []),
      ...(signingKey ? [`v1a,${sign(null, Buffer.from(signed), signingKey).toString('base64')}`] : []),
    ].join(' ')
    const headers = { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signatures }
    return { ...message, headers: { ...message.headers, ...headers } }
  }
