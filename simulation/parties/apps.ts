import { uuid, type Random } from '../../src/base/random.ts'
import { initiated, performed, type Performed } from './app-requests.ts'
import type { Asking, Slot } from '../world/asking.ts'
import type { Cardholders } from './cardholders.ts'
import type { Chance } from '../world/chance.ts'
import { sumEndpoints, transferEndpoints } from '../model/configuration.ts'
import { sumPages } from '../world/gateway.ts'
import type { Initiated } from './merchant-server-messages.ts'
import type { MerchantServers } from './merchant-servers.ts'
import type { SumPayers } from './sum-payers.ts'

/** The reply of the gateway to a request of an app. */
export interface AppReply {
  status: number
  body: {
    invoiceId?: string
    session?: { token?: string }
    state?: string
    redirectUrl?: string
    transferFeeList?: { assignedId: string; commissionCentis: number }[]
    error?: { cause: string; message: string }
  }
}

export interface AppEvents {
  /** The app is about to perform this for the first time. */
  onPerforming(performed: Performed): void
  onPerformed(performed: Performed, reply: AppReply): void
  /** The app is about to choose a fee, perhaps one that was not listed. */
  onChoosing(invoice: Initiated, assignedId: string): void
  onChosen(invoice: Initiated, assignedId: string, reply: AppReply): void
  /** `isOwner`: the request had both tokens of this invoice. */
  onStatus(invoice: Initiated, reply: AppReply, isOwner: boolean): void
  trace(what: () => string): void
}

export interface AppParts {
  chance: Chance
  slots: readonly Slot[]
  asking: Asking
  servers: MerchantServers
  cardholders: Cardholders
  sumPayers: SumPayers
  orderIdOf(invoice: Initiated): bigint | undefined
  observer: AppEvents
}

/**
 * Merchants' apps. They perform the invoices that their merchants initiated, sometimes more than
 * once, and poll the status until it is final.
 */
export interface Apps {
  begin(number: number): void
  /** Begins a sale at an endpoint that requires a random sum. */
  beginWithSum(number: number): void
  waiting(): number
}

const tries = 8
const polls = 12
const endpoints = [17n, 17n, 18n, 18n, 19n, ...transferEndpoints, ...transferEndpoints] as const
const finalStates: ReadonlySet<string | undefined> = new Set(['APPROVED', 'DECLINED'])

interface State extends AppParts {
  random: Random
  waiting: number
}

export function openApps(parts: AppParts): Apps {
  const { chance } = parts
  const state: State = { ...parts, random: chance.fork().random(), waiting: 0 }
  return {
    begin: (number) => begin(state, number, chance.pick(endpoints)),
    beginWithSum: (number) => begin(state, number + 200_000, chance.pick(sumEndpoints)),
    waiting: () => state.waiting,
  }
}

function begin(state: State, number: number, endpointId: bigint): void {
  const invoice = initiated(state, number, endpointId)
  start(state, performed(state, invoice))
  // Some merchants use a nonce twice: two simultaneous invoices have the same one.
  if (state.chance.happens(0.06)) start(state, performed(state, initiated(state, number + 100_000, endpointId, invoice.nonce)))
}

function start(state: State, performs: Performed): void {
  state.waiting++
  state.observer.onPerforming(performs)
  void use(state, performs).finally(() => state.waiting--)
}

async function use(state: State, performs: Performed): Promise<void> {
  const { chance, slots, asking } = state
  const way = chance.pick(['once', 'once', 'once', 'again', 'both', 'both'] as const)
  if (way !== 'both') {
    const token = await insist(state, performs)
    if (way === 'again') {
      await asking.pause(chance.between(0, 40_000))
      await insist(state, performs)
    }
    if (token !== undefined) await look(state, performs.invoice, token)
    return
  }
  const tokens = await Promise.all(slots.map((slot) => insist(state, performs, slot)))
  const token = tokens.find((t) => t !== undefined)
  if (token !== undefined) await look(state, performs.invoice, token)
}

/** Repeats the request until the reply is final. Resolves to the session token, if accepted. */
async function insist(state: State, performs: Performed, slot?: Slot): Promise<string | undefined> {
  const { chance, slots, asking, observer } = state
  for (let n = 0; n < tries; n++) {
    const reply = await call(state, slot ?? chance.pick(slots), performs.invoice, '', performs.body)
    if (reply) observer.onPerformed(performs, reply)
    if (reply?.status === 200) return reply.body.session?.token
    if (reply?.status === 400) return undefined
    await asking.pause(chance.between(200, 6_000))
  }
  return undefined
}

