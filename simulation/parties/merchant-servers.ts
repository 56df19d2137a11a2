import type { Random } from '../../src/base/random.ts'
import type { Chance } from '../world/chance.ts'
import { merchantServers } from '../model/configuration.ts'
import {
  checkAnswer,
  initiateSignature,
  notificationAnswer,
  refusal,
  type Confirmation,
  type Initiated,
  type Notice,
  type Question,
  type Reply,
} from './merchant-server-messages.ts'

/** A card that was reported to a merchant's server. */
export interface Mapped {
  merchantId: bigint
  clientCardId: string
  serverCardId: string
  /** A `source` may pay; a `destination` was only credited. */
  of: 'source' | 'destination'
}

/** How likely each kind of answer of a merchant's server is. */
export interface ServerWeather {
  refusedOdds: number
  /** How likely an answer does not fit the question. */
  falseOdds: number
  failedOdds: number
  /** How likely an answer takes about as long as the gateway waits, or longer. */
  slowOdds: number
}

export const calmServers = (): ServerWeather => ({ refusedOdds: 0.03, falseOdds: 0.05, failedOdds: 0.02, slowOdds: 0.03 })

export interface CardNotification {
  invoice: Initiated
  /** The reported cards, by server card id. */
  source: string | undefined
  destination: string | undefined
  /** `false`: an answer with a wrong signature, which neither accepts nor refuses. */
  answer: 'accepted' | 'refused' | 'false'
}

export interface Served extends Reply {
  afterMs: number
}

/** The transaction that a merchant's server is to initiate. */
type Drafted = Omit<Initiated, 'signature' | 'nonce' | 'accessToken'>

/**
 * The merchants' own servers of the mobile API. Each knows the invoices that it initiated, and
 * keeps the notifications that it received.
 */
export interface MerchantServers {
  initiated: ReadonlyMap<string, Initiated>
  initiate(what: Drafted, nonce?: string): Initiated
  /** Answers a call of a gateway; undefined if no merchant's server has this host. */
  serve(url: URL, body: string): Served | undefined
  /** The confirmed invoices, with the cards that the merchants' servers named for them. */
  confirmed: ReadonlyMap<string, Confirmation>
  notifications: readonly CardNotification[]
  mapped: readonly Mapped[]
  onChecked: (invoice: Initiated, token: string) => void
  onNotified: (notification: CardNotification) => void
}

/** The faults of answers that do not fit the question. */
const falsehoods = ['signature', 'nonce', 'token', 'invoice', 'another', 'another', 'currency', 'card', 'garbage'] as const

/** The invoices that each server initiated, and the calls it received about them. */
interface State extends Pick<MerchantServers, 'onChecked' | 'onNotified'> {
  chance: Chance
  random: Random
  weather: ServerWeather
  initiated: Map<string, Initiated>
  byToken: Map<string, Initiated>
  confirmed: Map<string, Confirmation>
  /** Correct answers to checks, which a server may confuse with each other. */
  answers: { merchantId: bigint; body: string }[]
  notifications: CardNotification[]
  mapped: Mapped[]
}

export function openMerchantServers(chance: Chance, weather: ServerWeather): MerchantServers {
  const state: State = {
    chance,
    random: chance.fork().random(),
    weather,
    initiated: new Map(),
    byToken: new Map(),
    confirmed: new Map(),
    answers: [],
    notifications: [],
    mapped: [],
    onChecked: () => {},
    onNotified: () => {},
  }
  return Object.assign(state, {
    initiate: (what: Drafted, nonce?: string) => initiate(state, what, nonce),
    serve: (url: URL, body: string) => serve(state, url, body),
  })
}

const newText = ({ random }: State): string => random.bytes(24).toString('hex')

function initiate(state: State, what: Drafted, nonce = newText(state)): Initiated {
  const drafted = { ...what, nonce, accessToken: newText(state) }
  const invoice = { ...drafted, signature: initiateSignature(drafted) }
  state.initiated.set(invoice.invoiceId, invoice)
  return invoice
}

function serve(state: State, url: URL, body: string): Served | undefined {
  const { chance, weather, initiated } = state
  const server = merchantServers.find((s) => new URL(s.url).host === url.host)
  if (!server) return undefined
  const [, , , name, operation] = url.pathname.split('/')
  const afterMs = chance.happens(weather.slowOdds) ? chance.between(3_000, 14_000) : chance.between(5, 400)
  if (chance.happens(weather.failedOdds)) return { status: chance.pick([500, 503]), body: '', afterMs }
  const reply =
    operation === 'check'
      ? check(state, initiated.get(decodeURIComponent(name!)), JSON.parse(body) as Question)
      : notify(state, JSON.parse(body) as Notice)
  return { ...reply, afterMs }
}

