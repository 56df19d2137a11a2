import type { Reply } from '../../src/gateway-api/reply.ts'
import { performStatus } from '../../src/gateway-api/status.ts'
import { refuse } from '../../src/spec/refusals.ts'
import { finalStatuses, type Status } from '../../src/spec/words.ts'
import type { BrowserData } from '../../src/three-d-secure/authentication.ts'
import { askedOf, type Named, type Slot } from '../world/asking.ts'
import { hourMs, planOf, type Plan } from './cardholder-plans.ts'
import { configuration } from '../model/configuration.ts'
import { cresOf, outOfBrowser } from './issuer-messages.ts'
import type { Issuers } from './issuers.ts'
import type { LegacyIssuers } from './legacy-issuers.ts'
import { uploadCres, uploadMethod, uploadPares, type UploadParts } from './uploads.ts'

export interface CardholderParts extends Omit<UploadParts, 'random'> {
  issuers: Issuers
  legacyIssuers: LegacyIssuers
  onStatus(wanted: Named, orderId: bigint, status: string): void
  /** The status of an order was refused. */
  onRefused(orderId: bigint, refused: string): void
  /**
   * A hosted page began the method, and the gateway has answered it. The gateway waits until
   * `until`, or not at all.
   */
  onBegun(orderId: bigint, until: number | undefined): void
}

/** Cardholders during authentication, with the merchants whose pages they use. */
export interface Cardholders {
  /** Runs the authentication of a payment, as far as its cardholder and merchant cooperate. */
  pay(wanted: Named, orderId: bigint): Promise<void>
}

interface State extends CardholderParts, UploadParts {
  /** The last CRes and PARes of the issuers, for a merchant to mix up. */
  lastCres: string | undefined
  lastPares: string | undefined
}

/** A payment during its authentication. */
interface Payment {
  wanted: Named
  orderId: bigint
  plan: Plan
}

const polls = 40

/** The browser of `uploads.ts`, as the hosted page reports it. */
const seen: BrowserData = {
  language: 'en-GB',
  colorDepth: '24',
  javaEnabled: false,
  javascriptEnabled: true,
  userAgent: 'Browser/1',
  acceptHeader: '*/*',
  timeZone: '-60',
  screenHeight: '900',
  screenWidth: '1400',
}

export function openCardholders(parts: CardholderParts): Cardholders {
  const random = parts.chance.fork().random()
  const state: State = { ...parts, random, lastCres: undefined, lastPares: undefined }
  return { pay: (wanted, orderId) => pay(state, { wanted, orderId, plan: planOf(parts.chance) }) }
}

async function pay(state: State, payment: Payment): Promise<void> {
  const { chance, asking } = state
  const done = new Set<string>()
  for (let n = 0; n < polls; n++) {
    await asking.pause(chance.between(100, 1_500 + n * 300))
    const reply = await status(state, payment)
    if (!reply) continue
    if (finalStatuses.has(reply['status'] as Status)) return
    const task = tasksOf(reply).find(({ id }) => !done.has(id))
    if (!task) continue
    done.add(task.id)
    if ((await task.perform(state, payment)) === 'leaves') return
  }
}

async function status(
  { chance, slots, asking, random, onStatus, onRefused }: State,
  payment: Payment,
): Promise<Reply | undefined> {
  const { wanted, orderId } = payment
  const { merchantId } = configuration.endpoint(wanted.endpointId)!
  const reply = await asking.ask(chance.pick(slots), wanted, async (gateway) => {
    const shown = await gateway.ports.orders.shown({ merchantId, orderId })
    if (!shown) return refuse('order not found')
    const { order, transaction } = shown
    return performStatus({ ...askedOf(gateway, 'status', wanted, random), values: {}, order, transaction }, gateway.ports)
  })
  if (!reply) return undefined
  if ('refused' in reply) {
    onRefused(orderId, reply.refused!)
    return undefined
  }
  // The reply is about the newest transaction, which may already be a capture or a return.
  if (!['capture', 'reversal'].includes(reply['transaction-type']!)) onStatus(wanted, orderId, reply['status']!)
  return reply
}

/** The next step in a status reply for the cardholder's browser. Some cardholders leave here. */
interface Task {
  id: string
  perform(state: State, payment: Payment): Promise<'stays' | 'leaves'>
}

