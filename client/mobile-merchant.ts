/**
 * For merchants who build the server that the mobile API asks: what it signs, and whether to
 * believe who calls it. client/README.md shows it.
 */
import { randomBytes, randomUUID } from 'node:crypto'
import { sameText, type NotGenuine } from './callback.ts'
import { at, objectIn, textAt, type Json } from './mobile-replies.ts'
import type { MobileKind } from './mobile-requests.ts'
import { checkValues, initiateValues, keyOf, notificationValues, sign, signatureHolds } from './mobile-signatures.ts'

/** The record that the server keeps of a transaction that its app began. */
export interface KeptInvoice {
  kind: MobileKind
  endpointId: string
  invoiceId: string
  nonce: string
  accessToken: string
  serialNumber: string
  currency: string
  /** Absent for a verification. */
  amountCentis?: number
  /** The gateway's token; absent until a check was accepted. */
  token?: string
}

export type NewInvoice = Omit<KeptInvoice, 'invoiceId' | 'nonce' | 'token'>

/**
 * The gateway asks whether a transaction is as it was begun. Keep `token` with the invoice: by it
 * the notification finds it.
 */
export interface Check {
  is: 'check'
  token: string
  /** Cards that the app named, to be looked up among those of the consumer. */
  sourceClientCardId?: string
  destinationClientCardId?: string
}

/** The merchant's own data of the consumer; all of it takes precedence over the app's. */
export interface CheckAnswer {
  /** `serverCardId` of the cards that were asked for: each of them has to be here, and no other. */
  sourceServerCardId?: string
  destinationServerCardId?: string
  consumer?: { email?: string; birthDay?: string; ipAddresses?: string[] }
  billing?: object
  transaction?: { currency?: string; randomSumCentis?: number }
}

/** The gateway tells under which ids cards are registered. It may come twice. */
export interface Notification {
  is: 'notification'
  invoice: KeptInvoice
  source?: MappedCard
  destination?: MappedCard
}

export interface MappedCard {
  serverCardId: string
  /** The same for every reference to one card number. */
  uniqueReferenceCardId?: number
  /** First digits. */
  bin?: number
}

export interface MobileMerchant {
  /** Makes invoice and nonce, to be kept, and the answer for the app. */
  initiate(asked: NewInvoice): { invoice: KeptInvoice; answer: object }
  /** `text` is the body, `invoice` the one of the path. */
  readCheck(text: string, invoice: KeptInvoice): Check | NotGenuine
  answerCheck(invoice: KeptInvoice, check: Check, answer?: CheckAnswer): object
  /** `text` is the body; `find` gives the invoice of a session token. */
  readNotification(text: string, find: (token: string) => Promise<KeptInvoice | undefined>): Promise<Notification | NotGenuine>
  answerNotification(notification: Notification): object
  /**
   * The body of a refusal. To the gateway it names the invoice, to the app it does not. Send it
   * with HTTP 400, or with 500 to be asked again.
   */
  refuse(cause: RefusalCause, message: string, invoiceId?: string): object
}

export type RefusalCause = 'FILTERED' | 'INVALID_REQUEST' | 'SERVER_FAILED' | 'SERVER_UNAVAILABLE'

/**
 * The key is in a closure alone, so that nothing that prints it shows the key. Throws a TypeError
 * for one that cannot sign.
 */
