import { baseStringMaker, readAuthorization, signatureBytes, signatureVerifier, timestampHolds } from '../merchant/oauth.ts'
import type { Merchant } from '../merchant/merchant.ts'
import type { Incoming } from '../http/server.ts'
import type { Asked } from './asked.ts'

/**
 * Who signed a request of v4 (docs/choices.md, "OAuth"); undefined for every reason alike, so that
 * the answer says nothing. Whatever the request says of itself is looked at before any signature is
 * checked. An unknown login and another merchant's endpoint take the same work as a wrong signature,
 * so the time does not reveal either. The nonce is used up last, so that nobody else can do it.
 */
export async function signerOf(asked: Asked, request: Incoming): Promise<Merchant | undefined> {
  const { world, registry, pairs, path, now, serialNumber } = asked
  const refuse = (why: string): undefined => {
    world.log.info({ serial: serialNumber, why }, 'a signature is refused')
    return undefined
  }
  const read = readAuthorization(request.headers['authorization'])
  if (read.is === 'refused') return refuse(read.why)
  const { params } = read
  if (!timestampHolds(params.timestampSeconds, now)) return refuse('the time stamp is off')
  if (!signatureBytes(params.signature)) return refuse('the signature is none of RSA')
  if (!pairs) return refuse('the body is too long, or no form')

  const merchant = registry.merchantByLogin(params.login)
  const entry = /^[1-9][0-9]{0,17}$/.test(path.id) ? registry.entry(BigInt(path.id), path.group) : undefined
  const isForeign = entry !== undefined && entry.merchant !== merchant
  const keys = merchant?.enabled && !isForeign ? merchant.publicKeys : []
  const urls = world.publicUrls.map((url) => url + request.path)
  const texts = await world.turns.run(baseStringMaker({ urls, params, bodyPairs: pairs }))
  const holds = await world.turns.run(signatureVerifier(texts, params.signature, keys))
  if (merchant && isForeign) return refuse('the endpoint is of another merchant')
  if (!merchant || !holds) return refuse('the signature does not hold')
  return (await world.useNonce(merchant.merchantId, params.nonce, params.timestampSeconds))
    ? merchant
    : refuse('the nonce was used before')
}
