import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { asUser, plainEnvironment, signal } from '../../src/embedded/process.ts'
import { freePort } from '../harness/world/port.ts'
import { askedOf, fetched } from './ask.ts'
import type { Engine, Trouble } from './engine.ts'
import { moveMerchant } from './merchant-move.ts'
import { loginOf } from './merchants.ts'
import { untilGone, type Part } from './part.ts'
import type { Act } from './plan.ts'
import { Site } from './site.ts'
import { troubleOfPart } from './trouble.ts'

/** 0 is the coordinator. */
const nodes = [0, 1, 2] as const
type Node = (typeof nodes)[number]
const cells = [1, 2] as const
type CellNo = (typeof cells)[number]

const host = '127.0.0.1'
const startWithinMs = 60_000
const moveWithinMs = 60_000
const otherThan = (cellNo: CellNo): CellNo => (cellNo === 1 ? 2 : 1)
const nameOf = (node: Node): string => (node === 0 ? 'coordinator' : `worker${node}`)

// As docs/cluster.md explains it setting by setting.
const settingsOf = (port: number, own: string): string => `
port = ${port}
listen_addresses = '${host}'
unix_socket_directories = '${own}'
shared_preload_libraries = 'citus'
wal_level = logical
max_connections = 200
max_worker_processes = 32
max_prepared_transactions = 200
citus.node_conninfo = 'sslmode=prefer'
`
const access = `local all postgres peer
host all all ${host}/32 scram-sha-256
`

const placesOfCells = `
  select s.nspname::text as schema, d.nodeport as port
  from pg_dist_schema c
  join pg_namespace s on s.oid = c.schemaid
  join pg_class t on t.relnamespace = s.oid and t.relname = 'migration'
  join pg_dist_shard h on h.logicalrelid = t.oid
  join pg_dist_placement p on p.shardid = h.shardid
  join pg_dist_node d on d.groupid = p.groupid`

/** What Citus opened from another node for a gateway; the first digits of `gpid` are the node's. */
const fromOtherNodes = `
  select count(*)::int as n from pg_stat_activity
  where usename = 'gateway'
    and substring(application_name from 'gpid=([0-9]+)')::bigint / 10000000000 <> citus_backend_gpid() / 10000000000`

/** What a gateway says of a cell. */
interface ReadyCell {
  cell: number
  ready: boolean
  node?: string
}

/**
 * A coordinator and two workers with Citus, each a PostgreSQL in a directory of its own and on
 * loopback; cell 1 begins at one worker and cell 2 at the other.
 */
export class Citus implements Engine {
  readonly site: Site
  readonly ports: Engine['ports']
  readonly passwords: Engine['passwords'] & { superuser: string }
  readonly cells = cells
  readonly promise = 'cells at their nodes alone'
  readonly #programs: string
  readonly #postgres: Readonly<Record<Node, number>>
  readonly #servers: Readonly<Record<Node, Part>>

  private constructor(site: Site, programs: string, postgres: Record<Node, number>, ports: Engine['ports']) {
    this.site = site
    this.ports = ports
    this.#programs = programs
    this.#postgres = postgres
    const word = () => randomBytes(12).toString('hex')
    this.passwords = { superuser: word(), owner: word(), gateway: word() }
    const server = (node: Node): Part =>
      site.server({
        name: nameOf(node),
        command: join(programs, 'postgres'),
        args: ['-D', join(site.directory, nameOf(node), 'data')],
        env: { ...plainEnvironment, PGPASSFILE: join(site.directory, nameOf(node), 'passwords') },
      })
    this.#servers = { 0: server(0), 1: server(1), 2: server(2) }
  }

  /** `programs`: the directory of the postgres that Citus is installed for. */
  static async open(programs: string, alsoRemoved: readonly string[]): Promise<Citus> {
    const two = async () => [await freePort(), await freePort()] as const
    const postgres = { 0: await freePort(), 1: await freePort(), 2: await freePort() }
    return new Citus(new Site(alsoRemoved), programs, postgres, { gateways: await two(), operators: await two() })
  }

  async start(ended: AbortSignal): Promise<string> {
    for (const node of nodes) {
      this.#makeServer(node)
      this.#servers[node].start()
    }
    await this.#untilAnswering(ended)
    return 'a coordinator and two workers are there'
  }

