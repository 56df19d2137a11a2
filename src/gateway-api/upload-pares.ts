import { authenticated } from '../order/authentication/browser.ts'
import { uploadPares, type UploadParts } from '../order/authentication/uploads.ts'
import type { UploadParesRequest } from '../spec/gateway/upload.ts'
import type { Refusal } from '../spec/refusals.ts'
import { acknowledge, note, requestRow, wrongState } from './acknowledge.ts'
import type { Reply } from './reply.ts'
import type { Received, WithOrder } from './stages.ts'

type ParesFields = Pick<UploadParesRequest, 'paRes' | 'md'>
type Request = Pick<Received, 'operation' | 'serialNumber' | 'now'> & WithOrder & { readonly values: ParesFields }

/** The issuer's signed answer of 3-D Secure 1.0.2. The first one counts, whatever it proves. */
export async function performUploadPares(request: Request, parts: UploadParts): Promise<Reply | Refusal> {
  const { order, values } = request
  const transaction = authenticated(order)
  if (transaction?.authentication.version !== '1.0.2' || transaction.state === 'enrolling') return wrongState(request)
  const upload = { order, transaction, request: requestRow(request, transaction.no) }
  const isFirst = await uploadPares(parts, upload, { paRes: values.paRes, md: values.md })
  return isFirst ? acknowledge(request) : note(parts, request, transaction.no, 'late')
}
