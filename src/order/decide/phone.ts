import { parsePhoneNumberFromString } from 'libphonenumber-js/min'

/** A telephone number in the form that EMV 3-D Secure requires. */
export interface Phone {
  cc: string
  subscriber: string
}

/**
 * Reads a number that names its country: `+` or `00`, a calling code, and then a number that is
 * possible in that country. A number without a country is ambiguous, so the result is undefined:
 * sending the issuer no number is better than sending another person's.
 */
export function phoneOf(text: string): Phone | undefined {
  const [, digits] = /^\s*(?:\+|00)([0-9][0-9 ()./-]*)$/.exec(text) ?? []
  const number = digits === undefined ? undefined : parsePhoneNumberFromString(`+${digits}`)
  return number?.isValid() ? { cc: number.countryCallingCode, subscriber: number.nationalNumber } : undefined
}
