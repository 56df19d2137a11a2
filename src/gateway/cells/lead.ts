/** Leads a request to the cell that it is about. */
import { cellOfToken } from '../../base/cell-mark.ts'
import type { Random } from '../../base/random.ts'
import { Unanswered, type Answer, type Incoming, type Route } from '../../http/server.ts'
import { idIn, type Registry } from '../../merchant/merchant.ts'
import { awayPage } from '../../pages/away.ts'
import { OpenElsewhere } from '../guard.ts'
import { isPage } from '../peers/message.ts'
import type { Passing } from '../peers/passing.ts'

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

/** An id that somebody made up leads to any number, or to none. */
export const knownCell = (cellNo: number | undefined, { cells }: Registry): number =>
  cellNo !== undefined && cells.some((cell) => cell.cellNo === cellNo) ? cellNo : 0

export interface LeadParts {
  registry: () => Registry
  /**
   * The routes of the gateway over a cell, or over any, each at the same index; undefined if it
   * cannot serve.
   */
  routesOf: (cellNo: number | undefined) => readonly Route[] | undefined
  /** Passes requests on to processes that serve their cell; absent if this one refuses them. */
  passing?: Pick<Passing, 'request'> | undefined
  random: Random
}

/** The routes of any gateway, as those of all: each request goes to the gateway over its cell. */
export const leadingRoutes = (any: readonly Route[], parts: LeadParts): Route[] =>
  any.map((route, at) => {
    const handleIn = (cellNo: number | undefined, request: Incoming): Answer | Promise<Answer> => {
      const routes = parts.routesOf(cellNo)
      return routes ? routes[at]!.handle(request) : handleAway(route, request, cellNo, parts)
    }
    return {
      ...route,
      handle(request) {
        const answer = handleIn(cellOf(request, parts.registry()), request)
        if (!(answer instanceof Promise)) return answer
        return answer.catch((error: unknown) => {
          // A page of a merchant that has moved since it was made.
          if (error instanceof OpenElsewhere) return handleIn(error.cellNo, request)
          throw error
        })
      },
    }
  })

/** For a request whose cell is not open here. */
async function handleAway(
  route: Route,
  request: Incoming,
  cellNo: number | undefined,
  { passing, random }: LeadParts,
): Promise<Answer> {
  if (!passing || cellNo === undefined || request.overloaded) return refuseAway(route, request, random)
  const answer = await passing.request(route, request, cellNo)
  if (answer === 'nobody') return refuseAway(route, request, random)
  if (answer !== 'lost') return answer
  // Code 20 would say that nothing was done.
  if (isPage(route, request)) return awayPage(random, request)
  throw new Unanswered('the process that it was passed to did not answer')
}

/**
 * As if there were no room: each operation checks that before it looks at anything of its cell.
 */
const refuseAway = (route: Route, request: Incoming, random: Random): Answer | Promise<Answer> =>
  isPage(route, request)
    ? awayPage(random, request)
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
