/**
 * What returns through the browser, uploaded by a merchant or received by a page of the gateway.
 * The first of each kind counts.
 */
import type { Clock } from '../../base/clock.ts'
import type { Log } from '../../base/log.ts'
import type { Authentication } from '../../three-d-secure/authentication.ts'
import type { Door } from '../door/advance.ts'
import type { Event } from '../decide/event.ts'
import type { Order, Transaction } from '../decide/order.ts'
import type { RepeatRow } from '../decide/change.ts'
import { challengeEvent, methodEvent, type ReadCres } from './browser.ts'
import type { LegacyAuthentication } from './legacy.ts'
import type { Oddities } from '../../three-d-secure/oddities.ts'

export interface UploadParts {
  legacy: Pick<LegacyAuthentication, 'judge'>
  oddities: Pick<Oddities, 'noted'>
  door: Pick<Door, 'submit'>
  processId: bigint
  clock: Clock
  log: Log
}

/** A payment that is being authenticated. */
export interface AuthenticatingPayment {
  order: Order
  transaction: Transaction & { authentication: Authentication }
  /** The merchant's request, so that its serial number finds the transaction. */
  request?: RepeatRow
}

/** The issuer's method is over. False if it is not awaited. */
export async function uploadMethod(
  parts: UploadParts,
  upload: AuthenticatingPayment,
  result: Parameters<typeof methodEvent>[1],
): Promise<boolean> {
  const { transaction } = upload
  if (transaction.state !== 'awaiting method') return false
  await submit(parts, upload, methodEvent(transaction, result, parts.processId, parts.clock.now()))
  return true
}

/**
 * The browser is back from the challenge with a CRes of this payment. False if it was back before,
 * or the challenge is over.
 */
export async function uploadCres(
  parts: UploadParts,
  upload: AuthenticatingPayment,
  { odd }: Pick<ReadCres, 'odd'>,
): Promise<boolean> {
  const event = challengeEvent(upload.transaction, parts.clock.now())
  if (!event) return false
  const { directory, threeDSServerTransId } = upload.transaction.authentication
  parts.oddities.noted(directory, threeDSServerTransId, odd)
  await submit(parts, upload, event)
  return true
}

/** The issuer's signed answer of 1.0.2. False if it is not awaited. */
export async function uploadPares(
  parts: UploadParts,
  upload: AuthenticatingPayment,
  answer: { paRes: string; md: string },
): Promise<boolean> {
  const { order, transaction, request } = upload
  if (transaction.state !== 'awaiting pares') return false
  const { event, refused } = await parts.legacy.judge(order, transaction, answer)
  if (refused !== undefined)
    parts.log.warn({ serial: request?.serialNumber, order: String(order.orderId), why: refused }, 'a PARes fails a check')
  await submit(parts, upload, event)
  return true
}

async function submit({ door }: UploadParts, { order, request }: AuthenticatingPayment, event: Event): Promise<void> {
  const { merchantId, orderId } = order
  await door.submit({ is: 'event', merchantId, orderId, event, ...(request && { request }) })
}
