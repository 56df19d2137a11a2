/** Facts that a card number itself reveals. The ranges are the networks' public issuer numbers. */

// oxfmt-ignore
const networks: readonly (readonly [name: string, pattern: RegExp, lengths: readonly number[]])[] = [
  ['VISA',       /^4/,                                              [13, 16, 19]],
  ['MASTERCARD', /^(5[1-5]|222[1-9]|22[3-9]|2[3-6]|27[01]|2720)/,   [16]],
  ['MIR',        /^220[0-4]/,                                       [16, 17, 18, 19]],
  ['AMEX',       /^3[47]/,                                          [15]],
  ['JCB',        /^35(2[89]|[3-8])/,                                [16, 17, 18, 19]],
  ['DINERS',     /^(30[0-5]|3095|36|3[89])/,                        [14, 15, 16, 17, 18, 19]],
  ['UNIONPAY',   /^62/,                                             [16, 17, 18, 19]],
  ['DISCOVER',   /^(6011|64[4-9]|65)/,                              [16, 17, 18, 19]],
  ['MAESTRO',    /^(50|5[6-9]|6)/,                                  [12, 13, 14, 15, 16, 17, 18, 19]],
]

/** Whether the network of a number issues numbers of its length; an unknown one may issue any. */
export const lengthIsIssued = (pan: string): boolean =>
  networks.find(([, pattern]) => pattern.test(pan))?.[2].includes(pan.length) ?? true

/** The network's name, or undefined for an unknown range. */
export const networkOf = (pan: string): string | undefined => networks.find(([, pattern]) => pattern.test(pan))?.[0]

/** Length of `bin` on the wire; shops and filter lists for this gateway protocol use six digits. */
const binLength = 6

/** With six and four digits shown of a shorter number, at most ten numbers would be left to try. */
const shortestWithBin = 13

/** Empty for a number that is too short. */
export const binOf = (pan: string): string => (pan.length < shortestWithBin ? '' : pan.slice(0, binLength))
export const lastFourOf = (pan: string): string => pan.slice(-4)

/** The facts of an order's card that may be shown, stored beside the order in clear. */
export interface ShownCard {
  bin: string
  lastFour: string
  network?: string
  expiryMonth: number
  expiryYear: number
  printedName: string
  /** The issuer's, if the BIN table has it: ISO 3166-1 alpha-2, and its name. */
  country?: string
  bank?: string
  /** `card-hash-id`: one for each card number of a merchant, useless without the vault's key. */
  hashId: string
}
