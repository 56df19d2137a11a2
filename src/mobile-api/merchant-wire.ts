/** What the service says to a merchant's server and what its answers mean, purely. */
import { parseObject } from '../base/json.ts'
import countries from 'i18n-iso-countries/index.js'
import { sameText } from '../base/digest.ts'
import { bodyLimits } from './body.ts'
import type { Secret } from '../base/secret.ts'
import { defined } from '../gateway-api/accept.ts'
import type { Reply } from '../http/outgoing.ts'
import { checkParts, mappingParts, signatureHolds } from '../merchant/session.ts'
import { ipAddress } from '../spec/kinds.ts'
import { isPlainText, readJson, valueAt, type JsonValues } from '../spec/mobile/field.ts'
import { checkReply, mappingReply } from '../spec/mobile/requests.ts'
import { minorOfCentis } from './centis.ts'
import { declines, type Billing, type Confirmed, type Decline, type Invoice, type InvoiceSecrets } from './invoice.ts'

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
export function judgeCheck(invoice: Invoice, reply: Reply, controlKeys: readonly Secret<string>[]): Checked {
  if (reply.is === 'failed') {
    // An address that may not be called will not become another one.
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
  const { nonce, sessionToken, invoiceId, endpointId, request } = invoice
  const told = (path: string) => values.get(path) as string | undefined
  const said = [told('session.nonce'), told('session.token'), told('invoiceId')]
  const ours = [nonce, sessionToken, invoiceId]
  if (!ours.every((text, i) => sameText(text, said[i]!))) return declined('unbelievable', 'nonce, token or invoice is another')
  if (source === null || destination === null) return declined('unbelievable', 'serverCardId is no text of 1 to 64 characters')
  const parts = checkParts({
    serialNumber: request.serialNumber,
    nonce,
    endpointId: String(endpointId),
    invoiceId,
    ...(source === undefined ? {} : { serverCardId: source }),
    ...(destination === undefined ? {} : { destinationServerCardId: destination }),
  })
  if (!signatureHolds(told('session.checkSignature')!, parts, controlKeys))
    return declined('unbelievable', 'checkSignature does not hold')
  if ((told('transaction.currency') ?? request.currency) !== request.currency)
    return declined('unbelievable', 'the currency is another')
  const asked = [request.clientCardId, request.toClientCardId]
  for (const [at, cardId] of [source, destination].entries())
    if ((asked[at] === undefined) !== (cardId === undefined))
      return declined('unbelievable', cardId === undefined ? 'serverCardId is missing' : 'serverCardId was not asked for')
  // The merchants' Java class always writes the member, as 0 where there is no sum.
  const randomSumCentis = (values.get('transaction.randomSumCentis') as number | undefined) || undefined
  if (randomSumCentis !== undefined && minorOfCentis(randomSumCentis, request.currency) === undefined)
    return declined('unbelievable', `randomSumCentis cannot be expressed in ${request.currency}`)
  const confirmed = defined({
    billing: billingOf(values),
    email: told('consumer.email'),
    birthDay: told('consumer.birthDay'),
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
  const of = (path: string) => values.get(path) as string | undefined
  const country = of('billing.address.country')
  const streets = [of('billing.address.street'), of('billing.address.street2')].filter((one) => one !== undefined)
  const made: Record<keyof Billing, string | undefined> = {
    phone: of('billing.phone'),
    city: of('billing.address.city'),
    country: country && countries.alpha3ToAlpha2(country),
    zipCode: of('billing.address.postcodeZip'),
    state: of('billing.address.state'),
    address1: streets.length === 0 ? undefined : streets.join(', '),
  }
  return Object.fromEntries(Object.entries(made).filter(([, value]) => value !== undefined))
}

/** The first that is one: a text that is none is in no list of a filter, and issuers refuse it. */
export const ipAddressOf = (values: JsonValues): string | undefined =>
  (values.get('consumer.ipAddresses') as string[] | undefined)?.find((one) => ipAddress.read(one, () => undefined) === one)

export interface ToldCard {
  serverCardId: string
  uniqueReferenceCardId: number
  /** Of a number so short that it would tell the rest, none. */
  bin?: number
}

/** What maps cards: the three bodies differ. */
export function mappingBody(
  { kind, request, sessionToken }: Invoice,
  secrets: InvoiceSecrets,
  cards: { source?: ToldCard; destination?: ToldCard },
): string {
  const session = { accessToken: secrets.accessToken.reveal(), token: sessionToken }
  const common = { consumer: { device: { serialNumber: request.serialNumber } }, session }
  const [source, destination] = [cards.source, cards.destination].map((card) => {
    if (!card) return undefined
    const { bin, ...reference } = card
    return { bin, reference }
  })
  if (kind === 'verification')
    return JSON.stringify({ ...common, reference: source?.reference, sourceCard: { bin: source?.bin } })
  return JSON.stringify({
    ...common,
    ...(source && { sourceCard: source }),
    ...(destination && { destinationCard: destination }),
  })
}

/** `received`, `again` (no answer, or one that does not fit), or `never`: the merchant's server will not have it. */
export function judgeMapping(
  invoice: Invoice,
  reply: Reply,
  controlKeys: readonly Secret<string>[],
): 'received' | 'again' | 'never' {
  if (reply.is !== 'answered') return 'again'
  if (reply.status >= 400 && reply.status < 500) return 'never'
  if (reply.status !== 200 || reply.truncated) return 'again'
  const values = readJson(mappingReply, parsed(reply.body))
  if (typeof values === 'string') return 'again'
  const { nonce, sessionToken, invoiceId, endpointId } = invoice
  const said = ['session.nonce', 'session.token', 'invoiceId'].map((path) => values.get(path) as string)
  if (![nonce, sessionToken, invoiceId].every((text, i) => sameText(text, said[i]!))) return 'again'
  const parts = mappingParts({ nonce, endpointId: String(endpointId), invoiceId })
  return signatureHolds(values.get('session.checkSignature') as string, parts, controlKeys) ? 'received' : 'again'
}

const declined = (name: keyof typeof declines, why: string): Checked => ({ is: 'declined', decline: declines[name], why })

/** A `serverCardId` may be a number, and has more digits than a number holds: those are read as text. Within a string its quotes are escaped, and it is left alone. */
function parsed(body: Buffer): unknown {
  const text = body.toString('utf8').replace(/("serverCardId"\s*:\s*)([0-9]{16,64})(?=\s*[,}])/g, '$1"$2"')
  const read = parseObject(text, replyLimits)
  return read.is === 'refused' ? undefined : read.fields
}

/** At most 64 KiB of a reply are read; quotes of ids come to that. */
const replyLimits = { ...bodyLimits, length: 2 * 65_536 }

/** For the log: what the merchant's server says is the cause, if it is a word. */
function causeOf(body: Buffer): string {
  const cause = valueAt(parsed(body), 'error.cause')
  return typeof cause === 'string' && /^[A-Z_]{1,40}$/.test(cause) ? cause : ''
}
