/** The operations of the gateway API: path, request, signature and reply of each. */
import type { Table } from '../field.ts'
import type { RefusalName } from '../refusals.ts'
import { cardInfoReply, createCardRefReply, createCardRefRequest, createCardRefV4Reply } from './card.ts'
import { createCardRefV4Request, getCardInfoRequest } from './card.ts'
import { formulas, type Formula } from './control.ts'
import { followRequest, repeatNote, voidNote } from './follow.ts'
import { rebillRequest } from './rebill.ts'
import { asyncReply, type ReplyTable } from './reply.ts'
import { saleRequest, verificationRequest } from './sale.ts'
import { statusReply, statusRequest, statusV4Request } from './status.ts'
import { uploadCresRequest, uploadMethodRequest, uploadParesRequest } from './upload.ts'

interface OperationRow {
  /**
   * Below the base URL; followed by the id of an endpoint, or by `group/` and the id of a group.
   */
  path: string
  kind: 'payment' | 'rebill' | 'follow' | 'reference' | 'status' | 'upload'
  request: Table
  signed: Formula | 'OAuth'
  reply: ReplyTable
  means: string
  /** A note that belongs in its first paragraph. */
  note?: string
  /** Refusals that are possible once all its checks have passed. */
  refuses: readonly RefusalName[]
}

const inUse = ['order id in use', 'key in use'] as const
const follows = ['operation not enabled', 'currency not supported', 'wrong state', 'amount exceeds', 'key in use'] as const
const late = ['wrong state'] as const

// oxfmt-ignore
export const operations = {
  sale:                 { path: '/api/v2/sale',                kind: 'payment',   request: saleRequest,            signed: formulas.payment,      reply: asyncReply, refuses: inUse, means: 'charges a card' },
  preauth:              { path: '/api/v2/preauth',             kind: 'payment',   request: saleRequest,            signed: formulas.payment,      reply: asyncReply, refuses: inUse, means: 'holds an amount on a card, to be captured later' },
  'account-verification': { path: '/api/v2/account-verification', kind: 'payment', request: verificationRequest,   signed: formulas.verification, reply: asyncReply, refuses: inUse, means: 'asks the issuer whether a card is valid, without charging it' },
  'make-rebill-sale':   { path: '/api/v2/make-rebill-sale',    kind: 'rebill',    request: rebillRequest,          signed: formulas.rebill,       reply: asyncReply, refuses: inUse, means: 'charges a stored card: a recurrent payment' },
  'make-rebill-preauth': { path: '/api/v2/make-rebill-preauth', kind: 'rebill',   request: rebillRequest,          signed: formulas.rebill,       reply: asyncReply, refuses: inUse, means: 'holds an amount on a stored card' },
  'make-rebill':        { path: '/api/v2/make-rebill',         kind: 'rebill',    request: rebillRequest,          signed: formulas.rebill,       reply: asyncReply, refuses: inUse, means: 'charges a stored card: another name of make-rebill-sale' },
  capture:              { path: '/api/v2/capture',             kind: 'follow',    request: followRequest,          signed: formulas['part of order'], reply: asyncReply, refuses: follows, means: 'captures the amount of a preauthorisation, or a part of it', note: repeatNote },
  return:               { path: '/api/v2/return',              kind: 'follow',    request: followRequest,          signed: formulas['part of order'], reply: asyncReply, refuses: follows, means: 'refunds a payment, or a part of it; cancels a preauthorisation without captures', note: repeatNote },
  void:                 { path: '/api/v2/void',                kind: 'follow',    request: followRequest,          signed: formulas.order,        reply: asyncReply, refuses: follows, means: 'cancels a whole payment', note: voidNote },
  'create-card-ref':    { path: '/api/v2/create-card-ref',     kind: 'reference', request: createCardRefRequest,   signed: formulas.order,        reply: createCardRefReply, refuses: [], means: 'stores the card of an approved payment under an id, for recurrent payments' },
  'create-card-ref-v4': { path: '/api/v4/create-card-ref',     kind: 'reference', request: createCardRefV4Request, signed: 'OAuth',               reply: createCardRefV4Reply, refuses: [], means: 'does what create-card-ref does, signed with OAuth' },
  'get-card-info':      { path: '/api/v2/get-card-info',       kind: 'reference', request: getCardInfoRequest,     signed: formulas['card reference'], reply: cardInfoReply, refuses: [], means: 'returns the public data of a stored card' },
  status:               { path: '/api/v2/status',              kind: 'status',    request: statusRequest,          signed: formulas.order,        reply: statusReply, refuses: ['order not found'], means: 'returns the state of an order, and what the cardholder has to do' },
  'status-v4':          { path: '/api/v4/status',              kind: 'status',    request: statusV4Request,        signed: 'OAuth',               reply: statusReply, refuses: ['order not found'], means: 'returns what status returns, signed with OAuth' },
  'upload-method-url-result': { path: '/api/3ds/v1/upload-method-url-result', kind: 'upload', request: uploadMethodRequest, signed: formulas.upload, reply: asyncReply, refuses: ['field is required', ...late], means: "reports that the issuer's method is done, with the data of the cardholder's browser" },
  'upload-cres-result': { path: '/api/3ds/v1/upload-cres-result', kind: 'upload', request: uploadCresRequest,      signed: formulas.upload,       reply: asyncReply, refuses: ['field is invalid', ...late], means: 'uploads the result of a challenge, as the issuer posted it' },
  'upload-pares-result': { path: '/api/3ds/v1/upload-pares-result', kind: 'upload', request: uploadParesRequest,   signed: formulas.upload,       reply: asyncReply, refuses: late, means: 'uploads the result of 3-D Secure 1.0.2, as the issuer posted it' },
} as const satisfies Record<string, OperationRow>

export type Operation = keyof typeof operations

export const operationNames = Object.keys(operations) as readonly Operation[]

/** A row whose columns have the same types for every operation. */
export const operationRow = (operation: Operation): OperationRow => operations[operation]

const otherNames: Partial<Record<Operation, Operation>> = {
  'make-rebill': 'make-rebill-sale',
  'create-card-ref-v4': 'create-card-ref',
  'status-v4': 'status',
}

/** For an operation with two names, the one under which it is switched on and off. */
export const switchedAs = (operation: Operation): Operation => otherNames[operation] ?? operation

export const isOperation = (name: string): name is Operation => Object.hasOwn(operations, name)
