// A merchant's server of the mobile API, all in memory: its app begins transactions here, and the
// gateway asks whether they are as they were begun.
import { randomBytes, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import { text } from 'node:stream/consumers'
import { openMobileMerchant, type Check, type KeptInvoice } from '../client/mobile-merchant.ts'
import { controlKey, mobileEndpointId } from './sandbox.ts'

const merchant = openMobileMerchant(controlKey)

/** Consumers by access token; a real server has a log-in, and lets tokens expire. */
const consumers = new Map<string, string>()
const invoices = new Map<string, KeptInvoice>()
/** A consumer's cards by clientCardId: the ids that the gateway knows them by. */
const cards = new Map<string, { consumer: string; serverCardId: string }>()

/** Why a request is not met. */
class No extends Error {}

function grant(): object {
  const accessToken = randomBytes(32).toString('hex')
  consumers.set(accessToken, randomUUID())
  return { session: { accessToken } }
}

function initiate(kind: KeptInvoice['kind'], sent: string): object {
  const { consumer, session, transaction } = asJson(sent)
  const { serialNumber } = consumer?.device ?? {}
  const { accessToken = '' } = session ?? {}
  const { currency, amountCentis } = transaction ?? {}
  if (!consumers.has(accessToken)) throw new No('session.accessToken is unknown')
  if (!serialNumber || !currency) throw new No('serialNumber or currency is missing')
  if (kind !== 'verification' && !(amountCentis && amountCentis > 0)) throw new No('amountCentis is missing')
  const money = kind === 'verification' ? { currency } : { currency, amountCentis: Number(amountCentis) }
  const { invoice, answer } = merchant.initiate({ kind, endpointId: mobileEndpointId, accessToken, serialNumber, ...money })
  invoices.set(invoice.invoiceId, invoice)
  return answer
}

function check(kind: string, invoiceId: string, sent: string): object {
  const invoice = invoices.get(invoiceId)
  if (invoice?.kind !== kind) throw new No('invoiceId is unknown')
  const asked = merchant.readCheck(sent, invoice)
  if (asked.is !== 'check') throw new No(asked.why)
  const named = cardsNamed(asked, consumers.get(invoice.accessToken))
  // From now on the invoice belongs to this token.
  invoice.token = asked.token
  return merchant.answerCheck(invoice, asked, named)
}

/** A consumer pays with cards of his own alone. */
function cardsNamed({ sourceClientCardId, destinationClientCardId }: Check, consumer: string | undefined) {
  const idOf = (clientCardId: string): string => {
    const known = cards.get(clientCardId)
    if (known === undefined || known.consumer !== consumer) throw new No('clientCardId is unknown')
    return known.serverCardId
  }
  return {
    ...(sourceClientCardId === undefined ? {} : { sourceServerCardId: idOf(sourceClientCardId) }),
    ...(destinationClientCardId === undefined ? {} : { destinationServerCardId: idOf(destinationClientCardId) }),
  }
}

async function notify(kind: string, sent: string): Promise<object> {
  const find = async (token: string) => [...invoices.values()].find((one) => one.token === token && one.kind === kind)
  const notification = await merchant.readNotification(sent, find)
  if (notification.is !== 'notification') throw new No(notification.why)
  const consumer = consumers.get(notification.invoice.accessToken) ?? ''
  for (const card of [notification.source, notification.destination])
    if (card && ![...cards.values()].some((known) => known.consumer === consumer && known.serverCardId === card.serverCardId))
      cards.set(randomUUID(), { consumer, serverCardId: card.serverCardId })
  return merchant.answerNotification(notification)
}

interface Initiation {
  consumer?: { device?: { serialNumber?: string } }
  session?: { accessToken?: string }
  transaction?: { currency?: string; amountCentis?: number }
}

function asJson(sent: string): Initiation {
  try {
    return JSON.parse(sent) as Initiation
  } catch {
    throw new No('the body is no JSON')
  }
}

async function serve(request: IncomingMessage): Promise<[status: number, body: object]> {
  const [, first = '', second = '', third] = new URL(request.url ?? '', 'http://localhost').pathname.split('/')
  const sent = await text(request)
  try {
    if (first === 'auth') return [200, grant()]
    if (second === 'initiate-verification') return [200, initiate('verification', sent)]
    if (second === 'initiate-sale') return [200, initiate('sale', sent)]
    if (second === 'initiate-transfer') return [200, initiate('transfer', sent)]
    if (second === 'notification') return [200, await notify(first, sent)]
    if (third === 'check') return [200, check(first, second, sent)]
    throw new No('there is nothing here')
  } catch (error) {
    if (!(error instanceof No)) return [500, merchant.refuse('SERVER_FAILED', 'internal error')]
    const invoiceId = third === 'check' ? second : second === 'notification' ? '' : undefined
    return [400, merchant.refuse('INVALID_REQUEST', error.message, invoiceId)]
  }
}

const server = createServer((request, response) => {
  void serve(request).then(([status, body]) =>
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body)),
  )
})
server.listen(Number(process.env.PORT ?? 0), '127.0.0.1')
await once(server, 'listening')
console.log(`the merchant's server listens at http://127.0.0.1:${(server.address() as { port: number }).port}`)
