/** The cells that a process serves, as if they were one. */
import { cellOfUuid } from '../../base/cell-mark.ts'
import type { Route } from '../../http/server.ts'
import type { Results } from '../../three-d-secure/inbound.ts'
import type { CellAddress } from '../../storage/cells.ts'
import type { OpenCell } from './cell-gateway.ts'
import { openCells, type Cells } from './cells.ts'
import type { Closing } from '../closing.ts'
import { knownCell, leadingRoutes } from './lead.ts'
import { OpenElsewhere } from '../guard.ts'
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

/** The parts that the gateways over all cells share. */
export type Shared = Required<Pick<GatewayParts, 'collects'>>

export interface ServedParts {
  registry: Pick<RegistryStores, 'current'>
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
  type Asked = Pick<Gateway, 'results' | 'collects'>
  /** Here, where that cell is open, or in another process. Otherwise the sender tries again. */
  async function askIn<T>(cellNo: number, ask: (gateway: Asked) => Promise<T>): Promise<T> {
    const gateway = takes(cellNo)
    if (gateway) return ask(gateway)
    if (!passing) throw new Error('this process does not serve the cell of this authentication')
    return ask({ results: passing.results(cellNo), collects: passing.collects(cellNo) })
  }
  async function about<T>(id: string, ask: (gateway: Asked) => Promise<T>): Promise<T> {
    try {
      return await askIn(cellOfId(id), ask)
    } catch (error) {
      // The merchant has moved since the authentication began.
      if (error instanceof OpenElsewhere) return await askIn(error.cellNo, ask)
      throw error
    }
  }
  const collects: Gateway['collects'] = async (id, url) =>
    passing || takes(cellOfId(id)) ? about(id, (gateway) => gateway.collects(id, url)) : false
  const opened = await openCells({
    listed: () => current().cells,
    serves,
    open: (own) => open(own, { collects }),
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
