/** The checks of the matrix. Each returns a refusal, its findings, or nothing. */
import { chooseGate } from '../acquirer/choose.ts'
import { sameText } from '../base/digest.ts'
import { objectReader } from '../base/json.ts'
import type { Turns } from '../base/turn.ts'
import type { Issuer } from '../card/bins.ts'
import { hasAnyNumber, hasThisNumber, textWithDigits } from '../card/number-in-text.ts'
import type { AccessLimits } from '../merchant/access-limits.ts'
import { idIn } from '../merchant/merchant.ts'
import { sessionSignature, signatureHolds as holds, signedParts } from '../merchant/session.ts'
import type { Door } from '../order/door/advance.ts'
import { gateHasRoom, type Load } from '../order/door/room.ts'
import { readJson, type JsonValues } from '../spec/mobile/field.ts'
import { mobileKind } from '../spec/mobile/kinds.ts'
import { isInvoiceId, statusRequest } from '../spec/mobile/requests.ts'
import { initiateText } from '../spec/mobile/signatures.ts'
import { isSameRequest, keyedDigest } from '../keys/digest.ts'
import type { KeyRing } from '../keys/ring.ts'
import { bodyLimits } from './body.ts'
import { minorOfCentis } from './sum/centis.ts'
import type { MerchantEndpoint } from './merchant/endpoint.ts'
import { noRoom, refuseMobile, unknown, type MobileRefusal } from './refusal.ts'
import type { AppRequest, WithAmount, WithDigest, OfEndpoint, WithInvoice, WithJson, WithValues } from './stages.ts'
import type { Invoices } from './invoice/invoices.ts'
import type { OpenInvoice } from './invoice/rows.ts'

export const serviceHasRoom = ({ overloaded }: AppRequest): MobileRefusal | undefined => (overloaded ? noRoom : undefined)

/** An endpoint that serves the mobile API, or why it does not. */
export function endpointServes({ endpointId, kind, registry }: AppRequest): MobileRefusal | MerchantEndpoint {
  const refused = (why: string) => refuseMobile('endpoint not served', `endpointId ${why}`)
  const id = idIn(endpointId)
  const entry = id === undefined ? undefined : registry.entry(id, false)
  const [endpoint] = entry?.endpoints ?? []
  if (!entry || !endpoint) return refused('is not known')
  const { merchant } = entry
  if (!entry.enabled || endpoint.settings.disabledOperations.includes(mobileKind(kind).switchedAs))
    return refused('is not enabled for this operation')
  if (endpoint.settings.merchantServerUrl === undefined) return refused('has no merchant server')
  if (!merchant.controlKeys.some((key) => sessionSignature([], key) !== undefined))
    return refused('has a control key that cannot sign')
  return { merchant, endpoint }
}

/** An app may ask about a transaction and finish it even if the endpoint is switched off. */
export function endpointIsKnown({ endpointId, registry }: AppRequest): MobileRefusal | OfEndpoint {
  const id = idIn(endpointId)
  const endpoint = id === undefined ? undefined : registry.endpoint(id)
  return endpoint ? { endpoint } : unknown
}

export const invoiceIdCanBeRead = ({ invoiceId }: AppRequest): MobileRefusal | undefined =>
  isInvoiceId(invoiceId) ? undefined : refuseMobile('unfit', 'invoiceId must be 1 to 128 of A-Z a-z 0-9 . _ -')

export async function bodyIsJson({ body }: AppRequest, { turns }: { turns: Turns }): Promise<MobileRefusal | WithJson> {
  const { length, depth, nodes } = bodyLimits
  const read = body && (await turns.run(objectReader(body.toString('utf8'), bodyLimits)))
  if (read && read.is !== 'refused') return { json: read.fields }
  const most = `at most ${length} bytes, ${depth} levels and ${nodes} values and names`
  return refuseMobile('unfit', `the body must be a JSON object of ${most}`)
}

/** Reads the fields by the table of the kind and the endpoint's additional requirements. */
export function requestCanBeRead({ kind, endpoint, json }: AppRequest & OfEndpoint & WithJson): MobileRefusal | WithValues {
  const { request, choices } = mobileKind(kind)
  return read(readJson(request, json, choices, new Set(endpoint.settings.mandatoryFields)))
}

export const tokensCanBeRead = ({ json }: WithJson): MobileRefusal | WithValues => read(readJson(statusRequest, json))

const read = (values: JsonValues | string): MobileRefusal | WithValues =>
  typeof values === 'string' ? refuseMobile('unfit', values) : { values }

const cardNumbers = ['sourceCard.number', 'sourceOfFunds.card.number', 'destinationOfFunds.card.number']

/**
 * As the gateway API has it: the cards of the transaction in any text, or any card in the
 * description. Secrets are sealed, so they are left out.
 */
export function textsHaveNoCardNumber(
  { values, endpoint, invoiceId }: AppRequest & WithValues & OfEndpoint,
  { issuerOf }: { issuerOf: (pan: string) => Issuer | undefined },
): MobileRefusal | undefined {
  const own = cardNumbers.flatMap((path) => values.text(path) ?? [])
  for (const [path, sent] of [...values.all(), ['invoiceId', invoiceId] as const]) {
    const isExempt = typeof sent !== 'string' || cardNumbers.includes(path) || path.startsWith('session.')
    const value = isExempt ? undefined : textWithDigits(sent)
    if (value === undefined) continue
    if (own.some((pan) => hasThisNumber(value, pan)))
      return {
        ...refuseMobile('unfit', `${path} must not have the number of the card`),
        ...(path === 'invoiceId' ? { hidesName: true } : {}),
      }
    const isJudged = path === 'order.description' && !endpoint.settings.cardNumbersInText
    if (isJudged && hasAnyNumber(value, (pan) => issuerOf(pan) !== undefined))
      return refuseMobile('unfit', `${path} must not have a card number`)
  }
  return undefined
}

