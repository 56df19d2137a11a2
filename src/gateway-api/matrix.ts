/**
 * The checks of every operation, and what it does once they pass. The compiler proves the order: a
 * row before the one that finds what it needs does not compile.
 */
import { marked, type After, type Check, type Marked, type PortsOf, type Row } from '../base/matrix.ts'
import { operationNames, type Operation } from '../spec/gateway/operations.ts'
import type { Refusal } from '../spec/refusals.ts'
import { performCreateCardRef, performGetCardInfo } from './card-references.ts'
import { textsHaveNoCardNumber } from './card-numbers.ts'
import * as check from './checks.ts'
import { amountsCanBeSigned, controlHolds } from './checksum.ts'
import { performFollow } from './follow.ts'
import { performPayment } from './payment.ts'
import { performRebill } from './rebill.ts'
import type { Reply } from './reply.ts'
import { signatureHolds } from './request-signature.ts'
import type { ByMerchant, Received, SignedByOAuth, WithMessage } from './stages.ts'
import { performStatus } from './status.ts'
import { performUploadCres } from './upload-cres.ts'
import { performUploadMethod } from './upload-method.ts'
import { performUploadPares } from './upload-pares.ts'

/** The operations in the order of the columns. */
const columns = [
  'sale',
  'preauth',
  'account-verification',
  'make-rebill-sale',
  'make-rebill-preauth',
  'make-rebill',
  'capture',
  'return',
  'void',
  'create-card-ref',
  'create-card-ref-v4',
  'get-card-info',
  'status',
  'status-v4',
  'upload-method-url-result',
  'upload-cres-result',
  'upload-pares-result',
] as const satisfies readonly Operation[]

/** The promise of a check, the code of its refusal, and the operations that it applies to. */
export interface CheckRow<C extends Check = Check, O extends Operation = Operation> extends Row<C, O> {
  codes: string
}

const row = <C extends Check, const Marks extends string>(
  promise: string,
  codes: string,
  holds: C,
  marks: Marks,
): CheckRow<C, Marked<Marks, typeof columns>> => ({ promise, codes, holds, of: marked(promise, marks, columns) })

// oxfmt-ignore
const rows = [
  //                                            codes   check                        sale pre av  rebill ×3  cap ret void ref v4  info stat v4  meth cres pares
  row('the service is not overloaded',          '20',   check.serviceHasRoom,        'x    x   x   x   x x  x   x   x    x   x   x    x    x   x    x    x'),
  row('the path names an endpoint or group',    '4',    check.endpointExists,        'x    x   x   x   x x  x   x   x    x   x   x    x    x   x    x    x'),
  row('merchant and gate have few enough open payments', '20',   check.merchantHasRoom,       'x    x   x   x   x x  .   .   .    .   .   .    .    .   .    .    .'),
  row('the body is a form',                     '3',    check.bodyIsForm,            'x    x   x   x   x x  x   x   x    x   x   x    x    x   x    x    x'),
  row('the fields can be read',                 '1, 3', check.fieldsCanBeRead,       'x    x   x   x   x x  x   x   x    x   x   x    x    x   x    x    x'),
  row('the Idempotency-Key can be read',        '3',    check.keyCanBeRead,          'x    x   x   x   x x  x   x   x    .   .   .    .    .   .    .    .'),
  row('the list of amounts may be tried',       '3',    check.listMayBeTried,        '.    .   .   x   x x  .   .   .    .   .   .    .    .   .    .    .'),
  row('the amounts can be signed',               '3',    amountsCanBeSigned,        'x    x   x   x   x x  x   x   .    .   .   .    .    .   .    .    .'),
  row('the URLs may be used',                   '3',    check.urlsMayBeUsed,         'x    x   x   x   x x  .   .   .    .   .   .    .    .   .    .    .'),
  row('the notification URL may be used',       '3',    check.notificationMayBeUsed, '.    .   .   .   . .  .   .   .    .   .   .    .    .   x    .    .'),
  row('the challenge response can be read',     '3',    check.cresCanBeRead,         '.    .   .   .   . .  .   .   .    .   .   .    .    .   .    x    .'),
  row('the payer response can be read',         '3',    check.paresCanBeRead,        '.    .   .   .   . .  .   .   .    .   .   .    .    .   .    .    x'),
  row('the control holds',                      '2',    controlHolds,                'x    x   x   x   x x  x   x   x    x   .   x    x    .   x    x    x'),
  row('the signature holds, if sent or required', '2',    signatureHolds,              'x    x   x   x   x x  x   x   x    x   .   x    x    .   x    x    x'),
  row('the merchant sends few enough requests', '20',   check.merchantKeepsRate,     'x    x   x   x   x x  x   x   x    x   x   x    x    x   x    x    x'),
  row('no text has a card number',              '3',    textsHaveNoCardNumber,       'x    x   x   x   x x  x   x   x    .   .   .    .    .   .    .    .'),
  row('the operation is enabled',               '5',    check.paymentIsEnabled,      'x    x   x   x   x x  .   .   .    .   .   .    .    .   .    .    .'),
  row('the operation is enabled',               '5',    check.followIsEnabled,       '.    .   .   .   . .  x   x   x    .   .   .    .    .   .    .    .'),
  row('the operation is enabled',               '5',    check.operationIsEnabled,    '.    .   .   .   . .  .   .   .    x   x   x    .    .   x    x    x'),
  row("the order is this merchant's",           '6',    check.orderIsThisMerchants,  '.    .   .   .   . .  x   x   x    x   x   .    .    .   x    x    x'),
  row("the order is this merchant's",           '6',    check.orderCanBeShown,       '.    .   .   .   . .  .   .   .    .   .   .    x    x   .    .    .'),
  row("the card reference is this merchant's",  '7',    check.referenceIsThisMerchants, '.    .   .   x   x x  .   .   .    .   .   x    .    .   .    .    .'),
  row('the endpoint or group has the currency', '8',    check.currencyIsTaken,       'x    x   x   x   x x  .   .   .    .   .   .    .    .   .    .    .'),
] as const

export const matrix: readonly CheckRow[] = rows

/** The facts of a request once its checks have passed. */
type Ready = {
  [O in Operation]: After<typeof rows, O, Received<O> & WithMessage & (O extends SignedByOAuth ? ByMerchant : unknown)>
}

/** The function for each operation, called once every check has passed. */
export const performers = {
  sale: performPayment,
  preauth: performPayment,
  'account-verification': performPayment,
  'make-rebill-sale': performRebill,
  'make-rebill-preauth': performRebill,
  'make-rebill': performRebill,
  capture: performFollow,
  return: performFollow,
  void: performFollow,
  'create-card-ref': performCreateCardRef,
  'create-card-ref-v4': performCreateCardRef,
  'get-card-info': performGetCardInfo,
  status: performStatus,
  'status-v4': performStatus,
  'upload-method-url-result': performUploadMethod,
  'upload-cres-result': performUploadCres,
  'upload-pares-result': performUploadPares,
} as const satisfies { [O in Operation]: (request: Ready[O], ports: never) => Reply | Refusal | Promise<Reply | Refusal> }

/** All ports of the checks and performers. */
export type GatewayApiPorts = PortsOf<(typeof rows)[number]['holds'] | (typeof performers)[Operation]>

const checks = new Map<Operation, readonly Check[]>(
  operationNames.map((operation) => [operation, matrix.filter(({ of }) => of.has(operation)).map(({ holds }) => holds)]),
)

/** The checks of an operation, in order. */
export const checksOf = (operation: Operation): readonly Check[] => checks.get(operation)!
