import { sleep, type Clock } from '../base/clock.ts'
import type { Secret } from '../base/secret.ts'
import type { TargetPolicy } from '../http/address.ts'
import type { ReadKeyPair } from '../http/key-pair.ts'
import type { Sharing } from '../http/listening.ts'
import { openOutgoing } from '../http/outgoing.ts'
import { statement, timestamp, type Pool } from '../storage/pool.ts'
import { answerWithinMs } from '../three-d-secure/authentication.ts'
import { openDirectories, type DirectorySettings } from '../three-d-secure/directory.ts'
import { askBy, type LegacyDirectory } from '../three-d-secure/legacy/directory.ts'
import { refreshRanges, type RefreshParts } from '../three-d-secure/directory-refresh.ts'
import type { LoadedRanges } from '../three-d-secure/ranges.ts'
import { openInbound, type Results } from '../three-d-secure/inbound.ts'
import { watchRanges } from '../three-d-secure/range-rows.ts'
import type { Oddities } from '../three-d-secure/oddities.ts'
import type { Periodic } from './periodic.ts'
import { renewal } from './renewal.ts'
import type { Directories, Ground, ThreeDSecureFacts } from './parts.ts'

/** The settings that make an installation a 3DS Server; docs/install.md. */
export interface ThreeDSecureOptions {
  directories: readonly (DirectorySettings & {
    /** The common name of the certificate with which it posts results. */
    commonName: string
  })[]
  /** Assigned by EMVCo at certification. */
  refNumber: string
  operatorId?: string
  /** The separate port to which directory servers post results, by mutual TLS. */
  results: {
    host: string
    port: number
    /**
     * Its address for directory servers, `https://results.example/3ds/results`; by default the
     * loopback address.
     */
    url?: string
    cert: string
    key: Secret<string>
    /** Reads certificate and key again, for new ones without a restart. */
    read?: ReadKeyPair
    /** Authority of the directory servers. */
    ca: string
  }
  /** The directory servers of 1.0.2, if the installation still speaks it. */
  legacy: readonly LegacyDirectory[]
  /** Where directory servers may be. */
  policy: TargetPolicy
  /**
   * Requests card ranges at start-up, however recently they were loaded: the simulated directory
   * servers change their addresses.
   */
  refreshAtStart: boolean
}

/**
 * The 3DS Server of a process: lines to the directory servers, card ranges in memory, and the port
 * for results.
 */
export interface ThreeDSServer {
  facts: ThreeDSecureFacts
  directories: Directories
  ranges: () => LoadedRanges
  /** Work that gives the port for results a new certificate. */
  renewals: readonly Periodic[]
  /** Keeps the card ranges fresh under this lease, and accepts results from now on. */
  begin(lease: Pick<RefreshParts, 'heartbeat' | 'judge'>, results: Results): Promise<void>
  /**
   * Stops accepting results. A directory server then sends them to another process, or again to
   * this one.
   */
  refuse(): Promise<void>
  stop(): Promise<void>
}

/** Listens for results and answers 503 until it begins. `pool` has the card ranges. */
export async function openThreeDSServer(
  options: ThreeDSecureOptions,
  { pool, oddities, sharing }: { pool: Pool; oddities: Oddities; sharing: Sharing | undefined },
  { clock, random, log, turns }: Ground,
): Promise<ThreeDSServer> {
  const names = options.directories.map(({ name }) => name)
  const inbound = await openInbound({
    host: options.results.host,
    port: options.results.port,
    sharing,
    tls: options.results,
    senders: new Map(options.directories.map(({ commonName, name }) => [commonName, name])),
    strict: new Set(options.directories.filter(({ strict }) => strict).map(({ name }) => name)),
    oddities,
    turns,
    random,
    log,
  })
  const { read } = options.results
  const operator = options.operatorId === undefined ? {} : { operatorId: options.operatorId }
  const resultsUrl = options.results.url ?? `https://127.0.0.1:${inbound.port}/3ds/results`
  const outgoing = openOutgoing({ policy: options.policy, clock, perOrigin: 64 })
  const client = openDirectories({
    directories: options.directories.map((d) => ({ ...d, timeoutMs: answerWithinMs })),
    server: {
      threeDSServerRefNumber: options.refNumber,
      ...(options.operatorId === undefined ? {} : { threeDSServerOperatorID: options.operatorId }),
      threeDSServerURL: resultsUrl,
    },
    outgoing,
    policy: options.policy,
    oddities,
    random,
    log,
  })
  const ranges = await watchRanges(pool, clock, log, names)
  let stopRefreshing = () => Promise.resolve()
  return {
    facts: {
      server: { refNumber: options.refNumber, ...operator, resultsUrl },
      directories: names,
      legacy: options.legacy,
    },
    directories: {
      authenticate: client.authenticate,
      enrol: askBy({ ...options, directories: options.legacy, outgoing, oddities }),
    },
    ranges: ranges.current,
    renewals: read
      ? [renewal('the port for results', { pair: options.results, read, renew: inbound.renew }, { clock, log })]
      : [],
    async begin(lease, results) {
      const now = options.refreshAtStart
      stopRefreshing = refreshRanges({ pool, client, directories: names, ...lease, now, clock, random, log }).stop
      if (now) {
        await refreshed(pool, names, clock)
        await ranges.refresh()
      }
      await inbound.serve(results)
    },
    refuse: () => inbound.close(),
    async stop() {
      await inbound.close()
      ranges.stop()
      await outgoing.close()
      await client.close()
      await stopRefreshing()
    },
  }
}

const freshSince = statement<{ n: bigint }>(
  `select count(*) as n from directory_state where directory = any ($1::text[]) and refreshed_at >= $2`,
)
const refreshWithinMs = 5_000

/**
 * Waits a while for the card ranges that were just requested. A start does not fail without them.
 */
async function refreshed(pool: Pool, directories: readonly string[], clock: Clock): Promise<void> {
  const began = clock.now()
  while (clock.now() < began + refreshWithinMs) {
    const [row] = await pool.run(freshSince, [[...directories], timestamp(began)])
    if (row!.n === BigInt(directories.length)) return
    await sleep(clock, 20)
  }
}

const none = () => Promise.resolve({ is: 'failed', why: 'this installation has no directory servers' } as const)

/**
 * For an installation that is no 3DS Server. No card can be authenticated, which an endpoint with
 * 3-D Secure treats as a technical failure.
 */
export const noDirectories: Directories = { authenticate: none, enrol: none }
export const noRanges: LoadedRanges = { find: () => undefined, loaded: () => false }
