import { join } from 'node:path'
import { fastify, type FastifyInstance } from 'fastify'
import { systemClock, type Clock } from '../../src/base/clock.ts'
import type { Log } from '../../src/base/log.ts'
import { systemRandom, type Random } from '../../src/base/random.ts'
import type { BarPages } from '../../src/http/bar.ts'
import { openOutgoing } from '../../src/http/outgoing.ts'
import { adminErrors } from '../three-d-secure/admin.ts'
import { readCavvKey } from '../three-d-secure/cavv.ts'
import { scaleClock } from '../three-d-secure/clock.ts'
import { MessageJournal } from '../three-d-secure/journal.ts'
import { openPeerServer, readCredentials } from '../three-d-secure/peers.ts'
import { acsAdminRoutes } from './admin.ts'
import { answerAReq } from './areq.ts'
import { browserRoutes } from './browser.ts'
import type { Desk } from './desk.ts'
import { openFaults } from './faults.ts'
import { methodRoutes } from './method.ts'
import { pareqRoutes } from './pareq.ts'
import { readIssuers } from './pares.ts'

export interface AcsOptions {
  log: Log
  /** The sandbox's other pages, known once all of them serve. */
  places?: BarPages
  /**
   * Directory with ds-ca.pem, acs.pem, acs.key, cavv.key, and pares-<network>.pem and .key of visa
   * and mastercard.
   */
  certificates: string
  /** Where results are sent; if absent, to the dsURL of each AReq, on this machine only. */
  dsUrl?: string
  host?: string
  /** The port for the directory server's calls; 0 or absent picks a free port. */
  port?: number
  browserPort?: number
  /** Host name in the addresses given to browsers. */
  browserHost?: string
  /** Factor for the waits of the protocol: 0.01 turns 30 s into 300 ms. */
  timeScale?: number
  clock?: Clock
  random?: Random
}

export interface Acs {
  port: number
  areqUrl: string
  browserPort: number
  /** For browsers, without a trailing slash; /admin is below it. */
  browserUrl: string
  close(): Promise<void>
}

/**
 * Starts the simulated ACS inside this process. Rejects if a port is taken or a file is unreadable.
 */
export async function startAcs(options: AcsOptions): Promise<Acs> {
  const { log, certificates } = options
  const realClock = options.clock ?? systemClock
  const host = options.host ?? '127.0.0.1'
  const timeScale = options.timeScale ?? 1
  const credentials = readCredentials(certificates, 'acs')
  const desk: Desk = {
    faults: openFaults(),
    journal: new MessageJournal(systemClock),
    cases: new Map(),
    legacyCases: new Map(),
    issuers: readIssuers(certificates),
    earlierPares: new Map(),
    prints: new Map(),
    // Outgoing calls are timed by the real clock, whatever clock the rest uses.
    outgoing: openOutgoing({ policy: { plainHttp: false, loopbackAnyPort: true }, clock: systemClock }),
    credentials,
    cavvKey: readCavvKey(join(certificates, 'cavv.key')),
    clock: scaleClock(realClock, timeScale),
    realClock,
    random: options.random ?? systemRandom,
    log,
    places: options.places ?? {},
    dsUrl: options.dsUrl,
    browserUrl: () => `http://${options.browserHost ?? (host === '0.0.0.0' ? '127.0.0.1' : host)}:${browserPort}`,
  }
  const routes = [{ path: '/areq', peer: 'directory-server', handle: (text: string) => answerAReq(desk, text) }]
  const app = openBrowserApp(desk, timeScale, () => server)
  const server = await openPeerServer({ credentials, host, port: options.port ?? 0, component: 'A', routes, log })
  const close = async () => {
    for (const { challenge } of [...desk.cases.values(), ...desk.legacyCases.values()]) challenge?.drop()
    await Promise.all([server.close(), app.close(), desk.outgoing.close()])
  }
  let browserPort: number
  try {
    await app.listen({ host, port: options.browserPort ?? 0 })
    const address = app.server.address()
    browserPort = typeof address === 'object' && address !== null ? address.port : 0
  } catch (error) {
    await close()
    throw error
  }
  log.info({ port: server.port, browserPort }, 'the simulated ACS serves')
  return { port: server.port, areqUrl: `${server.url}/areq`, browserPort, browserUrl: desk.browserUrl(), close }
}

function openBrowserApp(
  desk: Desk,
  timeScale: number,
  server: () => Awaited<ReturnType<typeof openPeerServer>>,
): FastifyInstance {
  const app = fastify({ forceCloseConnections: true, bodyLimit: 65_536 })
  app.addContentTypeParser('application/x-www-form-urlencoded', { parseAs: 'string' }, (_request, body, done) => done(null, body))
  adminErrors(app, desk.log)
  browserRoutes(app, desk, timeScale)
  methodRoutes(app, desk)
  pareqRoutes(app, desk, timeScale)
  // In its own scope, so that its guard does not apply to browsers.
  void app.register(async (scope) => acsAdminRoutes(scope, desk, server))
  return app
}
