import type { ChildProcess } from 'node:child_process'
import { every, sleep, type Clock } from '../base/clock.ts'
import { reasonOf, type Log } from '../base/log.ts'
import type { Random } from '../base/random.ts'
import { rateOf } from '../base/rate.ts'
import { openOperatorPort, type OperatorPlace } from '../gateway/operator-port.ts'
import { saysLoadEveryMs, type Load, type Ports, type ToParent, type ToSlot } from '../gateway/slot.ts'
import type { Answer, Server } from '../http/server.ts'
import type { Handle } from '../http/shared-socket.ts'
import { healthy, metricsOf, readyOf, type Said } from './process-watch.ts'
import { Spread, type SpreadBy } from './spread.ts'

export interface ProcessesParts {
  count: number
  spread: SpreadBy
  /** How many milliseconds the processors of this machine have had nothing to do, all together. */
  idleMs(): number
  /** Starts the process of a slot, with a channel to it. */
  start(slot: number): ChildProcess
  /** All of them serve for the first time. */
  onServing?(ports: Ports): void
  clock: Clock
  random: Random
  log: Log
}

/**
 * A slot is in one of four states:
 *   starting  its process runs, and does not serve yet. Left when it serves, or ends
 *   serving   its process serves. Left when it stops by itself, or ends
 *   stopping  its process ends what it has, and accepts nothing. Left when it ends
 *   empty     its process ended, and the next one is started after a pause. Left for starting
 */
interface SlotRow {
  slot: number
  state: 'starting' | 'serving' | 'stopping' | 'empty'
  child: ChildProcess | undefined
  starts: number
  startedAt: number
  /** How many of its processes in a row ended soon. */
  endedSoon: number
  /** What it said last, and when. */
  load: Load
  heardAt: number
}

/** Why all of it ends. */
export interface Ending {
  why: string
  code: number
}

const noLoad: Load = { busy: 0, connectionsUsed: 0 }
/** A process that ends earlier than this did not do its work. */
const soonMs = 10_000
const longestPauseMs = 30_000
/** So many ends in a row, while no other process serves, and the parent gives up. */
const mostEndedSoon = 5
const answersWithinMs = 2_000
/** A process that says nothing for so long accepts nothing either. */
const silentAfterMs = 3 * saysLoadEveryMs
/** Longer than an orderly stop takes. */
const killAfterMs = 15_000

/**
 * Several processes that serve on the same ports. This one, their parent, starts them, keeps the
 * sockets on which they listen and the port of the operator, says which of them accept connections,
 * and starts one that ended again. It sees no request, opens no database and unseals nothing.
 *
 * *Rejected:* node:cluster. By turns, its parent passes on one connection for each turn of a busy
 * process, and a burst waits (http/listeners.ts); with a shared handle a process that is started
 * again gets connections before it can serve them.
 */
export class Processes {
  readonly #parts: ProcessesParts
  readonly #rows: readonly SlotRow[]
  readonly #spread: Spread
  readonly #idleSince: () => number
  /** So many processors have nothing to do. */
  #idle = 0
  readonly #sockets = new Map<string, { port: number; handle: Handle }>()
  readonly #asked = new Map<number, (answer: Answer) => void>()
  #lastId = 0
  #operator: Promise<Server> | undefined
  #isUp = false
  #isStopping = false
  #fail: (ending: Ending) => void = () => {}

