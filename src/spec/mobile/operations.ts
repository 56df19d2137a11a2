import * as answers from './answers.ts'
import type { Choice, JsonField } from './field.ts'
import { mobileKinds, type MobileKind } from './kinds.ts'
import * as merchant from './merchant.ts'
import { statusRequest } from './requests.ts'
import { checkText, initiateText, notificationText, type SignedText } from './signatures.ts'
import type { SentTable } from './sent.ts'

/** Rows of any table of requests or answers. */
export type MobileTable = Readonly<Record<string, Pick<JsonField, 'is' | 'means'> & { need: string }>>

/** How the service refuses a request of an app; each operation defines its answer. */
export type MobileRefusalName =
  | 'endpoint not served'
  | 'unfit'
  | 'signature does not hold'
  | 'in use'
  | 'unknown'
  | 'fee not chosen'
  | 'no room'
  | 'internal error'

export interface MobileRefusalRow {
  /** Only the service's own operations name their refusals. */
  name?: MobileRefusalName
  cause: string
  http: number
  when: string
}

export type Deed = 'perform' | 'status' | 'complete'

export interface MobileOperationRow {
  /** The side that answers. */
  side: 'service' | 'merchant'
  caller: 'app' | 'service'
  kind?: MobileKind
  /** The action of the service. */
  does?: Deed
  method: 'POST' | 'GET or POST'
  path: string
  means: string
  request: MobileTable
  choices?: readonly Choice[]
  answer: SentTable
  /** A signature that the request or the answer carries. */
  carries?: SignedText
  answers?: SignedText
  refusals: readonly MobileRefusalRow[]
}

const refusal = (name: MobileRefusalName, cause: string, http: number, when: string) => ({ name, cause, http, when })

const failed = refusal('internal error', 'INTERNAL_ERROR', 500, 'the service failed; the same request may be sent again')
const noRoom = refusal('no room', 'PROCESSING_FAILED', 500, 'too many requests now; try again')
const unfit = 'a field is missing or invalid'

const performRefusals: readonly MobileRefusalRow[] = [
  refusal(
    'endpoint not served',
    'INVALID_CONFIGURATION',
    500,
    'the endpoint is unknown, switched off, not for this operation or without a merchant server, ' +
      'or the control key is not 32 hexadecimal digits',
  ),
  refusal('unfit', 'INVALID_REQUEST', 400, `${unfit}; the endpoint takes another currency, or the currency has no such amount`),
  refusal('signature does not hold', 'INVALID_REQUEST', 400, 'session.signature does not hold'),
  refusal('in use', 'INVALID_REQUEST', 400, 'the invoice or the nonce was used with other content'),
  noRoom,
  failed,
]

const statusRefusals: readonly MobileRefusalRow[] = [
  refusal('unfit', 'INVALID_REQUEST', 400, unfit),
  refusal('unknown', 'ORDER_NOT_FOUND', 400, 'no transaction of this kind has this endpoint, invoice and tokens'),
  noRoom,
  failed,
]

const completeRefusals: readonly MobileRefusalRow[] = [
  refusal('unfit', 'INVALID_REQUEST', 400, unfit),
  refusal('unknown', 'INVALID_REQUEST', 400, 'no transfer has this endpoint, invoice and tokens'),
  refusal(
    'fee not chosen',
    'INVALID_REQUEST',
    400,
    'assignedId is not in the list of fees, another fee was chosen, or the transfer waits for no choice',
  ),
  noRoom,
  failed,
]

/** Refusals of a merchant's server to its app. */
const appRefusals: readonly MobileRefusalRow[] = [
  { cause: 'FILTERED', http: 400, when: 'the merchant does not serve the consumer' },
  { cause: 'INVALID_REQUEST', http: 400, when: `${unfit}, or the access token is unknown, expired or another device's` },
  { cause: 'SERVER_FAILED', http: 500, when: 'the server failed' },
  { cause: 'SERVER_UNAVAILABLE', http: 503, when: 'the server cannot answer now' },
]

/** Refusals of a merchant's server to the service, each with its effect. */
const serviceRefusals = (no: string, again: string): readonly MobileRefusalRow[] => [
  { cause: 'FILTERED', http: 400, when: `the merchant does not serve the consumer; ${no}` },
  {
    cause: 'INVALID_REQUEST',
    http: 400,
    when: `the merchant's server did not begin this transaction, or not with these values; ${no}`,
  },
  { cause: 'SERVER_FAILED', http: 500, when: `the server failed; ${again}` },
  { cause: 'SERVER_UNAVAILABLE', http: 503, when: `the server cannot answer now; ${again}` },
]

const checkRefusals = serviceRefusals('the transaction is declined', 'the service asks again, three times within 30 seconds')
const notificationRefusals = serviceRefusals('the notification is not sent again', 'the notification is sent again, for a day')

