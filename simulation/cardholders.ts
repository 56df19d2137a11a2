import type { Asked } from '../src/gateway-api/asked.ts'
import type { Reply } from '../src/gateway-api/reply.ts'
import { performStatus } from '../src/gateway-api/status.ts'
import { readCres } from '../src/order/authentication/browser.ts'
import type { Refusal } from '../src/spec/refusals.ts'
import { finalStatuses, type Status } from '../src/spec/words.ts'
import type { Values } from '../src/spec/field.ts'
import type { BrowserData } from '../src/three-d-secure/authentication.ts'
import type { uploadMethodRequest } from '../src/spec/gateway/upload.ts'
import { askedOf, type Asking, type Named, type Slot } from './asking.ts'
import type { Chance } from './chance.ts'
import type { Events } from './clock.ts'
import { configuration } from './configuration.ts'
import type { Gateway } from './gateway-parts.ts'
import { cresOf, outOfBrowser, type Json } from './issuer-messages.ts'
import type { AtIssuer, Issuers } from './issuers.ts'
import type { LegacyIssuers } from './legacy-issuers.ts'

/** A merchant's upload: the same `what` of the same order says the same. */
export interface Upload {
  orderId: bigint
  what: string
  /** It is about the authentication that a status reply showed. */
  isRight: boolean
}

export interface CardholderParts {
  events: Events
  chance: Chance
  slots: readonly Slot[]
  asking: Asking
  issuers: Issuers
  legacyIssuers: LegacyIssuers
  onStatus(wanted: Named, orderId: bigint, status: string): void
  /** A gateway has answered an upload that reached it at that time. */
  onUploaded(upload: Upload, reply: Reply | Refusal, reachedAt: number): void
  /**
   * A gateway has answered a hosted page that began the method: until when it waits for it, if it
   * does.
   */
  onBegun(orderId: bigint, until: number | undefined): void
  /** A merchant is about to upload this PARes for this order. */
  onCarried(orderId: bigint, paRes: string): void
  trace(what: () => string): void
}

/** Cardholders who are authenticated, with the merchants whose pages they use. */
export interface Cardholders {
  /** Carries a payment through its authentication, as far as this cardholder and this merchant do. */
  pay(wanted: Named, orderId: bigint): Promise<void>
}

/** What an upload of a PARes begins with. */
const paresUpload = 'PARes '

/** How an upload is made: once; again after it was answered; to both processes at once; or not at all. */
type Way = 'once' | 'again' | 'both' | 'never'

/**
 * What becomes of the hosted page once it began the method: its browser is described when it is
 * over, or the tab is closed.
 */
type OnPage = 'stays' | 'is closed'

interface Plan {
  methodAfterMs: number
  method: Way
  /** Absent: the merchant runs the method on a page of its own. */
  page: OnPage | undefined
  /** How often the page is loaded again meanwhile. */
  reloads: number
  /** Uploads the method of somebody else first. */
  strays: boolean
  at: AtIssuer | 'away'
  challengeMs: number
  cres: Way
  /** What is uploaded before the cardholder has answered, if anything: a CRes of the merchant's own making, or of another order. */
  before: 'forged' | 'foreign' | undefined
}

const hour = 3_600_000
const polls = 40

function planOf(chance: Chance): Plan {
  const ways: Way[] = ['once', 'once', 'once', 'once', 'once', 'again', 'both', 'both']
  const late = chance.happens(0.05) ? chance.between(30_000, 240_000) : chance.between(50, 8_000)
  return {
    methodAfterMs: chance.happens(0.002) ? chance.between(0.51 * hour, 0.6 * hour) : late,
    method: chance.happens(0.03) ? 'never' : chance.pick(ways),
    page: chance.happens(0.3) ? chance.pick(['stays', 'is closed']) : undefined,
    reloads: chance.pick([0, 0, 0, 1, 2]),
    strays: chance.happens(0.05),
    at: chance.pick(['right', 'right', 'right', 'right', 'right', 'right', 'wrong', 'cancel', 'away']),
    challengeMs: chance.happens(0.05) ? chance.between(60_000, 400_000) : chance.between(500, 30_000),
    cres: chance.happens(0.1) ? 'never' : chance.pick(ways),
    before: chance.happens(0.08) ? 'forged' : chance.happens(0.05) ? 'foreign' : undefined,
  }
}