function tasksOf(reply: Reply): Task[] {
  const id = reply['tds-method-url-frame-3ds-server-trans-id']
  const creq = reply['tds-creq-form-creq']
  const pareq = reply['tds-pareq-form-pareq']
  const tasks: Task[] = []
  if (id !== undefined) {
    const token = reply['redirect-to']!.split('/').at(-1)!
    tasks.push({ id, perform: (state, payment) => runMethod(state, payment, id, token) })
  }
  if (creq !== undefined) tasks.push({ id: creq, perform: (state, payment) => challenge(state, payment, creq) })
  if (pareq !== undefined) {
    const md = reply['tds-pareq-form-md']!
    tasks.push({ id: pareq, perform: (state, payment) => authenticate(state, payment, pareq, md) })
  }
  return tasks
}

async function runMethod(state: State, payment: Payment, id: string, token: string): Promise<'stays' | 'leaves'> {
  const { plan } = payment
  if (plan.page) {
    await runOnPage(state, payment, token)
    return 'stays'
  }
  if (plan.strays) await uploadMethod(state, { ...payment, way: 'once', isRight: false }, id.replace(/^.{8}/, '00000000'))
  await state.asking.pause(plan.methodAfterMs)
  await uploadMethod(state, { ...payment, way: plan.method, isRight: true }, id)
  return plan.method === 'never' ? 'leaves' : 'stays'
}

/**
 * The hosted page reports its browser whenever it is loaded and begins the method, and once more
 * when the method is over.
 */
async function runOnPage(state: State, { wanted, orderId, plan }: Payment, token: string): Promise<void> {
  const { chance, slots, asking, onBegun, trace } = state
  for (let loads = 0; loads <= plan.reloads; loads++) {
    trace(() => `browser  ${wanted.clientOrderid} begins the method on the hosted page`)
    await asking.ask(chance.pick(slots), { token }, async ({ hosted }) => onBegun(orderId, await hosted.methodBegun(token, seen)))
    await asking.pause(chance.between(100, 6_000))
  }
  if (plan.page === 'is closed') return
  const collected = { compInd: chance.pick(['Y', 'N'] as const), browser: seen }
  const once = (slot: Slot) => asking.ask(slot, { token }, ({ hosted }) => hosted.browserCollected(token, collected))
  await (plan.method === 'both' ? Promise.all(slots.map(once)) : once(chance.pick(slots)))
}

/** The browser carries the CReq to the issuer, and may never return. */
async function challenge(state: State, payment: Payment, creq: string): Promise<'stays' | 'leaves'> {
  const { chance, asking, issuers } = state
  const { plan } = payment
  const send = (cres: string, isRight: boolean, way = plan.cres) => uploadCres(state, { ...payment, way, isRight }, cres)
  if (plan.before === 'forged') await send(cresOf(outOfBrowser(creq), 'Y'), true, 'once')
  const foreign = state.lastCres
  if (plan.before === 'foreign' && foreign !== undefined) await send(foreign, false, 'once')
  await asking.pause(plan.challengeMs)
  if (plan.at === 'away') return 'leaves'
  const cres = issuers.challenge(creq, plan.at)
  if (cres === undefined) return 'stays'
  state.lastCres = cres
  await asking.pause(chance.between(20, 3_000))
  await send(cres, true)
  return 'stays'
}

/**
 * The browser carries the PAReq to a 1.0.2 issuer, and may never return. Sometimes the cardholder
 * brings another PARes back.
 */
async function authenticate(state: State, payment: Payment, pareq: string, md: string): Promise<'stays' | 'leaves'> {
  const { chance, asking, legacyIssuers } = state
  const { plan } = payment
  const foreign = state.lastPares
  await asking.pause(chance.happens(0.02) ? chance.between(0.99 * hourMs, 1.02 * hourMs) : plan.challengeMs)
  if (plan.at === 'away') return 'leaves'
  const send = (paRes: string, window: string, way = plan.cres) =>
    uploadPares(state, { ...payment, way, isRight: true }, paRes, window)
  if (plan.before === 'foreign' && foreign !== undefined) await send(foreign, md, 'once')
  const paRes = legacyIssuers.authenticate(pareq, plan.at)
  if (paRes === undefined) return 'stays'
  state.lastPares = paRes
  await asking.pause(chance.between(20, 3_000))
  await send(paRes, chance.happens(0.03) ? 'of another window' : md)
  return 'stays'
}
