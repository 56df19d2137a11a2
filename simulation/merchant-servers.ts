import type { Random } from '../src/base/random.ts'
import type { Chance } from './chance.ts'
import { merchantServers } from './configuration.ts'
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

export interface CardNotification {
  invoice: Initiated
  /** Cards that it is told of. */
  source: string | undefined
  destination: string | undefined
  /** Answered as agreed, or refused for good; neither: an answer that counts for nothing. */
  answer: 'accepted' | 'refused' | 'false'
}

export interface Served extends Reply {
  afterMs: number
}

/** What a merchant's server is to initiate. */
type Drafted = Omit<Initiated, 'signature' | 'nonce' | 'accessToken'>

/**
 * The merchants' own servers of the mobile API: each knows what it initiated, and remembers the
 * notifications it received.
 */
export interface MerchantServers {
  initiated: ReadonlyMap<string, Initiated>
  initiate(what: Drafted, nonce?: string): Initiated
  /** A call of a gateway, if this is the server of a merchant. */
  serve(url: URL, body: string): Served | undefined
  /** Which invoices merchants' servers said are their own, and the cards that they meant. */
  confirmed: ReadonlyMap<string, Confirmation>
  notifications: readonly CardNotification[]
  mapped: readonly Mapped[]
  onChecked: (invoice: Initiated, token: string) => void
  onNotified: (notification: CardNotification) => void
}

/** What is wrong with an answer that is not about the question. */
const falsehoods = ['signature', 'nonce', 'token', 'invoice', 'another', 'another', 'currency', 'card', 'garbage'] as const

/** The invoices that each server initiated, and the calls it received about them. */
interface State extends Pick<MerchantServers, 'onChecked' | 'onNotified'> {
  chance: Chance
  random: Random
  weather: ServerWeather
  initiated: Map<string, Initiated>
  byToken: Map<string, Initiated>
  confirmed: Map<string, Confirmation>
  /** Right answers to checks, for a server to mix up. */
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

/** The card of another merchant, or one that nobody has; none, where there should be one. */
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

/** A card that the merchant does not know yet gets an id for its apps. */
function map({ mapped }: State, { merchantId }: Initiated, of: Mapped['of'], serverCardId: string | undefined): void {
  if (serverCardId === undefined) return
  if (!mapped.some((m) => m.serverCardId === serverCardId && m.merchantId === merchantId))
    mapped.push({ merchantId, clientCardId: `card ${mapped.length + 1}`, serverCardId, of })
}
