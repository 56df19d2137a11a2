/** A process that serves operators, by API or by pages: databases, listener, periodic work. */
import type { Clock } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import type { Random } from '../base/random.ts'
import { refuseDatabase } from '../gateway/database.ts'
import { startPeriodic } from '../gateway/periodic.ts'
import { renewal } from '../gateway/renewal.ts'
import { isInternal, isOneOf, type Network } from '../http/client-address.ts'
import type { ReadKeyPair } from '../http/key-pair.ts'
import { openServer, type Route } from '../http/server.ts'
import { openKeyRing } from '../keys/ring.ts'
import { openAccessLimits, type AccessLimits, type LimitSettings } from '../merchant/access-limits.ts'
import { openRefusedAccess, type RefusedAccess } from '../merchant/refused-access.ts'
import { addRefusedAccess } from '../merchant/refused-access-rows.ts'
import type { Installation, Office } from './office.ts'
import { openCells } from './open-cells.ts'
import { challengeMs, forgetChallenges } from '../entry/challenge-rows.ts'
import { forgetFailures } from '../entry/failure-rows.ts'
import { forgetSessions } from '../entry/session-rows.ts'
import { forgetKeys } from './keyed.ts'
import { forgetProposals } from './proposals/kept.ts'
import { lineComplaint } from '../storage/database-line.ts'
import { openPool, type Pool, type PoolSettings } from '../storage/pool.ts'

export interface ServingOptions extends Installation {
  /** Whether it may connect as the owner of the tables. */
  ownerAllowed: boolean
  host: string
  /** 0 picks a free port. */
  port: number
  tls?: ReadKeyPair
  trustedProxies?: readonly Network[]
  maxConnections?: number
  limits: LimitSettings
  clock: Clock
  random: Random
  log: Log
}

/** The part that is the same for every request; the rest of its office is the request's own. */
export interface ServingParts {
  office: Omit<Office, 'who' | 'action' | 'rights' | 'madeOn'>
  /** The same with a pool whose statements may take long. */
  longOffice: Pick<Office, 'pool' | 'cells' | 'reading'>
  access: Pick<RefusedAccess, 'refused'>
  accessLimits: Pick<AccessLimits, 'failedAt'>
  log: Log
}

/** What is service. */
export interface Service {
  /** Its name in the log. */
  called: string
  mostBodyBytes: number
  routes: (parts: ServingParts, port: number) => readonly Route[]
}

export interface Serving {
  port: number
  stop: () => Promise<void>
}

const drainMs = 5_000
const mostConnections = { search: 10, admin: 5 }

/** Throws, and leaves nothing open, if database, its user, keys or port cannot be used. */
export async function startServing(options: ServingOptions, service: Service): Promise<Serving> {
  const { databaseUrl, clock, random, log, limits, trustedProxies = [] } = options
  const openFor = (use: 'search' | 'admin', onlyReads?: true) => {
    const settings = { connections: mostConnections[use], use, onlyReads, log } as const
    return openCells(openPool({ url: databaseUrl, ...settings }), { databaseUrl, settings, openOther })
  }
  const [usual, long] = [openFor('search'), openFor('admin')]
  const [reading, longReading] = [openFor('search', true), openFor('admin', true)]
  const isShared = (address: string) => isInternal(address) || isOneOf(trustedProxies, address)
  const accessLimits = openAccessLimits({ settings: limits, clock, isShared })
  const access = openRefusedAccess({
    clock,
    log,
    registry: () => ({ merchantByLogin: () => undefined }),
    store: (sums) => addRefusedAccess(usual.pool, sums),
    counted: () => {},
  })
  const close = () => Promise.all([usual, long, reading, longReading].map((one) => one.close()))
  try {
    await refuseDatabase(usual.pool, options.ownerAllowed, log, 'operator')
    const keys = () => openKeyRing(usual.pool, options.kek(), clock, random)
    await keys()
    const pair = options.tls?.()
    const { tls: _read, ...where } = options
    const turns = { begin: () => undefined }
    const limited = limitsOf(options, service)
    const server = await openServer({ ...where, ...limited, ...(pair && { tls: pair }), turns })
    const unrecorded = () => log.warn('this view was not recorded in the audit trail: the database user may not write to it')
    const office = { ...options, ...usual, reading, keys, log, progress: () => {}, unrecorded }
    await server.serve(
      service.routes({ office, longOffice: { ...long, reading: longReading }, access, accessLimits, log }, server.port),
    )
    const stopWork = startPeriodic(clock, log, [
      { name: 'refused access', everyMs: 5_000, run: access.flush },
      { name: 'what is over', everyMs: challengeMs, run: () => forgetOver(usual.pool, clock.now()) },
      ...(pair ? [renewal(service.called, { pair, read: options.tls!, renew: server.renew }, { clock, log })] : []),
    ])
    return {
      port: server.port,
      async stop() {
        stopWork()
        await server.close(drainMs)
        await access.flush().catch(() => log.warn('the last refused requests were not stored'))
        await close()
      },
    }
  } catch (error) {
    await close()
    throw error
  }
}

/** Old sessions, challenges, failed tries, proposals, and keys of requests. */
const forgetOver = async (pool: Pool, now: number): Promise<void> => {
  for (const forget of [forgetSessions, forgetChallenges, forgetFailures, forgetProposals, forgetKeys]) await forget(pool, now)
}

const limitsOf = ({ maxConnections = 500 }: ServingOptions, { mostBodyBytes }: Service) => ({
  maxBodiesBytes: 3 * mostBodyBytes,
  maxConnections,
  maxPerAddress: Math.ceil(maxConnections / 5),
  readsInTurn: 8,
})

/** A cell in another database, which is reached as safely as that of the installation. */
function openOther(url: string, settings: Omit<PoolSettings, 'url'>) {
  const complaint = lineComplaint(url)
  if (complaint !== undefined) throw new Error(complaint)
  return openPool({ url, ...settings })
}