function check(state: State, invoice: Initiated | undefined, question: Question): Reply {
  const { chance, weather, byToken, confirmed, answers, mapped } = state
  const { token } = question.session
  if (!invoice || !isAbout(question, invoice)) return refusal(400)
  const { invoiceId, merchantId, clientCardId, toClientCardId } = invoice
  byToken.set(token, invoice)
  state.onChecked(invoice, token)
  if (chance.happens(weather.refusedOdds)) return chance.happens(0.5) ? { status: 403, body: '' } : refusal(400)
  if (chance.happens(weather.falseOdds)) return { status: 200, body: falseAnswer(state, invoice, token) }
  const cardOf = (id: string | undefined) =>
    mapped.find((m) => m.clientCardId === id && m.merchantId === merchantId)?.serverCardId
  const confirmation = { token, source: cardOf(clientCardId), destination: cardOf(toClientCardId) }
  const isUnknown = (id: string | undefined) => id !== undefined && cardOf(id) === undefined
  if (isUnknown(clientCardId) || isUnknown(toClientCardId)) return refusal(400)
  confirmed.set(invoiceId, confirmation)
  const body = checkAnswer(invoice, confirmation)
  answers.push({ merchantId, body })
  return { status: 200, body }
}

const isAbout = ({ session, consumer, sourceOfFunds, destinationOfFunds }: Question, invoice: Initiated): boolean =>
  invoice.accessToken === session.accessToken &&
  invoice.nonce === session.nonce &&
  invoice.signature === session.signature &&
  invoice.serialNumber === consumer.device.serialNumber &&
  invoice.clientCardId === sourceOfFunds?.reference.clientCardId &&
  invoice.toClientCardId === destinationOfFunds?.reference.clientCardId

function falseAnswer(state: State, invoice: Initiated, token: string): string {
  const { chance, answers } = state
  const { invoiceId, merchantId, clientCardId, toClientCardId } = invoice
  const what = chance.pick(falsehoods)
  const right = { token, source: clientCardId && '1', destination: toClientCardId && '2' }
  if (what === 'another') {
    const others = answers.filter((a) => a.merchantId === merchantId && !a.body.includes(invoiceId))
    if (others.length > 0) return chance.pick(others).body
  }
  if (what === 'nonce') return checkAnswer({ ...invoice, nonce: newText(state) }, right)
  if (what === 'token') return checkAnswer(invoice, { ...right, token: newText(state).slice(0, 36) })
  if (what === 'invoice') return checkAnswer({ ...invoice, invoiceId: `${invoiceId}-` }, right)
  if (what === 'currency') return checkAnswer(invoice, right, { transaction: { currency: 'EUR' } })
  if (what === 'card') return checkAnswer(invoice, { ...right, source: strangeCard(state, invoice) })
  if (what === 'garbage') return '{"session":'
  return checkAnswer(invoice, right).replace(/("checkSignature":")(.)/, (_all, name, first) => name + (first === '0' ? '1' : '0'))
}

/** The card of another merchant, an unknown card, or no card where one is required. */
function strangeCard({ chance, mapped }: State, { merchantId, clientCardId }: Initiated): string | undefined {
  if (clientCardId === undefined || chance.happens(0.7))
    return mapped.find((m) => m.merchantId !== merchantId)?.serverCardId ?? '123456789'
  return undefined
}

function notify(state: State, { session, reference, sourceCard, destinationCard }: Notice): Reply {
  const { chance, weather, byToken, notifications } = state
  const { token, accessToken } = session
  const invoice = byToken.get(token)
  const source = (reference ?? sourceCard?.reference)?.serverCardId
  const destination = destinationCard?.reference.serverCardId
  if (invoice?.accessToken !== accessToken) return refusal(400)
  const note = (answer: CardNotification['answer']) => {
    const notification = { invoice, source, destination, answer }
    notifications.push(notification)
    state.onNotified(notification)
  }
  if (chance.happens(weather.refusedOdds / 3)) {
    note('refused')
    return refusal(400)
  }
  if (chance.happens(weather.falseOdds)) {
    const body = notificationAnswer(invoice, token, newText(state))
    note('false')
    return { status: 200, body }
  }
  note('accepted')
  map(state, invoice, 'source', source)
  map(state, invoice, 'destination', destination)
  return { status: 200, body: notificationAnswer(invoice, token, invoice.nonce) }
}

/** Gives a card that is new to the merchant an id for its apps. */
function map({ mapped }: State, { merchantId }: Initiated, of: Mapped['of'], serverCardId: string | undefined): void {
  if (serverCardId === undefined) return
  if (!mapped.some((m) => m.serverCardId === serverCardId && m.merchantId === merchantId))
    mapped.push({ merchantId, clientCardId: `card ${mapped.length + 1}`, serverCardId, of })
}
