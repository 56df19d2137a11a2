/** The rooms of a gateway, each opened over those before it. */
import { cellMarks, type CellMarks } from '../base/cell-mark.ts'
import { withCvv2 } from '../card/vault.ts'
import type { Delivery } from '../delivery/delivery.ts'
import { openSender, type Sender } from '../delivery/send.ts'
import type { Rendered } from '../delivery/try.ts'
import { messageSigner } from '../delivery/webhook.ts'
import { callbackMessages } from '../gateway-api/callback-messages.ts'
import type { TargetPolicy } from '../http/address.ts'
import type { Endpoint } from '../merchant/merchant.ts'
import type { Invoices } from '../mobile-api/invoice/invoices.ts'
import { cardMapping } from '../mobile-api/merchant/mapping.ts'
import { openDoor, type Door } from '../order/door/advance.ts'
import { authenticate } from '../order/authentication/ask-issuer.ts'
import type { AuthenticationPlanner } from '../order/authentication/plan.ts'
import type { LegacyAuthentication } from '../order/authentication/legacy.ts'
import { openLegacy } from '../order/authentication/legacy/open.ts'
import type { Cards } from '../order/cards.ts'
import type { Copies } from '../order/copies.ts'
import type { Hand } from '../order/door/hand.ts'
import type { Order } from '../order/decide/order.ts'
import { openReceiptIds, type ReceiptIds } from '../order/decide/receipt.ts'
import { performersOf, type OutsideStep, type Performer } from '../order/perform.ts'
import { openSteps, type Steps } from '../order/steps.ts'
import { hideBy } from '../risk/limits.ts'
import { startHeartbeat, type Heartbeat } from '../leases/heartbeat.ts'
import { openJudge, type Judge } from '../leases/silence.ts'
import { enrolmentBy } from '../three-d-secure/enrolment.ts'
import { hostedUrls, usableUrl, type HostedUrls } from '../three-d-secure/forms.ts'
import type { Counting } from './counting.ts'
import { sparedIn } from './guard.ts'
import type { GatewaySettings, Ground, Stores, ThreeDSecureFacts, Transports } from './parts.ts'
import type { Meters } from './watch.ts'

/** The foundations of a gateway. */
export interface Foundations {
  ground: Ground
  stores: Stores
  transports: Transports
  settings: GatewaySettings
}

/**
 * Where a planted bug of the simulation is inserted between two rooms. Only the simulation passes
 * any.
 */
export interface Between {
  heartbeat?: (heartbeat: Heartbeat) => Heartbeat
  performers?: (performers: Record<OutsideStep, Performer>) => Record<OutsideStep, Performer>
  door?: (door: Door, performers: Record<OutsideStep, Performer>) => Door
}

const callbackTimeoutMs = 10_000
const noServer: Pick<ThreeDSecureFacts, 'server' | 'legacy'> = {
  server: { refNumber: '', resultsUrl: '' },
  legacy: [],
}

/** Values derived from the settings alone. */
export interface Ways {
  /** Root of the gateway's own pages, such as https://pay.example/gateway. */
  publicUrl: string
  /** The gateway's own pages of an authentication. */
  pages: (token: string) => HostedUrls
  /** Whether a browser may be sent to a URL from a merchant or an issuer. */
  usable: (url: string) => boolean
  /** Where messages about orders of an endpoint may go. */
  policyOf: (endpoint: Endpoint | undefined) => TargetPolicy
  /** Makes ids that lead to this cell. */
  marks: CellMarks
  planner: AuthenticationPlanner
  receipts: ReceiptIds
  legacy: LegacyAuthentication
}

export function waysOf({ ground, stores, transports, settings }: Foundations, { oddities }: Pick<Counting, 'oddities'>): Ways {
  const { callbackPolicy, threeDSecure, basePath } = settings
  const { current, keys, ranges } = stores.registry
  const publicUrl = settings.publicUrls[0] + basePath
  const { legacy } = threeDSecure ?? noServer
  const marks = cellMarks(ground.random, stores.cell.cellNo)
  return {
    publicUrl,
    pages: (token) => hostedUrls(publicUrl, basePath, token),
    usable: (url) => usableUrl(url, { loopbackHttp: callbackPolicy.loopbackAnyPort }) instanceof URL,
    policyOf: (endpoint) => ({
      ...callbackPolicy,
      plainHttp: callbackPolicy.plainHttp || endpoint?.settings.plainHttpCallbacks === true,
    }),
    marks,
    planner: {
      enrolment: threeDSecure ? enrolmentBy({ ranges, ...threeDSecure }) : () => ({ is: 'unknown' }),
      marks,
      steering: settings.steering,
    },
    receipts: openReceiptIds(keys),
    legacy: openLegacy({
      ...ground,
      keys,
      registry: current,
      askEnrolment: transports.directories.enrol,
      roots: (name) => legacy.find((one) => one.name === name)?.roots ?? [],
      oddities,
      site: publicUrl,
    }),
  }
}

