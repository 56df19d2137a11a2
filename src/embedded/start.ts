import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Cancel, Clock } from '../base/clock.ts'
import { sleep } from '../base/clock.ts'
import { writeDurably } from '../storage/durable-file.ts'
import { type Log, reasonOf } from '../base/log.ts'
import type { Random } from '../base/random.ts'
import { type Binaries, packagedBinaries, packageFolder, tryBinaries } from './binaries.ts'
import { createCluster, holdsDatabase, readPassword, sweepUnfinished, tracesOf } from './cluster.ts'
import { type Lock, takeLock } from './lock.ts'
import { findDataDirectory, openDirectory, type DataDirectory } from './data-directory.ts'
import { holdingOpen } from '../base/hold-open.ts'
import { incarnationOf, systemProc } from './process.ts'
import { ensureDatabase, findServer, freePort, halt, launch, type Postmaster, type Site, urlOf } from './server.ts'
import { settingsFile } from './settings.ts'

export interface EmbeddedOptions {
  /** Holds data, password, log and lock of the server; it is created if necessary. */
  directory: string
  log: Log
  clock: Clock
  random: Random
  /**
   * Where the kernel shows its processes. If it is missing, as on macOS, processes are checked by
   * signal and connection.
   */
  proc?: string
  /** The operator's own PostgreSQL programs, 15 or newer, instead of those in the npm package. */
  binaries?: string
  /** Settings of postgresql.conf that take precedence over ours. */
  settings?: Record<string, string>
  /** False: fsync is off. Only for clusters that the tests throw away. */
  durable?: boolean
}

export interface EmbeddedServer {
  /** postgres://tollgate:<password>@127.0.0.1:<port>/tollgate; constant until `stop`. */
  readonly url: string
  /** The postmaster's pid; it changes if the server died and was restarted. */
  readonly pid: number
  /** Whether the server was already running, left by a gateway that died. */
  readonly adopted: boolean
  /** Fast shutdown. Afterwards no process is left and another process may use the directory. */
  stop(): Promise<void>
}

const watchEveryMs = 250
const longestPauseMs = 10_000
const lockName = 'lock'

/**
 * Makes sure that the PostgreSQL server of this directory runs: adopts a live one, or starts it,
 * after creating the database if there is none. The server outlives us if we are killed. While we
 * live it is watched, and restarted on the same port if it dies. Throws, with a remedy, if another
 * live process has locked the directory, if the data is of another major version or out of reach,
 * and if there are no programs for this platform.
 */
export function startEmbedded(options: EmbeddedOptions): Promise<EmbeddedServer> {
  return holdingOpen(async () => {
    const directory = openDirectory(options.directory)
    const lock = await lockOf(directory, options)
    try {
      return await startLocked(directory, lock, options)
    } catch (thrown) {
      await lock.release()
      throw thrown
    }
  })
}

async function startLocked(directory: string, lock: Lock, options: EmbeddedOptions): Promise<EmbeddedServer> {
  const { log, clock, random, durable = true, proc = systemProc } = options
  const where = findDataDirectory(directory, random, log)
  const binaries = await binariesFor(where, options)
  await sweepUnfinished(where.data)
  if (!holdsDatabase(where.data, binaries)) await createCluster({ where, binaries, durable, random, log })
  const site: Site = { ...where, password: await readPassword(directory), clock, log, proc }
  const found = await findServer(site)
  const same = await applySettings(site, binaries, options)
  const adopted = found !== undefined && same
  if (found && !same) {
    log.info({ pid: found.pid }, 'PostgreSQL runs with other settings; it is started again')
    await halt(site, found)
  }
  const server = adopted ? found : await launch(site, binaries.postgres, freePort)
  try {
    await ensureDatabase(site, server.port)
  } catch (thrown) {
    await halt(site, server)
    throw thrown
  }
  log.info({ pid: server.pid, port: server.port, adopted, data: site.data, version: binaries.version }, 'PostgreSQL is ready')
  return supervise(site, binaries, server, adopted, lock)
}

/** The lock of a directory; throws, with a remedy, if a live process has it. */
async function lockOf(directory: string, { random, proc = systemProc }: EmbeddedOptions): Promise<Lock> {
  const path = join(directory, lockName)
  const lock = await takeLock(path, random, proc)
  if ('release' in lock) return lock
  throw new Error(
    `${directory} is in use by the process with pid ${lock.holder}${lock.holder === process.pid ? ', which is this one' : ''}. ` +
      `Stop it, or choose another directory. (If that process is not Tollgate, remove ${path}.)`,
  )
}

function binariesFor(
  where: DataDirectory,
  { binaries, random, log }: Pick<EmbeddedOptions, 'binaries' | 'random' | 'log'>,
): Promise<Binaries> {
  if (binaries !== undefined) return tryBinaries(binaries, where.user)
  return packagedBinaries(packageFolder(), { directory: where.directory, user: where.user, random, log })
}

/** Writes postgresql.conf. True if it did not change: a running server has these settings. */
async function applySettings(
  site: Site,
  binaries: Binaries,
  { settings = {}, durable = true }: Pick<EmbeddedOptions, 'settings' | 'durable'>,
): Promise<boolean> {
  const { version, major } = binaries
  const { clusterName } = tracesOf(site.data)
  const text = settingsFile({ version, major, clusterName, durable, own: settings, platform: process.platform })
  const path = join(site.data, 'postgresql.conf')
  if (existsSync(path) && readFileSync(path, 'utf8') === text) return true
  await writeDurably(path, text, 0o600, site.user)
  return false
}

/**
 * The states of a supervised server: *running* (`watch` looks every quarter of a second),
 * *reviving* (it died; it is started again on its port with growing pauses, until it runs or is
 * stopped), *stopped* (by `stop`, for good).
 */
function supervise(site: Site, binaries: Binaries, first: Postmaster, adopted: boolean, lock: Lock): EmbeddedServer {
  const { clock, log, proc } = site
  const stopped = new AbortController()
  let current: Postmaster | undefined = first
  let reviving: Promise<void> = Promise.resolve()
  let cancelWatch: Cancel | undefined
  let stopping: Promise<void> | undefined

  const watch = () => {
    cancelWatch = clock.after(watchEveryMs, () => {
      if (current && incarnationOf(current.pid, proc) === current.incarnation) watch()
      else reviving = revive()
    })
  }
  const revive = async () => {
    log.error({ pid: current?.pid, port: first.port }, 'PostgreSQL has died; it is started again')
    current = undefined
    for (let pauseMs = 100; !stopped.signal.aborted; pauseMs = Math.min(pauseMs * 2, longestPauseMs)) {
      try {
        current = (await findServer(site)) ?? (await launch(site, binaries.postgres, async () => first.port))
        log.info({ pid: current.pid, port: current.port }, 'PostgreSQL is ready again')
        return watch()
      } catch (thrown) {
        log.error({ reason: reasonOf(thrown), againInMs: pauseMs }, 'PostgreSQL could not be started again')
        await sleep(clock, pauseMs, stopped.signal)
      }
    }
  }
  const stop = async () => {
    stopped.abort()
    cancelWatch?.()
    await reviving
    // The restart may have succeeded just now.
    cancelWatch?.()
    if (current) await halt(site, current)
    await lock.release()
    log.info({ data: site.data }, 'PostgreSQL is stopped')
  }
  watch()
  return {
    url: urlOf(site.password, first.port),
    adopted,
    get pid() {
      return current?.pid ?? first.pid
    },
    stop: () => (stopping ??= holdingOpen(stop)),
  }
}
