/**
 * The authentication request (AReq) of a payment, browser channel. Source: EMV 3-D Secure 2.1.0 and
 * 2.2.0, table A.1.
 */
import { asciiText } from '../../base/ascii.ts'
import { knownCurrency } from '../../base/money.ts'
import type { Secret } from '../../base/secret.ts'
import countries from 'i18n-iso-countries/index.js'
import type { Gate } from '../../merchant/merchant.ts'
import { emvVersion, type AnyVersion, type Authentication, type BrowserData } from '../../three-d-secure/authentication.ts'
import { canCarry, type Message } from '../../three-d-secure/codec.ts'
import type { HostedUrls } from '../../three-d-secure/forms.ts'
import type { Order, Transaction } from '../decide/order.ts'
import { phoneOf } from '../decide/phone.ts'

/** The gateway's identity towards directory servers, and its addresses. */
export interface ServerIdentity {
  /** Assigned by EMVCo at certification. */
  refNumber: string
  operatorId?: string
  /** Where directory servers post results. */
  resultsUrl: string
  /** The gateway's own pages of one authentication, by its token. */
  pages: (token: string) => HostedUrls
}

export interface AReqParts {
  gate: Gate
  merchantName: string
  server: ServerIdentity
  now: number
}

/**
 * Undefined if the browser's screen is unknown although the version requires it, as 2.1.0 does even
 * for a browser without script. An invented screen would be a false statement to the issuer.
 */
export function areqOf(order: Order, transaction: Transaction, pan: Secret<string>, parts: AReqParts): Message | undefined {
  const authentication = transaction.authentication!
  const browser = browserFields(authentication)
  if (!browser) return undefined
  const { gate, server } = parts
  const { expiryMonth, expiryYear } = order.card
  return {
    messageType: 'AReq',
    messageVersion: emvVersion(authentication),
    messageCategory: categoryOf(order),
    deviceChannel: '02',
    threeDSServerTransID: authentication.threeDSServerTransId,
    threeDSServerRefNumber: server.refNumber,
    threeDSServerOperatorID: server.operatorId,
    threeDSServerURL: server.resultsUrl,
    threeDSRequestorID: `TG${order.merchantId}`,
    threeDSRequestorName: merchantNameOf(parts.merchantName, 40),
    threeDSRequestorURL: new URL(server.pages('').page).origin,
    ...authenticationFields(order),
    threeDSRequestorChallengeInd: knownIndicator(authentication),
    threeDSCompInd: authentication.compInd,
    notificationURL: authentication.notificationUrl ?? server.pages(authentication.pageToken).challenge,
    ...browser,
    acctNumber: pan.reveal(),
    cardExpiryDate: `${two(expiryYear % 100)}${two(expiryMonth)}`,
    ...cardholderFields(order, authentication),
    acquirerBIN: gate.settings.acquirerId,
    acquirerMerchantID: gate.settings.cardAcceptorId,
    mcc: gate.settings.mcc,
    merchantCountryCode: gate.settings.countryNumeric,
    merchantName: merchantNameOf(parts.merchantName, 40),
    ...(categoryOf(order) === '01' ? purchaseFields(order, transaction, parts.now) : undefined),
  }
}

/** 01 a payment, 02 the first of a series, 04 a card without a payment. */
function authenticationFields(order: Order): Record<string, string> {
  if (categoryOf(order) === '02') return { threeDSRequestorAuthenticationInd: '04' }
  const { series } = order.request
  if (!series) return { threeDSRequestorAuthenticationInd: '01' }
  const { expiry, frequencyDays } = series
  return { threeDSRequestorAuthenticationInd: '02', recurringExpiry: expiry, recurringFrequency: frequencyDays }
}

/** 01 a payment, 02 the verification of a card without one. */
export const categoryOf = ({ kind }: Order): '01' | '02' => (kind === 'account-verification' ? '02' : '01')

function purchaseFields(order: Order, { amountMinor }: Transaction, now: number): Record<string, unknown> {
  const currency = knownCurrency(order.currency)
  return {
    purchaseAmount: String(amountMinor),
    purchaseCurrency: currency.numeric,
    purchaseExponent: String(currency.exponent),
    purchaseDate: new Date(now).toISOString().replace(/\D/g, '').slice(0, 14),
    transType: '01',
  }
}