// oxfmt-ignore
const browser = {
  browserLanguage: 'en-GB', browserColorDepth: '24', browserJavaEnabled: false, browserJavascriptEnabled: true, browserUserAgent: 'Browser/1',
  browserAcceptHeader: '*/*', browserTZ: '-60', browserScreenHeight: '900', browserScreenWidth: '1400',
} as const

/** The same, as the hosted page sees it. */
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
  const { events, chance, slots, asking, issuers, legacyIssuers, trace } = parts
  const { ask, pause } = asking
  const random = chance.fork().random()
  const tries = 5
  /** What issuers have handed out, for a merchant to mix up. */
  const handedOut: string[] = []
  const paresHandedOut: string[] = []

  type Ask = (gateway: Gateway, asked: Asked) => Promise<Reply | Refusal>
  /** A request about an order, to a process at random or to this one. */
  function about(wanted: Named, orderId: bigint, kind: Asked['operation'], perform: Ask, slot = chance.pick(slots)) {
    const { merchantId } = configuration.endpoint(wanted.endpointId)!
    return ask(slot, async (gateway) => {
      const asked: Asked = { ...askedOf(gateway, kind, wanted, random), values: {} }
      const order = await gateway.served.orders.byId({ merchantId, orderId })
      if (!order) throw new Error(`order ${orderId} is not there`)
      return perform(gateway, { ...asked, order })
    })
  }

  async function status(wanted: Named, orderId: bigint): Promise<Reply | undefined> {
    const { merchantId } = configuration.endpoint(wanted.endpointId)!
    const reply = await ask(chance.pick(slots), async (gateway) => {
      const shown = await gateway.served.orders.shown({ merchantId, orderId })
      return performStatus({ ...askedOf(gateway, 'status', wanted, random), values: {}, ...shown })
    })
    if (!reply) return undefined
    if ('refused' in reply) throw new Error(`the status of order ${orderId} was refused: ${reply.refused}`)
    // It shows the newest of what was asked, which may be about a capture or return by now.
    if (!['capture', 'reversal'].includes(reply['transaction-type']!)) parts.onStatus(wanted, orderId, reply['status']!)
    return reply
  }

  async function upload(wanted: Named, told: Upload, way: Way, kind: Asked['operation'], perform: Ask): Promise<void> {
    const once = async (slot?: Slot) => {
      for (let n = 0; n < tries; n++) {
        trace(() => `shop     ${wanted.clientOrderid} uploads ${told.what.startsWith(paresUpload) ? 'a PARes' : told.what}`)
        const noted: Ask = async (gateway, asked) => {
          const reachedAt = events.now
          const reply = await perform(gateway, asked)
          parts.onUploaded(told, reply, reachedAt)
          return reply
        }
        if (await about(wanted, told.orderId, kind, noted, slot)) return
        await pause(chance.between(200, 4_000))
      }
    }
    if (way === 'both') return void (await Promise.all(slots.map((slot) => once(slot))))
    if (way !== 'never') await once()
    if (way !== 'again') return
    await pause(chance.between(0, 20_000))
    await once()
  }

  const uploadMethod = (wanted: Named, orderId: bigint, id: string, way: Way, isRight: boolean) => {
    const threeDSCompInd = chance.pick(['Y', 'Y', 'N', 'U'])
    const values = { ...browser, threeDSServerTransID: id, threeDSCompInd } as unknown as Values<typeof uploadMethodRequest>
    return upload(wanted, { orderId, what: `method of ${id}`, isRight }, way, 'upload-method-url-result', (gateway, asked) =>
      gateway.uploads.method({ ...asked, values }),
    )
  }

  /**
   * The hosted page tells what it knows of its browser as it begins the method, at each load, and
   * once more when the method is over.
   */
  async function onPage(wanted: Named, orderId: bigint, token: string, { page, reloads, method }: Plan): Promise<void> {
    for (let loads = 0; loads <= reloads; loads++) {
      trace(() => `browser  ${wanted.clientOrderid} begins the method on the hosted page`)
      await ask(chance.pick(slots), async ({ hosted }) => parts.onBegun(orderId, await hosted.methodBegun(token, seen)))
      await pause(chance.between(100, 6_000))
    }
    if (page === 'is closed') return
    const collected = { compInd: chance.pick(['Y', 'N'] as const), browser: seen }
    const once = (slot: Slot) => ask(slot, ({ hosted }) => hosted.browserCollected(token, collected))
    await (method === 'both' ? Promise.all(slots.map(once)) : once(chance.pick(slots)))
  }

  function uploadCres(wanted: Named, orderId: bigint, param: string, way: Way, isRight: boolean) {
    const cres = readCres(param)
    if (cres.is === 'unreadable') throw new Error(`an issuer made a CRes that is ${cres.why}`)
    const what = `CRes ${String(cres.status)} of ${String(cres.threeDSServerTransId)}`
    return upload(wanted, { orderId, what, isRight }, way, 'upload-cres-result', (gateway, asked) =>
      gateway.uploads.cres({ ...asked, cres }),
    )
  }

  /** The browser goes to the issuer with the CReq, and comes back or not. */
  async function challenge(wanted: Named, orderId: bigint, creq: string, plan: Plan): Promise<void> {
    const named: Json = outOfBrowser(creq)
    if (plan.before === 'forged') await uploadCres(wanted, orderId, cresOf(named, 'Y'), 'once', true)
    const foreign = handedOut[0]
    if (plan.before === 'foreign' && foreign !== undefined) await uploadCres(wanted, orderId, foreign, 'once', false)
    await pause(plan.challengeMs)
    if (plan.at === 'away') return
    const cres = issuers.challenge(creq, plan.at)
    if (cres === undefined) return
    handedOut[0] = cres
    await pause(chance.between(20, 3_000))
    await uploadCres(wanted, orderId, cres, plan.cres, true)
  }

  function uploadPares(wanted: Named, orderId: bigint, paRes: string, md: string, way: Way) {
    parts.onCarried(orderId, paRes)
    return upload(
      wanted,
      { orderId, what: `${paresUpload}${paRes}`, isRight: true },
      way,
      'upload-pares-result',
      (gateway, asked) => gateway.uploads.pares({ ...asked, values: { paRes, md } }),
    )
  }

  /**
   * The browser goes to an issuer of 1.0.2 with the PAReq, and comes back or not; at times the
   * cardholder has another answer with it.
   */
  async function payer(wanted: Named, orderId: bigint, pareq: string, md: string, plan: Plan): Promise<void> {
    const foreign = paresHandedOut[0]
    await pause(chance.happens(0.02) ? chance.between(0.99 * hour, 1.02 * hour) : plan.challengeMs)
    if (plan.at === 'away') return
    if (plan.before === 'foreign' && foreign !== undefined) await uploadPares(wanted, orderId, foreign, md, 'once')
    const paRes = legacyIssuers.authenticate(pareq, plan.at)
    if (paRes === undefined) return
    paresHandedOut[0] = paRes
    await pause(chance.between(20, 3_000))
    await uploadPares(wanted, orderId, paRes, chance.happens(0.03) ? 'of another window' : md, plan.cres)
  }

  return {
    async pay(wanted, orderId) {
      const plan = planOf(chance)
      const done = new Set<string>()
      for (let n = 0; n < polls; n++) {
        await pause(chance.between(100, 1_500 + n * 300))
        const reply = await status(wanted, orderId)
        if (!reply) continue
        if (finalStatuses.has(reply['status'] as Status)) return
        const id = reply['tds-method-url-frame-3ds-server-trans-id']
        const creq = reply['tds-creq-form-creq']
        const pareq = reply['tds-pareq-form-pareq']
        if (id !== undefined && !done.has(id)) {
          done.add(id)
          const token = reply['redirect-to']!.split('/').at(-1)!
          if (plan.page) {
            await onPage(wanted, orderId, token, plan)
            continue
          }
          if (plan.strays) await uploadMethod(wanted, orderId, id.replace(/^.{8}/, '00000000'), 'once', false)
          await pause(plan.methodAfterMs)
          await uploadMethod(wanted, orderId, id, plan.method, true)
          if (plan.method === 'never') return
        } else if (creq !== undefined && !done.has(creq)) {
          done.add(creq)
          await challenge(wanted, orderId, creq, plan)
          if (plan.at === 'away') return
        } else if (pareq !== undefined && !done.has(pareq)) {
          done.add(pareq)
          await payer(wanted, orderId, pareq, reply['tds-pareq-form-md']!, plan)
          if (plan.at === 'away') return
        }
      }
    },
  }
}
