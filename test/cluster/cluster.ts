import { spawn, type ChildProcess } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { chmodSync, chownSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { Client } from 'pg'
import { request } from 'undici'
import { unprivilegedUser } from '../../src/storage/embedded-place.ts'
import { plainEnvironment, serversOf, signal, type User } from '../../src/storage/embedded-process.ts'
import { freePort } from '../harness/port.ts'
import { etcdArguments, members, patroniConfig, proxyConfig, type Layout, type No } from './layout.ts'
import { Part, untilGone } from './part.ts'
import { etcdApiOf, patroniVersion, type Programs } from './programs.ts'

/** What Patroni says of a member. */
export interface Member {
  name: string
  role: string
  state: string
}

const connectionsOfGateways = `
  select pg_is_in_recovery() as standby, count(*)::int as n from pg_stat_activity where application_name like 'tollgate%'`
const sitterFile = fileURLToPath(new URL('./sitter.js', import.meta.url))
const bootstrapWithinMs = 180_000
const askWithinMs = 2_000

/**
 * Three etcd, three PostgreSQL under Patroni, two HAProxy, in a directory of their own and on
 * loopback. Gateways and whatever else has to end with them are started by it too.
 */
export class Cluster {
  readonly layout: Layout
  /** What ended although nobody asked it to. */
  readonly endedByItself: string[] = []
  readonly etcds: Record<No, Part>
  readonly patronis: Record<No, Part>
  readonly proxies: readonly [Part, Part]
  readonly #user: User | undefined
  readonly #sitter: ChildProcess
  readonly #parts: Part[] = []

  private constructor(layout: Layout, alsoRemoved: readonly string[]) {
    this.layout = layout
    this.#user = process.geteuid?.() === 0 ? unprivilegedUser() : undefined
    // Run by root, the programs are another user's and have to pass here.
    chmodSync(layout.directory, 0o711)
    mkdirSync(join(layout.directory, 'log'))
    this.#sitter = spawn(process.execPath, [sitterFile, layout.directory, ...alsoRemoved], {
      cwd: '/',
      detached: true,
      stdio: ['pipe', 'ignore', 'ignore'],
    })
    const each = (make: (no: No) => Part) => ({ 1: make(1), 2: make(2), 3: make(3) })
    this.etcds = each((no) => this.#etcd(no))
    this.patronis = each((no) => this.#patroni(no))
    this.proxies = [this.#proxy(0), this.#proxy(1)]
  }

  static async open(programs: Programs, alsoRemoved: readonly string[]): Promise<Cluster> {
    const three = async () => ({ 1: await freePort(), 2: await freePort(), 3: await freePort() })
    const two = async () => [await freePort(), await freePort()] as const
    // oxfmt-ignore
    const ports = {
      etcd: await three(), etcdPeers: await three(), patroni: await three(), postgres: await three(),
      proxies: await two(), gateways: await two(), operators: await two(),
    }
    const word = () => randomBytes(12).toString('hex')
    const passwords = { superuser: word(), replication: word(), rewind: word(), owner: word(), gateway: word() }
    const directory = mkdtempSync(join(tmpdir(), 'tollgate-cluster-'))
    return new Cluster({ directory, programs, ports, passwords, api: etcdApiOf(patroniVersion(programs)) }, alsoRemoved)
  }

  /** Resolves when there is a primary with a synchronous standby and one standby more. */
  async start(ended: AbortSignal): Promise<void> {
    for (const no of members) this.etcds[no].start()
    for (const no of members) this.patronis[no].start()
    for (const proxy of this.proxies) proxy.start()
    const end = performance.now() + bootstrapWithinMs
    while (!(await this.isWell())) {
      ended.throwIfAborted()
      if (performance.now() > end || this.endedByItself.length > 0)
        throw new Error(
          `the cluster did not come up: ${JSON.stringify(await this.members())}; ${this.endedByItself.join('\n')}\n` +
            `its logs are in ${join(this.layout.directory, 'log')} (--keep leaves them)`,
        )
      await pause(300, undefined, { signal: ended })
    }
  }

  /** A program more that is killed and started again, as the user of this process. */
  part(name: string, command: string, args: readonly string[], env: Readonly<Record<string, string>>): Part {
    return this.#part({ name, command, args, env })
  }

  #part(of: {
    name: string
    command: string
    args: readonly string[]
    env?: Readonly<Record<string, string>>
    user?: User
  }): Part {
    const part = new Part({
      env: plainEnvironment,
      ...of,
      directory: this.layout.directory,
      log: join(this.layout.directory, 'log', `${of.name}.log`),
      watch: (pid, is) => this.#sitter.stdin?.write(`${is === 'begun' ? '+' : '-'}${pid}\n`),
      onEnd: (says) => this.endedByItself.push(says),
    })
    this.#parts.push(part)
    return part
  }

  #unprivileged = () => (this.#user ? { user: this.#user } : {})

  #etcd(no: No): Part {
    this.#own(`etcd${no}`)
    return this.#part({
      name: `etcd${no}`,
      command: this.layout.programs.etcd,
      args: etcdArguments(no, this.layout),
      ...this.#unprivileged(),
    })
  }

  #patroni(no: No): Part {
    const own = this.#own(`pg${no}`)
    const file = join(own, 'patroni.yml')
    writeFileSync(file, patroniConfig(no, this.layout), { mode: 0o600 })
    if (this.#user) chownSync(file, this.#user.uid, this.#user.gid)
    return this.#part({ name: `patroni${no}`, command: this.layout.programs.patroni, args: [file], ...this.#unprivileged() })
  }

  #proxy(at: 0 | 1): Part {
    const file = join(this.layout.directory, `haproxy${at + 1}.cfg`)
    writeFileSync(file, proxyConfig(this.layout.ports.proxies[at], this.layout.ports), { mode: 0o644 })
    return this.#part({
      name: `haproxy${at + 1}`,
      command: this.layout.programs.haproxy,
      args: ['-db', '-f', file],
      ...this.#unprivileged(),
    })
  }

  /** A directory of the user that the programs run as. */
  #own(name: string): string {
    const path = join(this.layout.directory, name)
    mkdirSync(path, { mode: 0o700 })
    if (this.#user) chownSync(path, this.#user.uid, this.#user.gid)
    return path
  }

  /** By any Patroni that answers; empty when none does. */
  async members(): Promise<Member[]> {
    for (const no of members) {
      const read = await this.#ask(no, 'GET', '/cluster').catch(() => undefined)
      if (read?.status === 200) return (JSON.parse(read.text) as { members?: Member[] }).members ?? []
    }
    return []
  }

  /** One primary, one synchronous standby, and a third that replicates. */
  async isWell(): Promise<boolean> {
    const all = await this.members()
    const roles = new Set(all.filter(({ state }) => state === 'running' || state === 'streaming').map(({ role }) => role))
    if (!['leader', 'sync_standby', 'replica'].every((role) => roles.has(role))) return false
    const leads = ([0, 1] as const).map((at) => this.#leadsToPrimary(at))
    return (await Promise.all([this.#etcdsAreWell(), ...leads])).every(Boolean)
  }

  /** Whether the proxy leads to a server that takes writes. */
  async #leadsToPrimary(at: 0 | 1): Promise<boolean> {
    const url = `postgres://postgres:${this.layout.passwords.superuser}@127.0.0.1:${this.layout.ports.proxies[at]}/postgres`
    const rows = await askedOf<{ standby: boolean }>(url, 'select pg_is_in_recovery() as standby').catch(() => [])
    return rows[0]?.standby === false
  }

  async #etcdsAreWell(): Promise<boolean> {
    const asked = members.map((no) => fetched('GET', `http://127.0.0.1:${this.layout.ports.etcd[no]}/health`))
    const answers = await Promise.all(asked.map((one) => one.catch(() => undefined)))
    return answers.every((one) => one?.status === 200)
  }

  /** Who has the role now; undefined if nobody. */
  async having(role: 'leader' | 'sync_standby'): Promise<No | undefined> {
    const name = (await this.members()).find((one) => one.role === role)?.name
    return members.find((no) => `pg${no}` === name)
  }

  async etcdLeader(): Promise<No | undefined> {
    for (const no of members) {
      const read = await fetched('POST', `http://127.0.0.1:${this.layout.ports.etcd[no]}/v3/maintenance/status`, '{}').catch(
        () => undefined,
      )
      if (read?.status !== 200) continue
      const { leader, header } = JSON.parse(read.text) as { leader: string; header: { member_id: string } }
      if (leader === header.member_id) return no
    }
    return undefined
  }

  /** Asks Patroni to make the synchronous standby the primary. Throws if it refuses. */
  async switchOver(from: No): Promise<void> {
    const { status, text } = await this.#ask(from, 'POST', '/switchover', JSON.stringify({ leader: `pg${from}` }), 60_000)
    if (status !== 200) throw new Error(`the switchover was answered ${status} ${text}`)
  }

  #ask(no: No, method: 'GET' | 'POST', path: string, body?: string, withinMs?: number) {
    return fetched(method, `http://127.0.0.1:${this.layout.ports.patroni[no]}${path}`, body, withinMs)
  }

  /** PostgreSQL of a member: its postmaster and all its children. */
  servers = (no: No): number[] => serversOf({ data: join(this.layout.directory, `pg${no}`, 'data'), clusterName: '' })

  /** To the server itself, past every proxy. */
  superuserUrl = (no: No, database = 'postgres'): string =>
    `postgres://postgres:${this.layout.passwords.superuser}@127.0.0.1:${this.layout.ports.postgres[no]}/${database}`

  /** The standbys that have connections of a gateway all the same. */
  async strayed(): Promise<string[]> {
    const asked = members.map((no) => askedOf<{ standby: boolean; n: number }>(this.superuserUrl(no), connectionsOfGateways))
    const answers = await Promise.all(asked.map((one) => one.catch(() => [])))
    return members.flatMap((no, i) => {
      const { standby, n } = answers[i]![0] ?? { standby: false, n: 0 }
      return standby && n > 0 ? [`pg${no} is a standby and has ${n} connections of gateways`] : []
    })
  }

  /** Kills everything and removes it, unless `keep`. */
  async close(keep: boolean): Promise<void> {
    await Promise.all(this.#parts.map((part) => part.end('SIGKILL', 0)))
    for (const no of members) {
      const pids = this.servers(no)
      for (const pid of pids) signal(pid, 'SIGKILL')
      await untilGone(pids)
    }
    this.#sitter.kill('SIGKILL')
    if (!keep && existsSync(this.layout.directory)) rmSync(this.layout.directory, { recursive: true, force: true, maxRetries: 5 })
  }
}

/** Asks PostgreSQL. Rejects if it does not answer in time. */
async function askedOf<Row extends object>(url: string, text: string): Promise<Row[]> {
  const client = new Client({ connectionString: url, connectionTimeoutMillis: askWithinMs, query_timeout: askWithinMs })
  client.on('error', () => undefined)
  try {
    await client.connect()
    return (await client.query<Row>(text)).rows
  } finally {
    // A server that is frozen would never say goodbye.
    void client.end().catch(() => undefined)
  }
}

async function fetched(method: 'GET' | 'POST', url: string, body?: string, withinMs = askWithinMs) {
  const reply = await request(url, {
    method,
    headersTimeout: withinMs,
    bodyTimeout: withinMs,
    signal: AbortSignal.timeout(withinMs),
    ...(body === undefined ? {} : { body, headers: { 'content-type': 'application/json' } }),
  })
  return { status: reply.statusCode, text: await reply.body.text() }
}