export interface Lease {
  processId: bigint
  heartbeat: Heartbeat
  judge: Judge
}

/** Takes a process id of the cell and begins to beat. */
export async function openLease({ ground, stores, settings }: Foundations, hand: Hand, between: Between): Promise<Lease> {
  const { clock, log } = ground
  const { registry, cell } = stores
  const processId = await registry.ids('process', 1).take()
  const beating = await startHeartbeat({
    store: cell.heartbeat,
    processId,
    instance: settings.instance,
    clock,
    log,
    heart: cell.heart,
    inHand: hand.size,
    ...(cell.pulse && { pulse: cell.pulse }),
  })
  const heartbeat = between.heartbeat?.(beating) ?? beating
  const judge = openJudge(cell.silent, heartbeat, clock)
  return { processId, heartbeat, judge: async () => ({ ...(await judge()), spared: sparedIn(cell.cellNo, registry) }) }
}

export interface Messages {
  sender: Sender
  /** A message about an order that is already loaded. */
  rendered: (delivery: Delivery, order: Order) => Promise<Rendered | undefined>
}

/** Callbacks and card mappings, and their sender. */
export function openMessages(
  { ground, stores, transports, settings }: Foundations,
  over: Ways & Lease & Cards & { invoices: Invoices },
): Messages {
  const { clock, random, log } = ground
  const { registry, cell } = stores
  const { policyOf, heartbeat, judge } = over
  const orderOf = async (delivery: Delivery) => (await cell.orders.load([delivery]))[0]
  const callbacks = callbackMessages({ registry: registry.current, orderOf, policyOf })
  const mapping = cardMapping({ ...over, registry: registry.current, clock }, orderOf)
  const sender = openSender({
    store: cell.deliveries,
    outgoing: transports.outgoing,
    kinds: { 'card mapping': mapping, callback: callbacks },
    sign: messageSigner((merchantId) => registry.current().merchant(merchantId), clock),
    clock,
    random,
    heartbeat,
    judge,
    log,
    timeoutMs: callbackTimeoutMs,
    maxInHand: settings.tuning.maxHeld,
    sweepMs: settings.tuning.sweepMs * 2,
  })
  return {
    sender,
    rendered: async (delivery, order) => (delivery.kind === 'callback' ? callbacks : mapping).renderFor(delivery, order),
  }
}

export interface Orders {
  steps: Steps
  door: Door
}

/** Orders in the memory of this process. */
export interface Memory {
  hand: Hand
  copies: Copies
}

/** The door, and the loop that runs the steps of orders. */
export function openOrders(
  on: Foundations & { meters: Pick<Meters, 'settled'> },
  over: Ways & Lease & Messages,
  memory: Memory,
  between: Between,
): Orders {
  const { ground, stores, transports, settings } = on
  const { clock, random, log, turns } = ground
  const { current: registry, keys, ids } = stores.registry
  const { orders } = stores.cell
  const { tuning } = settings
  const { processId, heartbeat, judge, sender, planner } = over
  const server = { ...(settings.threeDSecure ?? noServer).server, pages: over.pages }
  const asking = { clock, random, keys, registry, server, usable: over.usable }
  const own = performersOf({
    clock,
    marks: over.marks,
    keys,
    receipts: over.receipts,
    authenticate: (held, step) => authenticate({ ...asking, ask: transports.directories.authenticate }, held, step),
    enrol: over.legacy.enrol,
    gate: (id) => registry().gate(id),
    endpoint: (id) => registry().endpoint(id),
    connector: transports.gates.connector,
    holding: heartbeat.holding,
    processId,
    sendWithinMs: tuning.sendWithinMs,
    reversalPausesMs: tuning.reversalPausesMs,
  })
  const performers = between.performers?.(own) ?? own
  const { sweepMs } = tuning
  const steps = openSteps({ store: orders, performers, heartbeat, judge, clock, log, sweepMs, sweepLimit: 200 })
  const door = openDoor({
    ...tuning,
    store: orders,
    ...memory,
    attempts: ids('attempt'),
    clock,
    log,
    keys,
    processId,
    registry,
    planner,
    hide: hideBy(keys),
    sealCvv2: ({ sealed, card, order }) => withCvv2(sealed, card, order, keys, random),
    rush: turns.rush,
    onSettled: on.meters.settled,
    onStep: steps.start,
    onStepDue: steps.expect,
    deliveryRoom() {
      const hasRoom = tuning.handOver ? sender.room() : () => false
      // Messages to a closed merchant are sent from where its orders go.
      return (merchantId, deliveries) => registry().merchant(merchantId)?.moving !== 'closed' && hasRoom(merchantId, deliveries)
    },
    onDeliveryDue: (dueAt) => sender.expect(dueAt),
    onDeliveries: (deliveries, order) =>
      sender.take(deliveries.map((delivery) => ({ delivery, render: () => over.rendered(delivery, order) }))),
  })
  return { steps, door: between.door?.(door, performers) ?? door }
}
