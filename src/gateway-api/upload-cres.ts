import { authenticated, isOf, unfitFor } from '../order/authentication/browser.ts'
import { uploadCres, type UploadParts } from '../order/authentication/uploads.ts'
import { refuse, type Refusal } from '../spec/refusals.ts'
import { acknowledge, note, requestRow, wrongState } from './acknowledge.ts'
import type { Reply } from './reply.ts'
import type { Received, WithCres, WithOrder } from './stages.ts'

type Request = Pick<Received, 'operation' | 'serialNumber' | 'now'> & WithOrder & WithCres

/**
 * The browser is back from the challenge. Whatever the CRes contains, the payment waits for the
 * result that the directory server posts.
 */
export async function performUploadCres(request: Request, parts: UploadParts): Promise<Reply | Refusal> {
  const { order, cres } = request
  const unfit = unfitFor(cres, order)
  if (unfit !== undefined) return refuse('field is invalid', `cres is invalid: ${unfit}`)
  const transaction = authenticated(order)
  if (!transaction || transaction.state === 'awaiting method' || transaction.state === 'authenticating')
    return wrongState(request)
  if (!isOf(cres, transaction.authentication)) return note(parts, request, transaction.no, 'of another authentication')
  const { status } = transaction.authentication
  if (status !== 'C' && cres.status !== undefined && (cres.status === 'Y') !== (status === 'Y'))
    parts.log.warn(
      { serial: request.serialNumber, order: String(order.orderId), cres: cres.status, result: status },
      'a CRes contradicts the result of the directory server, which counts',
    )
  const taken = await uploadCres(parts, { order, transaction, request: requestRow(request, transaction.no) }, cres)
  return taken ? acknowledge(request) : note(parts, request, transaction.no, 'repeated or late')
}