  constructor(parts: ProcessesParts) {
    this.#parts = parts
    this.#spread = new Spread(parts.spread)
    this.#idleSince = rateOf(parts.clock, parts.idleMs)
    this.#rows = Array.from({ length: parts.count }, (_, slot) => ({
      slot,
      state: 'empty',
      child: undefined,
      starts: 0,
      startedAt: 0,
      endedSoon: 0,
      load: noLoad,
      heardAt: 0,
    }))
  }

  /** Runs them until `signal`, or until none can be started. */
  async run(signal: Promise<string>): Promise<Ending> {
    const failed = new Promise<Ending>((resolve) => (this.#fail = resolve))
    // The first one binds the sockets, and finds for all what is wrong with the settings.
    this.#start(this.#rows[0]!)
    const stopLooking = every(this.#parts.clock, saysLoadEveryMs, () => {
      this.#idle = this.#idleSince()
      this.#look()
    })
    const ending = await Promise.race([signal.then((why): Ending => ({ why, code: 0 })), failed])
    this.#parts.log.info({ why: ending.why }, 'the gateway stops')
    stopLooking()
    await this.#stop()
    return ending
  }

  #start(row: SlotRow): void {
    if (this.#isStopping) return
    const child = this.#parts.start(row.slot)
    row.child = child
    row.state = 'starting'
    row.starts++
    row.startedAt = this.#parts.clock.monotonic()
    child.once('error', (error) => this.#ended(row, child, null, reasonOf(error)))
    child.once('exit', (code, by) => this.#ended(row, child, code, by ?? `exit code ${code}`))
    child.on('message', (message: ToParent, handle: unknown) => this.#hear(row, message, handle as Handle | undefined))
  }

  #hear(row: SlotRow, message: ToParent, handle: Handle | undefined): void {
    if (message.says === 'answer') return this.#asked.get(message.id)?.(message.answer)
    if (message.says === 'serves') return this.#serves(row, message.ports)
    if (message.says === 'load') {
      row.load = message
      row.heardAt = this.#parts.clock.monotonic()
      return
    }
    if (message.says === 'stops') {
      row.state = 'stopping'
      return this.#look()
    }
    const { id } = message
    if (message.says === 'wants operator') {
      this.#operator ??= this.#openOperator(message.at)
      return void this.#operator.then(
        ({ port }) => this.#tell(row, { says: 'reply', id, port }),
        (error) => this.#fail({ why: reasonOf(error), code: 1 }),
      )
    }
    if (message.says === 'bound socket') this.#sockets.set(message.name, { port: message.port, handle: handle! })
    const kept = this.#sockets.get(message.name)
    this.#tell(row, { says: 'reply', id, port: kept?.port }, message.says === 'takes socket' ? kept?.handle : undefined)
  }

  #serves(row: SlotRow, ports: Ports): void {
    const { clock, log, count, onServing } = this.#parts
    row.state = 'serving'
    row.load = noLoad
    row.heardAt = clock.monotonic()
    this.#look()
    log.info({ slot: row.slot, pid: row.child!.pid }, 'a process of this gateway serves')
    if (this.#isUp) return
    for (const other of this.#rows) if (other.starts === 0) this.#start(other)
    if (this.#serving().length < count) return
    this.#isUp = true
    log.info({ ...ports, processes: count }, 'the gateway serves')
    onServing?.(ports)
  }

  #ended(row: SlotRow, child: ChildProcess, code: number | null, how: string): void {
    const { clock, log, count } = this.#parts
    // A process that could not be started may report both an error and its end.
    if (row.child !== child) return
    const served = row.state !== 'starting'
    row.child = undefined
    row.state = 'empty'
    if (this.#isStopping) return
    this.#look()
    row.endedSoon = clock.monotonic() - row.startedAt < soonMs ? row.endedSoon + 1 : 0
    const isHopeless = this.#isUp ? row.endedSoon >= mostEndedSoon && this.#serving().length === 0 : !served
    if (isHopeless) return this.#fail({ why: `process ${row.slot} of ${count} cannot serve: ${how}`, code: code || 1 })
    const pauseMs = row.endedSoon < 2 ? 0 : Math.min(longestPauseMs, 500 * 2 ** (row.endedSoon - 1))
    log.error({ slot: row.slot, how, pause_ms: pauseMs }, 'a process of this gateway ended: it is started again')
    clock.after(pauseMs, () => this.#start(row))
  }

  /** Tells the processes which of them accept connections, where that changes. */
  #look(): void {
    if (this.#isStopping) return
    const { clock, log } = this.#parts
    const now = clock.monotonic()
    const silent = (heardAt: number) => now - heardAt > silentAfterMs
    const accepted = new Set(this.#rows.flatMap(({ slot }) => (this.#spread.accepts(slot) ? [slot] : [])))
    const serving = this.#serving().map(({ slot, load, heardAt }) => ({ slot, ...load, isSilent: silent(heardAt) }))
    for (const [slot, acceptance] of this.#spread.look(now, serving, this.#idle)) {
      if (acceptance.accepts !== accepted.has(slot))
        log.info({ slot }, acceptance.accepts ? 'a process accepts connections' : 'a process accepts no more connections')
      this.#tell(this.#rows[slot]!, { says: 'accept', ...acceptance })
    }
  }

  /** The sockets are closed first, so that nobody connects to processes that stop. */
  async #stop(): Promise<void> {
    this.#isStopping = true
    for (const { handle } of this.#sockets.values()) handle.close()
    const running = this.#rows.filter(({ child }) => child !== undefined)
    const gone = Promise.all(running.map(({ child }) => new Promise((resolve) => child!.once('exit', resolve))))
    for (const row of running)
      if (row.state === 'serving') this.#tell(row, { says: 'stop' })
      else if (row.state === 'starting') row.child!.kill('SIGTERM')
    await Promise.race([gone, sleep(this.#parts.clock, killAfterMs)])
    for (const { child } of this.#rows) child?.kill('SIGKILL')
    await gone
    // Last: it keeps a gateway that is started meanwhile from taking the place of these processes.
    await this.#operator?.then(
      (server) => server.close(0),
      () => {},
    )
  }

  #serving = (): SlotRow[] => this.#rows.filter(({ state }) => state === 'serving')

  #tell(row: SlotRow, message: ToSlot, handle?: Handle): void {
    // Whether it is still there is seen by its end.
    row.child?.send(message, handle, () => {})
  }

  #askAll(path: string): Promise<Said[]> {
    const { clock } = this.#parts
    return Promise.all(
      this.#serving().map(async (row) => {
        const id = ++this.#lastId
        const answer = new Promise<Answer>((resolve) => this.#asked.set(id, resolve))
        this.#tell(row, { says: 'ask', id, path })
        const said = await Promise.race([answer, sleep(clock, answersWithinMs)])
        this.#asked.delete(id)
        return { slot: row.slot, answer: said ?? undefined }
      }),
    )
  }

  async #openOperator(at: OperatorPlace): Promise<Server> {
    const server = await openOperatorPort(at, this.#parts)
    const filled = () =>
      this.#rows.map(({ slot, state, starts }) => ({
        slot,
        isServing: state === 'serving',
        accepts: this.#spread.accepts(slot),
        starts,
      }))
    await server.serve([
      { method: 'GET', path: '/health', handle: () => healthy },
      { method: 'GET', path: '/ready', handle: async () => readyOf(await this.#askAll('/ready')) },
      { method: 'GET', path: '/metrics', handle: async () => metricsOf(await this.#askAll('/metrics'), filled()) },
    ])
    return server
  }
}