/** Calls one process over HTTP. Undefined: no reply came. */
function call({ asking, observer }: State, slot: Slot, invoice: Initiated, what: '' | `/${string}`, body: object) {
  const { kind, endpointId, invoiceId } = invoice
  observer.trace(() => `app      ${invoiceId} asks ${slot.name}${what === '' ? ` for a ${kind}` : ` for ${what.slice(1)}`}`)
  return asking.call(slot, async (gateway): Promise<AppReply> => {
    const answer = await gateway.call('POST', `/dapi/v1/${kind}/${endpointId}/${invoiceId}${what}`, JSON.stringify(body))
    return { status: answer.status, body: JSON.parse(String(answer.body)) as AppReply['body'] }
  })
}

/** Polls the status until it is final, and meanwhile acts as the cardholder. */
async function look(state: State, invoice: Initiated, token: string): Promise<void> {
  const { chance, asking, orderIdOf } = state
  let isPaying = false
  let isChosen = false
  for (let n = 0; n < polls; n++) {
    await asking.pause(chance.between(100, 1_500 + n * 1_500))
    const { reply, isOwner } = await askStatus(state, invoice, token)
    if (isOwner && finalStates.has(reply?.body.state) && chance.happens(0.7)) return
    const fees = reply?.body.transferFeeList
    if (fees && !isChosen) {
      isChosen = true
      if (!(await choose(state, invoice, token, fees))) return
    }
    const orderId = orderIdOf(invoice)
    if (reply?.body.state !== 'REDIRECT_REQUEST' || isPaying || orderId === undefined) continue
    isPaying = true
    await followRedirect(state, invoice, orderId, reply.body.redirectUrl ?? '')
  }
}

/** Usually sends both tokens of the invoice, sometimes a wrong one in place of either. */
async function askStatus(state: State, invoice: Initiated, token: string) {
  const { chance, slots, random, observer } = state
  const isOwner = !chance.happens(0.08)
  const foreign = chance.pick(['token', 'accessToken'] as const)
  const session = { accessToken: invoice.accessToken, token, ...(isOwner ? {} : { [foreign]: uuid(random) }) }
  const reply = await call(state, chance.pick(slots), invoice, '/status', { session })
  if (reply) observer.onStatus(invoice, reply, isOwner)
  return { reply, isOwner }
}

function followRedirect(state: State, invoice: Initiated, orderId: bigint, url: string): Promise<void> {
  const { cardholders, sumPayers } = state
  if (url.startsWith(sumPages)) return sumPayers.pay(invoice, url.slice(sumPages.length))
  return cardholders.pay({ clientOrderid: invoice.invoiceId, endpointId: invoice.endpointId }, orderId)
}

/** Resolves to false if the consumer leaves without choosing. */
async function choose(
  state: State,
  invoice: Initiated,
  token: string,
  fees: readonly { assignedId: string }[],
): Promise<boolean> {
  const { chance, slots, asking } = state
  const way = chance.pick(['once', 'once', 'once', 'again', 'both', 'other', 'wrong', 'never'] as const)
  if (way === 'never') return false
  await asking.pause(chance.happens(0.03) ? chance.between(880_000, 920_000) : chance.between(500, 20_000))
  const complete = (assignedId: string, slot?: Slot) => insistOn(state, invoice, token, assignedId, slot)
  const { assignedId } = chance.pick(fees)
  if (way === 'wrong') await complete('elsewhere')
  if (way === 'both') await Promise.all(slots.map((slot) => complete(assignedId, slot)))
  else if (way === 'other') await Promise.all(fees.map((fee, i) => complete(fee.assignedId, slots[i])))
  else await complete(assignedId)
  if (way === 'again') {
    await asking.pause(chance.between(0, 30_000))
    await complete(assignedId)
  }
  return true
}

/** Repeats the choice of a fee until the gateway accepts or refuses it. */
async function insistOn(state: State, invoice: Initiated, token: string, assignedId: string, slot?: Slot): Promise<void> {
  const { chance, slots, asking, observer } = state
  const session = { accessToken: invoice.accessToken, token }
  observer.onChoosing(invoice, assignedId)
  for (let n = 0; n < tries; n++) {
    const reply = await call(state, slot ?? chance.pick(slots), invoice, `/${assignedId}`, { session })
    if (reply) observer.onChosen(invoice, assignedId, reply)
    if (reply && reply.status < 500) return
    await asking.pause(chance.between(200, 4_000))
  }
}
