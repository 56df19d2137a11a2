import { uuid } from '../../src/base/random.ts'
import { maybeIdentifier, maybeWhole, text, whole, type Body } from './body.ts'
import type { Operation } from './call.ts'
import type { Kind } from './kind.ts'
import { invalid } from './refused.ts'
import { notificationParts, sign } from './signatures.ts'
import { saveCard, type MappedCard } from './store-cards.ts'
import { loadInvoiceOf, saveNotified } from './store-invoices.ts'
import { accessTokenIn, hashOf } from './tokens.ts'

/**
 * The gateway reports the card of a payment, as a reference for later payments. It repeats the
 * notification until it is answered, so the same one may come twice, and long after the access
 * token expired: the token that began the invoice stays valid for its notification forever.
 */
export function notify(kind: Kind): Operation {
  return async ({ pool, clock, random, key }, call) => {
    const { body } = call
    const accessToken = accessTokenIn(body)
    const serialNumber = text(body, 'consumer.device.serialNumber', 1, 50)
    const token = text(body, 'session.token', 16, 36)
    const cards = cardsIn(body, kind)
    const invoice = await loadInvoiceOf(pool, kind, token)
    if (invoice === undefined) throw invalid(`session.token is not that of a ${kind} that was checked`)
    call.invoiceId = invoice.invoice_id
    if (invoice.token_hash !== hashOf(accessToken)) throw invalid('session.accessToken is not the one of this invoice')
    if (invoice.serial_number !== serialNumber) throw invalid('consumer.device.serialNumber is not the one of this invoice')

    const noted = JSON.stringify(cards)
    // A notification is recorded only once: a late repeat would undo what a later payment has
    // reported about the card.
    if (invoice.cards_noted !== noted) {
      for (const card of cards) {
        const mapping = { consumer: invoice.consumer, clientCardId: uuid(random), email: invoice.email }
        await saveCard(pool, mapping, card, clock.now())
      }
      await saveNotified(pool, invoice.invoice_id, noted)
    }
    const { invoice_id: invoiceId, endpoint_id: endpointId, nonce } = invoice
    const parts = notificationParts({ nonce, endpointId, invoiceId })
    const checkSignature = sign(parts, key)
    call.signed.push({ name: 'session.checkSignature', parts, signature: checkSignature })
    return { invoiceId, session: { checkSignature, nonce, token } }
  }
}

const mostBin = 99_999_999

/**
 * The three bodies name the same things differently; of a sale or transfer a card may be missing,
 * and of a card all but its server id.
 */
function cardsIn(body: Body, kind: Kind): MappedCard[] {
  if (kind === 'verification') {
    const serverCardId = maybeIdentifier(body, 'reference.serverCardId', 64)
    if (serverCardId === undefined) throw invalid('reference.serverCardId may not be empty')
    const uniqueReferenceCardId = whole(body, 'reference.uniqueReferenceCardId', 0)
    return [{ serverCardId, uniqueReferenceCardId, bin: maybeWhole(body, 'sourceCard.bin', 0, mostBin), pays: true }]
  }
  const paths = kind === 'sale' ? ['sourceCard'] : ['sourceCard', 'destinationCard']
  return paths.flatMap((path) => {
    const serverCardId = maybeIdentifier(body, `${path}.reference.serverCardId`, 64)
    const uniqueReferenceCardId = maybeWhole(body, `${path}.reference.uniqueReferenceCardId`, 0)
    const bin = maybeWhole(body, `${path}.bin`, 0, mostBin)
    return serverCardId === undefined ? [] : [{ serverCardId, uniqueReferenceCardId, bin, pays: path === 'sourceCard' }]
  })
}
