/** An acquirer's record of the messages of its gates, as a file. */
import { localTime, momentOfLocal } from '../../acquirer/iso8583/codec.ts'
import { readCsv } from '../../base/csv.ts'
import { currencyOf, currencyOfNumeric } from '../../base/money.ts'

const operationKinds = ['sale', 'preauth', 'account-verification', 'capture', 'return', 'debit', 'credit'] as const
type OperationKind = (typeof operationKinds)[number]

const outcomes = ['approved', 'declined', 'reversed'] as const

export interface RecordedOperation {
  terminalId: string
  stan: string
  /** Field 12 of the message, in milliseconds: a whole second. */
  at: number
  rrn: string
  kind: OperationKind
  /** How it stands: a payment that was reversed or voided is `reversed`. */
  outcome: (typeof outcomes)[number]
  amountMinor: bigint
  currency: string
  /** Tag OI: the gateway's own order id. */
  orderId?: bigint
  clientOrderid?: string
  bin: string
  lastFour: string
  actionCode: string
  approvalCode?: string
}

const needed = ['terminal', 'stan', 'time', 'rrn', 'kind', 'outcome', 'amount_minor', 'currency'] as const
type Name = (typeof needed)[number] | 'order_id' | 'client_orderid' | 'card' | 'action_code' | 'approval_code'

/** A text is the error message, with its line. */
export function readRecord(csv: string): RecordedOperation[] | string {
  const rows = readCsv<Name>(csv, needed)
  if (typeof rows === 'string') return rows
  const operations: RecordedOperation[] = []
  for (const { record, line } of rows) {
    const read = operationOf((name) => record[name] ?? '')
    if (typeof read === 'string') return `line ${line}: ${read}`
    operations.push(read)
  }
  return operations
}

const oneOf = (words: readonly string[]) => new RegExp(`^(${words.join('|')})$`, 'i')
const inIso4217 = (text: string) => currencyOf(text.toUpperCase()) ?? currencyOfNumeric(text.padStart(3, '0'))

// oxfmt-ignore
const shapes: readonly (readonly [name: Name, shape: { test(text: string): boolean }, must: string])[] = [
  ['terminal',       /^[\x21-\x7e]{1,8}$/,                          'a terminal id of at most 8 characters'],
  ['stan',           /^[0-9]{6}$/,                                  'six digits'],
  ['time',           /^[0-9]{2}(0[1-9]|1[0-2])([0-2][0-9]|3[01])([01][0-9]|2[0-3])([0-5][0-9]){2}$/, 'the time of field 12, YYMMDDhhmmss'],
  ['rrn',            /^([0-9]{1,12}|[0-9A-Za-z]{12})$/,             'up to 12 digits, or 12 letters and digits'],
  ['amount_minor',   /^[0-9]{1,12}$/,                               'an amount in minor units'],
  ['order_id',       /^([1-9][0-9]{0,15})?$/,                       'the order id of the gateway'],
  ['client_orderid', /^.{0,128}$/,                                  'at most 128 characters'],
  ['card',           /^([0-9]{6}[^0-9]*[0-9]{4}|[0-9]{0,5}[^0-9]+[0-9]{4})?$/, 'at most six digits, something other than digits, four digits'],
  ['action_code',    /^([0-9]{3})?$/,                               'three digits'],
  ['approval_code',  /^[\x21-\x7e]{0,6}$/,                          'at most 6 characters'],
  ['kind',           oneOf(operationKinds),                         `one of ${operationKinds.join(', ')}`],
  ['outcome',        oneOf(outcomes),                               `one of ${outcomes.join(', ')}`],
  ['currency',       { test: (text) => inIso4217(text) !== undefined }, 'one of ISO 4217'],
]

function operationOf(read: (name: Name) => string): RecordedOperation | string {
  const lacking = needed.find((name) => read(name) === '')
  if (lacking !== undefined) return `${lacking} is missing`
  const unfit = shapes.find(([name, shape]) => !shape.test(read(name)))
  if (unfit) return `${unfit[0]} is ${JSON.stringify(read(unfit[0]))}, not ${unfit[2]}`
  const at = momentOfLocal(read('time'))
  if (localTime(at) !== read('time')) return `time is ${JSON.stringify(read('time'))}, which is not a calendar day`
  return {
    terminalId: read('terminal'),
    stan: read('stan'),
    at,
    // A spreadsheet loses the zeros in front.
    rrn: read('rrn').padStart(12, '0'),
    kind: read('kind').toLowerCase() as OperationKind,
    outcome: read('outcome').toLowerCase() as RecordedOperation['outcome'],
    amountMinor: BigInt(read('amount_minor')),
    currency: inIso4217(read('currency'))!.code,
    bin: /^[0-9]{6}/.exec(read('card'))?.[0] ?? '',
    lastFour: read('card').slice(-4),
    actionCode: read('action_code') || '000',
    ...(read('order_id') !== '' && { orderId: BigInt(read('order_id')) }),
    ...(read('client_orderid') !== '' && { clientOrderid: read('client_orderid') }),
    ...(read('approval_code') !== '' && { approvalCode: read('approval_code') }),
  }
}
