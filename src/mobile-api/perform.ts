import { chooseGate } from '../acquirer/choose.ts'
import { hmacSha256, sameText } from '../base/digest.ts'
import { uuid } from '../base/random.ts'
import { secret } from '../base/secret.ts'
import { isInternal } from '../http/client-address.ts'
import type { Endpoint, Merchant } from '../merchant/merchant.ts'
import { performParts, sessionSignature, signatureHolds } from '../merchant/session.ts'
import { gateHasRoom, type Load } from '../order/room.ts'
import { readJson, valueAt, type JsonNeed, type JsonTable, type JsonValues } from '../spec/mobile/field.ts'
import { isInvoiceId, saleRequest, transferRequest, verificationRequest } from '../spec/mobile/requests.ts'
import { readBody } from './body.ts'
import { minorOfCentis } from './centis.ts'
import type { Invoice, InvoiceSecrets, MobileKind, MobileRequest } from './invoice.ts'
import { billingOf, ipAddressOf } from './merchant-wire.ts'
import type { InvoiceWork, MobileWorld } from './mobile-world.ts'
import { noRoom, refuseMobile, type MobileRefusal } from './refusal.ts'

export interface MobileAsked {
  kind: MobileKind
  /** As in the path. */
  endpointId: string
  invoiceId: string
  /** Undefined when it was not read whole. */
  body: Buffer | undefined
  clientAddress: string
  now: number
}

export interface Place {
  merchant: Merchant
  endpoint: Endpoint
}

/** An endpoint that serves the mobile API, or why it does not. */
function placeFor(world: MobileWorld, endpointId: string, kind: MobileKind): Place | MobileRefusal {
  const entry = /^[1-9][0-9]{0,17}$/.test(endpointId) ? world.registry().entry(BigInt(endpointId), false) : undefined
  const [endpoint] = entry?.endpoints ?? []
  if (!entry || !endpoint) return refuseMobile('INVALID_CONFIGURATION', 'endpointId is not known')
  const operation = kind === 'verification' ? 'account-verification' : 'sale'
  if (!entry.enabled || endpoint.settings.disabledOperations.includes(operation))
    return refuseMobile('INVALID_CONFIGURATION', 'endpointId is not enabled for this operation')
  if (endpoint.settings.merchantServerUrl === undefined)
    return refuseMobile('INVALID_CONFIGURATION', 'endpointId has no merchant server')
  if (!entry.merchant.controlKeys.some((key) => sessionSignature([], key) !== undefined))
    return refuseMobile('INVALID_CONFIGURATION', 'endpointId has a control key that cannot sign')
  return { merchant: entry.merchant, endpoint }
}

const fundsOf = { verification: 'sourceCard', sale: 'sourceOfFunds.card', transfer: 'sourceOfFunds.card' } as const
const tables: Readonly<Record<MobileKind, JsonTable>> = {
  verification: verificationRequest,
  sale: saleRequest,
  transfer: transferRequest,
}

/**
 * Finds the endpoint, reads every field, verifies the signature, and writes the invoice down: what
 * it asks for is done afterwards.
 */
