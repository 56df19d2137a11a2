import type { Apps } from './apps.ts'
import { openAsking, type Slot } from '../world/asking.ts'
import { openBackOffices, type BackOffices } from './back-offices.ts'
import { openCardholders } from './cardholders.ts'
import type { Chance } from '../world/chance.ts'
import type { Events } from '../world/clock.ts'
import type { Invariants } from '../watch/invariants.ts'
import { openMobile } from './mobile.ts'
import type { Peers } from '../world/peers.ts'
import { openShoppers, type Shoppers } from './shoppers.ts'
import type { Installation } from '../world/installation.ts'
import type { Operators } from '../world/operators.ts'
import type { Trace } from '../world/time-line.ts'
import type { Weather } from '../world/troubles.ts'

/** The customers of shops, with the back offices behind the shops, and of apps. */
export interface Customers {
  shoppers: Shoppers
  apps: Apps
}

export interface CustomerParts {
  events: Events
  chances: Record<'asking' | 'cardholders' | 'backOffices' | 'shop' | 'apps', Chance>
  weather: Pick<Weather, 'shop'>
  installation: Installation
  slots: readonly Slot[]
  peers: Peers
  operators: Operators
  invariants: Invariants
  trace: Trace
}

/** Opens the customers, and reports all that they do and see to the invariants. */
export function openCustomers(parts: CustomerParts): Customers {
  const { events, chances, weather, installation, slots, peers, operators, invariants, trace } = parts
  const { network, servers, issuers, legacyIssuers } = peers
  const { paying } = invariants.cvv2s
  const asking = openAsking(events, chances.asking, () => weather.shop.lostOdds)
  const shared = { slots, asking, trace }
  const onStatus = (_wanted: unknown, orderId: bigint, status: string) => invariants.statuses.shown(orderId, status)
  const onMissing = (orderId: bigint, how = 'is not found') => {
    invariants.breaks('an acknowledged order exists', `order ${orderId}: ${how}`)
    return undefined
  }
  const cardholders = openCardholders({
    ...shared,
    events,
    chance: chances.cardholders,
    issuers,
    legacyIssuers,
    onStatus,
    onRefused: (orderId, refused) => onMissing(orderId, refused),
    onUploaded: invariants.authentications.uploaded,
    onBegun: invariants.authentications.begun,
    onCarried: invariants.legacy.carried,
  })
  const backOffices = openWatchedOffices(parts, asking, onMissing)
  const shoppers = openShoppers({
    ...shared,
    chance: chances.shop,
    cardholders,
    backOffices,
    operators,
    observer: {
      onPaying: ({ endpointId, clientOrderid, values }) => paying(endpointId, clientOrderid, values.cvv2?.reveal()),
      onAnswer(wanted, answer) {
        const outcome = () => ('orderId' in answer ? `order ${answer.orderId}` : answer.refused)
        trace(() => `shop     ${wanted.clientOrderid} is answered ${outcome()}`)
        invariants.answers.answered(wanted, answer)
      },
      onKeyed: invariants.answers.keyed,
      onKeyedAnswer: invariants.answers.keyedAnswer,
      onStatus,
      onMissing,
      onRegistered: invariants.followUps.registered,
      trace,
    },
  })
  const watch = invariants.mobile
  const apps = openMobile({
    ...shared,
    chance: chances.apps,
    installation,
    ledger: network.ledger,
    servers,
    cardholders,
    paying,
    watch,
  })
  return { shoppers, apps }
}

const openWatchedOffices = (
  { chances, slots, invariants, trace }: CustomerParts,
  asking: ReturnType<typeof openAsking>,
  onMissing: (orderId: bigint) => undefined,
): BackOffices =>
  openBackOffices({
    chance: chances.backOffices,
    slots,
    asking,
    observer: {
      onFollowing: invariants.followUps.following,
      onFollowed: invariants.followUps.followed,
      onMissing,
      onDefect: ({ orderId, operation }, why) =>
        invariants.breaks('the same request has the same answer', `the ${operation} of order ${orderId} was done, and ${why}`),
      trace,
    },
  })
