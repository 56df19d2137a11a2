import { maybeText, text } from './body.ts'
import type { Call, Operation } from './call.ts'
import type { Kind } from './kind.ts'
import type { Merchant } from './merchant.ts'
import { invalid } from './refused.ts'
import { checkParts, initiateParts, sign, signatureHolds } from './signatures.ts'
import { loadCard } from './store-cards.ts'
import { loadInvoice, saveCheck, type InvoiceRow } from './store-invoices.ts'
import { loadEmail } from './store-tokens.ts'
import { accessTokenIn, hashOf, ownerOf, refuseBlocked } from './tokens.ts'

interface Question {
  accessToken: string
  serialNumber: string
  nonce: string
  signature: string
  sessionToken: string
  sourceClientCardId: string | undefined
  destinationClientCardId: string | undefined
}

/**
 * Before it does anything, the gateway asks: is this invoice yours, as the app described it, and
 * which cards are meant? The first question binds the invoice to its session token. From then on
 * the same question always gets the same answer, and a different one is refused.
 */
export function check(kind: Kind): Operation {
  return async (merchant, call) => {
    const asked = readQuestion(call, kind)
    const invoice = await loadInvoice(merchant.pool, kind, call.invoiceId)
    if (invoice === undefined) throw invalid(`invoiceId is not that of a ${kind}`)
    verify(merchant, call, invoice, asked)
    if (invoice.session_token === null) {
      await ownerOf(merchant, asked.accessToken)
      refuseBlocked(merchant, invoice.consumer)
      const { answer, email } = await answerTo(merchant, call, invoice, asked)
      const row = { sessionToken: asked.sessionToken, question: memoOf(asked), answer: JSON.stringify(answer), email }
      const saved = await saveCheck(merchant.pool, invoice.invoice_id, row)
      if (saved === 'taken') throw invalid("session.token is another invoice's")
      if (saved) return answer
    }
    return answerAgain((await loadInvoice(merchant.pool, kind, call.invoiceId)) ?? invoice, asked)
  }
}

function readQuestion({ body }: Call, kind: Kind): Question {
  const card = (of: string) => maybeText(body, `${of}.reference.clientCardId`, 1, 128)
  return {
    accessToken: accessTokenIn(body),
    serialNumber: text(body, 'consumer.device.serialNumber', 1, 50),
    nonce: text(body, 'session.nonce', 32, 128),
    signature: text(body, 'session.signature', 32, 128),
    sessionToken: text(body, 'session.token', 16, 36),
    sourceClientCardId: kind === 'verification' ? undefined : card('sourceOfFunds'),
    destinationClientCardId: kind === 'transfer' ? card('destinationOfFunds') : undefined,
  }
}

/**
 * All facts that the gateway sends about the invoice must match its initiation; the signature
 * covers currency and amount.
 */
function verify({ key }: Merchant, call: Call, invoice: InvoiceRow, asked: Question): void {
  const parts = initiateParts({
    accessToken: asked.accessToken,
    serialNumber: asked.serialNumber,
    endpointId: invoice.endpoint_id,
    nonce: asked.nonce,
    invoiceId: invoice.invoice_id,
    amountCentis: invoice.amount_centis?.toString(),
    currency: invoice.currency,
  })
  call.signed.push({ name: 'session.signature', parts, signature: asked.signature })
  if (invoice.token_hash !== hashOf(asked.accessToken)) throw invalid('session.accessToken is not the one of this invoice')
  if (invoice.serial_number !== asked.serialNumber) throw invalid('consumer.device.serialNumber is not the one of this invoice')
  if (invoice.nonce !== asked.nonce) throw invalid('session.nonce is not the one of this invoice')
  if (!signatureHolds(asked.signature, parts, key)) throw invalid('session.signature is wrong')
}

async function answerTo(merchant: Merchant, call: Call, invoice: InvoiceRow, asked: Question) {
  const { key, pool, profiles, tellsCurrency, randomSumCentis } = merchant
  const source = await cardNamed(merchant, invoice, 'sourceOfFunds', asked.sourceClientCardId)
  const destination = await cardNamed(merchant, invoice, 'destinationOfFunds', asked.destinationClientCardId)
  const { serialNumber, nonce, sessionToken } = asked
  const parts = checkParts({
    serialNumber,
    nonce,
    endpointId: invoice.endpoint_id,
    invoiceId: invoice.invoice_id,
    sourceServerCardId: source?.serverCardId,
    destinationServerCardId: destination?.serverCardId,
  })
  const checkSignature = sign(parts, key)
  call.signed.push({ name: 'session.checkSignature', parts, signature: checkSignature })
  // A card is used with the e-mail address that it was mapped with, even if the consumer's has
  // changed.
  const email = source === undefined ? await loadEmail(pool, invoice.consumer) : source.email
  const { birthDay, billing } = (invoice.kind === 'verification' && profiles.get(invoice.consumer)) || {}
  const consumer = { ...(email && { email }), ...(birthDay && { birthDay }) }
  const transaction = { ...(tellsCurrency && { currency: invoice.currency }), ...(randomSumCentis && { randomSumCentis }) }
  const reference = (card: { serverCardId: string }) => ({ reference: { serverCardId: card.serverCardId } })
  const answer = {
    invoiceId: invoice.invoice_id,
    session: { checkSignature, nonce, token: sessionToken },
    ...(Object.keys(consumer).length > 0 && { consumer }),
    ...(billing && { billing }),
    ...(source && { sourceOfFunds: reference(source) }),
    ...(destination && { destinationOfFunds: reference(destination) }),
    ...(Object.keys(transaction).length > 0 && { transaction }),
  }
  return { answer, email }
}

async function cardNamed({ pool }: Merchant, { consumer }: InvoiceRow, of: string, clientCardId: string | undefined) {
  if (clientCardId === undefined) return undefined
  const card = await loadCard(pool, consumer, clientCardId)
  if (card === undefined) throw invalid(`${of}.reference.clientCardId is not a card of this consumer`)
  return card
}

function answerAgain(invoice: InvoiceRow, asked: Question): object {
  if (invoice.session_token !== asked.sessionToken) throw invalid('session.token is not the one of this invoice')
  if (invoice.check_question !== memoOf(asked)) throw invalid('reference.clientCardId is not the one that was asked for before')
  return JSON.parse(invoice.check_answer ?? '{}') as object
}

/**
 * The part that may differ from one question about an invoice to the next; the rest was verified.
 */
const memoOf = ({ sourceClientCardId, destinationClientCardId }: Question): string =>
  JSON.stringify([sourceClientCardId ?? null, destinationClientCardId ?? null])
