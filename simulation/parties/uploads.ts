import { atOnce } from '../../src/base/turn.ts'
import type { Random } from '../../src/base/random.ts'
import type { Upload as Uploaded, WithOrder } from '../../src/gateway-api/stages.ts'
import type { Reply } from '../../src/gateway-api/reply.ts'
import { cresReader } from '../../src/order/authentication/browser.ts'
import type { Values } from '../../src/spec/field.ts'
import type { uploadMethodRequest } from '../../src/spec/gateway/upload.ts'
import type { Refusal } from '../../src/spec/refusals.ts'
import { askedOf, type Asked, type Asking, type Named, type Slot } from '../world/asking.ts'
import type { Way } from './cardholder-plans.ts'
import type { Chance } from '../world/chance.ts'
import type { Events } from '../world/clock.ts'
import { configuration } from '../model/configuration.ts'

/** A merchant's upload. The same `what` for the same order means the same content. */
export interface Upload {
  orderId: bigint
  what: string
  /** It belongs to the authentication that a status reply showed. */
  isRight: boolean
}

export interface UploadParts {
  events: Events
  chance: Chance
  random: Random
  slots: readonly Slot[]
  asking: Asking
  /** A gateway has answered an upload that reached it at `reachedAt`. */
  onUploaded(upload: Upload, reply: Reply | Refusal, reachedAt: number): void
  /** A merchant is about to upload this PARes for this order. */
  onCarried(orderId: bigint, paRes: string): void
  trace(what: () => string): void
}

/** The order of an upload, and how it is sent. */
interface Sending {
  wanted: Named
  orderId: bigint
  way: Way
  isRight: boolean
}

/** The content of an upload, with its text in the trace and the function that performs it. */
interface Content {
  what: string
  shown: string
  kind: Uploaded
  perform: (gateway: Asked, asked: About) => Promise<Reply | Refusal>
}

type About = ReturnType<typeof askedOf<Uploaded>> & WithOrder

const tries = 5

// oxfmt-ignore
const browser = {
  browserLanguage: 'en-GB', browserColorDepth: '24', browserJavaEnabled: false, browserJavascriptEnabled: true,
  browserUserAgent: 'Browser/1', browserAcceptHeader: '*/*', browserTZ: '-60', browserScreenHeight: '900', browserScreenWidth: '1400',
} as const

/** The result of the method with this id. */
export function uploadMethod(parts: UploadParts, sending: Sending, id: string): Promise<void> {
  const threeDSCompInd = parts.chance.pick(['Y', 'Y', 'N', 'U'])
  const values = { ...browser, threeDSServerTransID: id, threeDSCompInd } as unknown as Values<typeof uploadMethodRequest>
  const what = `method of ${id}`
  return upload(parts, sending, {
    what,
    shown: what,
    kind: 'upload-method-url-result',
    perform: ({ uploads, ports }, asked) => uploads.method({ ...asked, values }, ports),
  })
}

export function uploadCres(parts: UploadParts, sending: Sending, param: string): Promise<void> {
  const cres = atOnce(cresReader(param))
  if (cres.is === 'unreadable') throw new Error(`an issuer made a CRes that is ${cres.why}`)
  const what = `CRes ${String(cres.status)} of ${String(cres.threeDSServerTransId)}`
  return upload(parts, sending, {
    what,
    shown: what,
    kind: 'upload-cres-result',
    perform: ({ uploads, ports }, asked) => uploads.cres({ ...asked, cres }, ports),
  })
}

export function uploadPares(parts: UploadParts, sending: Sending, paRes: string, md: string): Promise<void> {
  parts.onCarried(sending.orderId, paRes)
  return upload(parts, sending, {
    what: `PARes ${paRes}`,
    shown: 'a PARes',
    kind: 'upload-pares-result',
    perform: ({ uploads, ports }, asked) => uploads.pares({ ...asked, values: { paRes, md } }, ports),
  })
}

async function upload(parts: UploadParts, sending: Sending, content: Content): Promise<void> {
  const { chance, slots, asking } = parts
  const once = (slot?: Slot) => insist(parts, sending, content, slot)
  if (sending.way === 'both') return void (await Promise.all(slots.map((slot) => once(slot))))
  if (sending.way !== 'never') await once()
  if (sending.way !== 'again') return
  await asking.pause(chance.between(0, 20_000))
  await once()
}

/** Repeats an upload until it is answered, at random processes or always at `to`. */
async function insist(parts: UploadParts, sending: Sending, content: Content, to?: Slot): Promise<void> {
  const { chance, slots, asking, trace } = parts
  for (let n = 0; n < tries; n++) {
    trace(() => `shop     ${sending.wanted.clientOrderid} uploads ${content.shown}`)
    const answer = await asking.ask(to ?? chance.pick(slots), sending.wanted, (gateway) =>
      performAt(gateway, parts, sending, content),
    )
    if (answer) return
    await asking.pause(chance.between(200, 4_000))
  }
}

async function performAt(gateway: Asked, parts: UploadParts, sending: Sending, content: Content): Promise<Reply | Refusal> {
  const { wanted, orderId } = sending
  const { merchantId } = configuration.endpoint(wanted.endpointId)!
  const asked = askedOf(gateway, content.kind, wanted, parts.random)
  const order = await gateway.ports.orders.byId({ merchantId, orderId })
  if (!order) throw new Error(`order ${orderId} is not there`)
  return performNoted(gateway, parts, sending, content, { ...asked, order })
}

/**
 * Separate from `performAt`, because the number of promises that an answer passes decides which
 * answer of one event draws first, and so decides every run.
 */
async function performNoted(
  gateway: Asked,
  { events, onUploaded }: UploadParts,
  { orderId, isRight }: Sending,
  { what, perform }: Content,
  asked: About,
): Promise<Reply | Refusal> {
  const reachedAt = events.now
  const reply = await perform(gateway, asked)
  onUploaded({ orderId, what, isRight }, reply, reachedAt)
  return reply
}
