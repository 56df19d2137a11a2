/**
 * The gateways of a process, one over each cell that it serves. A cell that is added to the
 * installation is opened while the process runs; one whose database is away is tried again.
 */
import type { Clock } from '../../base/clock.ts'
import { reasonOf, type Log } from '../../base/log.ts'
import type { CellAddress } from '../../storage/cells.ts'
import type { OpenCell } from './cell-gateway.ts'
import { startPeriodic } from '../periodic.ts'
import type { AwayCell } from '../watch.ts'

export interface CellsParts {
  /** The cells of the installation, now. */
  listed: () => readonly CellAddress[]
  /** Those that this process serves; all if absent. */
  serves?: ReadonlySet<number> | undefined
  open: (own: CellAddress) => Promise<OpenCell>
  clock: Clock
  log: Log
}

export interface Cells {
  /** Undefined if it is away, or not served by this process. */
  of(cellNo: number): OpenCell | undefined
  /** In the order of their numbers. */
  open(): readonly OpenCell[]
  away(): readonly AwayCell[]
  /** Opens what the configuration added; called when that has changed. */
  openNew(): void
  stop(): Promise<void>
}

const tryAgainMs = 1_000

/**
 * Opens each cell that is listed and served. Throws if none of them can be opened, or cell 0, which
 * is in the database of the installation. Any other is then away. The process ends if it loses its
 * lease over cell 0; any other is then opened again.
 */
export async function openCells({ listed, serves, open, clock, log }: CellsParts): Promise<Cells> {
  const cells = new Map<number, OpenCell>()
  const away = new Map<number, string>()
  const opening = new Map<number, Promise<void>>()
  let stopped = false

  async function openOne(own: CellAddress): Promise<void> {
    const { cellNo } = own
    const cell = await open(own)
    if (stopped) return cell.stop()
    cells.set(cellNo, cell)
    away.delete(cellNo)
    if (cellNo === 0) return
    log.info({ cell: cellNo }, 'a cell is served')
    void cell.gateway.lost.then(() => openAgain(own, cell))
  }

  /** Other processes take over the orders of this one in the cell; it starts again. */
  async function openAgain(own: CellAddress, cell: OpenCell): Promise<void> {
    if (stopped) return
    const { cellNo } = own
    cells.delete(cellNo)
    away.set(cellNo, 'the lease of this process was lost')
    const stopping = cell.stop().catch((error) => log.error({ cell: cellNo, reason: reasonOf(error) }, 'a cell did not stop'))
    opening.set(cellNo, stopping)
    await stopping
    opening.delete(cellNo)
    openNew()
  }

  const failed = ({ cellNo }: CellAddress, error: unknown) => {
    const reason = reasonOf(error)
    if (away.get(cellNo) !== reason) log.error({ cell: cellNo, reason }, 'a cell cannot be served; another try follows')
    away.set(cellNo, reason)
  }

  const wanted = () => listed().filter(({ cellNo }) => serves?.has(cellNo) ?? true)

  function openNew() {
    for (const own of stopped ? [] : wanted()) {
      const { cellNo } = own
      if (cells.has(cellNo) || opening.has(cellNo)) continue
      const trying = openOne(own)
        .catch((error) => failed(own, error))
        .finally(() => opening.delete(cellNo))
      opening.set(cellNo, trying)
    }
  }

  for (const own of wanted())
    await openOne(own).catch((error) => {
      if (own.cellNo === 0) throw error
      failed(own, error)
    })
  if (cells.size === 0) throw new Error(`No cell can be served: ${whyNone(serves, away)}`)
  const stopTrying = startPeriodic(clock, log, [{ name: 'cells that are away', everyMs: tryAgainMs, run: async () => openNew() }])

  return {
    of: (cellNo) => cells.get(cellNo),
    open: () => [...cells.values()].sort((a, b) => a.cellNo - b.cellNo),
    away: () => [...away].map(([cellNo, reason]) => ({ cellNo, reason })),
    openNew,
    async stop() {
      stopped = true
      stopTrying()
      await Promise.all(opening.values())
      await Promise.all([...cells.values()].map((cell) => cell.stop()))
    },
  }
}

const whyNone = (serves: ReadonlySet<number> | undefined, away: ReadonlyMap<number, string>): string =>
  away.size > 0
    ? [...away].map(([cellNo, reason]) => `cell ${cellNo}: ${reason}`).join('; ')
    : `TOLLGATE_CELLS names ${[...(serves ?? [])].join(', ')}, which this installation does not have`
