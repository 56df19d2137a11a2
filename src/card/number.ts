/** The facts that public ranges reveal; those of networks of one country lie in others. */

// oxfmt-ignore
const networks: readonly (readonly [name: string, pattern: RegExp, lengths: readonly number[]])[] = [
  ['ELO',        /^(4011(78|79)|431274|438935|451416|4576(31|32)|504175|506(699|7[0-7])|509|627780|636(297|368)|650(03[1-3]|03[5-9]|04|050|051|40[5-9]|4[1-3]|48[5-9]|49|5[0-2]|53[0-8]|54[1-9]|5[5-8]|59[0-8]|70|71[0-8]|72[0-7]|90[1-9]|9[1-6]|97[0-8])|65165[2-9]|6516[67]|65500|65501|65502[1-9]|65503|65504|65505[0-8])/, [16]],
  ['VERVE',      /^(506(099|1[0-8]|19[0-8])|507(86[5-9]|8[7-9]|9[0-5]|96[0-4])|6500(0[2-9]|1|2[0-7]))/, [16, 18, 19]],
  ['RUPAY',      /^(508[5-9]|60(69(8[5-9]|9)|7|80|8[1-4]|8500)|6521[5-9]|652[2-9]|6530|6531[0-4]|81|82)/, [16]],
  ['HIPERCARD',  /^(606282|3841[046]0|637(095|568|599|609|612))/,   [13, 16, 19]],
  ['DANKORT',    /^5019/,                                           [16]],
  ['MEEZA',      /^5078(03|0[89]|10)/,                              [16, 17, 18, 19]],
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
