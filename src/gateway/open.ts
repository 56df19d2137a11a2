import { secret } from '../base/secret.ts'
import { gatewayRoutes, type GatewayApi } from '../gateway-api/serve.ts'
import { isInternal } from '../http/client-address.ts'
import type { Route } from '../http/server.ts'
import { openNonces } from '../merchant/nonces.ts'
import { openInvoices } from '../mobile-api/invoice/invoices.ts'
import { mobileRoutes, type MobileApi } from '../mobile-api/serve.ts'
import { openInvoiceWork, type InvoiceWorkParts } from '../mobile-api/invoice/steps.ts'
import { takeResult, wantedResult } from '../order/authentication/result.ts'
import { openCards } from '../order/cards.ts'
import { openCopies } from '../order/copies.ts'
import { openHand } from '../order/door/hand.ts'
import { openReader, type Reader } from '../order/read.ts'
import { momentPage } from '../pages/away.ts'
import { deniedPage, tooLongPage } from '../pages/denied.ts'
import { randomSumRoutes, sumPageUrl } from '../pages/random-sum.ts'
import { receiptRoutes } from '../pages/receipt.ts'
import { hostedOrders } from '../pages/three-d-secure-order.ts'
import { threeDSecureRoutes } from '../pages/three-d-secure.ts'
import type { Results } from '../three-d-secure/inbound.ts'
import type { Counting } from './counting.ts'
import { guarded, NotNow, OpenElsewhere, type Guarded } from './guard.ts'
import type { Ground } from './parts.ts'
import { startPeriodic } from './periodic.ts'
import { openLease, openMessages, openOrders, waysOf } from './rooms.ts'
import type { Between, Foundations, Lease, Ways } from './rooms.ts'
import type { GatewayGauges, Meters } from './watch.ts'

/** Orders whose status may be asked without reading them again: some 4 kB each. */
const copiesKept = 1_000
const limits = { maxWaiting: 4_000, maxOfMerchant: 1_500 }
/**
 * How long a stop waits for running requests to merchants' servers, for the acquirers' answers, and
 * for callbacks.
 */
const drain = { invoicesMs: 1_500, stepsMs: 6_000, deliveriesMs: 1_000 }

export interface GatewayParts extends Foundations {
  counting: Counting
  meters: Pick<Meters, 'answered' | 'repeated' | 'settled'>
  /** As `Gateway.collects`, for authentications of every cell; those of its own cell if absent. */
  collects?: HostedPages['collects']
}

/** All ports of the operations and pages: each of their files declares what it takes. */
export type Ports = GatewayApi &
  MobileApi &
  Parameters<typeof randomSumRoutes>[1] &
  Pick<Ways, 'receipts'> & { orders: Pick<Reader, 'locate'> }

type HostedPages = ReturnType<typeof hostedOrders>

/** A gateway over one cell. Several can be open in one process, each over a cell of its own. */
export interface Gateway {
  processId: bigint
  /** Its routes. A process that serves several gateways selects one by the request. */
  routes: readonly Route[]
  /** Whether an authentication of its cell waits for a method that reports to this URL. */
  collects: HostedPages['collects']
  /** Receives the results of challenges that directory servers post. */
  results: Results
  ports: Ports
  /** Its lease, for work that one process does for all. */
  lease: Lease
  /** Why it cannot accept work; empty if it can. */
  unready(): Promise<string[]>
  gauges: GatewayGauges
  /** Resolves when its lease is lost and it must stop. */
  lost: Promise<void>
  /**
   * Accepts no new work, waits a while for running work, and gives up its lease. Leaves stores and
   * transports open.
   */
  stop(): Promise<void>
}

/**
 * Opens the rooms, each after the ones it needs, and begins the work that is due. Throws if the
 * database of the cell does not answer.
 */
