/** The cells that a process serves, as if they were one. */
import { cellOfUuid } from '../base/cell-mark.ts'
import type { Route } from '../http/server.ts'
import type { Results } from '../three-d-secure/inbound.ts'
import { openCellGateway, type CellGatewayParts } from './cell-gateway.ts'
import { openCells, type Cells } from './cells.ts'
import type { Closing } from './closing.ts'
import { knownCell, leadingRoutes } from './lead.ts'
import { neighboursOf } from './neighbours.ts'
import type { Gateway } from './open.ts'

export interface Served extends Cells {
  routes: readonly Route[]
  /** Receives the results of challenges of every cell. */
  results: Results
}

export interface ServedParts extends Omit<CellGatewayParts, 'collects' | 'neighbours'> {
  /** The cells that this process serves; all if absent. */
  cells?: ReadonlySet<number> | undefined
}

export async function openServed(parts: ServedParts, closing: Closing): Promise<Served> {
  const { registry, ground } = parts
  const { current } = registry
  let cells: Cells | undefined
  const gatewayOf = (threeDSServerTransId: string): Gateway | undefined =>
    cells?.of(knownCell(cellOfUuid(threeDSServerTransId), current()))?.gateway
  /** The result comes again, to this process or to another. */
  const resultsOf = (threeDSServerTransId: string): Results => {
    const gateway = gatewayOf(threeDSServerTransId)
    if (!gateway) throw new Error('the cell of this authentication is not open here')
    return gateway.results
  }
  const collects: Gateway['collects'] = async (id, url) => (await gatewayOf(id)?.collects(id, url)) ?? false
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
    serves: parts.cells,
    open: (place) => openCellGateway({ ...parts, collects, neighbours: neighboursFrom(place.cellNo) }, place),
    ...ground,
  })
  cells = opened
  closing.add(() => opened.stop())
  const routesOf = (cellNo: number | undefined) => {
    const cell = cellNo === undefined ? opened.open().find((one) => one.takesRequests()) : opened.of(cellNo)
    return cell?.takesRequests() ? cell.gateway.routes : undefined
  }
  const any = opened.open()[0]!.gateway.routes
  return {
    ...opened,
    routes: leadingRoutes(any, { registry: current, routesOf, random: ground.random }),
    results: {
      wanted: async (id) => resultsOf(id).wanted(id),
      result: async (message) => resultsOf(String(message['threeDSServerTransID'])).result(message),
    },
  }
}
