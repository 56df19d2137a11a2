import { parsePhoneNumberFromString } from 'libphonenumber-js/min'

/** A telephone number as EMV 3-D Secure wants it. */
export interface Phone {
  cc: string
  subscriber: string
}

/**
 * Reads a number that names its country: `+` or `00`, a calling code, and then a number that is
 * possible in that country. Any other number could be of any country, so the result is undefined:
 * the issuer is better off without a number than with another person's.
 */
export function phoneOf(text: string): Phone | undefined {
  const [, digits] = /^\s*(?:\+|00)([0-9][0-9 ()./-]*)$/.exec(text) ?? []
  const number = digits === undefined ? undefined : parsePhoneNumberFromString(`+${digits}`)
  return number?.isValid() ? { cc: number.countryCallingCode, subscriber: number.nationalNumber } : undefined
}
