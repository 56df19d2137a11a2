import { Secret, secret } from '../../../src/base/secret.ts'
import type { IsoMessage } from '../../../src/spec/iso8583.ts'

/**
 * A message with its secrets laid open, so that it can be compared: two `Secret`s always look
 * equal.
 */
export function laidOpen(message: IsoMessage): unknown {
  return bare(message)
}

/** A message that was read, as it could be sent: patient texts in ASCII, and of their length. */
export function sendable({ type, fields }: IsoMessage): IsoMessage {
  const { 38: approvalCode, ...others } = fields
  const plain = Object.entries(others).map(([key, value]) => [key, plainOf(value)])
  return { type, fields: { ...Object.fromEntries(plain), ...(approvalCode && { 38: codeOf(approvalCode) }) } }
}

const codeOf = (text: string): string => text.replace(/[^0-9A-Za-z]/g, '0').padEnd(6, '0')

function plainOf(value: unknown): unknown {
  if (value instanceof Secret) return secret(String(plainOf(value.reveal())))
  if (typeof value === 'string') return value.replace(/[^\x20-\x7e]/g, '?')
  if (value === null || typeof value !== 'object') return value
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, plainOf(inner)]))
}

function bare(value: unknown): unknown {
  if (value instanceof Secret) return value.reveal()
  if (value === null || typeof value !== 'object') return value
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, bare(inner)]))
}

/** A sale as the gateway sends it. */
export const sale: IsoMessage = {
  type: '1200',
  fields: {
    2: secret('4111111111111111'),
    3: '000000',
    4: '000000010500',
    7: '0102030405',
    11: '000017',
    12: '260102030405',
    14: secret('3012'),
    22: '100050100110',
    24: '200',
    26: '5999',
    32: '123456',
    37: '000000000017',
    41: 'TERM1',
    42: 'SHOP',
    43: 'Shop',
    48: { 92: secret('123'), OI: '17', EC: '05' },
    49: '840',
  },
}

/** The acquirer's yes to that sale. */
export const approval: IsoMessage = {
  type: '1210',
  fields: {
    3: '000000',
    4: '000000010500',
    7: '0102030405',
    11: '000017',
    12: '260102030405',
    32: '123456',
    37: '000000000017',
    38: 'A1B2C3',
    39: '000',
    41: 'TERM1',
    42: 'SHOP',
    49: '840',
    62: { TX: 'SIM-17' },
  },
}
