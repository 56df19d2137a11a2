import { uuid, type Random } from '../base/random.ts'
import { secret } from '../base/secret.ts'
import { isInternal } from '../http/client-address.ts'
import type { JsonValues } from '../spec/mobile/field.ts'
import { mobileKind } from '../spec/mobile/kinds.ts'
import { isSameRequest } from '../keys/digest.ts'
import type { Ids } from '../storage/ids.ts'
import { defined } from '../base/defined.ts'
import type { Invoice, InvoiceSecrets, MobileRequest } from './invoice/invoice.ts'
import type { MerchantEndpoint } from './merchant/endpoint.ts'
import { billingOf, ipAddressOf } from './merchant/wire.ts'
import { refuseMobile, type MobileRefusal } from './refusal.ts'
import type { AppRequest, WithAmount, WithDigest, WithValues } from './stages.ts'
import type { Invoices } from './invoice/invoices.ts'

/** Passes an invoice that this process has just written, under its lease, to the invoice worker. */
export interface BeginParts {
  processId: bigint
  begin(invoice: Invoice, secrets: InvoiceSecrets): void
}

export type PerformParts = BeginParts & {
  random: Random
  orderIds: Ids
  invoices: Pick<Invoices, 'add' | 'find'>
}

type Request = AppRequest & MerchantEndpoint & WithValues & WithAmount & WithDigest

/** Writes the invoice; its steps are run afterwards. */
export async function performMobile(request: Request, parts: PerformParts): Promise<object | MobileRefusal> {
  const { kind, invoiceId, merchant, endpoint, values, digest, now } = request
  const { random, orderIds, invoices } = parts
  const secrets = secretsOf(request)
  const invoice: Invoice = {
    merchantId: merchant.merchantId,
    invoiceId,
    endpointId: endpoint.endpointId,
    kind,
    nonce: values.given('session.nonce'),
    sessionToken: uuid(random),
    orderId: await orderIds.take(),
    digest: digest.stored,
    request: requestOf(request),
    state: 'checking',
    wrongAnswers: 0,
    tries: 0,
    createdAt: now,
  }
  if (await invoices.add(invoice, secrets)) {
    parts.begin(invoice, secrets)
    return invoiceAnswer(invoice)
  }
  const found = (await invoices.find(merchant.merchantId, invoiceId))?.invoice
  if (found && isSameRequest(digest, found.digest)) return invoiceAnswer(found)
  return refuseMobile('in use', found ? 'invoiceId was used for something else' : 'session.nonce was used before')
}

export const invoiceAnswer = ({ invoiceId, sessionToken }: Invoice) => ({ invoiceId, session: { token: sessionToken } })

function secretsOf({ kind, values }: Pick<Request, 'kind' | 'values'>): InvoiceSecrets {
  const { card } = mobileKind(kind)
  const pan = values.text(`${card}.number`)
  const toPan = values.text('destinationOfFunds.card.number')
  const cvv2 = values.text(`${card}.securityCode`) ?? values.text('sourceOfFunds.reference.securityCode')
  return {
    accessToken: secret(values.given('session.accessToken')),
    signature: secret(values.given('session.signature')),
    ...(pan === undefined ? {} : { pan: secret(pan) }),
    ...(toPan === undefined ? {} : { toPan: secret(toPan) }),
    ...(cvv2 === undefined ? {} : { cvv2: secret(cvv2) }),
  }
}

function requestOf({ kind, values, clientAddress, amountMinor }: Request): MobileRequest {
  return defined({
    serialNumber: values.given('consumer.device.serialNumber'),
    currency: values.given('transaction.currency'),
    ipAddress: consumerAddress(ipAddressOf(values), clientAddress),
    billing: billingOf(values),
    email: values.text('consumer.email'),
    amountCentis: values.number('transaction.amountCentis'),
    amountMinor: amountMinor === undefined ? undefined : String(amountMinor),
    clientCardId: values.text('sourceOfFunds.reference.clientCardId'),
    toClientCardId: values.text('destinationOfFunds.reference.clientCardId'),
    birthDay: values.text('consumer.birthDay'),
    description: values.text('order.description'),
    siteUrl: values.text('order.siteUrl'),
    purpose: values.text('order.purpose'),
    card: cardOf(mobileKind(kind).card, values),
  })
}

function cardOf(card: string, values: JsonValues): MobileRequest['card'] {
  const expiryMonth = values.number(`${card}.expiry.month`)
  const expiryYear = values.number(`${card}.expiry.year`)
  if (expiryMonth === undefined || expiryYear === undefined) return undefined
  const [firstName, lastName] = [values.text(`${card}.holder.firstName`), values.text(`${card}.holder.lastName`)]
  return {
    expiryMonth,
    expiryYear,
    printedName: values.text(`${card}.holder.printedName`) ?? `${firstName} ${lastName}`,
    ...defined({ firstName, lastName }),
  }
}

/**
 * The address that filters count by until the merchant's check names another. The address stated by
 * the app is not signed, so the calling address takes precedence, unless it is internal, such as a
 * proxy's.
 */
export const consumerAddress = (stated: string | undefined, clientAddress: string): string =>
  isInternal(clientAddress) ? (stated ?? clientAddress) : clientAddress
