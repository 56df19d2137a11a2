/** The messages to a merchant's server, and how its answers are judged. */
import { parseObject } from '../../base/json.ts'
import countries from 'i18n-iso-countries/index.js'
import { sameText } from '../../base/digest.ts'
import { bodyLimits } from '../body.ts'
import type { Secret } from '../../base/secret.ts'
import { defined } from '../../base/defined.ts'
import type { OutgoingReply } from '../../http/outgoing.ts'
import { signatureHolds, signedParts } from '../../merchant/session.ts'
import { ipAddress } from '../../spec/kinds.ts'
import { isPlainText, readJson, valueAt, type JsonValues } from '../../spec/mobile/field.ts'
import { mobileKind } from '../../spec/mobile/kinds.ts'
import { checkReply, mappingReply } from '../../spec/mobile/requests.ts'
import { checkText, notificationText } from '../../spec/mobile/signatures.ts'
import { declines, type Billing, type Confirmed, type Decline, type Invoice, type InvoiceSecrets } from '../invoice/invoice.ts'

export const checkUrl = (server: string, { kind, invoiceId }: Pick<Invoice, 'kind' | 'invoiceId'>): string =>
  `${server.replace(/\/+$/, '')}/${kind}/${encodeURIComponent(invoiceId)}/check`

export const mappingUrl = (server: string, kind: Invoice['kind']): string => `${server.replace(/\/+$/, '')}/${kind}/notification`

export function checkBody({ request, nonce, sessionToken }: Invoice, secrets: InvoiceSecrets): string {
  const { clientCardId, toClientCardId } = request
  return JSON.stringify({
    consumer: { device: { serialNumber: request.serialNumber } },
    session: {
      accessToken: secrets.accessToken.reveal(),
      nonce,
      signature: secrets.signature.reveal(),
      token: sessionToken,
    },
    ...(clientCardId === undefined ? {} : { sourceOfFunds: { reference: { clientCardId } } }),
    ...(toClientCardId === undefined ? {} : { destinationOfFunds: { reference: { clientCardId: toClientCardId } } }),
  })
}

export type Checked =
  | { is: 'confirmed'; confirmed: Confirmed }
  | { is: 'declined'; decline: Decline; why: string }
  /** No answer, or a failure of the merchant's server: worth another try. */
  | { is: 'unanswered'; why: string }

/** docs/choices.md, "Mobile API": an answer is verified before anything in it is believed. */
export function judgeCheck(invoice: Invoice, reply: OutgoingReply, controlKeys: readonly Secret<string>[]): Checked {
  if (reply.is === 'failed') {
    // An address that may not be called now will not be allowed later.
    const isForGood = reply.kind === 'refused url' || reply.kind === 'refused address'
    return isForGood
      ? declined('unreachable', `${reply.kind}: ${reply.why}`)
      : { is: 'unanswered', why: `${reply.kind}: ${reply.why}` }
  }
  if (reply.status >= 500) return { is: 'unanswered', why: `HTTP ${reply.status}` }
  if (reply.status !== 200) return declined('refused', `HTTP ${reply.status} ${causeOf(reply.body)}`.trim())
  if (reply.truncated) return declined('unbelievable', 'the answer is too long')
  const body = parsed(reply.body)
  if (valueAt(body, 'error.cause') !== undefined) return declined('refused', causeOf(reply.body))
  const values = readJson(checkReply, body)
  if (typeof values === 'string') return declined('unbelievable', values)
  const cards = {
    source: cardIdOf(body, 'sourceOfFunds'),
    destination: cardIdOf(body, 'destinationOfFunds'),
  }
  return judgeValues(invoice, values, cards, controlKeys)
}

function judgeValues(
  invoice: Invoice,
  values: JsonValues,
  { source, destination }: Readonly<Record<'source' | 'destination', string | undefined | null>>,
  controlKeys: readonly Secret<string>[],
): Checked {
  const { request } = invoice
  if (!isAbout(invoice, values)) return declined('unbelievable', 'nonce, token or invoice is another')
  if (source === null || destination === null) return declined('unbelievable', 'serverCardId is no text of 1 to 64 characters')
  const parts = signedParts(checkText[invoice.kind], {
    ...signedOf(invoice),
    'sourceOfFunds.reference.serverCardId': source,
    'destinationOfFunds.reference.serverCardId': destination,
  })
  if (!signatureHolds(values.given('session.checkSignature'), parts, controlKeys))
    return declined('unbelievable', 'checkSignature does not hold')
  if ((values.text('transaction.currency') ?? request.currency) !== request.currency)
    return declined('unbelievable', 'the currency is another')
  const asked = [request.clientCardId, request.toClientCardId]
  for (const [at, cardId] of [source, destination].entries())
    if ((asked[at] === undefined) !== (cardId === undefined))
      return declined('unbelievable', cardId === undefined ? 'serverCardId is missing' : 'serverCardId was not asked for')
  // The merchants' Java class always writes the member, as 0 where there is no sum.
  const randomSumCentis = values.number('transaction.randomSumCentis') || undefined
  const confirmed = defined({
    billing: billingOf(values),
    email: values.text('consumer.email'),
    birthDay: values.text('consumer.birthDay'),
    ipAddress: ipAddressOf(values),
    serverCardId: source,
    toServerCardId: destination,
    randomSumCentis,
  })
  return { is: 'confirmed', confirmed }
}

