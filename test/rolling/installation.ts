import { execFile, spawn, type ChildProcess } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { Client } from 'pg'
import { request } from 'undici'
import { systemClock } from '../../src/base/clock.ts'
import { openLog } from '../../src/base/log.ts'
import { systemRandom } from '../../src/base/random.ts'
import { makeCertificates } from '../../src/sandbox/certificates.ts'
import { startProgram, type Program } from '../../src/sandbox/programs.ts'
import { acquirerArguments } from '../../src/sandbox/simulators.ts'
import { startEmbedded, type EmbeddedServer } from '../../src/embedded/start.ts'
import { plainEnvironment } from '../../src/embedded/process.ts'
import type { Started } from '../../bench/started.ts'
import { Part } from '../cluster/part.ts'
import { freePort } from '../harness/world/port.ts'
import type { Shop } from '../torture/merchant.ts'
import type { Settling } from './settle.ts'

export type Version = 'old' | 'new'

/** A gateway of one version. */
export interface Served {
  part: Part
  /** Where merchants reach it. */
  origin: string
}

const fileOf = (name: string): string => fileURLToPath(new URL(name, import.meta.url))
const readyWithinMs = 60_000

/** One database for both versions, with an acquirer and the keys, in a directory of its own. */
export class Installation {
  readonly endedByItself: string[] = []
  readonly #directory: string
  readonly #dists: Readonly<Record<Version, string>>
  readonly #server: EmbeddedServer
  readonly #acquirer: Program
  readonly #sitter: ChildProcess
  readonly #cvv2Keys = join('/dev/shm', `tollgate-rolling-${randomBytes(6).toString('hex')}`)
  readonly #password = randomBytes(12).toString('hex')
  readonly #kekFile: string

  private constructor(directory: string, dists: Readonly<Record<Version, string>>, server: EmbeddedServer, acquirer: Program) {
    this.#directory = directory
    this.#dists = dists
    this.#server = server
    this.#acquirer = acquirer
    this.#kekFile = join(directory, 'kek')
    writeFileSync(this.#kekFile, `${randomBytes(32).toString('base64')}\n`, { mode: 0o600 })
    mkdirSync(this.#cvv2Keys, { mode: 0o700 })
    this.#sitter = spawn(process.execPath, [fileOf('../cluster/sitter.js'), directory, this.#cvv2Keys], {
      cwd: '/',
      detached: true,
      stdio: ['pipe', 'ignore', 'ignore'],
    })
    this.#watch(server.pid, 'begun')
  }

  static async open(directory: string, dists: Readonly<Record<Version, string>>, started: Started): Promise<Installation> {
    mkdirSync(join(directory, 'log'))
    const log = openLog({ level: 'fatal', destination: process.stderr })
    const server = await started.keep(startEmbedded({ directory, log, clock: systemClock, random: systemRandom }))
    const certificates = join(directory, 'certificates')
    await makeCertificates(certificates, systemRandom, systemClock.now())
    const acquirer = await started.keep(
      startProgram({ name: 'acquirer', args: acquirerArguments(directory, certificates), directory, env: {} }),
    )
    const installation = new Installation(directory, dists, server, acquirer)
    await started.keep({ stop: () => void installation.#sitter.kill('SIGKILL') })
    return installation
  }

  get databaseUrl(): string {
    return this.#server.url
  }

  get acquirerAdminUrl(): string {
    return String(this.#acquirer.ready['admin_url'])
  }

  /** As an operator does; returns what was printed. */
  migrate(version: Version): Promise<string> {
    return this.#run([join(this.#dists[version], 'src', 'cli', 'main.js'), 'migrate'], { DATABASE_URL: this.databaseUrl })
  }

  /** Makes a merchant, its endpoints and gates, and the user of the gateways. */
  async settle(version: Version): Promise<Omit<Shop, 'base_url'>> {
    const asked: Settling = {
      databaseUrl: this.databaseUrl,
      kekFile: this.#kekFile,
      directory: this.#directory,
      certificates: join(this.#directory, 'certificates'),
      acquirer: { ready: this.#acquirer.ready },
    }
    const told = await this.#run([fileOf('./settle.js'), this.#dists[version], JSON.stringify(asked)], {})
    const client = new Client({ connectionString: this.databaseUrl })
    await client.connect()
    await client.query(`create role gateway login password '${this.#password}' in role tollgate_serve`)
    await client.end()
    return JSON.parse(told)
  }

  /** Resolves when the gateway says that it is ready. */
  async serve(version: Version, ended: AbortSignal): Promise<Served> {
    const [port, operatorPort] = [await freePort(), await freePort()]
    const databaseUrl = Object.assign(new URL(this.databaseUrl), { username: 'gateway', password: this.#password })
    const part = new Part({
      name: `${version} gateway`,
      command: process.execPath,
      args: [fileOf('./gateway.js'), this.#dists[version]],
      env: {
        ...plainEnvironment,
        DATABASE_URL: databaseUrl.href,
        TOLLGATE_KEY_FILE: this.#kekFile,
        CVV2_KEY_DIRECTORY: this.#cvv2Keys,
        PORT: String(port),
        OPERATOR_PORT: String(operatorPort),
        CARDS_FORGET: 'off',
      },
      directory: this.#directory,
      log: join(this.#directory, 'log', `${version}-gateway.log`),
      watch: (pid, is) => this.#watch(pid, is),
      onEnd: (says) => this.endedByItself.push(says),
    })
    part.start()
    const end = performance.now() + readyWithinMs
    while (!(await isReady(operatorPort))) {
      ended.throwIfAborted()
      if (performance.now() > end || this.endedByItself.length > 0)
        throw new Error(`the ${version} gateway did not start: ${this.endedByItself.join('\n')}`)
      await pause(100, undefined, { signal: ended })
    }
    return { part, origin: `http://127.0.0.1:${port}/gateway` }
  }

  #watch(pid: number, is: 'begun' | 'ended'): void {
    this.#sitter.stdin?.write(`${is === 'begun' ? '+' : '-'}${pid}\n`)
  }

  #run(args: readonly string[], env: Record<string, string>): Promise<string> {
    return new Promise((resolve, reject) => {
      const options = { cwd: this.#directory, env: { ...plainEnvironment, ...env } }
      execFile(process.execPath, args, options, (error, output, errors) => {
        if (error) reject(new Error(`${args.slice(0, 2).join(' ')} failed: ${errors || error.message}`))
        else resolve(output.trim())
      })
    })
  }
}

const isReady = (port: number): Promise<boolean> =>
  request(`http://127.0.0.1:${port}/ready`, { signal: AbortSignal.timeout(1_000) }).then(
    async ({ statusCode, body }) => {
      await body.dump()
      return statusCode === 200
    },
    () => false,
  )
