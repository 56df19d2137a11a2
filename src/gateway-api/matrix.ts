import { operationNames, type Operation } from '../spec/gateway/operations.ts'
import * as check from './checks.ts'
import { performCreateCardRef, performGetCardInfo } from './card-references.ts'
import { performFollow } from './follow.ts'
import { performPayment } from './payment.ts'
import { performRebill } from './rebill.ts'
import { performStatus } from './status.ts'
import { performUploadCres } from './upload-cres.ts'
import { performUploadMethod } from './upload-method.ts'
import { performUploadPares } from './upload-pares.ts'

/** One line of the matrix: what must hold, the code of the refusal when it does not, and the operations it is asked of. */
export interface CheckRow {
  promise: string
  codes: string
  holds: check.Check
  of: ReadonlySet<Operation>
}

/** The operations in the order of the columns below. */
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

/**
 * The operations that a row marks. Throws when the row and the columns do not fit each other: a
 * check that is dropped in silence is one that nobody makes.
 */
export function operationsOf(promise: string, marks: string, of: readonly Operation[]): ReadonlySet<Operation> {
  const missing = operationNames.filter((name) => !of.includes(name))
  if (missing.length > 0) throw new Error(`no column for ${missing.join(', ')}`)
  if (of.length !== operationNames.length) throw new Error(`${of.length} columns for ${operationNames.length} operations`)
  const each = marks.trim().split(/\s+/)
  if (each.length !== of.length) throw new Error(`"${promise}" has ${each.length} marks for ${of.length} operations`)
  const strange = each.find((mark) => mark !== 'x' && mark !== '.')
  if (strange !== undefined) throw new Error(`"${promise}" has the mark "${strange}", which is neither x nor .`)
  return new Set(of.filter((_, i) => each[i] === 'x'))
}

const row = (promise: string, codes: string, holds: check.Check, marks: string): CheckRow => ({
  promise,
  codes,
  holds,
  of: operationsOf(promise, marks, columns),
})

/** Every check in the order of refusals (spec/refusals), a column an operation. */
// oxfmt-ignore
export const matrix: readonly CheckRow[] = [
  //                                            codes   check                        sale pre av  rebill ×3  cap ret void ref v4  info stat v4  meth cres pares
  row('the service has room',                   '20',   check.serviceHasRoom,        'x    x   x   x   x x  x   x   x    x   x   x    x    x   x    x    x'),
  row('the path names an endpoint or group',    '4',    check.endpointExists,        'x    x   x   x   x x  x   x   x    x   x   x    x    x   x    x    x'),
  row('the merchant and the gate have room',    '20',   check.merchantHasRoom,       'x    x   x   x   x x  .   .   .    .   .   .    .    .   .    .    .'),
  row('the body is a form',                     '3',    check.bodyIsForm,            'x    x   x   x   x x  x   x   x    x   x   x    x    x   x    x    x'),
  row('the fields can be read',                 '1, 3', check.fieldsCanBeRead,       'x    x   x   x   x x  x   x   x    x   x   x    x    x   x    x    x'),
  row('the Idempotency-Key can be read',        '3',    check.keyCanBeRead,          'x    x   x   x   x x  x   x   x    .   .   .    .    .   .    .    .'),
  row('the list of amounts may be tried',       '3',    check.listMayBeTried,        '.    .   .   x   x x  .   .   .    .   .   .    .    .   .    .    .'),
  row('the URLs may be used',                   '3',    check.urlsMayBeUsed,         'x    x   x   x   x x  .   .   .    .   .   .    .    .   .    .    .'),
  row('the notification URL may be used',       '3',    check.notificationMayBeUsed, '.    .   .   .   . .  .   .   .    .   .   .    .    .   x    .    .'),
  row('the challenge response can be read',     '3',    check.cresCanBeRead,         '.    .   .   .   . .  .   .   .    .   .   .    .    .   .    x    .'),
  row('the payer response can be read',         '3',    check.paresCanBeRead,        '.    .   .   .   . .  .   .   .    .   .   .    .    .   .    .    x'),
  row('the control holds',                      '2',    check.controlHolds,          'x    x   x   x   x x  x   x   x    x   .   x    x    .   x    x    x'),
  row('the operation is enabled',               '5',    check.operationIsEnabled,    'x    x   x   x   x x  x   x   x    x   x   x    x    x   x    x    x'),
  row("the order is this merchant's",           '6',    check.orderIsThisMerchants,  '.    .   .   .   . .  x   x   x    x   x   .    x    x   x    x    x'),
  row("the card reference is this merchant's",  '7',    check.referenceIsThisMerchants, '.    .   .   x   x x  .   .   .    .   .   x    .    .   .    .    .'),
  row('the endpoint or group has the currency', '8',    check.currencyIsTaken,       'x    x   x   x   x x  .   .   .    .   .   .    .    .   .    .    .'),
]

const checks = new Map(operationNames.map((operation) => [operation, matrix.filter((line) => line.of.has(operation))]))

export const checksOf = (operation: Operation): readonly check.Check[] => checks.get(operation)!.map((line) => line.holds)

/** What is done once every check holds. */
export const performers: Readonly<Record<Operation, check.Performer>> = {
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
}