export async function performMobile(
  world: MobileWorld,
  asked: MobileAsked,
  work: Pick<InvoiceWork, 'begin' | 'waitingOf'>,
): Promise<object | MobileRefusal> {
  const { kind, invoiceId } = asked
  const place = placeFor(world, asked.endpointId, kind)
  if ('cause' in place) return place
  if (!isInvoiceId(invoiceId)) return refuseMobile('INVALID_REQUEST', 'invoiceId must be 1 to 128 of A-Z a-z 0-9 . _ -')
  const body = await readBody(world, asked.body)
  const values = typeof body === 'string' ? body : readRequest(kind, body, place.endpoint.settings.mandatoryFields)
  if (typeof values === 'string') return refuseMobile('INVALID_REQUEST', values)
  const told = (path: string) => values.get(path) as string
  const { endpoint, merchant } = place
  const currency = told('transaction.currency')
  if (currency !== endpoint.currency) return refuseMobile('INVALID_REQUEST', 'transaction.currency is not that of the endpoint')
  const amountCentis = values.get('transaction.amountCentis') as number | undefined
  const amountMinor = amountCentis === undefined ? undefined : minorOfCentis(amountCentis, currency)
  if (amountCentis !== undefined && amountMinor === undefined)
    return refuseMobile('INVALID_REQUEST', `transaction.amountCentis cannot be expressed in ${currency}`)
  const parts = performParts({
    accessToken: told('session.accessToken'),
    serialNumber: told('consumer.device.serialNumber'),
    endpointId: String(endpoint.endpointId),
    nonce: told('session.nonce'),
    invoiceId,
    ...(amountCentis === undefined ? {} : { amountCentis: String(amountCentis) }),
    currency,
  })
  if (!signatureHolds(told('session.signature'), parts, merchant.controlKeys))
    return refuseMobile('INVALID_REQUEST', 'session.signature does not hold')

  const digest = hmacSha256(
    world.keys.current('digest').key,
    JSON.stringify([kind, String(endpoint.endpointId), invoiceId, said(values)]),
  )
  const find = async () => (await world.invoices.find(merchant.merchantId, invoiceId))?.invoice
  const { maxWaiting, maxOfMerchant } = world.limits
  const waitingOf = work.waitingOf(merchant.merchantId)
  const gate = chooseGate(endpoint, world.registry())
  const load = world.door.load(merchant.merchantId, gate?.gateId ?? 0n)
  const isFull = gate !== undefined && !gateHasRoom(gate, withInvoices(load, waitingOf), world.registry())
  if (isFull || waitingOf >= mostWaitingOfMerchant || load.waiting > maxWaiting || load.ofMerchant > maxOfMerchant) {
    // An app that is refused pays under another invoice, so what was accepted before has its answer.
    const there = await find()
    return there?.digest.equals(digest) ? answerOf(there) : noRoom
  }
  const secrets = secretsOf(kind, values)
  const invoice: Invoice = {
    merchantId: merchant.merchantId,
    invoiceId,
    endpointId: endpoint.endpointId,
    kind,
    nonce: told('session.nonce'),
    sessionToken: uuid(world.random),
    orderId: await world.orderIds.take(),
    digest,
    request: requestOf(kind, values, asked.clientAddress, amountMinor),
    state: 'checking',
    wrongAnswers: 0,
    tries: 0,
    createdAt: asked.now,
  }
  if (await world.invoices.add(invoice, secrets, world.processId)) {
    work.begin(invoice, secrets)
    return answerOf(invoice)
  }
  const there = await find()
  if (there?.digest.equals(digest)) return answerOf(there)
  return refuseMobile('INVALID_REQUEST', there ? 'invoiceId was used for something else' : 'session.nonce was used before')
}

/** A server that is asked and does not answer must not take the hands that others need: a quarter of them. */
const mostWaitingOfMerchant = 1_000

/** What waits for the merchant's server is an order as soon as that has answered. */
const withInvoices = (load: Load, waiting: number): Load => ({
  ...load,
  ofGate: load.ofGate + waiting,
  ofBoth: load.ofBoth + waiting,
  paying: load.paying + waiting,
})

const answerOf = ({ invoiceId, sessionToken }: Invoice) => ({ invoiceId, session: { token: sessionToken } })

/** Where there is either a card or a reference, and what is mandatory then. */
const source = ['sourceOfFunds', { card: 'card', reference: 'reference' }] as const
const destination = ['destinationOfFunds', { card: 'to card', reference: 'to reference' }] as const
const choices: Readonly<Record<MobileKind, readonly (typeof source | typeof destination)[]>> = {
  verification: [],
  sale: [source],
  transfer: [source, destination],
}

