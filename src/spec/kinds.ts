/**
 * The kinds of fields in the gateway API. Each defines which values fit; lengths count Unicode code
 * points.
 */
import ipaddr from 'ipaddr.js'
import countries from 'i18n-iso-countries/index.js'
import { currencyOf, currentCurrencyOf, decimalToMinor, mostMinor, type Currency } from '../base/money.ts'
import { checkDigitHolds } from '../base/luhn.ts'
import { secret, type Secret } from '../base/secret.ts'
import { isUnfit, undecided, unfit, type Kind, type Unfit } from './field.ts'

export const text = (max: number, min?: number): Kind<string> => ({
  name: 'text',
  max,
  ...(min === undefined ? {} : { min }),
  read: (t) => t,
})

/** Cut to its length, which is that of the protocol that it is for. */
export const cutText = (max: number): Kind<string> => ({ ...text(max), cuts: true })

/** A checksum: any value that does not match is refused the same way, whatever its form. */
export const checksum: Kind<string> = { ...text(Infinity), name: 'checksum' }

/** The "64k" of the specification. */
export const long: Kind<string> = text(65_536)

export const secretDigits = (min: number, max: number): Kind<Secret<string>> => ({
  name: 'digits',
  min,
  max,
  read: (t) => (/^[0-9]+$/.test(t) ? secret(t) : unfit('it has other characters than digits')),
})

export const flag: Kind<boolean> = {
  name: 'boolean',
  max: 5,
  read: (t) => (t.toLowerCase() === 'true' ? true : t.toLowerCase() === 'false' ? false : unfit('it is neither true nor false')),
}

export interface Amount {
  /** As the merchant spelled it; replies and callbacks repeat this spelling. */
  text: string
  /** In minor units. */
  minor: bigint
}

/** In the highest unit, "." as delimiter, above zero; beyond the currency's decimals only zeros. */
export function readAmount(t: string, currency: Currency): Amount | Unfit {
  const minor = decimalToMinor(t, currency.exponent)
  if (minor !== undefined && minor > mostMinor) return unfit('it has more than 12 digits in minor units')
  return misspelled(t) ?? (minor === undefined ? unfit(`${currency.code} has ${currency.exponent} decimals`) : { text: t, minor })
}

function misspelled(t: string): Unfit | undefined {
  if (!/^[0-9]+(\.[0-9]+)?$/.test(t)) return unfit('it is not a number with "." as delimiter')
  return /[1-9]/.test(t) ? undefined : unfit('it is not above zero')
}

export const amount = (max: number): Kind<Amount> => ({
  name: 'amount',
  max,
  read(t, neighbours) {
    const currency = currencyOf(neighbours('currency') ?? '')
    return currency ? readAmount(t, currency) : (misspelled(t) ?? undecided)
  },
})

/** A list of amounts without duplicates. */
export const amounts = (max: number): Kind<Amount[]> => ({
  name: 'amounts',
  max,
  read(t, neighbours) {
    const one = amount(10)
    const read = t.split(',').map((entry) => {
      const spelled = entry.trim()
      return spelled.length > one.max ? unfit(`it is longer than ${one.max} characters`) : one.read(spelled, neighbours)
    })
    const bad = read.find(isUnfit)
    if (bad) return unfit(`of one entry, ${bad.unfit}`)
    const list = read.filter((entry): entry is Amount => entry !== undecided && !isUnfit(entry))
    if (list.length < read.length) return undecided
    return new Set(list.map(({ minor }) => minor)).size < list.length ? unfit('an amount appears twice') : list
  },
})

const notACurrency = unfit('it is not a currency code of ISO 4217')
export const readCurrency = (t: string): Currency | Unfit => currentCurrencyOf(t) ?? notACurrency

export const currency: Kind<Currency> = { name: 'currency', min: 3, max: 3, read: readCurrency }
/** The currency of a stored order, which may have been withdrawn since. */
export const orderCurrency: Kind<Currency> = { ...currency, read: (t) => currencyOf(t) ?? notACurrency }

/** Codes that ISO 3166 no longer has, or not yet: accepted because integrators send them. */
const elderCountries = new Set(['AN', 'XK', 'EU', 'AP', 'A1', 'A2'])

export const country: Kind<string> = {
  name: 'country',
  min: 2,
  max: 2,
  read: (t) =>
    /^[A-Z][A-Z0-9]$/.test(t) && (countries.isValid(t) || elderCountries.has(t))
      ? t
      : unfit('it is not a two-letter country code'),
}

