import { currencyOf } from '../../src/base/money.ts'
import { uuid } from '../../src/base/random.ts'
import { maybeDigits, maybeIdentifier, maybeText, text, texts, whole, within, type Body } from './body.ts'
import type { Operation } from './call.ts'
import type { Kind } from './kind.ts'
import { invalid } from './refused.ts'
import { initiateParts, sign } from './signatures.ts'
import { saveInvoice } from './store-invoices.ts'
import { accessTokenIn, consumerInitiating, hashOf } from './tokens.ts'

/**
 * The app begins: it receives an invoice, and a signature over the request that it will send to the
 * gateway. The gateway repeats the signature in its check, so an app can change neither amount nor
 * currency on the way.
 */
export function initiate(kind: Kind): Operation {
  return async (merchant, call) => {
    const { body } = call
    const { pool, clock, random, key, rates } = merchant
    const accessToken = accessTokenIn(body)
    const serialNumber = text(body, 'consumer.device.serialNumber', 1, 50)
    const currency = currencyIn(body)
    const amountCentis = kind === 'verification' ? undefined : amountIn(body, currency.exponent)
    readOptional(body, kind)
    const asked = maybeIdentifier(body, 'endpointId', 18)
    const endpointId = merchant.endpointFor(kind, currency.code, asked)
    if (endpointId === undefined)
      throw invalid(asked === undefined ? 'transaction.currency is not taken here' : 'endpointId takes no such payment here')

    const consumer = await consumerInitiating(merchant, accessToken, serialNumber)
    const nonce = random.bytes(32).toString('hex')
    const invoiceId = uuid(random)
    const invoice = { invoice_id: invoiceId, kind, endpoint_id: endpointId, consumer, nonce, currency: currency.code }
    const amount_centis = amountCentis === undefined ? null : BigInt(amountCentis)
    await saveInvoice(
      pool,
      { ...invoice, token_hash: hashOf(accessToken), serial_number: serialNumber, amount_centis },
      clock.now(),
    )

    const parts = initiateParts({
      accessToken,
      serialNumber,
      endpointId,
      nonce,
      invoiceId,
      amountCentis: amountCentis?.toString(),
      currency: currency.code,
    })
    const signature = sign(parts, key)
    call.invoiceId = invoiceId
    call.signed.push({ name: 'session.signature', parts, signature })
    return { endpointId, invoiceId, session: { nonce, signature }, ...(kind === 'transfer' && rates ? { rates } : {}) }
  }
}

function currencyIn(body: Body) {
  const currency = currencyOf(text(body, 'transaction.currency', 3, 3))
  if (currency === undefined) throw invalid('transaction.currency is not a currency of ISO 4217, such as EUR')
  return currency
}

const mostCentis = 999_999_999_999

/**
 * A centi is a hundredth of the unit, whatever the decimals of the currency: a yen has a hundred of
 * them, although no fraction of a yen can be paid.
 */
function amountIn(body: Body, exponent: number): number {
  const amountCentis = whole(body, 'transaction.amountCentis', 1, mostCentis)
  if (exponent < 2 && amountCentis % 10 ** (2 - exponent) !== 0)
    throw invalid('transaction.amountCentis is a part of a unit that the currency does not have')
  return amountCentis
}

function readOptional(body: Body, kind: Kind): void {
  maybeText(body, 'consumer.device.imei', 14, 16)
  texts(body, 'consumer.ipAddresses', 7, 15)
  within(body, 'location.lat', 90)
  within(body, 'location.lng', 180)
  if (kind !== 'transfer') return
  for (const path of ['fromBin', 'toBin', 'transaction.fromBin', 'transaction.toBin']) maybeDigits(body, path, 6)
}