export const currencyIsTaken = ({ values, endpoint }: WithValues & OfEndpoint): MobileRefusal | undefined =>
  values.given('transaction.currency') === endpoint.currency
    ? undefined
    : refuseMobile('unfit', 'transaction.currency is not that of the endpoint')

export function amountCanBeExpressed({ values }: WithValues): MobileRefusal | WithAmount {
  const centis = values.number('transaction.amountCentis')
  if (centis === undefined) return { amountMinor: undefined }
  const currency = values.given('transaction.currency')
  const amountMinor = minorOfCentis(centis, currency)
  if (amountMinor !== undefined) return { amountMinor }
  return refuseMobile('unfit', `transaction.amountCentis cannot be expressed in ${currency}`)
}

export function signatureHolds(
  { values, merchant, endpoint, kind, invoiceId }: AppRequest & WithValues & MerchantEndpoint,
  { keys }: { keys: KeyRing },
): MobileRefusal | WithDigest {
  const centis = values.number('transaction.amountCentis')
  const parts = signedParts(initiateText[kind], {
    'session.accessToken': values.text('session.accessToken'),
    'consumer.device.serialNumber': values.text('consumer.device.serialNumber'),
    endpointId: String(endpoint.endpointId),
    'session.nonce': values.text('session.nonce'),
    invoiceId,
    'transaction.amountCentis': centis?.toString(),
    'transaction.currency': values.text('transaction.currency'),
  })
  if (!holds(values.given('session.signature'), parts, merchant.controlKeys))
    return refuseMobile('signature does not hold', 'session.signature does not hold')
  const asked = JSON.stringify([kind, String(endpoint.endpointId), invoiceId, repeated(values)])
  return { digest: keyedDigest(keys, asked) }
}

/** All fields of the request in one order, except those that may differ in a repeat. */
const repeated = (values: JsonValues) =>
  values
    .all()
    .filter(([path]) => path !== 'session.signature' && !path.endsWith('securityCode'))
    .toSorted(([a], [b]) => (a < b ? -1 : 1))

/** Counted once the signature holds, as in the gateway API. */
export const merchantKeepsRate = (
  { merchant }: MerchantEndpoint,
  { accessLimits }: { accessLimits: Pick<AccessLimits, 'takes'> },
): MobileRefusal | undefined => (accessLimits.takes(merchant.merchantId) ? undefined : noRoom)

export interface MobileRoomParts {
  door: Pick<Door, 'load' | 'waiting'>
  invoices: Pick<Invoices, 'find'>
  limits: { maxWaiting: number; maxOfMerchant: number }
  /** Invoices of a merchant whose server is being asked. */
  waitingOf(merchantId: bigint): number
}

/** A merchant whose server does not answer must leave most of the room to others. */
const mostWaitingOfMerchant = 1_000

/**
 * A refused app pays with another invoice, so a repeat of an accepted request is answered even if
 * there is no room.
 */
export async function merchantHasRoom(
  { merchant, endpoint, registry, invoiceId, digest }: AppRequest & MerchantEndpoint & WithDigest,
  { door, limits, invoices, waitingOf }: MobileRoomParts,
): Promise<MobileRefusal | undefined> {
  const { merchantId } = merchant
  const waiting = waitingOf(merchantId)
  const gate = chooseGate(endpoint, registry)
  const load = door.load(merchantId, gate?.gateId ?? 0n)
  const gateIsFull = gate !== undefined && !gateHasRoom(gate, withInvoices(load, waiting), registry)
  const { maxWaiting, maxOfMerchant } = limits
  const merchantIsFull = waiting >= mostWaitingOfMerchant || load.ofMerchant > maxOfMerchant
  if (!gateIsFull && !merchantIsFull && door.waiting() <= maxWaiting) return undefined
  const found = await invoices.find(merchantId, invoiceId)
  return found && isSameRequest(digest, found.invoice.digest) ? undefined : noRoom
}

/** An invoice becomes an order as soon as the merchant's server has answered. */
const withInvoices = (load: Load, waiting: number): Load => ({
  ...load,
  ofGate: load.ofGate + waiting,
  ofBoth: load.ofBoth + waiting,
  paying: load.paying + waiting,
})

/** Another app's invoice gets the same refusal as one that does not exist. */
export async function invoiceIsThisApps(
  { kind, invoiceId, endpoint, values }: AppRequest & OfEndpoint & WithValues,
  { invoices }: { invoices: Pick<Invoices, 'find'> },
): Promise<MobileRefusal | WithInvoice> {
  const found = isInvoiceId(invoiceId) ? await invoices.find(endpoint.merchantId, invoiceId) : undefined
  const isTheirs = found?.invoice.kind === kind && found.invoice.endpointId === endpoint.endpointId && tokensHold(values, found)
  return isTheirs ? found : unknown
}

/** Takes the same work whichever token differs. */
const tokensHold = (values: JsonValues, { invoice, secrets }: OpenInvoice): boolean =>
  [
    sameText(values.given('session.token'), invoice.sessionToken),
    sameText(values.given('session.accessToken'), secrets.accessToken.reveal()),
  ].every(Boolean)
