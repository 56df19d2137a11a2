/** What comes back from the cardholder's browser, by a merchant's upload or by the gateway's own pages: facts about the browser, and the end of a challenge. */
import type { Authentication, BrowserData, CompInd } from '../three-d-secure/authentication.ts'
import { decodeParam, readMessage } from '../three-d-secure/codec.ts'
import { leaseLookMs } from '../storage/store-heartbeat.ts'
import { waits } from './authenticate.ts'
import type { Event } from './event.ts'
import type { BrowserFacts, Order, Transaction } from './order.ts'

/** The transaction of an order that 3-D Secure is about. */
export const authenticated = (order: Order): (Transaction & { authentication: Authentication }) | undefined =>
  order.transactions.findLast((t): t is Transaction & { authentication: Authentication } => t.authentication !== undefined)

export interface MethodResult {
  compInd: CompInd
  browser: BrowserData
  notificationUrl?: string
}

/** The method is over, so the issuer can be asked. Where there is no method URL the indicator is U, whatever was said. */
export function methodEvent(
  { no, authentication }: Transaction & { authentication: Authentication },
  { compInd, ...said }: MethodResult,
  processId: bigint,
  now: number,
): Event {
  const learned = { ...said, compInd: authentication.methodUrl === undefined ? ('U' as const) : compInd }
  const of = authentication.threeDSServerTransId
  return { is: 'method uploaded', transactionNo: no, of, learned, lease: processId, leaseDueAt: now + leaseLookMs }
}

export interface ReadCres {
  is: 'cres'
  threeDSServerTransId: unknown
  acsTransId: unknown
  /** Y or N; absent when the issuer sent an error message instead. Advice only: the result comes from the directory server. */
  status?: unknown
}

/** Reads what an issuer posted through the browser: a CRes, or an error message in its place. */
export function readCres(param: string): ReadCres | { is: 'unreadable'; why: string } {
  const text = decodeParam(param)
  if (text === undefined) return { is: 'unreadable', why: 'it is not base64url' }
  const read = readMessage(text, { types: ['CRes', 'Erro'] })
  if (read.is === 'unusable') return { is: 'unreadable', why: `it is no CRes (${read.errorCode} ${read.errorDetail})` }
  const { threeDSServerTransID, acsTransID, transStatus } = read.message
  return { is: 'cres', threeDSServerTransId: threeDSServerTransID, acsTransId: acsTransID, status: transStatus }
}

/** Whether a CRes is of this very authentication; one of another order is nobody's proof of anything. */
export const isOf = (cres: ReadCres, authentication: Authentication): boolean =>
  cres.threeDSServerTransId === authentication.threeDSServerTransId && cres.acsTransId === authentication.acsTransId

/** The browser is back: from now on the result is waited for a short while only. Undefined when that is known already. */
export function challengeEvent({ no, authentication, state }: Transaction, now: number): Event | undefined {
  if (state !== 'awaiting challenge' || !authentication || authentication.cresAt !== undefined) return undefined
  const of = authentication.threeDSServerTransId
  return { is: 'challenge returned', transactionNo: no, of, learned: { cresAt: now }, dueAt: now + waits.afterCresMs }
}

/** Browser facts as a sale gives them. The header lists languages by preference; the first is meant. */
export function browserOfSale(sale: BrowserFacts | undefined): Partial<BrowserData> {
  if (!sale) return {}
  const { accept, userAgent, language, javascriptEnabled, javaEnabled, colorDepth, screenHeight, screenWidth, timeZone } = sale
  return {
    ...(accept === undefined ? {} : { acceptHeader: accept }),
    ...(userAgent === undefined ? {} : { userAgent }),
    ...(language === undefined ? {} : { language: firstLanguage(language) }),
    ...(javascriptEnabled === undefined ? {} : { javascriptEnabled }),
    ...(javaEnabled === undefined ? {} : { javaEnabled }),
    ...(colorDepth === undefined ? {} : { colorDepth }),
    ...(screenHeight === undefined ? {} : { screenHeight }),
    ...(screenWidth === undefined ? {} : { screenWidth }),
    ...(timeZone === undefined ? {} : { timeZone }),
  }
}

/** At most eight characters fit the message: a longer tag loses its last parts, which are the least telling. */
export function firstLanguage(header: string): string {
  const parts = header.split(/[,;]/)[0]!.trim().split('-')
  while (parts.length > 1 && parts.join('-').length > 8) parts.pop()
  return parts.join('-').slice(0, 8) || 'en'
}
