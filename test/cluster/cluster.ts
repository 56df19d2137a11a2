import { randomBytes } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { signal } from '../../src/embedded/process.ts'
import { freePort } from '../harness/world/port.ts'
import { askedOf, fetched } from './ask.ts'
import type { Engine, Trouble } from './engine.ts'
import { etcdArguments, members, patroniConfig, proxyConfig, type Layout, type No } from './layout.ts'
import type { Part } from './part.ts'
import type { Act } from './plan.ts'
import { etcdApiOf, patroniVersion, type Programs } from './programs.ts'
import { Site } from './site.ts'
import { troubleOfPart } from './trouble.ts'

/** What Patroni says of a member. */
export interface Member {
  name: string
  role: string
  state: string
}

const connectionsOfGateways = `
  select pg_is_in_recovery() as standby, count(*)::int as n from pg_stat_activity where application_name like 'tollgate%'`
const bootstrapWithinMs = 180_000
const stopWithinMs = 30_000

/**
 * Three etcd, three PostgreSQL under Patroni, two HAProxy, in a directory of their own and on
 * loopback. Gateways and whatever else has to end with them are started by it too.
 */
export class Cluster implements Engine {
  readonly site: Site
  readonly layout: Layout
  readonly ports: Layout['ports']
  readonly passwords: Layout['passwords']
  readonly cells = [0]
  readonly promise = 'no gateway at a standby'
  readonly etcds: Record<No, Part>
  readonly patronis: Record<No, Part>
  readonly proxies: readonly [Part, Part]

  private constructor(site: Site, layout: Layout) {
    this.site = site
    this.layout = layout
    this.ports = layout.ports
    this.passwords = layout.passwords
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
    const site = new Site(alsoRemoved)
    const { directory } = site
    return new Cluster(site, { directory, programs, ports, passwords, api: etcdApiOf(patroniVersion(programs)) })
  }

  /** Resolves when there is a primary with a synchronous standby and one standby more. */
  async start(ended: AbortSignal): Promise<string> {
    for (const no of members) this.etcds[no].start()
    for (const no of members) this.patronis[no].start()
    for (const proxy of this.proxies) proxy.start()
    const end = performance.now() + bootstrapWithinMs
    while (!(await this.isWell())) {
      ended.throwIfAborted()
      if (performance.now() > end || this.site.endedByItself.length > 0)
        throw new Error(
          `the cluster did not come up: ${JSON.stringify(await this.members())}; ${this.site.endedByItself.join('\n')}\n` +
            `its logs are in ${join(this.layout.directory, 'log')} (--keep leaves them)`,
        )
      await pause(300, undefined, { signal: ended })
    }
    return 'a primary, a synchronous standby and one more are there'
  }

  #etcd(no: No): Part {
    const name = `etcd${no}`
    this.site.own(name)
    return this.site.server({ name, command: this.layout.programs.etcd, args: etcdArguments(no, this.layout) })
  }

  #patroni(no: No): Part {
    const file = join(this.site.own(`pg${no}`), 'patroni.yml')
    this.site.ownFile(file, patroniConfig(no, this.layout))
    return this.site.server({ name: `patroni${no}`, command: this.layout.programs.patroni, args: [file] })
  }

  #proxy(at: 0 | 1): Part {
    const name = `haproxy${at + 1}`
    const file = join(this.layout.directory, `${name}.cfg`)
    writeFileSync(file, proxyConfig(this.layout.ports.proxies[at], this.layout.ports), { mode: 0o644 })
    return this.site.server({ name, command: this.layout.programs.haproxy, args: ['-db', '-f', file] })
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

  /** Who has the role now; undefined if it is vacant. */
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
  servers = (no: No): number[] => this.site.postgres(`pg${no}`)

  /** To the server itself, past every proxy. */
  #superuserUrl = (no: No, database = 'postgres'): string =>
    `postgres://postgres:${this.layout.passwords.superuser}@127.0.0.1:${this.layout.ports.postgres[no]}/${database}`

  async superuserUrl(database: string): Promise<string> {
    const primary = await this.having('leader')
    if (primary === undefined) throw new Error('there is no primary')
    return this.#superuserUrl(primary, database)
  }

  prepare = async (): Promise<void> => undefined

  /** Through the proxy of that gateway. */
  urlOf = (at: 0 | 1, user: string, password: string): string =>
    `postgres://${user}:${password}@127.0.0.1:${this.ports.proxies[at]}/tollgate`

  /** The standbys that have connections of a gateway all the same. */
  async strayed(): Promise<string[]> {
    const asked = members.map((no) => askedOf<{ standby: boolean; n: number }>(this.#superuserUrl(no), connectionsOfGateways))
    const answers = await Promise.all(asked.map((one) => one.catch(() => [])))
    return members.flatMap((no, i) => {
      const { standby, n } = answers[i]![0] ?? { standby: false, n: 0 }
      return standby && n > 0 ? [`pg${no} is a standby and has ${n} connections of gateways`] : []
    })
  }

  async troubleOf({ kind, which }: Act, gateways: readonly [Part, Part]): Promise<Trouble | undefined> {
    const [who, ...words] = kind.split(' ')
    const how = words.at(-1)
    if (who === 'gateway' || who === 'proxy') return troubleOfPart((who === 'gateway' ? gateways : this.proxies)[which % 2]!, how)
    if (who === 'etcd') {
      // Every other time its leader, which has to be elected again.
      const no = (which % 2 === 0 ? await this.etcdLeader() : undefined) ?? members[which % 3]!
      return troubleOfPart(this.etcds[no], how)
    }
    const no = await this.having(who === 'standby' ? 'sync_standby' : 'leader')
    if (no === undefined) return undefined
    if (kind === 'switchover') return { whom: `pg${no}`, make: () => this.switchOver(no) }
    return words[0] === 'node' ? this.#troubleOfNode(no, how) : this.#troubleOfServer(no, how)
  }

  #troubleOfServer(no: No, how: string | undefined): Trouble {
    const send = (name: NodeJS.Signals) => () => this.servers(no).forEach((pid) => signal(pid, name))
    const whom = `pg${no}`
    return how === 'frozen' ? { whom, make: send('SIGSTOP'), undo: send('SIGCONT') } : { whom, make: send('SIGKILL') }
  }

  #troubleOfNode(no: No, how: string | undefined): Trouble {
    const [patroni, whom] = [this.patronis[no], `node ${no}`]
    const both = (name: NodeJS.Signals) => {
      patroni.signal(name)
      for (const pid of this.servers(no)) signal(pid, name)
    }
    if (how === 'frozen') return { whom, make: () => both('SIGSTOP'), undo: () => both('SIGCONT') }
    const kill = async () => {
      const pids = this.servers(no)
      const ended = patroni.end('SIGKILL', 0)
      for (const pid of pids) signal(pid, 'SIGKILL')
      await ended
    }
    const stop = () => void patroni.end('SIGTERM', stopWithinMs)
    const start = async () => {
      await patroni.end('SIGTERM', stopWithinMs)
      patroni.start()
    }
    return { whom, make: how === 'stopped' ? stop : kill, undo: start }
  }

  /** Kills everything and removes it, unless `keep`. */
  close = (keep: boolean): Promise<void> =>
    this.site.close(
      keep,
      members.map((no) => `pg${no}`),
    )
}
