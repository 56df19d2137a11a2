import type { ChildProcess } from 'node:child_process'
import { sleep, type Clock } from '../base/clock.ts'
import { reasonOf, type Log } from '../base/log.ts'
import type { Random } from '../base/random.ts'
import { openOperatorPort, type OperatorAddress } from '../gateway/operator-port.ts'
import type { Answer, Server } from '../http/server.ts'
import type { ToParent, ToSlot } from './slot.ts'
import { healthy, metricsOf, readyOf, type Said } from './watch.ts'

export interface ListeningPorts {
  port: number
  operatorPort: number
}

export interface ProcessesParts {
  count: number
  /** Starts the process of a slot. It `joins` if others have served before. */
  start(slot: number, joins: boolean): ChildProcess
  /** All of them serve for the first time. */
  onServing?(ports: ListeningPorts): void
  clock: Clock
  random: Random
  log: Log
}

/**
 * A slot is in one of four states:
 *
 *   state     what is there                                  left for
 *   empty     its process ended; the next one after a pause  starting
 *   starting  its process runs, and does not serve yet       serving, stopping, empty
 *   serving   its process serves                             stopping, empty
 *   stopping  its process ends what it has                   empty
 */
interface SlotRow {
  slot: number
  state: 'empty' | 'starting' | 'serving' | 'stopping'
  child: ChildProcess | undefined
  starts: number
  startedAt: number
  /** How many of its processes in a row ended soon. */
  endedSoon: number
}

/** Why all of it ends. */
export interface ProcessesEnd {
  why: string
  code: number
}

/** A process that ends earlier than this did not do its work. */
const soonMs = 10_000
const longestPauseMs = 30_000
/** So many ends in a row, while no other process serves, and the parent gives up. */
const mostEndedSoon = 5
const answersWithinMs = 2_000
/** Longer than an orderly stop takes. */
const killAfterMs = 15_000

/**
 * Several processes that serve on the same ports. This one, their parent, starts them, has the port
 * of the operator, and starts one that ended again. It sees no request, opens no database and
 * unseals nothing.
 */
export class Processes {
  readonly #parts: ProcessesParts
  readonly #rows: readonly SlotRow[]
  readonly #asked = new Map<number, (answer: Answer) => void>()
  #lastId = 0
  #operator: Promise<Server> | undefined
  #hasServed = false
  #isUp = false
  #isStopping = false
  #fail: (ending: ProcessesEnd) => void = () => {}

  constructor(parts: ProcessesParts) {
    this.#parts = parts
    this.#rows = Array.from({ length: parts.count }, (_, slot) => ({
      slot,
      state: 'empty',
      child: undefined,
      starts: 0,
      startedAt: 0,
      endedSoon: 0,
    }))
  }

  /** Runs them until `signal`, or until none can be started. */
  async run(signal: Promise<string>): Promise<ProcessesEnd> {
    const failed = new Promise<ProcessesEnd>((resolve) => (this.#fail = resolve))
    // The first one takes the ports, and finds for all what is wrong with the settings.
    this.#start(this.#rows[0]!)
    const ending = await Promise.race([signal.then((why): ProcessesEnd => ({ why, code: 0 })), failed])
    this.#parts.log.info({ why: ending.why }, 'the gateway stops')
    await this.#stop()
    return ending
  }

  #start(row: SlotRow): void {
    if (this.#isStopping) return
    const child = this.#parts.start(row.slot, this.#hasServed)
    row.child = child
    row.state = 'starting'
    row.starts++
    row.startedAt = this.#parts.clock.monotonic()
    child.once('error', (error) => this.#ended(row, child, null, reasonOf(error)))
    child.once('exit', (code, by) => this.#ended(row, child, code, by ?? `exit code ${code}`))
    child.on('message', (message: ToParent) => this.#hear(row, message))
  }

  #hear(row: SlotRow, message: ToParent): void {
    if (message.says === 'answer') this.#asked.get(message.id)?.(message.answer)
    else if (message.says === 'stops') row.state = 'stopping'
    else if (message.says === 'serves') void this.#serves(row, message.port)
    else {
      this.#operator ??= this.#openOperator(message.at)
      this.#operator.catch((error) => this.#fail({ why: reasonOf(error), code: 1 }))
    }
  }

  async #serves(row: SlotRow, port: number): Promise<void> {
    const { log, count, onServing } = this.#parts
    row.state = 'serving'
    this.#hasServed = true
    log.info({ slot: row.slot, pid: row.child!.pid }, 'a process of this gateway serves')
    for (const other of this.#rows) if (other.starts === 0) this.#start(other)
    if (this.#isUp || this.#serving().length < count) return
    this.#isUp = true
    const operator = await this.#operator
    if (!operator || this.#isStopping) return
    const ports = { port, operatorPort: operator.port }
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
    row.endedSoon = clock.monotonic() - row.startedAt < soonMs ? row.endedSoon + 1 : 0
    const isHopeless = this.#isUp ? row.endedSoon >= mostEndedSoon && this.#serving().length === 0 : !served
    if (isHopeless) return this.#fail({ why: `process ${row.slot} of ${count} cannot serve: ${how}`, code: code || 1 })
    const pauseMs = row.endedSoon < 2 ? 0 : Math.min(longestPauseMs, 500 * 2 ** (row.endedSoon - 1))
    log.error({ slot: row.slot, how, pause_ms: pauseMs }, 'a process of this gateway ended: it is started again')
    clock.after(pauseMs, () => this.#start(row))
  }

  /** Serving processes stop in order at the signal, the others immediately. */
  async #stop(): Promise<void> {
    this.#isStopping = true
    const running = this.#rows.flatMap(({ child }) => child ?? [])
    const gone = Promise.all(running.map((child) => new Promise((resolve) => child.once('exit', resolve))))
    for (const child of running) child.kill('SIGTERM')
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

  #askAll(path: string): Promise<Said[]> {
    const { clock } = this.#parts
    return Promise.all(
      this.#serving().map(async ({ slot, child }) => {
        const id = ++this.#lastId
        const answer = new Promise<Answer>((resolve) => this.#asked.set(id, resolve))
        // Whether it is still there is seen by its end.
        child!.send({ id, path } satisfies ToSlot, () => {})
        const said = await Promise.race([answer, sleep(clock, answersWithinMs)])
        this.#asked.delete(id)
        return { slot, answer: said ?? undefined }
      }),
    )
  }

  async #openOperator(at: OperatorAddress): Promise<Server> {
    const server = await openOperatorPort(at, this.#parts)
    const filled = () => this.#rows.map(({ slot, state, starts }) => ({ slot, isServing: state === 'serving', starts }))
    await server.serve([
      { method: 'GET', path: '/health', handle: () => healthy },
      { method: 'GET', path: '/ready', handle: async () => readyOf(await this.#askAll('/ready')) },
      { method: 'GET', path: '/metrics', handle: async () => metricsOf(await this.#askAll('/metrics'), filled()) },
    ])
    return server
  }
}
