import { openLegacyIssuers, type LegacyIssuers } from '../parties/legacy-issuers.ts'
import { legacyNetworks } from '../parties/legacy-keys.ts'
import type { Slot } from './asking.ts'
import type { Chance } from './chance.ts'
import type { Events } from './clock.ts'
import type { Wraps } from './gateway-parts.ts'
import { openIssuers, type Issuers } from '../parties/issuers.ts'
import { openMerchantServers, type MerchantServers } from '../parties/merchant-servers.ts'
import { openMerchants, type Merchants } from '../parties/merchants.ts'
import { openNetwork, type Network } from './network.ts'
import { silentLog, type Trace } from './time-line.ts'
import { refuseCredits } from '../parties/transfers.ts'
import type { Weather } from './troubles.ts'

/** The parties that gateways call: the acquirer, merchants, directory servers with issuers. */
export interface Peers {
  network: Network
  merchants: Merchants
  /** Merchants' servers of the mobile API. */
  servers: MerchantServers
  issuers: Issuers
  legacyIssuers: LegacyIssuers
}

export interface PeerParts {
  events: Events
  chances: Record<keyof Peers, Chance>
  weather: Weather
  slots: readonly Slot[]
  wrap: Wraps
  trace: Trace
}

export async function openPeers({ events, chances, weather, slots, wrap, trace }: PeerParts): Promise<Peers> {
  const about = { events, weather: weather.issuers, slots, trace }
  const network = openNetwork({ events, chance: chances.network, weather: weather.line, log: silentLog, wrap: wrap.ledger })
  refuseCredits(network.faults)
  const servers = openMerchantServers(chances.servers, weather.servers)
  return {
    network,
    merchants: openMerchants(events, chances.merchants, servers.serve),
    servers,
    issuers: openIssuers({ ...about, chance: chances.issuers }),
    legacyIssuers: openLegacyIssuers({ ...about, chance: chances.legacyIssuers }, await legacyNetworks()),
  }
}