/** A number or a text; null when it is neither. */
function cardIdOf(body: unknown, of: 'sourceOfFunds' | 'destinationOfFunds'): string | undefined | null {
  const value = valueAt(body, `${of}.reference.serverCardId`)
  if (value === undefined || value === null || value === '') return undefined
  if (typeof value === 'number') return Number.isSafeInteger(value) ? String(value) : null
  return typeof value === 'string' && value.length <= 64 && isPlainText(value) ? value : null
}

export function billingOf(values: JsonValues): Billing {
  const of = values.text
  const country = of('billing.address.country')
  const streets = [of('billing.address.street'), of('billing.address.street2')].filter((one) => one !== undefined)
  return defined({
    phone: of('billing.phone'),
    city: of('billing.address.city'),
    country: country && countries.alpha3ToAlpha2(country),
    zipCode: of('billing.address.postcodeZip'),
    state: of('billing.address.state'),
    address1: streets.length === 0 ? undefined : streets.join(', '),
  })
}

/** The first text that is an address: filters list no other, and issuers refuse it. */
export const ipAddressOf = (values: JsonValues): string | undefined =>
  values.texts('consumer.ipAddresses').find((one) => ipAddress.read(one, () => undefined) === one)

export interface MappedCard {
  serverCardId: string
  uniqueReferenceCardId: number
  /** Absent if the card number is so short that the BIN would give the rest away. */
  bin?: number
}

/** The body of a card mapping notification. */
export function mappingBody(
  { kind, request, sessionToken }: Invoice,
  secrets: InvoiceSecrets,
  cards: { source?: MappedCard; destination?: MappedCard },
): string {
  const session = { accessToken: secrets.accessToken.reveal(), token: sessionToken }
  const common = { consumer: { device: { serialNumber: request.serialNumber } }, session }
  const [source, destination] = [cards.source, cards.destination].map((card) => {
    if (!card) return undefined
    const { bin, ...reference } = card
    return { bin, reference }
  })
  if (mobileKind(kind).mapping === 'beside the card')
    return JSON.stringify({ ...common, reference: source?.reference, sourceCard: { bin: source?.bin } })
  return JSON.stringify({
    ...common,
    ...(source && { sourceCard: source }),
    ...(destination && { destinationCard: destination }),
  })
}

/** `again`: no answer, or an unsuitable one. `never`: the merchant's server refuses it. */
export function judgeMapping(
  invoice: Invoice,
  reply: OutgoingReply,
  controlKeys: readonly Secret<string>[],
): 'received' | 'again' | 'never' {
  if (reply.is !== 'answered') return 'again'
  if (reply.status >= 400 && reply.status < 500) return 'never'
  if (reply.status !== 200 || reply.truncated) return 'again'
  const values = readJson(mappingReply, parsed(reply.body))
  if (typeof values === 'string') return 'again'
  if (!isAbout(invoice, values)) return 'again'
  const parts = signedParts(notificationText, signedOf(invoice))
  return signatureHolds(values.given('session.checkSignature'), parts, controlKeys) ? 'received' : 'again'
}

/** The values of an invoice that the merchant's server signs. */
const signedOf = ({ request, nonce, endpointId, invoiceId }: Invoice) => ({
  'consumer.device.serialNumber': request.serialNumber,
  'session.nonce': nonce,
  endpointId: String(endpointId),
  invoiceId,
})

/** Whether an answer names this invoice, its nonce and its token. */
const isAbout = ({ nonce, sessionToken, invoiceId }: Invoice, values: JsonValues): boolean =>
  sameText(nonce, values.given('session.nonce')) &&
  sameText(sessionToken, values.given('session.token')) &&
  sameText(invoiceId, values.given('invoiceId'))

const declined = (name: keyof typeof declines, why: string): Checked => ({ is: 'declined', decline: declines[name], why })

/**
 * A `serverCardId` may have more digits than a JavaScript number can hold, so it is read as text.
 * Inside a string its quotes are escaped, so strings are not changed.
 */
function parsed(body: Buffer): unknown {
  const text = body.toString('utf8').replace(/("serverCardId"\s*:\s*)([0-9]{16,64})(?=\s*[,}])/g, '$1"$2"')
  const read = parseObject(text, replyLimits)
  return read.is === 'refused' ? undefined : read.fields
}

/** At most 64 KiB of a reply are read; adding quotes to ids may double that. */
const replyLimits = { ...bodyLimits, length: 2 * 65_536 }

/** For the log: the cause that the merchant's server reports, if it is a single word. */
function causeOf(body: Buffer): string {
  const cause = valueAt(parsed(body), 'error.cause')
  return typeof cause === 'string' && /^[A-Z_]{1,40}$/.test(cause) ? cause : ''
}
