/** Checks the signature of a request, which may be sent beside the checksum or be demanded. */
import { hasSignature, judgeSignature } from '../merchant/message-signature.ts'
import { timestampHolds } from '../merchant/oauth.ts'
import type { SignedRequests } from '../merchant/merchant.ts'
import { operations, type Operation } from '../spec/gateway/operations.ts'
import { refuse, type Refusal } from '../spec/refusals.ts'
import type { Verifying } from './signed.ts'
import type { Addressed, ByMerchant, WithMessage } from './stages.ts'

const kindsOf: Record<SignedRequests, readonly (typeof operations)[Operation]['kind'][] | 'every kind'> = {
  'follow-ups': ['follow'],
  payments: ['follow', 'payment', 'rebill'],
  all: 'every kind',
}

function isDemanded(operation: Operation, demand: SignedRequests | undefined): boolean {
  if (demand === undefined) return false
  const kinds = kindsOf[demand]
  return kinds === 'every kind' || kinds.includes(operations[operation].kind)
}

/**
 * A wrong signature is refused even where none is demanded: it shows that something was changed.
 * Refused as a wrong checksum is; the log has the reason. Checked after the checksum, so that
 * strangers cause none of this work and use up no nonce.
 */
export function signatureHolds(
  { operation, merchant, message, now }: Addressed & ByMerchant & WithMessage,
  { useNonce }: Pick<Verifying, 'useNonce'>,
): Refusal | undefined | Promise<Refusal | undefined> {
  const refused = (why: string) => ({
    ...refuse('control does not match'),
    access: { login: merchant.login, reason: `signature of the request: ${why}` },
  })
  if (!hasSignature(message)) return isDemanded(operation, merchant.signedRequests) ? refused('there is none') : undefined
  const { login: keyid, signingSecret: secret, publicKeys, merchantId } = merchant
  const judged = judgeSignature(message, { keyid, secret, publicKeys }, (created) => timestampHolds(created, now))
  if (judged.is === 'wrong') return refused(judged.why)
  return useNonce(merchantId, judged.nonce, judged.createdSeconds).then((isNew) =>
    isNew ? undefined : refused('the nonce was used before'),
  )
}
