import { once } from 'node:events'
import { createWriteStream } from 'node:fs'
import { createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { readConfiguration } from '../../../simulators/merchant/configuration.ts'
import { startMerchant, type RunningMerchant } from '../../../simulators/merchant/start.ts'
import { systemClock } from '../../../src/base/clock.ts'
import { openLog, reasonOf } from '../../../src/base/log.ts'
import { systemRandom } from '../../../src/base/random.ts'
import { merchantConfiguration } from '../../../src/sandbox/merchant-server.ts'
import { secret } from '../../../src/base/secret.ts'
import { openPool, type Pool } from '../../../src/storage/pool.ts'
import type { Command, Lease } from '../clock/lease.ts'
import { openMerchants, type Own } from './merchants.ts'
import { metricsOf } from './metrics.ts'
import { holds } from '../clock/until.ts'
import { startWorld } from '../sandbox/start.ts'
import type { SharedWorld, World } from './world.ts'

/** A running sandbox that files lease one after the other. */
interface Place {
  world: World
  pool: Pool
  /** Merchants that the gateway knows and no test has used. */
  next(): Promise<{ own: Own; server: RunningMerchant }>
  /** Kills or starts its gateway. */
  obey: (command: Command) => Promise<void>
  /** Puts everything shared as it was; rejects when that cannot be done. */
  reset(): Promise<void>
  stop(): Promise<void>
}

const upWithinMs = 20_000
/** The metrics of a gateway are dear to make. */
const looksEveryMs = 200

/**
 * Leases worlds to the files of a run that connect at this path: as many as there are files at
 * once, each started at the first need.
 */
export async function openBroker(path: string): Promise<{ close(): Promise<void> }> {
  const places = openPlaces()

  async function lease(socket: Socket): Promise<void> {
    socket.on('error', () => undefined)
    const gone = once(socket, 'close')
    const commands = createInterface(socket)
    const answer = (message: Lease<SharedWorld>) => socket.write(`${JSON.stringify(message)}\n`)
    const failed = (thrown: unknown) => answer({ error: reasonOf(thrown) })
    let place: Place | undefined
    let server: RunningMerchant | undefined
    try {
      place = await places.take()
      const { world } = place
      const next = await place.next()
      server = next.server
      const urls = { merchantServerUrl: server.url, shopUrl: String(server.shopUrl) }
      const answerWorld = () => answer({ world: { ...world, ...next.own, ...urls } })
      const { obey } = place
      commands.on('line', (command) => void obey(command as Command).then(answerWorld, failed))
      answerWorld()
    } catch (thrown) {
      failed(thrown)
      socket.end()
    }
    await gone
    if (place) await places.giveBack(place, server)
  }

  const listener = createServer(
    (socket) => void lease(socket).catch((thrown) => console.error(`The broker: ${reasonOf(thrown)}`)),
  )
  listener.listen(path)
  await once(listener, 'listening')
  return {
    async close() {
      listener.close()
      await places.close()
    },
  }
}

/** All worlds of a run. A world is taken by one file at a time, and reset before the next. */
function openPlaces() {
  const free: Place[] = []
  const places = new Set<Place>()
  /** Files that wait for a world that is being reset. */
  const waiting: ((place: Place | undefined) => void)[] = []
  let resetting = 0
  let closed = false

  return {
    /** A world that is free or soon will be, or else a new one. */
    async take(): Promise<Place> {
      const place =
        free.pop() ?? (resetting > waiting.length ? await new Promise<Place | undefined>((r) => waiting.push(r)) : undefined)
      if (place) return place
      const opened = await openPlace()
      places.add(opened)
      return opened
    },
    async giveBack(place: Place, server: RunningMerchant | undefined): Promise<void> {
      // The run is over, and all worlds are being stopped.
      if (closed) return
      resetting++
      try {
        await server?.close()
        await place.reset()
        const next = waiting.shift()
        if (next) next(place)
        else free.push(place)
      } catch (thrown) {
        waiting.shift()?.(undefined)
        if (closed) return
        console.error(`A shared world is thrown away: ${reasonOf(thrown)}`)
        places.delete(place)
        await place.stop()
      } finally {
        resetting--
      }
    },
    async close(): Promise<void> {
      closed = true
      await Promise.all(Array.from(places, (place) => place.stop()))
    },
  }
}

async function openPlace(): Promise<Place> {
  const world = await startWorld({ own: true })
  const log = openLog({ level: 'fatal', destination: process.stderr })
  const pool = openPool({ url: world.databaseUrl, connections: 2, use: 'search', log })
  const merchants = await openMerchants(pool, world.directory)
  const simulators = await watchSimulators(world)
  const gates = await merchants.gates()

  async function prepare() {
    const { pid } = world
    let server: RunningMerchant | undefined
    const own = await merchants.strangers(async (account) => (server = await startMerchantOf(world, account)).url)
    try {
      await followed(world, await merchants.version())
    } catch (thrown) {
      await server!.close()
      throw thrown
    }
    return { own, server: server!, pid }
  }

  let spare = prepare()
  spare.catch(() => undefined)
  return {
    world,
    pool,
    async next() {
      let next = await spare.catch(() => undefined)
      // Made before the sandbox was killed, when its simulators had other addresses.
      if (next && next.pid !== world.pid) await next.server.close()
      if (next?.pid !== world.pid) next = await prepare()
      // While a file runs, the merchants of the next one are made.
      spare = prepare()
      spare.catch(() => undefined)
      return next
    },
    obey: async (command) => {
      await world[command]()
      if (command === 'start') await simulators.startedAgain()
    },
    async reset() {
      await simulators.reset()
      await followed(world, await merchants.forget(gates))
    },
    async stop() {
      await spare.then(({ server }) => server.close()).catch(() => undefined)
      await pool.close()
      await world.stop()
    },
  }
}

/**
 * The server and the shop of a merchant who was added to the world, as the sandbox has them for its
 * own. They run in this process, because a process for each would cost more than most files do.
 */
async function startMerchantOf(world: World, { merchant, ...rest }: Omit<Own, 'other'>): Promise<RunningMerchant> {
  const simulators = {
    acquirer_admin_url: world.acquirerAdminUrl,
    directory_server_url: world.directoryServerUrl,
    acs_url: world.acsUrl,
  }
  const account = {
    login: merchant.login,
    controlKey: secret(merchant.controlKey),
    signingSecret: secret(merchant.signingSecret),
    ...rest,
  }
  const configuration = readConfiguration(JSON.stringify(merchantConfiguration(account, { ...world, simulators })))
  const destination = createWriteStream(join(world.directory, 'log', 'merchant.log'), { flags: 'a', mode: 0o600 })
  const log = openLog({ level: 'info', destination })
  const addresses = { host: '127.0.0.1', port: 0, shopPort: 0 }
  const running = await startMerchant({ ...addresses, clock: systemClock, random: systemRandom, log }, configuration)
  return {
    ...running,
    async close() {
      await running.close()
      destination.end()
    },
  }
}

/** The simulators of a world, which start with it, to be as they were before the next file. */
async function watchSimulators(world: World) {
  const ask = async (url: string, method = 'GET', body?: object) => {
    const headers = body ? { 'content-type': 'application/json' } : {}
    const answer = await fetch(url, { method, headers, ...(body && { body: JSON.stringify(body) }) })
    if (!answer.ok) throw new Error(`${url} answers ${answer.status}: ${await answer.text()}`)
    return answer.json()
  }
  const line = (await ask(`${world.acquirerAdminUrl}/line`)) as { slow_reversal_ms: number; latency_ms: number }
  const rangesNow = async () => JSON.stringify(await ask(`${world.directoryServerUrl}/ranges`))
  let ranges = await rangesNow()
  return {
    /** They are at other addresses now, which stand in the ranges. */
    startedAgain: async () => void (ranges = await rangesNow()),
    async reset() {
      for (const url of [world.acquirerAdminUrl, world.directoryServerUrl, `${world.acsUrl}/admin`])
        await ask(`${url}/faults`, 'DELETE')
      const { slow_reversal_ms, latency_ms } = line
      await ask(`${world.acquirerAdminUrl}/line`, 'POST', { refuse: false, slow_reversal_ms, latency_ms })
      if ((await rangesNow()) !== ranges) throw new Error('its card ranges were changed')
    },
  }
}

/** Until the gateway follows this version of the configuration and has all its lines up. */
async function followed(world: World, version: number): Promise<void> {
  const isDone = async () => {
    const metrics = await metricsOf(world)
    const gates = metrics.names().filter((name) => name.startsWith('tollgate_gate_up{'))
    return (metrics('tollgate_configuration_version') ?? 0) >= version && gates.every((name) => metrics(name) === 1)
  }
  await holds(isDone, 'its gateway follows', upWithinMs, looksEveryMs)
}
