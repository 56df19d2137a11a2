import { authenticated } from '../order/authentication/browser.ts'
import { uploadPares } from '../order/authentication/uploads.ts'
import type { UploadParesRequest } from '../spec/gateway/upload.ts'
import type { Refusal } from '../spec/refusals.ts'
import type { Asked } from './asked.ts'
import type { Reply } from './reply.ts'
import { acknowledge, note, requestRow, wrongState } from './acknowledge.ts'

/** The issuer's signed answer of 3-D Secure 1.0.2. The first one counts, whatever it proves. */
export async function performUploadPares(asked: Asked): Promise<Reply | Refusal> {
  const order = asked.order!
  const { paRes, md } = asked.values as UploadParesRequest
  const transaction = authenticated(order)
  if (transaction?.authentication.version !== '1.0.2' || transaction.state === 'enrolling') return wrongState(asked)
  const upload = { order, transaction, request: requestRow(asked, transaction.no) }
  return (await uploadPares(asked.world, upload, { paRes, md })) ? acknowledge(asked) : note(asked, transaction.no, 'late')
}
