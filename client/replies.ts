import { stepOf, type Step } from './cardholder.ts'
import type { Fields, Pairs } from './form.ts'
import type { Operation } from './operations.ts'
import type { OrderName } from './requests.ts'

/** The request was taken. Status and callback show what becomes of it. */
export interface Accepted {
  is: 'accepted'
  order: OrderName
  /** The id of this request, for `by-request-sn`. */
  serialNumber: string
  fields: Fields
}

/**
 * The gateway says no. After a `validation-error` nothing was stored or charged. `error` means that
 * the service failed or has too much to do: after it the order may exist.
 */
export interface Refused {
  is: 'refused'
  asked: Asked
  type: 'validation-error' | 'error'
  code: number
  message: string
  serialNumber?: string
  fields: Fields
}

/** HTTP 403 of version v4: signature, time, key or endpoint is not accepted; no word which. */
export interface Denied {
  is: 'denied'
}

/** No reply came, or none that can be read: the request may have arrived, the order may exist. */
export interface NoAnswer {
  is: 'no answer'
  asked: Asked
  why: string
}

/** The names of a request, to find out its outcome. */
export interface Asked {
  operation: Operation
  client_orderid?: string
  orderid?: string
}

export type Reply<Good> = Good | Refused | NoAnswer

const finals = ['approved', 'declined', 'error', 'filtered'] as const
export type FinalStatus = (typeof finals)[number]
/** `unknown`: the acquirer's answer was lost; the gateway is finding out. Money may have moved. */
export type Status = FinalStatus | 'processing' | 'unknown'

/** An order as `status` shows it. */
export interface OrderStatus {
  is: 'order'
  status: Status
  /** Such as `sale_approved`. */
  stage: string
  transactionType: string
  order: OrderName
  serialNumber: string
  /** Why it was declined, filtered or failed. */
  reason?: Reason
  /** The next step of the cardholder. */
  step?: Step
  fields: Fields
}

export interface Reason {
  code: number
  message: string
}

/** A registered card. Version v2 gives the unique reference, v4 the ids of other interfaces. */
export interface Registered {
  is: 'registered'
  cardRefId: string
  uniqueCardRefId?: string
  recurringPaymentId?: string
  dstCardRefId?: string
  dstRecurringPaymentId?: string
  fields: Fields
}

/** The first payment forbids it: `declined`, it was not approved; `error`, it is not over. */
export interface NotRegistered {
  is: 'not registered'
  status: 'declined' | 'error'
  reason: Reason
  fields: Fields
}

export interface CardInfo {
  is: 'card'
  printedName: string
  expireMonth: string
  expireYear: string
  bin: string
  lastFourDigits: string
  fields: Fields
}

export const isFinal = (status: string): status is FinalStatus => finals.some((one) => one === status)
const isStatus = (status: string): status is Status => isFinal(status) || status === 'processing' || status === 'unknown'

/**
 * What a good reply of an operation is: its `type` on the wire, and what is read from it. A text is
 * why it cannot be.
 */
export interface Reading<Good> {
  type: string
  read(fields: Fields, asked: Asked): Good | string
}

/** Reads what came with HTTP 200. A text is why it is no reply. */
export function readReply<Good>(pairs: Pairs, asked: Asked, good: Reading<Good>): Good | Refused | string {
  const fields: Fields = Object.fromEntries(pairs)
  const { type } = fields
  if (type === good.type) return good.read(fields, asked)
  if (type !== 'validation-error' && type !== 'error') return `it is no ${good.type}`
  return { is: 'refused', asked, type, ...reasonOf(fields), ...known('serialNumber', fields['serial-number']), fields }
}

export const acceptance: Reading<Accepted> = { type: 'async-response', read: readAccepted }
export const orderStatus: Reading<OrderStatus> = { type: 'status-response', read: readStatus }
export const registration: Reading<Registered | NotRegistered> = { type: 'create-card-ref-response', read: readRegistration }
export const cardInfo: Reading<CardInfo> = { type: 'get-card-info-response', read: readCard }

const reasonOf = (fields: Fields): Reason => ({
  code: Number(fields['error-code'] ?? 0),
  message: fields['error-message'] ?? '',
})

/** A property that is there only with a value. */
const known = <const Name extends string>(name: Name, value: string | undefined): { [K in Name]?: string } =>
  value === undefined ? {} : ({ [name]: value } as { [K in Name]: string })

function orderOf(fields: Fields, asked: Asked): OrderName | undefined {
  const orderid = fields['gateway-order-id']
  const clientOrderid = fields['merchant-order-id'] ?? asked.client_orderid
  return orderid === undefined || clientOrderid === undefined ? undefined : { client_orderid: clientOrderid, orderid }
}

function readAccepted(fields: Fields, asked: Asked): Accepted | string {
  const order = orderOf(fields, asked)
  if (order === undefined) return 'it names no order'
  return { is: 'accepted', order, serialNumber: fields['serial-number'] ?? '', fields }
}

function readStatus(fields: Fields, asked: Asked): OrderStatus | string {
  const order = orderOf(fields, asked)
  const { status = '' } = fields
  if (order === undefined) return 'it names no order'
  if (!isStatus(status)) return `its status is "${status}"`
  const step = status === 'processing' ? stepOf(fields) : undefined
  return {
    is: 'order',
    status,
    stage: fields['order-stage'] ?? '',
    transactionType: fields['transaction-type'] ?? '',
    order,
    serialNumber: fields['serial-number'] ?? '',
    ...(fields['error-code'] === undefined ? {} : { reason: reasonOf(fields) }),
    ...(step === undefined ? {} : { step }),
    fields,
  }
}

function readRegistration(fields: Fields): Registered | NotRegistered {
  const cardRefId = fields['card-ref-id']
  if (cardRefId === undefined)
    return { is: 'not registered', status: fields.status === 'error' ? 'error' : 'declined', reason: reasonOf(fields), fields }
  return {
    is: 'registered',
    cardRefId,
    ...known('uniqueCardRefId', fields['unq-card-ref-id']),
    ...known('recurringPaymentId', fields['recurring-payment-id']),
    ...known('dstCardRefId', fields['dst-card-ref-id']),
    ...known('dstRecurringPaymentId', fields['dst-recurring-payment-id']),
    fields,
  }
}

function readCard(fields: Fields): CardInfo {
  return {
    is: 'card',
    printedName: fields['card-printed-name'] ?? '',
    expireMonth: fields['expire-month'] ?? '',
    expireYear: fields['expire-year'] ?? '',
    bin: fields.bin ?? '',
    lastFourDigits: fields['last-four-digits'] ?? '',
    fields,
  }
}
