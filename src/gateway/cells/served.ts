/** The cells that a process serves, as if they were one. */
import { cellOfUuid } from '../../base/cell-mark.ts'
import type { Route } from '../../http/server.ts'
import type { Results } from '../../three-d-secure/inbound.ts'
import type { CellAddress } from '../../storage/cells.ts'
import type { OpenCell } from './cell-gateway.ts'
import { openCells, type Cells } from './cells.ts'
import type { Closing } from '../closing.ts'
import { knownCell, leadingRoutes } from './lead.ts'
import { neighboursOf, OpenElsewhere } from './neighbours.ts'
import type { Gateway, GatewayParts } from '../open.ts'
import type { Ground, RegistryStores } from '../parts.ts'
import type { Passing } from '../peers/passing.ts'

export interface Served extends Cells {
  routes: readonly Route[]
  /** Receives the results of challenges of every cell. */
  results: Results
  /** The gateway over a cell; undefined if it takes no requests here. */
  takes(cellNo: number): Gateway | undefined
}

/** What the gateway over a cell shares with those over the others. */
export type Shared = Required<Pick<GatewayParts, 'collects' | 'neighbours'>>

export interface ServedParts {
  registry: Pick<RegistryStores, 'current' | 'refresh'>
  ground: Pick<Ground, 'clock' | 'random' | 'log'>
  /** The cells that this process serves; all if absent. */
  cells?: ReadonlySet<number> | undefined
  /** Passes on what is about other cells; absent if this process refuses it. */
  passing?: Passing | undefined
  /** The simulation opens a gateway over its model of a cell. */
  open: (own: CellAddress, shared: Shared) => Promise<OpenCell>
}

export async function openServed(
  { registry, ground, cells: serves, passing, open }: ServedParts,
  closing: Closing,
): Promise<Served> {
  const { current } = registry
  let cells: Cells | undefined
  const takes = (cellNo: number): Gateway | undefined => {
    const cell = cells?.of(cellNo)
    return cell?.takesRequests() ? cell.gateway : undefined
  }
  const cellOfId = (threeDSServerTransId: string): number => knownCell(cellOfUuid(threeDSServerTransId), current())
  /** Here, where that cell is open, or in another process. Otherwise the sender tries again. */
  async function about<T>(id: string, ask: (gateway: Pick<Gateway, 'results' | 'collects'>) => Promise<T>): Promise<T> {
    const cellNo = cellOfId(id)
    const away = (also?: number) => {
      if (!passing) throw new Error('the cell of this authentication is not open here')
      return ask({ results: passing.results({ cellNo, also }), collects: passing.collects({ cellNo, also }) })
    }
    try {
      const gateway = takes(cellNo)
      return await (gateway ? ask(gateway) : away())
    } catch (error) {
      if (error instanceof OpenElsewhere) return await away(error.cellNo)
      throw error
    }
  }
  const collects: Gateway['collects'] = async (id, url) =>
    passing || takes(cellOfId(id)) ? about(id, (gateway) => gateway.collects(id, url)) : false
  const neighboursFrom = (cellNo: number) =>
    neighboursOf({
      cellNo,
      current,
      refresh: registry.refresh,
      of: (other) => cells?.of(other)?.gateway,
      others: () => (cells?.open() ?? []).filter((cell) => cell.cellNo !== cellNo).map((cell) => cell.gateway.rooms),
      clock: ground.clock,
    })
  const opened = await openCells({
    listed: () => current().cells,
    serves,
    open: (own) => open(own, { collects, neighbours: neighboursFrom(own.cellNo) }),
    ...ground,
  })
  cells = opened
  closing.add(() => opened.stop())
  const routesOf = (cellNo: number | undefined) =>
    (cellNo === undefined ? opened.open().find((one) => one.takesRequests())?.gateway : takes(cellNo))?.routes
  const any = opened.open()[0]!.gateway.routes
  return {
    ...opened,
    routes: leadingRoutes(any, { registry: current, routesOf, passing, random: ground.random }),
    results: {
      wanted: (id) => about(id, ({ results }) => results.wanted(id)),
      result: (message) => about(String(message['threeDSServerTransID']), ({ results }) => results.result(message)),
    },
    takes,
  }
}
