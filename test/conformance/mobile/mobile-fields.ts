import { it } from 'node:test'
import { cardNumber, nextYear } from '../requests/client.ts'
import type { Json, Kind } from './mobile-merchant.ts'
import { about, cardAt, empty, initiate, newToken, perform, refused, type Mobile } from './mobile.ts'

/** The fields of a perform request by the table of the specification, and the cases of each. */

const long = (length: number, letter = 'a'): string => letter.repeat(length)
const digits = (length: number): string => cardNumber(`4${long(length - 2, '1')}`)
const email = (length: number): string => `${long(length - 64)}@${long(59, 'b')}.com`

interface Field {
  path: string
  mandatory?: boolean
  /** Values at the ends of what is allowed; a function makes a new one each time. */
  takes: unknown[]
  /** One beyond, and what has the wrong form. */
  refuses: unknown[]
}

const text = (path: string, least: number, most: number, more: Partial<Field> = {}): Field => ({
  path,
  takes: [long(least), long(most), 'é'.repeat(most)],
  refuses: [...(least > 1 ? [long(least - 1)] : []), long(most + 1), ...notText],
  ...more,
})

const notText = [12, true, ['a'], { a: 'a' }]
const notNumber = ['1', true, [1], { a: 1 }]

// oxfmt-ignore
const shared: Field[] = [
  { path: 'session.accessToken', mandatory: true, takes: [() => newToken(32), () => newToken(128)], refuses: [long(31), long(129), ...notText] },
  { path: 'session.nonce',       mandatory: true, takes: [() => newToken(32), () => newToken(128)], refuses: [long(31), long(129), ...notText] },
  { path: 'session.signature',   mandatory: true, takes: [],                            refuses: [long(31), long(129), ...notText] },
  { path: 'transaction.currency', mandatory: true, takes: ['USD'],                      refuses: ['US', 'USDX', 'usd', 'XYZ', '840', ...notText] },
  text('consumer.device.serialNumber', 1, 50, { mandatory: true }),
  text('consumer.device.imei', 14, 16, { takes: [long(14, '1'), long(16, '1')], refuses: [long(13, '1'), long(17, '1'), ...notText] }),
  text('consumer.email', 3, 128, { takes: ['a@b', email(128)], refuses: ['a@', email(129), 'nobody', ...notText] }),
  { path: 'consumer.birthDay',    takes: ['29021980', '31121999'],               refuses: ['2902198', '290219800', '1980-2-9', '30021980', '01131980', 29021980, ...notText] },
  { path: 'consumer.ipAddresses', takes: [['1.2.3.4'], ['203.113.113.113'], ['203.0.113.7', '203.0.113.8']], refuses: ['203.0.113.7', ['1.2.3.'], ['203.113.113.1131'], [7], [null], {}] },
  { path: 'location.lat', takes: [-90, 90, 52.5200066],                          refuses: [-90.000001, 90.000001, ...notNumber] },
  { path: 'location.lng', takes: [-180, 180, 13.4049540],                        refuses: [-180.000001, 180.000001, ...notNumber] },
  text('billing.phone', 1, 20),
  text('billing.address.city', 1, 100),
  { path: 'billing.address.country', takes: ['DEU', 'FRA'],                      refuses: ['DE', 'DEUT', 'deu', ...notText] },
  text('billing.address.postcodeZip', 1, 10),
  text('billing.address.state', 2, 3, { takes: ['NY', 'NSW'] }),
  text('billing.address.street', 1, 50),
  text('billing.address.street2', 1, 50),
  text('order.description', 1, 128),
  { path: 'order.siteUrl', takes: ['https://shop.example', `https://shop.example/${long(107)}`], refuses: [`https://shop.example/${long(108)}`, ...notText] },
  text('order.purpose', 1, 128),
  ...['consumer', 'consumer.device', 'session', 'transaction'].map((path) => ({ path, takes: [], refuses: ['a', 1, ['a'], true] })),
]

// oxfmt-ignore
const cardFields = (at: string): Field[] => [
  { path: `${at}.number`,       mandatory: true, takes: [digits(9), digits(19)], refuses: [digits(8), digits(20), '4111111111111112', '4111 1111 1111 1111', long(16), ...notText] },
  { path: `${at}.expiry.month`, mandatory: true, takes: [1, 12],                 refuses: [0, 13, 123, -1, 1.5, ...notNumber] },
  { path: `${at}.expiry.year`,  mandatory: true, takes: [nextYear, 2099],        refuses: [999, 10000, 30, 2030.5, -2030, ...notNumber] },
  { path: `${at}.securityCode`, takes: ['123', '1234'],                          refuses: ['12', '12345', '12a', ...notText] },
  text(`${at}.holder.printedName`, 1, 50),
  ...[at, `${at}.holder`, `${at}.expiry`].map((path) => ({ path, takes: [], refuses: ['a', 1, ['a'], true] })),
]

const amount: Field = {
  path: 'transaction.amountCentis',
  mandatory: true,
  takes: [1, 99_999_999],
  refuses: [0, -1, 10.5, 1e30, ...notNumber],
}

const destination: Field = {
  path: 'destinationOfFunds.card.number',
  mandatory: true,
  takes: [digits(9), digits(19)],
  refuses: [digits(8), digits(20), '4111111111111112', long(16), ...notText],
}

/** Mandatory in verifications only. */
const ofVerification = new Set(['consumer.email', 'sourceCard.securityCode'])

export function fieldsOf(kind: Kind): Field[] {
  const fields = [...shared, ...cardFields(cardAt(kind))]
  if (kind !== 'verification') fields.push(amount)
  if (kind === 'transfer') fields.push(destination)
  if (kind !== 'verification') return fields
  return fields.map((field) => (ofVerification.has(field.path) ? { ...field, mandatory: true } : field))
}

const shown = (value: unknown): string => {
  const json = JSON.stringify(value) ?? 'missing'
  return json.length > 40 ? `${json.slice(0, 24)}… of ${json.length - 2}` : json
}

/** One line a refusal. A refused request never reaches the merchant's server. */
export function refusalCases(mobile: () => Mobile, kind: Kind): void {
  const refuses = (title: string, path: string, changes: Json, message: RegExp | string = about(path)): void => {
    it(`${kind}: ${title}`, async () => {
      const made = initiate(mobile(), kind, changes)
      refused(await perform(mobile(), made), 'INVALID_REQUEST', message, made.invoiceId)
    })
  }
  for (const { path, mandatory, refuses: values } of fieldsOf(kind)) {
    for (const value of values) refuses(`${path} ${shown(value)} is refused`, path, { [path]: value })
    if (!mandatory) continue
    for (const nothing of [undefined, null, ''])
      refuses(`${path} ${shown(nothing)} may not be empty`, path, { [path]: nothing }, empty(path))
  }
}
