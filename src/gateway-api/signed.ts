import { baseStrings, readAuthorization, signatureHolds, timestampHolds } from '../merchant/oauth.ts'
import type { Merchant } from '../merchant/merchant.ts'
import type { Incoming } from '../http/server.ts'
import type { Asked } from './asked.ts'

/** The fields of v4 have some hundred characters; nobody unknown makes the gateway hash more than this. */
const longestBody = 65_536

/**
 * Who signed a request of v4 (docs/choices.md, "OAuth"); undefined for every reason alike, so that the answer says nothing. An unknown login takes the same work. The nonce is used
 * up last, so that nobody else can do it.
 */
export async function signerOf(asked: Asked, request: Incoming): Promise<Merchant | undefined> {
  const { world, registry, pairs, path, now, serialNumber } = asked
  const refuse = (why: string): undefined => {
    world.log.info({ serial: serialNumber, why }, 'a signature is refused')
    return undefined
  }
  const read = readAuthorization(request.headers['authorization'])
  if (read.is === 'refused') return refuse(read.why)
  if ((request.body?.length ?? 0) > longestBody) return refuse('the body is too long')
  const { params } = read
  const merchant = registry.merchantByLogin(params.login)
  const texts = baseStrings({ urls: world.publicUrls().map((url) => url + request.path), params, bodyPairs: pairs ?? [] })
  const holds = signatureHolds(texts, params.signature, merchant?.publicKeys ?? [])
  if (!merchant || !merchant.enabled || !pairs || !holds) return refuse('the signature does not hold')
  if (!timestampHolds(params.timestampSeconds, now)) return refuse('the time stamp is off')
  const entry = /^[1-9][0-9]{0,17}$/.test(path.id) ? registry.entry(BigInt(path.id), path.group) : undefined
  if (entry && entry.merchant !== merchant) return refuse('the endpoint is of another merchant')
  return (await world.useNonce(merchant.merchantId, params.nonce, params.timestampSeconds))
    ? merchant
    : refuse('the nonce was used before')
}
