import type { MobileKind } from '../src/mobile-api/invoice.ts'
import { secret } from '../src/base/secret.ts'
import { checkParts, initiateParts, notificationParts, sign, signatureKey } from '../simulators/merchant-server/signatures.ts'
import type { Chance } from './chance.ts'
import { configuration, merchantServers } from './configuration.ts'

/** What an app is about to ask, as its merchant initiated it. */
export interface Initiated {
  merchantId: bigint
  endpointId: bigint
  kind: MobileKind
  invoiceId: string
  nonce: string
  accessToken: string
  serialNumber: string
  signature: string
  amountCentis?: number
  /** It pays with a card that was mapped; absent where the app has the card itself. */
  clientCardId?: string
  /** Likewise the card that a transfer credits. */
  toClientCardId?: string
}

/** A card that a merchant's server was told of. */
export interface Mapped {
  merchantId: bigint
  clientCardId: string
  serverCardId: string
  /** Whether it may pay, or was only credited. */
  of: 'source' | 'destination'
}

/** How merchants' servers are doing, for each question. */
export interface ServerWeather {
  refusedOdds: number
  /** Of answers that are not about the question. */
  falseOdds: number
  failedOdds: number
  /** Of answers that take as long as one is waited for, or longer. */
  slowOdds: number
}

export const calmServers = (): ServerWeather => ({ refusedOdds: 0.03, falseOdds: 0.05, failedOdds: 0.02, slowOdds: 0.03 })

export interface Notified {
  invoice: Initiated
  /** Cards that it is told of. */
  source: string | undefined
  destination: string | undefined
  /** Answered as agreed, or refused for good; neither: an answer that counts for nothing. */
  answer: 'accepted' | 'refused' | 'false'
}

export interface Served {
  status: number
  body: string
  afterMs: number
}

export interface MerchantServers {
  initiated: ReadonlyMap<string, Initiated>
  initiate(what: Omit<Initiated, 'signature' | 'nonce' | 'accessToken'>, nonce?: string): Initiated
  /** A call of a gateway, if this is the server of a merchant. */
  serve(url: URL, body: string): Served | undefined
  /** Which invoices merchants' servers said are their own, and the cards that they meant. */
  confirmed: ReadonlyMap<string, Confirmation>
  notified: readonly Notified[]
  mapped: readonly Mapped[]
  onChecked: (invoice: Initiated, token: string) => void
  onNotified: (told: Notified) => void
}

interface Confirmation {
  token: string
  source: string | undefined
  destination: string | undefined
}

interface Question {
  consumer: { device: { serialNumber: string } }
  session: { accessToken: string; nonce: string; signature: string; token: string }
  sourceOfFunds?: { reference: { clientCardId: string } }
  destinationOfFunds?: { reference: { clientCardId: string } }
}

interface Notice {
  session: { accessToken: string; token: string }
  reference?: { serverCardId: string }
  sourceCard?: { reference?: { serverCardId: string } }
  destinationCard?: { reference: { serverCardId: string } }
}

/** What is wrong with an answer that is not about the question. */
const falsehoods = ['signature', 'nonce', 'token', 'invoice', 'another', 'another', 'currency', 'card', 'garbage'] as const

const keyOf = (merchantId: bigint) => signatureKey(secret(configuration.merchant(merchantId)!.controlKeys[0]!.reveal()))!
const refusal = (status: number) => ({ status, body: JSON.stringify({ error: { cause: 'INVALID_REQUEST', message: 'no' } }) })

