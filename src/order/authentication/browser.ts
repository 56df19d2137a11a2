/**
 * What returns from the cardholder's browser, through a merchant's upload or the gateway's own
 * pages: facts about the browser, and the end of a challenge.
 */
import { defined } from '../../base/defined.ts'
import type { InPieces } from '../../base/turn.ts'
import type { Endpoint } from '../../merchant/merchant.ts'
import { sameId, type Authentication, type BrowserData, type CompInd } from '../../three-d-secure/authentication.ts'
import { messageReader } from '../../three-d-secure/codec.ts'
import { decodeParam } from '../../three-d-secure/param.ts'
import type { BrowserFacts } from '../../spec/gateway/sale.ts'
import { leaseLookMs } from '../../leases/heartbeat.ts'
import { categoryOf, describes } from './areq.ts'
import { waits, withoutMethod } from './plan.ts'
import type { Event } from '../decide/event.ts'
import type { Order, Transaction } from '../decide/order.ts'

/** The transaction of an order that 3-D Secure authenticates. */
export const authenticated = (order: Order): (Transaction & { authentication: Authentication }) | undefined =>
  order.transactions.findLast((t): t is Transaction & { authentication: Authentication } => t.authentication !== undefined)

export interface MethodResult {
  compInd: CompInd
  browser: BrowserData
  notificationUrl?: string
}

/**
 * The method is over, so the issuer can be asked. Without a method URL the indicator is always U.
 */
export function methodEvent(
  { no, authentication }: Transaction & { authentication: Authentication },
  { compInd, ...report }: MethodResult,
  processId: bigint,
  now: number,
): Event {
  const learned = { ...report, compInd: authentication.methodUrl === undefined ? ('U' as const) : compInd }
  const of = authentication.threeDSServerTransId
  return { is: 'method uploaded', transactionNo: no, of, learned, lease: processId, leaseDueAt: now + leaseLookMs }
}

/**
 * The issuer is asked immediately where the endpoint has no browser that could run the method, and
 * the sale describes the browser; else undefined.
 */
export function atOnceEvent(
  { request }: Order,
  transaction: Transaction & { authentication: Authentication },
  endpoint: Endpoint | undefined,
  { processId, now }: { processId: bigint; now: number },
): Event | undefined {
  const { authentication } = transaction
  const browser = browserOfSale(request.browser)
  if (!endpoint?.settings.withoutMethod || !describes(browser, authentication.version)) return undefined
  return methodEvent(transaction, { compInd: withoutMethod(authentication), browser }, processId, now)
}

/**
 * The gateway's own page began the method. From now on the gateway waits only a short while for its
 * end, provided that the known browser data is enough to ask the issuer. The browser's own report
 * takes precedence over the sale. Undefined if the wait has already begun, so that a reload does
 * not extend it, or if too little is known of the browser.
 */
export function methodBegunEvent(
  { request }: Order,
  { no, authentication, state }: Transaction & { authentication: Authentication },
  seen: Partial<BrowserData>,
  now: number,
): Event | undefined {
  if (state !== 'awaiting method' || authentication.methodUntil !== undefined) return undefined
  const browser = { ...browserOfSale(request.browser), ...seen }
  if (!describes(browser, authentication.version)) return undefined
  const methodUntil = now + waits.methodOnPageMs
  const of = authentication.threeDSServerTransId
  return { is: 'method begun', transactionNo: no, of, learned: { browser, methodUntil }, dueAt: methodUntil }
}

/** Whether the sale and the headers of any request describe the browser well enough for an AReq. */
export const saleDescribes = ({ request }: Order, { version }: Authentication): boolean =>
  describes({ ...browserOfSale(request.browser), acceptHeader: '*/*', userAgent: 'any', language: 'en' }, version)

export interface ReadCres {
  is: 'cres'
  threeDSServerTransId: unknown
  acsTransId: unknown
  /**
   * Y or N; absent if the issuer sent an error message instead. Only a hint: the result comes from
   * the directory server.
   */
  status?: unknown
  /** Unfit values that decide nothing. */
  odd: ReadonlySet<string>
  /** A CRes without a status, which is allowed only for an account verification. */
  lacksStatus?: true
}

/**
 * Reads what an issuer posted through the browser: a CRes, or an error message instead. The order
 * is not known yet, so it is read as for an account verification, which may omit more fields.
 */
export function* cresReader(param: string): InPieces<ReadCres | { is: 'unreadable'; why: string }> {
  yield ['bytes', param.length]
  const text = decodeParam(param)
  if (text === undefined) return { is: 'unreadable', why: 'it is not base64url' }
  const odd = new Set<string>()
  const read = yield* messageReader(text, { types: ['CRes', 'Erro'], asked: { messageCategory: '02' }, odd })
  if (read.is === 'unusable') return { is: 'unreadable', why: `it is no CRes (${read.errorCode} ${read.errorDetail})` }
  const { messageType, threeDSServerTransID, acsTransID, transStatus } = read.message
  const lacks = messageType === 'CRes' && transStatus === undefined ? ({ lacksStatus: true } as const) : {}
  return { is: 'cres', threeDSServerTransId: threeDSServerTransID, acsTransId: acsTransID, status: transStatus, odd, ...lacks }
}

/** Why a CRes does not fit this order's kind: a payment's CRes has a status. */
export const unfitFor = (cres: ReadCres, order: Order): string | undefined =>
  cres.lacksStatus && categoryOf(order) === '01' ? 'it is no CRes of a payment (201 transStatus)' : undefined

/** Whether a CRes belongs to this very authentication. One of another order proves nothing. */
export const isOf = (cres: ReadCres, authentication: Authentication): boolean =>
  sameId(cres.threeDSServerTransId, authentication.threeDSServerTransId) && sameId(cres.acsTransId, authentication.acsTransId)

/**
 * The browser is back: from now on the gateway waits only a short while for the result. Undefined
 * if the return was already recorded.
 */
export function challengeEvent({ no, authentication, state }: Transaction, now: number): Event | undefined {
  if (state !== 'awaiting challenge' || !authentication || authentication.cresAt !== undefined) return undefined
  const of = authentication.threeDSServerTransId
  return { is: 'challenge returned', transactionNo: no, of, learned: { cresAt: now }, dueAt: now + waits.afterCresMs }
}

/**
 * Browser facts as a sale sends them. The header lists languages by preference; the first one is
 * used.
 */
export function browserOfSale(sale: BrowserFacts | undefined): Partial<BrowserData> {
  if (!sale) return {}
  const { accept, userAgent, language, javascriptEnabled, javaEnabled, colorDepth, screenHeight, screenWidth, timeZone } = sale
  return {
    ...defined({ acceptHeader: accept, userAgent }),
    ...(language === undefined ? {} : { language: firstLanguage(language) }),
    ...defined({ javascriptEnabled, javaEnabled, colorDepth, screenHeight, screenWidth, timeZone }),
  }
}

/** The field takes eight characters. A longer tag loses its last, least significant parts. */
export function firstLanguage(header: string): string {
  const parts = header.split(/[,;]/)[0]!.trim().split('-')
  while (parts.length > 1 && parts.join('-').length > 8) parts.pop()
  return parts.join('-').slice(0, 8) || 'en'
}
