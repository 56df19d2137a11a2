/**
 * What the simulated directory server and ACS demand of each message, for purchases and card checks
 * in a browser. Public tables of EMV 3-D Secure 2.1.0 and 2.2.0, written down apart from the
 * gateway's, so that one mistake cannot hide in both. A row: name, form, and when it must be there.
 * Other fields are ignored.
 */

export type Fields = Readonly<Record<string, unknown>>
type Fits = (value: unknown, all: Fields) => boolean
type Need = (all: Fields) => boolean
export type Row = readonly [name: string, fits: Fits, need: Need]

const form =
  (pattern: RegExp): Fits =>
  (value) =>
    typeof value === 'string' && pattern.test(value)
const text =
  (most: number, least = 1): Fits =>
  (value) =>
    typeof value === 'string' && value.length >= least && value.length <= most
const flag: Fits = (value) => typeof value === 'boolean'
const object: Fits = (value) => typeof value === 'object' && value !== null && !Array.isArray(value)

const id = form(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i)
const cavv = form(/^[A-Za-z0-9+/]{26,28}={0,2}$/)
const country = form(/^[0-9]{3}$/)
const currency = form(/^[0-9]{3}$/)
const version = form(/^[0-9]+(\.[0-9]+){2}$/)
const phone: Fits = (value) =>
  object(value, {}) &&
  form(/^[0-9]{1,3}$/)((value as Fields)['cc'], {}) &&
  form(/^[0-9]{1,15}$/)((value as Fields)['subscriber'], {})
const moment =
  (pattern: RegExp, readsAs: (digits: string) => string): Fits =>
  (value) =>
    typeof value === 'string' && pattern.test(value) && sameMoment(readsAs(value))
const time = moment(
  /^[0-9]{14}$/,
  (t) => `${t.slice(0, 4)}-${t.slice(4, 6)}-${t.slice(6, 8)}T${t.slice(8, 10)}:${t.slice(10, 12)}:${t.slice(12)}`,
)
const day = moment(/^[0-9]{8}$/, (t) => `${t.slice(0, 4)}-${t.slice(4, 6)}-${t.slice(6)}T00:00:00`)

/** Date turns 30 February into a day in March; then the resulting text differs. */
const sameMoment = (iso: string): boolean => {
  const read = new Date(`${iso}Z`)
  return !Number.isNaN(read.getTime()) && read.toISOString().startsWith(iso)
}