/** The merchants' own servers of the mobile API: each knows what it initiated, and remembers what it was told. */
export function openMerchantServers(chance: Chance, weather: ServerWeather): MerchantServers {
  const random = chance.fork().random()
  const text = () => random.bytes(24).toString('hex')
  const invoices = new Map<string, Initiated>()
  const byToken = new Map<string, Initiated>()
  const confirmed = new Map<string, Confirmation>()
  const answers: { merchantId: bigint; body: string }[] = []
  const notified: Notified[] = []
  const mapped: Mapped[] = []
  const servers: MerchantServers = {
    initiated: invoices,
    confirmed,
    notified,
    mapped,
    onChecked: () => {},
    onNotified: () => {},
    initiate(what, nonce = text()) {
      const accessToken = text()
      const { endpointId, invoiceId, serialNumber, amountCentis } = what
      const parts = initiateParts({
        accessToken,
        serialNumber,
        endpointId: String(endpointId),
        nonce,
        invoiceId,
        amountCentis: amountCentis?.toString(),
        currency: 'USD',
      })
      const made = { ...what, nonce, accessToken, signature: sign(parts, keyOf(what.merchantId)) }
      invoices.set(invoiceId, made)
      return made
    },
    serve(url, body) {
      const server = merchantServers.find((s) => new URL(s.url).host === url.host)
      if (!server) return undefined
      const [, , , name, operation] = url.pathname.split('/')
      const afterMs = chance.happens(weather.slowOdds) ? chance.between(3_000, 14_000) : chance.between(5, 400)
      if (chance.happens(weather.failedOdds)) return { status: chance.pick([500, 503]), body: '', afterMs }
      const served =
        operation === 'check'
          ? check(invoices.get(decodeURIComponent(name!)), JSON.parse(body) as Question)
          : notify(JSON.parse(body) as Notice)
      return { ...served, afterMs }
    },
  }

  function check(invoice: Initiated | undefined, { session, consumer, sourceOfFunds, destinationOfFunds }: Question) {
    const isOurs =
      invoice?.accessToken === session.accessToken &&
      invoice.nonce === session.nonce &&
      invoice.signature === session.signature &&
      invoice.serialNumber === consumer.device.serialNumber &&
      invoice.clientCardId === sourceOfFunds?.reference.clientCardId &&
      invoice.toClientCardId === destinationOfFunds?.reference.clientCardId
    if (!isOurs) return refusal(400)
    byToken.set(session.token, invoice)
    servers.onChecked(invoice, session.token)
    if (chance.happens(weather.refusedOdds)) return chance.happens(0.5) ? { status: 403, body: '' } : refusal(400)
    if (chance.happens(weather.falseOdds)) return { status: 200, body: falseAnswer(invoice, session.token) }
    const named = [invoice.clientCardId, invoice.toClientCardId]
    const [source, destination] = named.map(
      (id) => mapped.find((m) => m.clientCardId === id && m.merchantId === invoice.merchantId)?.serverCardId,
    )
    if ([source, destination].some((id, at) => id === undefined && named[at] !== undefined)) return refusal(400)
    confirmed.set(invoice.invoiceId, { token: session.token, source, destination })
    const body = answer(invoice, session.token, { source, destination })
    answers.push({ merchantId: invoice.merchantId, body })
    return { status: 200, body }
  }

  function answer(
    { merchantId, nonce, endpointId, invoiceId, serialNumber }: Initiated,
    token: string,
    { source, destination }: Partial<Confirmation>,
    more = {},
  ): string {
    const parts = checkParts({
      serialNumber,
      nonce,
      endpointId: String(endpointId),
      invoiceId,
      sourceServerCardId: source,
      destinationServerCardId: destination,
    })
    const session = { checkSignature: sign(parts, keyOf(merchantId)), nonce, token }
    const reference = (of: string, serverCardId: string | undefined) =>
      serverCardId === undefined ? {} : { [of]: { reference: { serverCardId } } }
    return JSON.stringify({
      invoiceId,
      session,
      ...reference('sourceOfFunds', source),
      ...reference('destinationOfFunds', destination),
      ...more,
    })
  }

  function falseAnswer(invoice: Initiated, token: string): string {
    const what = chance.pick(falsehoods)
    const asked = { source: invoice.clientCardId && '1', destination: invoice.toClientCardId && '2' }
    if (what === 'another') {
      const others = answers.filter((a) => a.merchantId === invoice.merchantId && !a.body.includes(invoice.invoiceId))
      if (others.length > 0) return chance.pick(others).body
    }
    if (what === 'nonce') return answer({ ...invoice, nonce: text() }, token, asked)
    if (what === 'token') return answer(invoice, text().slice(0, 36), asked)
    if (what === 'invoice') return answer({ ...invoice, invoiceId: `${invoice.invoiceId}-` }, token, asked)
    if (what === 'currency') return answer(invoice, token, asked, { transaction: { currency: 'EUR' } })
    if (what === 'card') return answer(invoice, token, { ...asked, source: strangeCard(invoice) })
    if (what === 'garbage') return '{"session":'
    return answer(invoice, token, asked).replace(
      /("checkSignature":")(.)/,
      (_all, name, first) => name + (first === '0' ? '1' : '0'),
    )
  }

  /** The card of another merchant, or one that nobody has; none, where there should be one. */
  function strangeCard({ merchantId, clientCardId }: Initiated): string | undefined {
    if (clientCardId === undefined || chance.happens(0.7))
      return mapped.find((m) => m.merchantId !== merchantId)?.serverCardId ?? '123456789'
    return undefined
  }

  function notify({ session, reference, sourceCard, destinationCard }: Notice) {
    const invoice = byToken.get(session.token)
    const source = (reference ?? sourceCard?.reference)?.serverCardId
    const destination = destinationCard?.reference.serverCardId
    if (invoice?.accessToken !== session.accessToken) return refusal(400)
    const note = (how: Notified['answer']) => {
      const told = { invoice, source, destination, answer: how }
      notified.push(told)
      servers.onNotified(told)
    }
    if (chance.happens(weather.refusedOdds / 3)) {
      note('refused')
      return refusal(400)
    }
    const { nonce, endpointId, invoiceId, merchantId } = invoice
    const isFalse = chance.happens(weather.falseOdds)
    const parts = notificationParts({ nonce: isFalse ? text() : nonce, endpointId: String(endpointId), invoiceId })
    note(isFalse ? 'false' : 'accepted')
    const cards = { source, destination }
    for (const of of ['source', 'destination'] as const) {
      const serverCardId = cards[of]
      if (isFalse || serverCardId === undefined) continue
      if (!mapped.some((m) => m.serverCardId === serverCardId && m.merchantId === merchantId))
        mapped.push({ merchantId, clientCardId: `card ${mapped.length + 1}`, serverCardId, of })
    }
    const checkSignature = sign(parts, keyOf(merchantId))
    return { status: 200, body: JSON.stringify({ invoiceId, session: { checkSignature, nonce, token: session.token } }) }
  }

  return servers
}