/** Whether the known browser data is enough for an AReq of this version. */
export function describes(browser: Partial<BrowserData>, version: AnyVersion): browser is BrowserData {
  const { acceptHeader, userAgent, language, javascriptEnabled } = browser
  if ([acceptHeader, userAgent, language, javascriptEnabled].includes(undefined)) return false
  return javascriptEnabled ? screenFields(browser) !== undefined : version !== '2.1.0'
}

function browserFields({ browser, version }: Authentication): Record<string, unknown> | undefined {
  if (!browser || !describes(browser, version)) return undefined
  const screen = screenFields(browser)
  return {
    browserAcceptHeader: cut(browser.acceptHeader, 2048) || '*/*',
    browserUserAgent: cut(browser.userAgent, 2048) || 'unknown',
    browserLanguage: cut(browser.language, 8) || 'en',
    ...(version === '2.1.0' ? {} : { browserJavascriptEnabled: browser.javascriptEnabled }),
    ...(browser.javascriptEnabled ? screen : undefined),
  }
}

function screenFields(b: Partial<BrowserData>): Record<string, unknown> | undefined {
  const { javaEnabled, colorDepth, screenHeight, screenWidth, timeZone } = b
  if ([javaEnabled, colorDepth, screenHeight, screenWidth, timeZone].includes(undefined)) return undefined
  return {
    browserJavaEnabled: javaEnabled,
    browserColorDepth: knownDepth(Number(colorDepth)),
    browserScreenHeight: screenHeight,
    browserScreenWidth: screenWidth,
    browserTZ: timeZone,
  }
}

/** Browsers report 30 or 36 bits, which are not in the list: the next lower value counts. */
export const knownDepth = (bits: number): string => String([48, 32, 24, 16, 15, 8, 4, 1].find((depth) => depth <= bits) ?? 1)

/**
 * Only values that fit their fields. Issuers use them to judge risk, and a value that cannot be
 * encoded is of no use.
 */
function cardholderFields({ card, request: r }: Order, authentication: Authentication): Record<string, unknown> {
  const country = r.country === undefined ? undefined : countries.alpha2ToNumeric(r.country)
  const fields = {
    browserIP: authentication.browser?.ip ?? r.ipAddress,
    cardholderName: nameOn(card.printedName),
    email: r.email,
    homePhone: r.phone && phoneOf(r.phone),
    mobilePhone: r.cellPhone && phoneOf(r.cellPhone),
    billAddrCity: r.city && cut(r.city, 50),
    billAddrCountry: country,
    billAddrLine1: r.address1 && cut(r.address1, 50),
    billAddrPostCode: r.zipCode && cut(r.zipCode, 16),
    billAddrState: country && subdivisionOf(r.state, r.country),
  }
  const version = emvVersion(authentication)
  return Object.fromEntries(Object.entries(fields).filter(([name, value]) => canCarry('AReq', version, name, value)))
}

/** The part after the country in a code of ISO 3166-2, if it may be one. */
function subdivisionOf(state = '', country = ''): string | undefined {
  const [, prefix = country, part] = /^(?:([A-Z]{2})-)?([A-Z0-9]{1,3})$/.exec(state) ?? []
  return prefix === country ? part : undefined
}

/** Values 05 to 09 were introduced by 2.2.0. */
const knownIndicator = ({ challengeIndicator, version }: Authentication): string | undefined =>
  version === '2.1.0' && challengeIndicator !== undefined && challengeIndicator > '04' ? undefined : challengeIndicator

/**
 * Without control characters, without surrounding blanks, and without half a surrogate pair at the
 * end.
 */
const cut = (text: string, max: number): string =>
  text
    .replace(/[\p{Cc}\p{Cs}]/gu, '')
    .slice(0, max)
    .replace(/[\ud800-\udbff]$/, '')
    .trim()

/** ISO 7813 names: 2 to 45 characters of ASCII. */
function nameOn(name: string): string | undefined {
  const plain = asciiText(name, 45).trim()
  return plain.length < 2 ? undefined : plain
}

/** The cardholder sees it, and the field is mandatory. */
export const merchantNameOf = (name: string, max: number): string => asciiText(name, max).trim() || 'Merchant'

const two = (n: number): string => String(n).padStart(2, '0')