/** Absolute, http or https, without credentials, of limited length. */
const url =
  (most: number, scheme = /^https?:\/\//i): Fits =>
  (value) =>
    typeof value === 'string' &&
    value.length <= most &&
    scheme.test(value) &&
    !/[\s\p{Cc}]/u.test(value) &&
    URL.canParse(value) &&
    new URL(value).username === ''
const httpsUrl = (most: number): Fits => url(most, /^https:\/\//i)

const always: Need = () => true
const never: Need = () => false
const is =
  (name: string, ...values: unknown[]): Need =>
  (all) =>
    values.includes(all[name])
const both =
  (...needs: Need[]): Need =>
  (all) =>
    needs.every((need) => need(all))
const either =
  (...needs: Need[]): Need =>
  (all) =>
    needs.some((need) => need(all))

const payment = is('messageCategory', '01')
const first210 = is('messageVersion', '2.1.0')
const inSeries = is('threeDSRequestorAuthenticationInd', '02', '03')
const priced = either(payment, both(is('messageCategory', '02'), inSeries))
/** 2.1.0 has no browserJavascriptEnabled and assumes script. */
const scripted = either(first210, is('browserJavascriptEnabled', true))
/** One form in 2.1.0, a wider one since 2.2.0. */
const wider =
  (in210: RegExp, since220: RegExp): Fits =>
  (value, all) =>
    form(first210(all) ? in210 : since220)(value, all)

const reason = wider(/^(0[1-9]|1[0-9]|2[01]|[89][0-9])$/, /^(0[1-9]|1[0-9]|2[0-6]|[89][0-9])$/)
const authenticationType = wider(/^(0[1-3]|[89][0-9])$/, /^(0[1-4]|[89][0-9])$/)

// oxfmt-ignore
const tables = {
  PReq: [
    ['threeDSServerRefNumber',            text(32),                           always],
    ['threeDSServerTransID',              id,                                 always],
    ['threeDSServerOperatorID',           text(32),                           never],
    ['serialNum',                         text(20),                           never],
  ],
  AReq: [
    ['threeDSServerTransID',              id,                                 always],
    ['threeDSServerRefNumber',            text(32),                           always],
    ['threeDSServerOperatorID',           text(32),                           never],
    ['threeDSServerURL',                  httpsUrl(2048),                     always],
    ['threeDSRequestorID',                text(35),                           always],
    ['threeDSRequestorName',              text(40),                           always],
    ['threeDSRequestorURL',               url(2048),                          always],
    ['threeDSRequestorAuthenticationInd', wider(/^(0[1-6]|[89][0-9])$/, /^(0[1-7]|[89][0-9])$/), always],
    ['threeDSRequestorChallengeInd',      wider(/^(0[1-4]|[89][0-9])$/, /^(0[1-9]|[89][0-9])$/), never],
    ['threeDSCompInd',                    form(/^[YNU]$/),                    always],
    ['messageCategory',                   form(/^(0[12]|[89][0-9])$/),        always],
    ['deviceChannel',                     form(/^02$/),                       always],
    ['acctNumber',                        form(/^[0-9]{13,19}$/),             always],
    ['acctType',                          form(/^(0[1-3]|[89][0-9])$/),       never],
    ['acctID',                            text(64),                           never],
    ['cardExpiryDate',                    form(/^[0-9]{2}(0[1-9]|1[0-2])$/),  never],
    ['cardholderName',                    form(/^[\x20-\x7e]{2,45}$/),        never],
    ['email',                             form(/^(?=.{3,254}$)[^\s@]+@[^\s@]+$/), never],
    ['mobilePhone',                       phone,                              never],
    ['homePhone',                         phone,                              never],
    ['workPhone',                         phone,                              never],
    ['addrMatch',                         form(/^[YN]$/),                     never],
    ['billAddrLine1',                     text(50),                           never],
    ['billAddrLine2',                     text(50),                           never],
    ['billAddrLine3',                     text(50),                           never],
    ['billAddrCity',                      text(50),                           never],
    ['billAddrPostCode',                  text(16),                           never],
    ['billAddrState',                     text(3),                            never],
    ['billAddrCountry',                   country,                            never],
    ['shipAddrLine1',                     text(50),                           never],
    ['shipAddrCity',                      text(50),                           never],
    ['shipAddrPostCode',                  text(16),                           never],
    ['shipAddrState',                     text(3),                            never],
    ['shipAddrCountry',                   country,                            (all) => all['shipAddrState'] !== undefined],
    ['acquirerBIN',                       text(11),                           payment],
    ['acquirerMerchantID',                text(35),                           payment],
    ['mcc',                               form(/^[0-9]{4}$/),                 payment],
    ['merchantCountryCode',               country,                            payment],
    ['merchantName',                      text(40),                           payment],
    ['purchaseAmount',                    form(/^[0-9]{1,48}$/),              priced],
    ['purchaseCurrency',                  currency,                           priced],
    ['purchaseExponent',                  form(/^[0-9]$/),                    priced],
    ['purchaseDate',                      time,                               priced],
    ['purchaseInstalData',                form(/^(?!0*1?$)[0-9]{1,3}$/),      is('threeDSRequestorAuthenticationInd', '03')],
    ['recurringExpiry',                   day,                                inSeries],
    ['recurringFrequency',                form(/^[0-9]{1,4}$/),               inSeries],
    ['transType',                         form(/^(01|03|10|11|28)$/),         never],
    ['notificationURL',                   url(256),                           always],
    ['browserAcceptHeader',               text(2048),                         always],
    ['browserUserAgent',                  text(2048),                         always],
    ['browserLanguage',                   text(8),                            always],
    ['browserIP',                         text(45),                           never],
    ['browserJavascriptEnabled',          flag,                               is('messageVersion', '2.2.0')],
    ['browserJavaEnabled',                flag,                               scripted],
    ['browserColorDepth',                 form(/^(1|4|8|15|16|24|32|48)$/),   scripted],
    ['browserScreenHeight',               form(/^[0-9]{1,6}$/),               scripted],
    ['browserScreenWidth',                form(/^[0-9]{1,6}$/),               scripted],
    ['browserTZ',                         form(/^[+-]?[0-9]{1,4}$/),          scripted],
    ['dsReferenceNumber',                 text(32),                           never],
    ['dsTransID',                         id,                                 never],
    ['dsURL',                             httpsUrl(2048),                     never],
  ],
  ARes: [
    ['threeDSServerTransID',              id,                                 always],
    ['acsTransID',                        id,                                 always],
    ['dsTransID',                         id,                                 always],
    ['acsReferenceNumber',                text(32),                           always],
    ['dsReferenceNumber',                 text(32),                           always],
    ['transStatus',                       wider(/^[YNUACR]$/, /^[YNUACDRI]$/), always],
  ],
  CReq: [
    ['threeDSServerTransID',              id,                                 always],
    ['acsTransID',                        id,                                 always],
    ['challengeWindowSize',               form(/^0[1-5]$/),                   always],
  ],
  RReq: [
    ['threeDSServerTransID',              id,                                 always],
    ['acsTransID',                        id,                                 always],
    ['dsTransID',                         id,                                 always],
    ['messageCategory',                   form(/^(0[12]|[89][0-9])$/),        always],
    ['transStatus',                       form(/^[YNUAR]$/),                  always],
    ['transStatusReason',                 reason,                             is('transStatus', 'N', 'U', 'R')],
    ['authenticationValue',               cavv,                               both(payment, is('transStatus', 'Y', 'A'))],
    ['authenticationType',                authenticationType,                 is('transStatus', 'Y', 'N')],
    ['eci',                               text(2),                            never],
    ['interactionCounter',                form(/^[0-9]{2}$/),                 always],
    ['challengeCancel',                   form(/^(0[13-8]|[89][0-9])$/),      is('transStatusReason', '14')],
  ],
  RRes: [
    ['threeDSServerTransID',              id,                                 always],
    ['acsTransID',                        id,                                 always],
    ['dsTransID',                         id,                                 always],
    ['resultsStatus',                     form(/^0[1-3]$/),                   always],
  ],
  Erro: [
    ['errorCode',                         form(/^[0-9]{3}$/),                 always],
    ['errorComponent',                    form(/^[CSDA]$/),                   always],
    ['errorDescription',                  text(2048),                         always],
    ['errorDetail',                       text(2048),                         always],
  ],
} as const satisfies Record<string, readonly Row[]>

export type MessageType = keyof typeof tables | 'PRes' | 'CRes'

/** The rows of a message that a simulator reads; PRes and CRes are only written here. */
export const rowsOf = (type: string): readonly Row[] | undefined =>
  Object.hasOwn(tables, type) ? tables[type as keyof typeof tables] : undefined

/** A card range of an admin request. Its numbers are compared as digits. */
export const rangeRows: readonly Row[] = [
  ['startRange', form(/^[0-9]{13,19}$/), always],
  ['endRange', form(/^[0-9]{13,19}$/), always],
  ['acsStartProtocolVersion', version, always],
  ['acsEndProtocolVersion', version, always],
  ['threeDSMethodURL', url(256), never],
]