export async function openGateway(parts: GatewayParts, between: Between = {}): Promise<Gateway> {
  const { ground, stores, settings } = parts
  const { clock, random, log } = ground
  const { registry, cell } = stores
  const { orders } = cell
  const hand = openHand()
  const copies = openCopies(copiesKept)
  const ways = waysOf(parts, parts.counting)
  const lease = await openLease(parts, hand, between)
  const { keys } = registry
  const cards = openCards({ ...ground, orders, references: cell.references, keys })
  const { processId, heartbeat } = lease
  const invoices = openInvoices({ store: cell.invoices, processId, clock, log })
  const nonces = openNonces({ use: cell.useNonces, clock, log })
  const messages = openMessages(parts, { ...ways, ...lease, ...cards, invoices })
  const { sender } = messages
  const { door, steps } = openOrders(parts, { ...ways, ...lease, ...messages }, { hand, copies }, between)
  const reader = openReader({ store: orders, hand, copies, heartbeat, clock, log })
  const rooms: Guarded = { door, orders: reader, cards, invoices, wrongSums: cell.wrongSums, nonces }
  const own = portsOver(parts, { ...ways, ...lease, ...parts.counting }, rooms)
  const invoiceWork = openInvoiceWork(own, settings.tuning.sweepMs * 2)
  const asked = guarded(rooms, { cellNo: cell.cellNo, registry, clock })
  const ports = { ...own, ...portsOf(asked), begin: invoiceWork.begin, waitingOf: invoiceWork.waitingOf }
  const hosted = hostedOrders({ ...ports, ...findingOf(ports), merchant: (id) => registry.current().merchant(id) })
  const resulting = { ...registry, orders: asked.orders, random, log, door: asked.door, registry: registry.current }

  steps.sweep(door)
  sender.sweep()
  invoiceWork.sweep()
  const stopPeriodic = startPeriodic(clock, log, cell.upkeep)

  return {
    processId,
    routes: routesOf(parts, ports, hosted),
    collects: hosted.collects,
    ports,
    lease,
    results: {
      wanted: (id) => wantedResult(resulting, id),
      result: (message) => takeResult(resulting, message),
    },
    async unready() {
      const reasons = heartbeat.holding() ? [] : ['the lease of this process is late or lost']
      await cell.answers().catch(() => reasons.push('the database does not answer'))
      return reasons
    },
    gauges: {
      orders: door.counts,
      waiting: door.waiting,
      deliveries: sender.counts,
      parked: () => ({ transactions: steps.parked(), invoices: invoiceWork.parked() }),
      holding: heartbeat.holding,
      leases: heartbeat.counts,
    },
    lost: heartbeat.lost,
    async stop() {
      stopPeriodic()
      await invoiceWork.stop(drain.invoicesMs)
      await steps.stop(drain.stepsMs)
      await door.close()
      await sender.stop(drain.deliveriesMs)
      await nonces.close()
      await reader.close()
      await invoices.close()
      await cards.close()
      await heartbeat.stop()
    },
  }
}

/** All ports except those of the invoice worker, which is built on them. */
function portsOver(
  { ground, stores, transports, settings, meters }: GatewayParts,
  opened: Ways & Lease & Counting,
  rooms: Guarded,
): Omit<Ports, 'begin' | 'waitingOf'> & InvoiceWorkParts {
  const { random } = ground
  const { registry } = stores
  return {
    ...ground,
    ...meters,
    ...opened,
    ...portsOf(rooms),
    registry: registry.current,
    publicUrls: settings.publicUrls,
    denied: (request) => deniedPage(random, request),
    tooLong: (limitBytes) => tooLongPage(random, limitBytes),
    keys: registry.keys,
    orderIds: registry.ids('order'),
    issuerOf: registry.issuerOf,
    logo: registry.logo,
    limits,
    callbackPolicy: settings.callbackPolicy,
    outgoing: transports.outgoing,
    sumPage: (token) => sumPageUrl(opened.publicUrl, token),
    holding: opened.heartbeat.holding,
    explains: settings.explains,
    mayComeAgain: (error) => error instanceof NotNow,
    decoyKey: secret(random.bytes(16).toString('hex')),
  }
}

const portsOf = ({ cards, nonces, ...rooms }: Guarded) => ({ ...cards, ...rooms, useNonce: nonces.use })

const findingOf = ({ orders }: Ports) => ({ locate: orders.locate, order: orders.byId })

function routesOf({ ground, stores, settings, collects }: GatewayParts, ports: Ports, hosted: HostedPages): Route[] {
  const { clock, random } = ground
  const { current } = stores.registry
  const { basePath, publicUrls, callbackPolicy } = settings
  const { guessed } = ports
  const pages = [
    ...receiptRoutes(basePath, {
      random,
      receipts: ports.receipts,
      ...findingOf(ports),
      merchant: (id) => current().merchant(id),
      logo: ports.logo,
      guessed,
    }),
    ...randomSumRoutes(basePath, ports),
    ...threeDSecureRoutes({
      base: basePath,
      publicUrl: publicUrls[0],
      loopbackHttp: callbackPolicy.loopbackAnyPort,
      random,
      logo: ports.logo,
      now: clock.now,
      guessed,
      ipOf: ({ clientAddress }) => (isInternal(clientAddress) ? undefined : clientAddress),
      ...hosted,
      ...(collects && { collects }),
    }),
  ]
  return [...gatewayRoutes(basePath, ports), ...mobileRoutes(basePath, ports), ...pages.map((page) => patient(page, ground))]
}

/** A page that cannot be done now is done once its browser asks again. */
const patient = (route: Route, { random, turns }: Ground): Route => ({
  ...route,
  async handle(request) {
    try {
      return await route.handle(request)
    } catch (error) {
      if (!(error instanceof NotNow) || error instanceof OpenElsewhere) throw error
      return momentPage(random, turns, request)
    }
  },
})
