/**
 * What all gateways of a process share: the database of the installation with its configuration and
 * keys, and the lines to the acquirers.
 */
import { openConnectors, type Connectors } from '../acquirer/connectors.ts'
import { openIso8583Connector } from '../acquirer/iso8583/connector.ts'
import { sleep, type Clock } from '../base/clock.ts'
import { openBins } from '../card/bin-rows.ts'
import type { Registry } from '../merchant/merchant.ts'
import { addRefusedAccess, forgetRefusedAccess } from '../merchant/refused-access-rows.ts'
import { readLogo } from '../merchant/page-rows.ts'
import { watchRegistry } from '../merchant/live.ts'
import { registryReads } from '../merchant/rows.ts'
import { openHand } from '../order/door/hand.ts'
import type { HourKeys } from '../keys/hour-keys.ts'
import type { KeyEncryption } from '../keys/encryption.ts'
import { openPool, type Pool } from '../storage/pool.ts'
import { openSharedClock, timeOf, type SharedClock } from '../storage/shared-clock.ts'
import { forInstallation } from '../leases/heartbeat.ts'
import { openIds } from '../storage/ids.ts'
import { openKeyRing, refreshMs, type KeyRing } from '../keys/ring.ts'
import { addOddities } from '../three-d-secure/oddity-rows.ts'
import { poolsEndMs } from './cells/cell-gateway.ts'
import type { Closing } from './closing.ts'
import { refuseDatabase } from './database.ts'
import type { Tuning } from './tuning.ts'
import type { Ground, RegistryStores } from './parts.ts'
import { startPeriodic } from './periodic.ts'
import { openLease, type Foundations, type Lease } from './rooms.ts'
import type { Meters } from './watch.ts'

export interface InstallationOptions extends Omit<Ground, 'turns'> {
  databaseUrl: string
  /** Whether it may connect as the owner of the tables. It only warns then. */
  ownerAllowed: boolean
  kek: KeyEncryption
  hourKeys: (clock: Clock) => HourKeys
}

const clockLookMs = 5_000

/**
 * The database, the clock that goes by it, and the keys. Throws for a database that a gateway may
 * not use.
 */
export async function openInstallation(
  { databaseUrl, ownerAllowed, kek, hourKeys, clock: own, random, log }: InstallationOptions,
  closing: Closing,
): Promise<{ pool: Pool; clock: SharedClock; keys: KeyRing }> {
  const pool = openPool({ url: databaseUrl, connections: 10, use: 'oltp', log })
  closing.add(() => Promise.race([pool.close(), sleep(own, poolsEndMs)]))
  await refuseDatabase(pool, ownerAllowed, log)
  const clock = openSharedClock(timeOf(pool), own, log)
  await clock.look()
  closing.add(startPeriodic(clock, log, [{ name: 'time of the database', everyMs: clockLookMs, run: clock.look }]))
  return { pool, clock, keys: await openKeyRing(pool, kek, clock, random, hourKeys(clock)) }
}

/** The lines to the acquirers, one for each gate. */
export function openGates(
  { clock, random, log }: Ground,
  { sendWithinMs }: Tuning,
  meters: Meters,
  closing: Closing,
): Connectors {
  const gates = openConnectors(
    (gate) =>
      openIso8583Connector({
        gate: { ...gate.settings, gateId: gate.gateId, ...(gate.secrets && { secrets: gate.secrets }) },
        clock,
        random,
        log,
        limits: { maxOpen: gate.settings.maxOpen, sendWithinMs },
        onStray: ({ kind }) => meters.stray(String(gate.gateId), kind),
      }),
    (closed) => void closed,
  )
  closing.add(() => gates.close())
  return gates
}

/** The configuration and the BIN table, both kept up to date from now on. */
export async function openRegistry(
  { pool, keys, ground: { clock, log } }: { pool: Pool; keys: KeyRing; ground: Ground },
  closing: Closing,
  changed: (now: Registry) => void,
): Promise<Omit<RegistryStores, 'ranges'>> {
  const bins = await openBins(pool)
  const configuration = await watchRegistry(registryReads(pool, keys), clock, log, changed)
  closing.add(() => configuration.stop())
  closing.add(
    startPeriodic(clock, log, [
      { name: 'turn of keys', everyMs: 300_000, run: () => keys.turn() },
      { name: 'versions of keys', everyMs: refreshMs, run: () => keys.refresh() },
      { name: 'BIN table', everyMs: 1_000, run: () => bins.refresh() },
      { name: 'old refused access', everyMs: 600_000, run: () => forgetRefusedAccess(pool, clock.now()) },
    ]),
  )
  return {
    keys,
    ids: (name, block) => openIds(pool, name, block, { clock, log }),
    addRefusedAccess: (sums) => addRefusedAccess(pool, sums),
    addOddities: (sums) => addOddities(pool, sums),
    current: configuration.current,
    refresh: configuration.refresh,
    lookedAt: configuration.lookedAt,
    issuerOf: bins.issuerOf,
    logo: (merchantId) => readLogo(pool, merchantId),
  }
}

/**
 * The lease under which a process does what one does for all, if it does not serve cell 0 and has
 * no lease there. `parts` has the stores of cell 0. Its instance differs from that of a gateway.
 */
export async function leaseOfInstallation({ settings, ...parts }: Foundations, closing: Closing): Promise<Lease> {
  const instance = settings.instance + forInstallation
  const lease = await openLease({ ...parts, settings: { ...settings, instance } }, openHand(), {})
  closing.add(() => lease.heartbeat.stop())
  return lease
}
