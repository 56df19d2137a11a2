import type { MobileKind } from './mobile-requests.ts'
import type { Sent } from './post.ts'

/** A transaction begun and signed by the merchant's server, which the app takes to the gateway. */
export interface Begun<Kind extends MobileKind = MobileKind> {
  is: 'begun'
  kind: Kind
  endpointId: string
  invoiceId: string
  accessToken: string
  nonce: string
  signature: string
  /** Least and most that a transfer may cost, to be shown. */
  rates?: { min?: string; max?: string }
}

/** The gateway has it. Status shows what becomes of it. */
export interface Performed {
  is: 'performed'
  kind: MobileKind
  endpointId: string
  invoiceId: string
  accessToken: string
  token: string
}

/** Gateway or merchant's server say no. */
export interface MobileRefused {
  is: 'refused'
  httpStatus: number
  /** Such as INVALID_REQUEST. */
  cause: string
  /** The id of this refusal, to be found in the other side's log. */
  code: string
  message: string
}

/**
 * Nothing came, or nothing that can be read: whether the request arrived is unknown. The same may
 * be sent again, and is done once.
 */
export interface MobileNoAnswer {
  is: 'no answer'
  why: string
}

export type MobileReply<Good> = Good | MobileRefused | MobileNoAnswer

const states = ['PROCESSING', 'REDIRECT_REQUEST', 'TRANSFER_FEE_REQUEST', 'APPROVED', 'DECLINED'] as const
export type MobileState = (typeof states)[number]

export interface TransferFee {
  assignedId: string
  commissionCentis: number
  currency: string
}

/** A transaction as status shows it. */
export interface MobileStatus {
  is: 'transaction'
  state: MobileState
  invoiceId: string
  /** For a web view, where the consumer is authenticated. */
  redirectUrl?: string
  /** The fees of the transfer to choose from. */
  fees?: TransferFee[]
  /** Why it was declined. */
  reason?: { code?: number; message?: string }
  secure3DAuthStatus?: string
  randomSumAuthStatus?: string
  bankOrderId?: string
  orderId?: string
  transaction?: MobileAmounts
}

export interface MobileAmounts {
  amountCentis?: number
  commissionCentis?: number
  currency?: string
  /** As `2017-05-10 12:00:00.000+0300`. */
  orderCreatedDate?: string
  transactionCreatedDate?: string
}

/** Reads an answer; a text is why it is none. */
export type JsonReading<Good> = (body: Json) => Good | string

export type Json = Readonly<Record<string, unknown>>

export function readMobile<Good>(sent: Sent, read: JsonReading<Good>): MobileReply<Good> {
  if (sent.is === 'no answer') return sent
  const body = objectIn(sent.text)
  const refused = body && refusalIn(sent.status, body)
  if (refused) return refused
  if (sent.status !== 200) return { is: 'no answer', why: `HTTP ${sent.status}` }
  const good = body === undefined ? 'it is no JSON object' : read(body)
  return typeof good === 'string' ? { is: 'no answer', why: good } : good
}

export function objectIn(text: string): Json | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Json) : undefined
  } catch {
    return undefined
  }
}

/** The value at a dotted path. */
export function at(body: unknown, path: string): unknown {
  let value = body
  for (const name of path.split('.')) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined
    value = (value as Json)[name]
  }
  return value
}

export const textAt = (body: unknown, path: string): string => {
  const value = at(body, path)
  return typeof value === 'string' || typeof value === 'number' ? String(value) : ''
}

function refusalIn(httpStatus: number, body: Json): MobileRefused | undefined {
  const cause = textAt(body, 'error.cause')
  if (cause === '') return undefined
  return { is: 'refused', httpStatus, cause, code: textAt(body, 'error.code'), message: textAt(body, 'error.message') }
}

export function readStatus(body: Json): MobileStatus | string {
  const state = states.find((one) => one === body['state'])
  if (state === undefined) return `its state is "${textAt(body, 'state')}"`
  const { redirectUrl, transferFeeList, errorCode, errorMessage, transaction } = body
  const known = (name: string) => (textAt(body, name) === '' ? {} : { [name]: textAt(body, name) })
  const reason = {
    ...(typeof errorCode === 'number' ? { code: errorCode } : {}),
    ...(typeof errorMessage === 'string' ? { message: errorMessage } : {}),
  }
  return {
    is: 'transaction',
    state,
    invoiceId: textAt(body, 'invoiceId'),
    ...(typeof redirectUrl === 'string' ? { redirectUrl } : {}),
    ...(Array.isArray(transferFeeList) ? { fees: transferFeeList.map(feeOf) } : {}),
    ...(Object.keys(reason).length > 0 ? { reason } : {}),
    ...known('secure3DAuthStatus'),
    ...known('randomSumAuthStatus'),
    ...known('bankOrderId'),
    ...known('orderId'),
    ...(typeof transaction === 'object' && transaction !== null ? { transaction } : {}),
  }
}

const feeOf = (one: unknown): TransferFee => ({
  assignedId: textAt(one, 'assignedId'),
  commissionCentis: Number(at(one, 'commissionCentis')),
  currency: textAt(one, 'currency'),
})
