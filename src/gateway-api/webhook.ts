/** The headers of Standard Webhooks (https://www.standardwebhooks.com), which sign a callback. */
import { hmacSha256 } from '../base/digest.ts'
import type { Secret } from '../base/secret.ts'
import type { Delivery } from '../delivery/delivery.ts'
import type { Rendered } from '../delivery/try.ts'

type Message = Pick<Rendered, 'method' | 'url' | 'body'>

/**
 * What a signature covers: the query as it is sent, with the merchant's own pairs, or the body of a
 * form. The URL is written as a parsed one, so that sending does not change it.
 */
const payloadOf = ({ method, url, body }: Message): string => (method === 'POST' ? (body ?? '') : url.slice(url.indexOf('?') + 1))

/**
 * The same for all tries of a delivery, and of no other one, so that a receiver can tell what it
 * has seen. A dot would be taken for the end of the id.
 */
const idOf = ({ merchantId, orderId, deliveryNo }: Delivery): string => `msg_${merchantId}_${orderId}_${deliveryNo}`

export function webhookHeaders(message: Message, delivery: Delivery, now: number, key: Secret<Buffer>): Record<string, string> {
  const id = idOf(delivery)
  const timestamp = String(Math.floor(now / 1000))
  const signature = hmacSha256(key, `${id}.${timestamp}.${payloadOf(message)}`).toString('base64')
  return { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': `v1,${signature}` }
}
