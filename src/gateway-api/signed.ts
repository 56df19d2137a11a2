import { baseStringMaker, readAuthorization, signatureBytes, signatureVerifier, timestampHolds } from '../merchant/oauth.ts'
import { idIn, type Merchant } from '../merchant/merchant.ts'
import type { Incoming } from '../http/server.ts'
import type { Turns } from '../base/turn.ts'
import type { AccessLimits } from '../merchant/access-limits.ts'
import type { RefusedAccess } from '../merchant/refused-access.ts'
import { blocked, refuse, type Refusal } from '../spec/refusals.ts'
import { endpointText, type Received } from './stages.ts'

export interface Verifying {
  access: Pick<RefusedAccess, 'refused'>
  accessLimits: Pick<AccessLimits, 'blocks' | 'succeeded' | 'failed'>
  turns: Turns
  /** Every origin under which merchants reach this gateway; their signatures cover one of them. */
  publicUrls: readonly string[]
  /** True once for each nonce of a merchant. */
  useNonce: (merchantId: bigint, nonce: string, timestampSeconds: number) => Promise<boolean>
}

/**
 * The merchant who signed a request of v4 (docs/choices.md, "OAuth"). Undefined for every kind of
 * failure: the answer must not distinguish them. Refused if there were too many. The cheap checks
 * come before any signature is verified. An unknown login and another merchant's endpoint take the
 * same work as a wrong signature, so the time does not reveal either. The nonce is used up last, so
 * that only its owner can do it.
 */
export async function signerOf(
  { registry, operation, pairs, path, now, serialNumber }: Received,
  request: Incoming,
  { access, accessLimits, turns, publicUrls, useNonce }: Verifying,
): Promise<Merchant | Refusal | undefined> {
  const id = idIn(path.id)
  const entry = id === undefined ? undefined : registry.entry(id, path.group)
  const read = readAuthorization(request.authorization)
  const login = read.is === 'refused' ? '' : read.params.login
  const denied = (reason: string, more?: object): Refusal | undefined => {
    const endpoint = entry ? endpointText(path) : ''
    const { clientAddress: address } = request
    access.refused({ serial: serialNumber, operation, endpoint, login, address, reason, ...(more && { more }) })
    return accessLimits.failed(login, request) ? refuse('too many requests') : undefined
  }
  if (accessLimits.blocks(login, request)) return blocked(login)
  // The detail may be text of a stranger.
  if (read.is === 'refused') return denied('the Authorization header cannot be read', { detail: read.why })
  const { params } = read
  if (!timestampHolds(params.timestampSeconds, now)) return denied('the time stamp is off')
  if (!signatureBytes(params.signature)) return denied('the signature is none of RSA')
  if (!pairs) return denied('the body is too long, or no form')

  const merchant = registry.merchantByLogin(login)
  const isForeign = entry !== undefined && entry.merchant !== merchant
  const keys = merchant?.enabled && !isForeign ? merchant.publicKeys : []
  const urls = publicUrls.map((url) => url + request.path)
  // An id without an endpoint costs as many texts as one with the usual settings.
  const parametersAlone = entry?.endpoints.every(({ settings }) => settings.parameterSignatures) ?? true
  const texts = await turns.run(baseStringMaker({ urls, params, bodyPairs: pairs, parametersAlone }))
  const holds = await turns.run(signatureVerifier(texts, params.signature, keys))
  if (merchant && isForeign) return denied('the endpoint is of another merchant')
  if (!merchant || !holds) return denied(merchant ? 'the signature does not hold' : 'unknown login')
  if (!(await useNonce(merchant.merchantId, params.nonce, params.timestampSeconds))) return denied('the nonce was used before')
  accessLimits.succeeded(login, request)
  return merchant
}
