/** Leads a request to the cell that it is about. */
import { cellOfToken } from '../base/cell-mark.ts'
import type { Random } from '../base/random.ts'
import type { Answer, Incoming, Route } from '../http/server.ts'
import { idIn, type Registry } from '../merchant/merchant.ts'
import { awayPage } from '../pages/away.ts'

/**
 * Pages are addressed by a token that has the cell; everything else by an endpoint or group, whose
 * merchant has one. Undefined if it leads nowhere: any gateway can tell the client so.
 */
export function cellOf({ params }: Pick<Incoming, 'params'>, registry: Registry): number | undefined {
  if (params.token !== undefined) return knownCell(cellOfToken(params.token), registry)
  const id = idIn(params.id ?? params.endpointId ?? params.endpoint ?? '')
  if (id === undefined) return undefined
  return (registry.entry(id, false) ?? registry.entry(id, true))?.merchant.cellNo
}

/** An id from before there were cells leads to any number, or to none. */
export const knownCell = (cellNo: number | undefined, { cells }: Registry): number =>
  cellNo !== undefined && cells.some((cell) => cell.cellNo === cellNo) ? cellNo : 0

export interface LeadParts {
  registry: () => Registry
  /**
   * The routes of the gateway over a cell, or over any, each at the same place; undefined if it
   * cannot serve.
   */
  routesOf: (cellNo: number | undefined) => readonly Route[] | undefined
  random: Random
}

/** The routes of any gateway, as those of all: each request goes to the gateway over its cell. */
export const leadingRoutes = (any: readonly Route[], { registry, routesOf, random }: LeadParts): Route[] =>
  any.map((route, at) => ({
    ...route,
    handle: (request) => {
      const routes = routesOf(cellOf(request, registry()))
      return routes ? routes[at]!.handle(request) : refuseAway(route, request, random)
    },
  }))

/**
 * As if there were no room: each operation checks that before it looks at anything of its cell.
 */
const refuseAway = (route: Route, request: Incoming, random: Random): Answer | Promise<Answer> =>
  route.method === 'GET' || request.params.token !== undefined
    ? awayPage(random)
    : route.handle({
        method: request.method,
        path: request.path,
        params: request.params,
        query: request.query,
        headers: request.headers,
        authorization: request.authorization,
        clientAddress: request.clientAddress,
        body: request.body,
        overloaded: true,
      })
