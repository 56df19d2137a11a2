/** The part of a process that passes requests to others, and takes those that others pass to it. */
import type { Clock } from '../../base/clock.ts'
import { reasonOf, type Log } from '../../base/log.ts'
import type { Random } from '../../base/random.ts'
import type { Turns } from '../../base/turn.ts'
import { openServer, type Route, type ServerSettings } from '../../http/server.ts'
import type { KeyRing } from '../../keys/ring.ts'
import type { PeerEntry, PeerStore } from './rows.ts'
import type { Closing } from '../closing.ts'
import { startPeriodic } from '../periodic.ts'
import { openPeers } from './known.ts'
import { openPeerLink } from './link.ts'
import { passingBy, type Passing } from './passing.ts'
import { peerPort, type GatewayOfCell } from './port.ts'
import { tlsOf } from './tls.ts'
import type { Meters } from '../watch.ts'

/** Where others reach a process, and where it listens for them: `PEER_URL`. */
export interface PeerAddress {
  host: string
  /** 0 picks a free port. With several processes on a machine, each has one more than the last. */
  port: number
}

export interface PeeringParts extends Pick<Meters, 'passed' | 'arrived'> {
  store: PeerStore
  /** Absent: nothing is passed to this process. */
  at?: PeerAddress | undefined
  instance: string
  slotNo: number
  keys: KeyRing
  clock: Clock
  random: Random
  log: Log
  turns: Turns
  limits: Pick<ServerSettings, 'maxBodiesBytes' | 'maxConnections' | 'maxWaiting'>
}

export interface Peering {
  passing: Passing
  /** Listens, and shows the others what this process serves. Called once. */
  serve(served: Served): Promise<void>
  /** Takes nothing more; resolves when what was passed to this process has ended, or is cut. */
  refuse(withinMs: number): Promise<void>
}

interface Served {
  routes: readonly Route[]
  gatewayOf: (cellNo: number) => GatewayOfCell | undefined
  /** The cells that take requests now. */
  cells: () => readonly number[]
}

const lookEveryMs = 1_000

/** Reads first which processes there are. What it opens is closed with `closing`. */
export async function openPeering(parts: PeeringParts, closing: Closing): Promise<Peering> {
  const { store, at, instance, slotNo, keys, clock, random, log } = parts
  const open = (entry: PeerEntry) => openPeerLink(entry, keys, clock)
  const peers = openPeers({ rows: store.all, instance, open, clock, log, passed: parts.passed })
  closing.add(() => peers.stop())
  await peers.look()
  closing.add(startPeriodic(clock, log, [{ name: 'other processes', everyMs: lookEveryMs, run: peers.look }]))
  let leave = (_withinMs: number): Promise<unknown> => Promise.resolve()

  return {
    passing: passingBy(peers),
    async serve({ routes, gatewayOf, cells }) {
      if (!at) return
      const port = at.port === 0 ? 0 : at.port + slotNo
      const longest = Math.max(...routes.map(({ bodyLimitBytes = 0 }) => bodyLimitBytes))
      const { route, refused } = peerPort({ gatewayOf, clock, random, log, arrived: parts.arrived }, longest)
      const server = await openServer({
        ...parts.limits,
        maxPerAddress: parts.limits.maxConnections / 2,
        host: at.host,
        port,
        tls: { psk: tlsOf(instance, keys), refused },
        turns: parts.turns,
        random,
        log,
      })
      closing.add(() => server.close(0))
      await server.serve([route])
      const url = `https://${at.host.includes(':') ? `[${at.host}]` : at.host}:${server.port}`
      const place = { instance, url }
      const stopRenewing = await startRenewing(place, cells, parts)
      leave = async (withinMs) => {
        await stopRenewing()
        await server.close(withinMs)
      }
      log.info({ peerUrl: url }, 'requests of its cells may be passed to this process')
    },
    async refuse(withinMs) {
      await leave(withinMs)
    },
  }
}

/** Returns what takes the row away. */
async function startRenewing(
  entry: PeerEntry,
  cells: () => readonly number[],
  { store, clock, log }: Pick<PeeringParts, 'store' | 'clock' | 'log'>,
): Promise<() => Promise<void>> {
  let renewing = Promise.resolve()
  const renew = () => (renewing = store.renew(entry, cells()))
  await renew()
  const stop = startPeriodic(clock, log, [{ name: 'address for other processes', everyMs: lookEveryMs, run: renew }])
  return async () => {
    stop()
    // Others would take a row that is written afterwards for that of a process that serves.
    await renewing.catch(() => {})
    await store
      .leave(entry)
      .catch((error) => log.warn({ reason: reasonOf(error) }, 'the address for other processes could not be removed'))
  }
}