/** States of the three countries whose addresses need one. */
// oxfmt-ignore
const states: Readonly<Record<string, ReadonlySet<string>>> = {
  AU: new Set('ACT NSW NT QLD SA TAS VIC WA'.split(' ')),
  CA: new Set('AB BC MB NB NL NS NT NU ON PE QC SK YT'.split(' ')),
  US: new Set(('AA AE AP AK AL AR AS AZ CA CO CT DC DE FL FM GA GU HI IA ID IL IN KS KY LA MA MD ME MH MI MN MO MP MS MT NC ND NE NH NJ NM NV NY OH ' +
    'OK OR PA PR PW RI SC SD TN TX UM UT VA VI VT WA WI WV WY').split(' ')),
}
export const countryHasStates = (code: string | undefined): boolean => code !== undefined && Object.hasOwn(states, code)

/** For other countries, shops send a part of a code, the code, or a name. */
export const state: Kind<string> = {
  name: 'state',
  max: 32,
  read(t, neighbours) {
    const home = neighbours('country')
    if (home === undefined || !countryHasStates(home) || states[home]!.has(t)) return t
    return unfit(`it is not a state of ${home}`)
  },
}

export const email: Kind<string> = {
  name: 'e-mail address',
  max: 50,
  read: (t) => (/^[^\s@]+@[^\s@]+$/.test(t) ? t : unfit('it is not an e-mail address')),
}

export const ipAddress: Kind<string> = {
  name: 'IP address',
  max: 45,
  read: (t) =>
    ipaddr.IPv4.isValidFourPartDecimal(t) || (ipaddr.IPv6.isValid(t) && !t.includes('%')) ? t : unfit('it is not an IP address'),
}

/** 9–19 digits with a valid check digit (ISO/IEC 7812-1, annex B). */
export const cardNumber: Kind<Secret<string>> = {
  name: 'card number',
  min: 9,
  max: 19,
  read: (t) => (/^[0-9]+$/.test(t) && checkDigitHolds(t) ? secret(t) : unfit('it is not a card number')),
}

export const month: Kind<number> = {
  name: 'month',
  max: 2,
  read: (t) => (/^(0?[1-9]|1[0-2])$/.test(t) ? Number(t) : unfit('it is not a month from 1 to 12')),
}

/** Two digits mean the years 2000 to 2099. */
export const year: Kind<number> = {
  name: 'year',
  max: 4,
  read: (t) =>
    /^[0-9]{2}$/.test(t)
      ? 2000 + Number(t)
      : /^[1-9][0-9]{3}$/.test(t)
        ? Number(t)
        : unfit('it is not a year of two or four digits'),
}

/** Date of birth, in any order of its parts; some merchants omit the century. */
export const birthday: Kind<string> = {
  name: 'digits',
  min: 6,
  max: 8,
  read: (t) => (/^[0-9]{6}([0-9]{2})?$/.test(t) ? t : unfit('it is neither six nor eight digits')),
}

/** A day of the calendar as YYYYMMDD. */
export function isDay(t: string): boolean {
  const [, ofYear, ofMonth, ofDay] = /^([0-9]{4})(0[1-9]|1[0-2])([0-9]{2})$/.exec(t) ?? []
  return Number(ofDay) >= 1 && Number(ofDay) <= new Date(Date.UTC(Number(ofYear), Number(ofMonth), 0)).getUTCDate()
}

export const day: Kind<string> = { name: 'YYYYMMDD', max: 8, read: (t) => (isDay(t) ? t : unfit('it is not a day as YYYYMMDD')) }

/** Checks the form only; http/address checks scheme, port and credentials of a request. */
export const url: Kind<string> = { ...text(1024), name: 'URL' }

export const matching = (max: number, pattern: RegExp, name: string, why: string): Kind<string> => ({
  name,
  max,
  read: (t) => (pattern.test(t) ? t : unfit(why)),
})

/** One of these words, as written. */
export const oneOf = <const Word extends string>(max: number, words: readonly Word[], name: string, why: string): Kind<Word> => ({
  name,
  max,
  read: (t) => words.find((word) => word === t) ?? unfit(why),
})

/** An id that the gateway issued: digits that fit a bigint column. */
export const givenId = (max: number): Kind<bigint> => ({
  name: 'id',
  max,
  read: (t) => (/^[0-9]{1,18}$/.test(t) ? BigInt(t) : unfit('it is not an id')),
})
