import { join } from 'node:path'
import { systemClock, type Clock } from '../../src/base/clock.ts'
import type { Log } from '../../src/base/log.ts'
import { systemRandom, type Random } from '../../src/base/random.ts'
import type { BarPages } from '../../src/http/bar.ts'
import { openOutgoing } from '../../src/http/outgoing.ts'
import { rangesAtStart } from '../three-d-secure/cards.ts'
import { readCavvKey } from '../three-d-secure/cavv.ts'
import { scaleClock } from '../three-d-secure/clock.ts'
import { MessageJournal } from '../three-d-secure/journal.ts'
import { openPeerServer, readCredentials, type PeerRoute } from '../three-d-secure/peers.ts'
import { openAdmin } from './admin.ts'
import { answerAReq } from './areq.ts'
import type { Desk } from './desk.ts'
import { openFaults } from './faults.ts'
import { answerPReq, PReqLimit } from './preq.ts'
import { RangeBook } from './ranges.ts'
import { relayRReq } from './rreq.ts'
import { answerVereq } from './vereq.ts'

export interface DirectoryServerOptions {
  log: Log
  /** The sandbox's other pages, known once all of them serve. */
  places?: BarPages
  /** Directory with ds-ca.pem, directory-server.pem, directory-server.key and cavv.key. */
  certificates: string
  /** Where the ACS receives AReq. */
  acsUrl: string
  /** Where browsers find the ACS, for the method URLs and its page of 1.0.2. */
  acsBase: string
  host?: string
  /** 0 or absent picks a free port. */
  port?: number
  /** Always on loopback. */
  adminPort?: number
  /** Hosts of 3DS Servers besides this machine. */
  allowedHosts?: readonly string[]
  /** How long the ACS may take: less than a 3DS Server waits. */
  acsTimeoutMs?: number
  /** 0.01 turns an hour into 36 s. */
  timeScale?: number
  clock?: Clock
  random?: Random
}

export interface DirectoryServer {
  port: number
  /** Without a trailing slash; /preq, /areq, /rreq and, for 1.0.2, /vereq are below it. */
  url: string
  /** Ends in /admin; /faults, /log, /ranges and /settings are below it. */
  adminUrl: string
  close(): Promise<void>
}

/**
 * Starts the simulated directory server inside this process. Rejects when a port is taken or a file
 * cannot be read.
 */
export async function startDirectoryServer(options: DirectoryServerOptions): Promise<DirectoryServer> {
  const { log, certificates, acsUrl, acsBase } = options
  const clock = options.clock ?? systemClock
  const host = options.host ?? '127.0.0.1'
  const credentials = readCredentials(certificates, 'directory-server')
  // Outgoing calls are timed by the real clock, whatever clock the rest uses.
  const outgoing = openOutgoing({ policy: { plainHttp: false, loopbackAnyPort: true }, clock: systemClock })
  const desk: Desk = {
    ranges: new RangeBook(rangesAtStart(acsBase), clock.now()),
    faults: openFaults(),
    journal: new MessageJournal(systemClock),
    passages: new Map(),
    outgoing,
    credentials,
    cavvKey: readCavvKey(join(certificates, 'cavv.key')),
    clock,
    day: scaleClock(clock, options.timeScale ?? 1),
    random: options.random ?? systemRandom,
    log,
    acsUrl,
    acsTimeoutMs: options.acsTimeoutMs ?? 8_000,
    pareqUrl: `${acsBase}/pareq-page`,
    dsUrl: () => `${server.url}/rreq`,
    allowedHosts: new Set(options.allowedHosts),
  }
  const limit = new PReqLimit()
  const routes: PeerRoute[] = [
    { path: '/preq', peer: '3ds-server', handle: (text: string) => answerPReq(desk, limit, text) },
    { path: '/areq', peer: '3ds-server', handle: (text: string) => answerAReq(desk, text) },
    { path: '/vereq', peer: '3ds-server', xml: true, handle: (text: string) => answerVereq(desk, text) },
    { path: '/rreq', peer: 'acs', handle: (text: string) => relayRReq(desk, text) },
  ]
  const server = await openPeerServer({ credentials, host, port: options.port ?? 0, component: 'D', routes, log })
  try {
    const admin = await openAdmin({ desk, limit, server, places: options.places ?? {} }, options.adminPort ?? 0)
    log.info({ port: server.port, adminPort: admin.port }, 'the simulated directory server serves')
    return {
      port: server.port,
      url: server.url,
      adminUrl: `http://127.0.0.1:${admin.port}/admin`,
      async close() {
        await Promise.all([server.close(), admin.app.close(), outgoing.close()])
      },
    }
  } catch (error) {
    await server.close()
    await outgoing.close()
    throw error
  }
}
