import { authenticated, isOf, unfitFor } from '../order/authentication/browser.ts'
import { uploadCres } from '../order/authentication/uploads.ts'
import { refuse, type Refusal } from '../spec/refusals.ts'
import type { Asked } from './asked.ts'
import type { Reply } from './reply.ts'
import { acknowledge, note, requestRow, wrongState } from './acknowledge.ts'

/** The browser is back from the challenge. Whatever the CRes says, the payment waits for the result that the directory server posts. */
export async function performUploadCres(asked: Asked): Promise<Reply | Refusal> {
  const { world } = asked
  const order = asked.order!
  const cres = asked.cres!
  const unfit = unfitFor(cres, order)
  if (unfit !== undefined) return refuse('field is invalid', `cres is invalid: ${unfit}`)
  const transaction = authenticated(order)
  if (!transaction || transaction.state === 'awaiting method' || transaction.state === 'authenticating') return wrongState(asked)
  if (!isOf(cres, transaction.authentication)) return note(asked, transaction.no, 'of another authentication')
  const { status } = transaction.authentication
  if (status !== 'C' && cres.status !== undefined && (cres.status === 'Y') !== (status === 'Y'))
    world.log.warn(
      { serial: asked.serialNumber, order: String(order.orderId), cres: cres.status, result: status },
      'a CRes contradicts the result of the directory server, which counts',
    )
  const taken = await uploadCres(world, { order, transaction, request: requestRow(asked, transaction.no) })
  return taken ? acknowledge(asked) : note(asked, transaction.no, 'repeated or late')
}