function readRequest(kind: MobileKind, body: object, mandatory: readonly string[]): JsonValues | string {
  const needs = new Set<JsonNeed>()
  for (const [of, need] of choices[kind]) {
    const [card, reference] = [`${of}.card`, `${of}.reference`].map((path) => valueAt(body, path) ?? undefined)
    if (card !== undefined && reference !== undefined) return `${of}.reference must be left out where there is a card`
    if (card === undefined && reference === undefined) return `${of}.card may not be empty`
    needs.add(card === undefined ? need.reference : need.card)
  }
  const values = readJson(tables[kind], body, needs, new Set(mandatory))
  if (typeof values === 'string' || needs.has('reference')) return values
  const holder = `${fundsOf[kind]}.holder`
  if (values.has(`${holder}.printedName`)) return values
  const missing = ['firstName', 'lastName'].find((name) => !values.has(`${holder}.${name}`))
  return missing === undefined ? values : `${holder}.${missing} may not be empty`
}

/** All that was said, in one order; without what no two requests need to share. */
const said = (values: JsonValues) =>
  [...values]
    .filter(([path]) => path !== 'session.signature' && !path.endsWith('securityCode'))
    .sort(([a], [b]) => (a < b ? -1 : 1))

function secretsOf(kind: MobileKind, values: JsonValues): InvoiceSecrets {
  const of = (path: string) => values.get(path) as string | undefined
  const pan = of(`${fundsOf[kind]}.number`)
  const toPan = of('destinationOfFunds.card.number')
  const cvv2 = of(`${fundsOf[kind]}.securityCode`) ?? of('sourceOfFunds.reference.securityCode')
  return {
    accessToken: secret(of('session.accessToken')!),
    signature: secret(of('session.signature')!),
    ...(pan === undefined ? {} : { pan: secret(pan) }),
    ...(toPan === undefined ? {} : { toPan: secret(toPan) }),
    ...(cvv2 === undefined ? {} : { cvv2: secret(cvv2) }),
  }
}

function requestOf(kind: MobileKind, values: JsonValues, clientAddress: string, amountMinor: bigint | undefined): MobileRequest {
  const of = (path: string) => values.get(path) as string | undefined
  const at = fundsOf[kind]
  const [firstName, lastName] = [of(`${at}.holder.firstName`), of(`${at}.holder.lastName`)]
  const hasCard = values.has(`${at}.number`)
  const made: { [K in keyof MobileRequest]: MobileRequest[K] | undefined } = {
    serialNumber: of('consumer.device.serialNumber')!,
    currency: of('transaction.currency')!,
    ipAddress: consumerAddress(ipAddressOf(values), clientAddress),
    billing: billingOf(values),
    email: of('consumer.email'),
    amountCentis: values.get('transaction.amountCentis') as number | undefined,
    amountMinor: amountMinor === undefined ? undefined : String(amountMinor),
    clientCardId: of('sourceOfFunds.reference.clientCardId'),
    toClientCardId: of('destinationOfFunds.reference.clientCardId'),
    birthDay: of('consumer.birthDay'),
    description: of('order.description'),
    siteUrl: of('order.siteUrl'),
    purpose: of('order.purpose'),
    card: hasCard
      ? {
          expiryMonth: values.get(`${at}.expiry.month`) as number,
          expiryYear: values.get(`${at}.expiry.year`) as number,
          printedName: of(`${at}.holder.printedName`) ?? `${firstName} ${lastName}`,
          ...(firstName === undefined ? {} : { firstName }),
          ...(lastName === undefined ? {} : { lastName }),
        }
      : undefined,
  }
  return Object.fromEntries(Object.entries(made).filter(([, value]) => value !== undefined)) as unknown as MobileRequest
}

/**
 * The address that filters count by until the merchant's check names another. The app's own
 * statement is not signed, so the calling address comes first, unless it is internal, as a proxy's
 * is.
 */
export const consumerAddress = (stated: string | undefined, clientAddress: string): string =>
  isInternal(clientAddress) ? (stated ?? clientAddress) : clientAddress

/** Whether both tokens are those of this invoice; whichever differs, the work is the same. */
export const tokensHold = (values: JsonValues, invoice: Invoice, secrets: InvoiceSecrets): boolean =>
  [
    sameText(values.get('session.token') as string, invoice.sessionToken),
    sameText(values.get('session.accessToken') as string, secrets.accessToken.reveal()),
  ].every(Boolean)