export function openMobileMerchant(controlKey: string): MobileMerchant {
  const key = keyOf(controlKey)
  return {
    initiate(asked) {
      const invoice = { ...asked, invoiceId: randomUUID(), nonce: randomBytes(32).toString('hex') }
      const { endpointId, invoiceId, nonce } = invoice
      return { invoice, answer: { endpointId, invoiceId, session: { nonce, signature: sign(initiateValues(invoice), key) } } }
    },
    readCheck: (text, invoice) => readCheck(text, invoice, key),
    answerCheck(invoice, check, { sourceServerCardId, destinationServerCardId, ...more } = {}) {
      const reference = (serverCardId: string) => ({ reference: { serverCardId } })
      const checkSignature = sign(checkValues(invoice, sourceServerCardId, destinationServerCardId), key)
      return {
        ...more,
        invoiceId: invoice.invoiceId,
        session: { checkSignature, nonce: invoice.nonce, token: check.token },
        ...(sourceServerCardId === undefined ? {} : { sourceOfFunds: reference(sourceServerCardId) }),
        ...(destinationServerCardId === undefined ? {} : { destinationOfFunds: reference(destinationServerCardId) }),
      }
    },
    readNotification,
    answerNotification({ invoice }) {
      const { invoiceId, nonce, token } = invoice
      return { invoiceId, session: { checkSignature: sign(notificationValues(invoice), key), nonce, token } }
    },
    refuse: (cause, message, invoiceId) => ({
      error: { cause, code: randomUUID(), message },
      ...(invoiceId === undefined ? {} : { invoiceId }),
    }),
  }
}

const notGenuine = (why: string): NotGenuine => ({ is: 'not genuine', why })

function readCheck(text: string, invoice: KeptInvoice, key: Buffer): Check | NotGenuine {
  const body = objectIn(text)
  if (body === undefined) return notGenuine('it is no JSON object')
  const stranger = strangeIn(body, invoice)
  if (stranger !== undefined) return notGenuine(stranger)
  if (!sameText(textAt(body, 'session.nonce'), invoice.nonce)) return notGenuine('its nonce is another')
  if (!signatureHolds(textAt(body, 'session.signature'), initiateValues(invoice), key))
    return notGenuine('its signature does not hold')
  const token = textAt(body, 'session.token')
  if (token === '') return notGenuine('it has no session token')
  const [source, destination] = ['sourceOfFunds', 'destinationOfFunds'].map((of) => textAt(body, `${of}.reference.clientCardId`))
  return {
    is: 'check',
    token,
    ...(source ? { sourceClientCardId: source } : {}),
    ...(destination ? { destinationClientCardId: destination } : {}),
  }
}

async function readNotification(
  text: string,
  find: (token: string) => Promise<KeptInvoice | undefined>,
): Promise<Notification | NotGenuine> {
  const body = objectIn(text)
  if (body === undefined) return notGenuine('it is no JSON object')
  const token = textAt(body, 'session.token')
  const invoice = token === '' ? undefined : await find(token)
  if (invoice?.token === undefined) return notGenuine('its session token is unknown')
  const stranger = strangeIn(body, invoice)
  if (stranger !== undefined) return notGenuine(stranger)
  // A verification names its one card in a way of its own.
  const source = mappedIn(body, 'sourceCard', invoice.kind === 'verification' ? 'reference' : 'sourceCard.reference')
  const destination = mappedIn(body, 'destinationCard', 'destinationCard.reference')
  return { is: 'notification', invoice, ...(source ? { source } : {}), ...(destination ? { destination } : {}) }
}

/** Members of a call outside of the invoice: only its maker knows its access token. */
function strangeIn(body: Json, { accessToken, serialNumber, token }: KeptInvoice): string | undefined {
  if (!sameText(textAt(body, 'session.accessToken'), accessToken)) return 'its access token is another'
  if (!sameText(textAt(body, 'consumer.device.serialNumber'), serialNumber)) return 'its device is another'
  return token === undefined || sameText(textAt(body, 'session.token'), token) ? undefined : 'its session token is another'
}

function mappedIn(body: Json, card: string, reference: string): MappedCard | undefined {
  const serverCardId = textAt(body, `${reference}.serverCardId`)
  if (serverCardId === '') return undefined
  const [unique, bin] = [at(body, `${reference}.uniqueReferenceCardId`), at(body, `${card}.bin`)]
  return {
    serverCardId,
    ...(typeof unique === 'number' ? { uniqueReferenceCardId: unique } : {}),
    ...(typeof bin === 'number' ? { bin } : {}),
  }
}
