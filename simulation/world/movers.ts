import { giveUp, runMove, type MoveDesk, type MoveStep } from '../../src/operator/cells/merchant-move.ts'
import { Refused } from '../../src/operator/refused.ts'
import type { Chance } from './chance.ts'
import type { Actor, Events } from './clock.ts'
import { merchantIds } from '../model/configuration.ts'
import type { Installation } from './installation.ts'
import { beginMove, tablesBetween, type Command } from '../model/move-tables.ts'
import type { Process } from './processes.ts'
import { StoreCalls, type DatabaseWeather } from '../model/store-calls.ts'
import type { Trace } from './time-line.ts'
import { databaseOf, type Weather } from './troubles.ts'

export interface MoverParts {
  events: Events
  chance: Chance
  installation: Installation
  weather: Weather
  slots: readonly Pick<Process, 'serves'>[]
  trace: Trace
}

/** Operators, who move merchants from one cell to another while they pay. */
export interface Movers {
  /** Begins moves until then. */
  begin(untilMs: number): void
  /** Moves that are not at their end. */
  waiting(): number
  moved(): number
}

const everyMs = 8_000
/** The most that one way takes from an operator to a cell. */
const slowest = [3, 30, 100] as const
const againMs = [500, 4_000] as const
/** How likely a command is cut off, and within which time. */
const cutOdds = 0.3
const cutWithinMs = 10_000
/** How likely a command stands still for a while, and goes on then. */
const standsOdds = 0.1
const standsMs = [100, 40_000] as const
const pausesAtMostMs = [4_000, 15_000, 60_000, 60_000] as const
/** How likely a second command is given while one runs. */
const rivalOdds = 0.2

export function openMovers(parts: MoverParts): Movers {
  const { events, chance, installation, trace } = parts
  const moving = new Set<bigint>()
  let commands = 0
  let moved = 0
  const command = (merchantId: bigint, to: number | 'give up') =>
    giveCommand(parts, `command ${++commands}`, chance.fork(), merchantId, to)

  /** Gives the command again until it is at its end. */
  async function move(merchantId: bigint, to: number): Promise<void> {
    moving.add(merchantId)
    for (;;) {
      trace(() => `operator moves merchant ${merchantId} from ${installation.cellOf(merchantId)} to ${to}`)
      const [why] = await Promise.all([command(merchantId, to), chance.happens(rivalOdds) && rival(merchantId, to)])
      trace(() => `operator merchant ${merchantId} ${why === undefined ? 'has moved' : `has not moved: ${why}`}`)
      const begun = installation.moves.get(merchantId)?.to
      if (why === undefined && begun === undefined) break
      // Another command has begun to move it elsewhere, and has to come to its end first.
      to = begun ?? to
      await pause(chance.between(...againMs))
    }
    moved++
    moving.delete(merchantId)
  }

  /** Somebody gives a command at the same time, perhaps to bring the merchant back. */
  async function rival(merchantId: bigint, to: number): Promise<void> {
    const back = installation.cellOf(merchantId)
    await pause(chance.between(0, 8_000))
    await command(merchantId, chance.pick([to, back, 'give up' as const]))
  }

  const pause = (ms: number) => new Promise<void>((resolve) => events.after(ms, undefined, resolve))

  function next(untilMs: number): void {
    if (events.now >= untilMs) return
    const merchantId = chance.pick(merchantIds)
    const from = installation.cellOf(merchantId)
    const cells = chance.happens(0.7) ? servedAs(from, parts) : [...installation.cells.keys()]
    const to = chance.pick(cells.filter((cellNo) => cellNo !== from))
    if (!moving.has(merchantId)) void move(merchantId, to)
    events.after(chance.between(0, 2 * everyMs), undefined, () => next(untilMs))
  }

  return {
    begin: (untilMs) => next(untilMs),
    waiting: () => moving.size,
    moved: () => moved,
  }
}

/** Cells that are served by the same processes as this one. */
const servedAs = (cellNo: number, { installation, slots }: MoverParts): number[] =>
  [...installation.cells.keys()].filter((other) => slots.every(({ serves }) => serves.has(cellNo) === serves.has(other)))

/** One command; resolves to why it ended before its end, or undefined. */
function giveCommand(
  { events, installation, weather, trace }: MoverParts,
  mover: string,
  chance: Chance,
  merchantId: bigint,
  to: number | 'give up',
): Promise<string | undefined> {
  const actor: Actor = { name: mover, alive: true, pausedUntil: 0, wallOffsetMs: 0, numbers: new Map() }
  const slowMs = chance.pick(slowest)
  const lines = installation.cells.map((model, cellNo) => {
    const database = databaseOf(weather, cellNo)
    const slow = Object.create(database, { latencyMs: { get: () => Math.max(slowMs, database.latencyMs) } }) as DatabaseWeather
    return new StoreCalls({ model, events, actor, chance: chance.fork(), weather: slow })
  })
  const command: Command = { installation, merchantId, mover, line: (cellNo) => lines[cellNo]! }
  const desk: MoveDesk = {
    clock: events.clockOf(actor),
    login: `shop${merchantId}`,
    begin: (cellNo) => beginMove(command, cellNo),
    between: (move) => tablesBetween(command, move),
  }
  const report = (step: MoveStep) => trace(() => `operator ${mover} of merchant ${merchantId} to ${to}: ${JSON.stringify(step)}`)
  const pauseAtMostMs = chance.pick(pausesAtMostMs)
  return new Promise((resolve) => {
    if (chance.happens(cutOdds))
      events.after(chance.between(0, cutWithinMs), undefined, () => {
        actor.alive = false
        for (const line of lines) line.cut()
        resolve('it was cut off')
      })
    if (chance.happens(standsOdds))
      events.after(chance.between(0, cutWithinMs), undefined, () => {
        actor.pausedUntil = events.now + chance.whole(...standsMs)
      })
    const done = to === 'give up' ? endMove(command, report) : runMove(desk, { to, pauseAtMostMs, report })
    done.then(
      () => resolve(undefined),
      (error: unknown) => resolve(error instanceof Refused ? JSON.stringify(error.refusal) : String(error)),
    )
  })
}

async function endMove(command: Command, report: (step: MoveStep) => void): Promise<void> {
  const { installation, merchantId, line } = command
  const to = await line(0).run(() => installation.moves.get(merchantId)?.to)
  const move = to === undefined ? undefined : await beginMove(command, to)
  if (move && move.isIn === move.from) await giveUp(move, tablesBetween(command, move), report)
}
