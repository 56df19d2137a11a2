import { createHash } from 'node:crypto'
import { maybeText, text, type Body } from './body.ts'
import type { Call } from './call.ts'
import type { Merchant } from './merchant.ts'
import { invalid, Refused } from './refused.ts'
import { loadOwner, saveConsumer, saveToken, useToken } from './store-tokens.ts'

const lifetimeMs = 30 * 60_000

/**
 * Issues an access token. A real merchant has its log-in here; this one trusts every caller to be
 * the consumer that it names, and accepts an e-mail address too.
 */
export async function requestAccessToken(merchant: Merchant, call: Call): Promise<object> {
  const { pool, clock, random, profiles } = merchant
  const consumer = maybeText(call.body, 'consumer', 1, 64) ?? 'demo'
  const email = maybeText(call.body, 'email', 3, 128) ?? profiles.get(consumer)?.email
  refuseBlocked(merchant, consumer)
  const accessToken = random.bytes(32).toString('hex')
  await saveConsumer(pool, consumer, email)
  await saveToken(pool, hashOf(accessToken), consumer, clock.now() + lifetimeMs, clock.now())
  return { session: { accessToken } }
}

export const accessTokenIn = (body: Body): string => text(body, 'session.accessToken', 32, 128)

export const hashOf = (accessToken: string): string => createHash('sha256').update(accessToken).digest('hex')

/** The consumer who initiates; the token belongs to this device from now on. */
export async function consumerInitiating(merchant: Merchant, accessToken: string, serialNumber: string): Promise<string> {
  const { pool, clock } = merchant
  const consumer = await useToken(pool, hashOf(accessToken), serialNumber, clock.now())
  if (consumer === undefined) throw invalid("session.accessToken is unknown, expired or another device's")
  refuseBlocked(merchant, consumer)
  return consumer
}

/** The consumer of a token that has not expired. */
export async function ownerOf({ pool, clock }: Merchant, accessToken: string): Promise<string> {
  const consumer = await loadOwner(pool, hashOf(accessToken), clock.now())
  if (consumer === undefined) throw invalid('session.accessToken is unknown or expired')
  return consumer
}

export function refuseBlocked({ blocked }: Merchant, consumer: string): void {
  if (blocked.has(consumer)) throw new Refused('FILTERED', 'the consumer is not served')
}
