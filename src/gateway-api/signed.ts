import { baseStringMaker, readAuthorization, signatureBytes, signatureVerifier, timestampHolds } from '../merchant/oauth.ts'
import { idIn, type Merchant } from '../merchant/merchant.ts'
import type { Incoming } from '../http/server.ts'
import type { Log } from '../base/log.ts'
import type { Turns } from '../base/turn.ts'
import type { Received } from './stages.ts'

export interface Verifying {
  log: Log
  turns: Turns
  /** Every origin under which merchants reach this gateway; their signatures cover one of them. */
  publicUrls: readonly string[]
  /** True once for each nonce of a merchant. */
  useNonce: (merchantId: bigint, nonce: string, timestampSeconds: number) => Promise<boolean>
}

/**
 * The merchant who signed a request of v4 (docs/choices.md, "OAuth"). Undefined for every kind of
 * refusal: the answer must not distinguish them. The cheap checks come before any signature is
 * verified. An unknown login and another merchant's endpoint take the same work as a wrong
 * signature, so the time does not reveal either. The nonce is used up last, so that only its owner
 * can do it.
 */
export async function signerOf(
  { registry, pairs, path, now, serialNumber }: Received,
  request: Incoming,
  { log, turns, publicUrls, useNonce }: Verifying,
): Promise<Merchant | undefined> {
  const refuse = (why: string): undefined => {
    log.info({ serial: serialNumber, why }, 'a signature is refused')
    return undefined
  }
  const read = readAuthorization(request.headers['authorization'])
  if (read.is === 'refused') return refuse(read.why)
  const { params } = read
  if (!timestampHolds(params.timestampSeconds, now)) return refuse('the time stamp is off')
  if (!signatureBytes(params.signature)) return refuse('the signature is none of RSA')
  if (!pairs) return refuse('the body is too long, or no form')

  const merchant = registry.merchantByLogin(params.login)
  const id = idIn(path.id)
  const entry = id === undefined ? undefined : registry.entry(id, path.group)
  const isForeign = entry !== undefined && entry.merchant !== merchant
  const keys = merchant?.enabled && !isForeign ? merchant.publicKeys : []
  const urls = publicUrls.map((url) => url + request.path)
  const parametersAlone = entry !== undefined && entry.endpoints.every(({ settings }) => settings.parameterSignatures)
  const texts = await turns.run(baseStringMaker({ urls, params, bodyPairs: pairs, parametersAlone }))
  const holds = await turns.run(signatureVerifier(texts, params.signature, keys))
  if (merchant && isForeign) return refuse('the endpoint is of another merchant')
  if (!merchant || !holds) return refuse('the signature does not hold')
  return (await useNonce(merchant.merchantId, params.nonce, params.timestampSeconds))
    ? merchant
    : refuse('the nonce was used before')
}
