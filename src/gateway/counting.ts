/** The account of refused access and the limits of it: one for all gateways of a process. */
import { isInternal, isOneOf } from '../http/client-address.ts'
import { openAccessLimits } from '../merchant/access-limits.ts'
import { countGuesses } from '../merchant/guessed.ts'
import { openRefusedAccess } from '../merchant/refused-access.ts'
import { openOddities } from '../three-d-secure/oddities.ts'
import type { GatewaySettings, Ground, RegistryStores } from './parts.ts'
import type { Periodic } from './periodic.ts'
import type { Meters } from './watch.ts'

export type Counting = ReturnType<typeof openCounting>

export interface CountingParts {
  ground: Pick<Ground, 'clock' | 'log'>
  registry: Pick<RegistryStores, 'current' | 'addRefusedAccess' | 'addOddities'>
  settings: GatewaySettings['access']
  meters: Pick<Meters, 'accessRefused' | 'odd'>
}

export function openCounting({ ground, registry, settings, meters }: CountingParts) {
  const isShared = (address: string) => isInternal(address) || isOneOf(settings.trustedProxies, address)
  const accessLimits = openAccessLimits({ settings: settings.limits, clock: ground.clock, isShared })
  const access = openRefusedAccess({
    ...ground,
    registry: registry.current,
    store: registry.addRefusedAccess,
    counted: meters.accessRefused,
  })
  const oddities = openOddities({ ...ground, store: registry.addOddities, counted: meters.odd })
  return { access, accessLimits, guessed: countGuesses(access, accessLimits), oddities }
}

/** `sharers`: how many processes share the limits. */
export const countingWork = ({ access, accessLimits, oddities }: Counting, sharers: () => Promise<number>): Periodic[] => [
  { name: 'refused access', everyMs: 5_000, run: access.flush },
  { name: 'oddities', everyMs: 5_000, run: oddities.flush },
  { name: 'shares of limits', everyMs: 5_000, run: async () => accessLimits.shareWith(await sharers()) },
]