  #makeServer(node: Node): void {
    const own = this.site.own(nameOf(node))
    const { superuser, owner, gateway } = this.passwords
    const password = this.site.ownFile(join(own, 'password'), `${superuser}\n`)
    // By these one node reaches another, as the user of whoever asks.
    const known = Object.entries({ postgres: superuser, tollgate_owner: owner, gateway })
    this.site.ownFile(join(own, 'passwords'), known.map(([user, word]) => `*:*:*:${user}:${word}\n`).join(''))
    const data = join(own, 'data')
    const usual = ['--username=postgres', '--auth=scram-sha-256', '--encoding=UTF8', '--locale=C', '--no-sync']
    execFileSync(join(this.#programs, 'initdb'), [`--pgdata=${data}`, `--pwfile=${password}`, ...usual], {
      cwd: own,
      env: plainEnvironment,
      stdio: 'pipe',
      ...asUser(this.site.user),
    })
    this.site.ownFile(join(data, 'postgresql.auto.conf'), settingsOf(this.#postgres[node], own))
    this.site.ownFile(join(data, 'pg_hba.conf'), access)
  }

  async #untilAnswering(ended: AbortSignal): Promise<void> {
    const end = performance.now() + startWithinMs
    while (!(await this.#allAnswer())) {
      ended.throwIfAborted()
      if (performance.now() > end || this.site.endedByItself.length > 0)
        throw new Error(`PostgreSQL did not come up: ${this.site.endedByItself.join('\n')}`)
      await pause(200, undefined, { signal: ended })
    }
  }

  #url = (node: Node, database: string): string =>
    `postgres://postgres:${this.passwords.superuser}@${host}:${this.#postgres[node]}/${database}`

  superuserUrl = async (database: string): Promise<string> => this.#url(0, database)

  urlOf = (_at: 0 | 1, user: string, password: string): string =>
    `postgres://${user}:${password}@${host}:${this.#postgres[0]}/tollgate`

  /** The owner of the tables, whom the coordinator has, comes to the workers with the extension. */
  async prepare(): Promise<void> {
    for (const node of nodes) {
      if (node > 0) await askedOf(this.#url(node, 'postgres'), 'create database tollgate')
      await askedOf(this.#url(node, 'tollgate'), 'create extension citus')
    }
    const [coordinator, ...workers] = nodes.map((node) => this.#postgres[node])
    await this.#told(`select citus_set_coordinator_host('${host}', ${coordinator})`)
    for (const port of workers) await this.#told(`select citus_add_node('${host}', ${port})`)
  }

  #told = (text: string): Promise<object[]> => askedOf(this.#url(0, 'tollgate'), text, moveWithinMs)

  async #nodeOf(cellNo: CellNo): Promise<Node> {
    const rows = await askedOf<{ schema: string; port: number }>(this.#url(0, 'tollgate'), placesOfCells)
    const port = rows.find(({ schema }) => schema === `cell_${cellNo}`)?.port
    const node = nodes.find((one) => this.#postgres[one] === port)
    if (node === undefined) throw new Error(`Citus has cell ${cellNo} nowhere`)
    return node
  }

  async #cellsAt(node: Node): Promise<CellNo[]> {
    const at = await Promise.all(cells.map((cellNo) => this.#nodeOf(cellNo)))
    return cells.filter((_, i) => at[i] === node)
  }

  async #allAnswer(): Promise<boolean> {
    const asked = nodes.map((node) => askedOf(this.#url(node, 'postgres'), 'select').then(Boolean, () => false))
    return (await Promise.all(asked)).every(Boolean)
  }

  /** The servers answer, and both gateways serve each cell. */
  async isWell(): Promise<boolean> {
    if (!(await this.#allAnswer())) return false
    const said = await this.#readyCells()
    return said.every((all) => cells.every((cellNo) => all.some(({ cell, ready }) => cell === cellNo && ready)))
  }

  async #readyCells(): Promise<ReadyCell[][]> {
    const asked = this.ports.operators.map((port) => fetched('GET', `http://${host}:${port}/ready`))
    const answers = await Promise.all(asked.map((one) => one.catch(() => undefined)))
    // A gateway that is starting answers in words.
    const isJson = (text: string | undefined) => text?.startsWith('{') ?? false
    return answers.map((one) => (isJson(one?.text) ? ((JSON.parse(one!.text) as { cells?: ReadyCell[] }).cells ?? []) : []))
  }

  async strayed(): Promise<string[]> {
    const said = await this.#readyCells()
    const found: string[] = []
    for (const cellNo of cells) {
      const node = await this.#nodeOf(cellNo)
      for (const [at, all] of said.entries()) {
        const used = all.find(({ cell }) => cell === cellNo)?.node
        if (used !== `${host}:${this.#postgres[node]}`)
          found.push(`gateway${at + 1} uses cell ${cellNo} at ${used}, and ${nameOf(node)} has it`)
      }
    }
    for (const node of nodes) {
      const [row] = await askedOf<{ n: number }>(this.#url(node, 'tollgate'), fromOtherNodes)
      if (row!.n > 0) found.push(`other nodes have ${row!.n} connections to ${nameOf(node)} for gateways`)
    }
    return found
  }

  async troubleOf({ kind, which, forMs }: Act, gateways: readonly [Part, Part]): Promise<Trouble | undefined> {
    const [who, how] = kind.split(' ')
    if (who === 'gateway') return troubleOfPart(gateways[which % 2]!, how)
    const cellNo = cells[which % 2]!
    if (kind === 'cell moved') return this.#move(cellNo)
    if (kind === 'move cut off') return this.#moveCutOff(cellNo, forMs)
    if (kind === 'merchant moved') return this.#moveMerchant(cellNo)
    if (kind === 'merchant cut off') return this.#merchantCutOff(cellNo, forMs)
    const node = who === 'coordinator' ? 0 : ([1, 2] as const)[which % 2]!
    // Without the coordinator there are no ids for new orders.
    const down = node === 0 ? cells : await this.#cellsAt(node)
    if (how === 'killed') return { whom: nameOf(node), make: () => this.#kill(node), undo: () => this.#startAgain(node), down }
    const send = (name: NodeJS.Signals) => () => this.site.postgres(nameOf(node)).forEach((pid) => signal(pid, name))
    return { whom: nameOf(node), make: send('SIGSTOP'), undo: send('SIGCONT'), down }
  }

  /** Until it answers, which after a crash may take longer than all else. */
  async #startAgain(node: Node): Promise<void> {
    this.#servers[node].start()
    await this.#untilAnswering(new AbortController().signal)
  }

  async #kill(node: Node): Promise<void> {
    const pids = this.site.postgres(nameOf(node))
    const ended = this.#servers[node].end('SIGKILL', 0)
    for (const pid of pids) signal(pid, 'SIGKILL')
    await ended
    await untilGone(pids)
  }

  async #move(cellNo: CellNo): Promise<Trouble> {
    const to = (await this.#nodeOf(cellNo)) === 1 ? 2 : 1
    const move = `select citus_schema_move('cell_${cellNo}', '${host}', ${this.#postgres[to]})`
    return { whom: `cell ${cellNo}`, make: async () => void (await this.#told(move)) }
  }

  /** Citus gives the move up, and the cell stays where it was. */
  async #moveCutOff(cellNo: CellNo, forMs: number): Promise<Trouble> {
    const to = (await this.#nodeOf(cellNo)) === 1 ? 2 : 1
    const moving = await this.#move(cellNo)
    return {
      whom: nameOf(to),
      make: () => this.#killDuring(Promise.resolve(moving.make()), to, Math.min(forMs, 1_500)),
      undo: () => this.#startAgain(to),
      down: await this.#cellsAt(to),
    }
  }

  /** What is cut off fails, as it should. */
  async #killDuring(moving: Promise<void>, worker: Node, afterMs: number): Promise<void> {
    const ended = moving.catch(() => undefined)
    await pause(afterMs)
    await this.#kill(worker)
    await ended
  }

  /** The merchant comes home before the next trouble. */
  #moveMerchant(home: CellNo): Trouble {
    return {
      whom: loginOf(home),
      make: () => this.#merchantTo(home, otherThan(home)),
      finish: () => this.#merchantTo(home, home),
    }
  }

  #merchantTo = (home: CellNo, to: CellNo): Promise<void> => moveMerchant(this, loginOf(home), to)

  /** The command is given again when the worker is back, and then goes on. */
  async #merchantCutOff(home: CellNo, forMs: number): Promise<Trouble> {
    const to = otherThan(home)
    const worker = await this.#nodeOf(to)
    return {
      whom: nameOf(worker),
      make: () => this.#killDuring(this.#merchantTo(home, to), worker, forMs / 4),
      undo: () => this.#startAgain(worker),
      finish: async () => {
        await this.#merchantTo(home, to)
        await this.#merchantTo(home, home)
      },
      // If the move is cut off in its pause, the merchant is in neither cell until `finish`.
      down: cells,
    }
  }

  close = (keep: boolean): Promise<void> => this.site.close(keep, nodes.map(nameOf))
}