const service = { side: 'service', caller: 'app', method: 'POST' } as const
const perform = { ...service, does: 'perform', answer: answers.performAnswer, refusals: performRefusals } as const
const status = { ...service, does: 'status', request: statusRequest, refusals: statusRefusals } as const
const asked = (kind: MobileKind) => ({ request: mobileKinds[kind].request, choices: mobileKinds[kind].choices })
const initiate = { side: 'merchant', caller: 'app', method: 'POST', refusals: appRefusals } as const
const check = { side: 'merchant', caller: 'service', method: 'POST', refusals: checkRefusals } as const
const notification = {
  side: 'merchant',
  caller: 'service',
  method: 'POST',
  answer: merchant.notificationAnswer,
  answers: notificationText,
  refusals: notificationRefusals,
} as const

// oxfmt-ignore
const operations = {
  'perform-verification':      { ...perform, kind: 'verification', path: '/dapi/v1/verification/{endpointId}/{invoiceId}', means: 'verifies a card and registers it', ...asked('verification'), carries: initiateText.verification },
  'verification-status':       { ...status,  kind: 'verification', path: '/dapi/v1/verification/{endpointId}/{invoiceId}/status', means: 'returns the state of a verification', answer: answers.verificationStatusAnswer },
  'perform-sale':              { ...perform, kind: 'sale', path: '/dapi/v1/sale/{endpointId}/{invoiceId}', means: 'charges a card, which may be a registered one', ...asked('sale'), carries: initiateText.sale },
  'sale-status':               { ...status,  kind: 'sale', path: '/dapi/v1/sale/{endpointId}/{invoiceId}/status', means: 'returns the state of a sale', answer: answers.saleStatusAnswer },
  'perform-transfer':          { ...perform, kind: 'transfer', path: '/dapi/v1/transfer/{endpointId}/{invoiceId}', means: 'moves money from one card to another; each may be a registered one', ...asked('transfer'), carries: initiateText.transfer },
  'transfer-status':           { ...status,  kind: 'transfer', path: '/dapi/v1/transfer/{endpointId}/{invoiceId}/status', means: 'returns the state of a transfer', answer: answers.transferStatusAnswer },
  'complete-transfer':         { ...service, does: 'complete', kind: 'transfer', path: '/dapi/v1/transfer/{endpointId}/{invoiceId}/{assignedId}', means: 'chooses one of the fees that transfer-status listed; the transfer then goes on', request: statusRequest, answer: answers.performAnswer, refusals: completeRefusals },
  'request-access-token':      { ...initiate, method: 'GET or POST', path: '/auth/request-access-token', means: 'signs a consumer in, as the merchant decides', request: merchant.tokenRequest, answer: merchant.tokenAnswer },
  'initiate-verification':     { ...initiate, kind: 'verification', path: '/verification/initiate-verification', means: 'begins a verification: returns an invoice and its signature', request: merchant.initiateVerificationRequest, answer: merchant.initiateAnswer, answers: initiateText.verification },
  'initiate-sale':             { ...initiate, kind: 'sale', path: '/transfer/initiate-sale', means: 'begins a sale: returns an invoice and its signature', request: merchant.initiateSaleRequest, answer: merchant.initiateAnswer, answers: initiateText.sale },
  'initiate-transfer':         { ...initiate, kind: 'transfer', path: '/transfer/initiate-transfer', means: 'begins a transfer: returns an invoice and its signature', request: merchant.initiateTransferRequest, answer: merchant.initiateTransferAnswer, answers: initiateText.transfer },
  'check-verification':        { ...check, kind: 'verification', path: '/verification/{invoiceId}/check', means: 'asks the merchant\'s server to confirm a verification that it began', request: merchant.checkVerificationRequest, answer: merchant.checkVerificationAnswer, carries: initiateText.verification, answers: checkText.verification },
  'check-sale':                { ...check, kind: 'sale', path: '/sale/{invoiceId}/check', means: 'asks the merchant\'s server to confirm a sale that it began', request: merchant.checkSaleRequest, answer: merchant.checkSaleAnswer, carries: initiateText.sale, answers: checkText.sale },
  'check-transfer':            { ...check, kind: 'transfer', path: '/transfer/{invoiceId}/check', means: 'asks the merchant\'s server to confirm a transfer that it began', request: merchant.checkTransferRequest, answer: merchant.checkTransferAnswer, carries: initiateText.transfer, answers: checkText.transfer },
  'verification-notification': { ...notification, kind: 'verification', path: '/verification/notification', means: 'reports the id of a verified card that was registered', request: merchant.verificationNotification },
  'sale-notification':         { ...notification, kind: 'sale', path: '/sale/notification', means: 'reports the id of the registered card of a sale', request: merchant.saleNotification },
  'transfer-notification':     { ...notification, kind: 'transfer', path: '/transfer/notification', means: 'reports the ids of the registered cards of a transfer', request: merchant.transferNotification },
} as const satisfies Record<string, MobileOperationRow>

export type MobileOperation = keyof typeof operations

export const mobileOperationNames = Object.keys(operations) as MobileOperation[]
export const mobileRow = (operation: MobileOperation): MobileOperationRow => operations[operation]

/** Whether failures name the invoice: all do, except those of a merchant's server to its app. */
export const refusalNamesInvoice = ({ side, caller }: MobileOperationRow): boolean => side === 'service' || caller === 'service'
