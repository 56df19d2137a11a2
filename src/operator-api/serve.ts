/** The JSON API of operators: who asks, for which action, and what comes of it. */
import { Readable } from 'node:stream'
import { exactJson } from '../entity/json.ts'
import { reasonOf } from '../base/log.ts'
import { uuid } from '../base/random.ts'
import { secret, type Secret } from '../base/secret.ts'
import type { Answer, Incoming, Route } from '../http/server.ts'
import type { AnyAction } from '../operator/action.ts'
import { atDesk } from '../operator/at-desk.ts'
import { bearerOf, type Bearer } from '../operator/bearer.ts'
import type { Office } from '../operator/office.ts'
import { Refused } from '../operator/refused.ts'
import type { ServingParts } from '../operator/serving.ts'
import { versionOf } from '../operator/version.ts'
import { askedBy, askedByQuery, basePath, membersOf, mostBodyBytes } from './asking.ts'
import { earlyProblem, EarlyRefusal, failureProblem, refusalProblem } from './problem.ts'
import { once, type KeyedAnswer } from './requests.ts'
import { offers, type Offer } from '../operator/offered.ts'
import { changes } from '../operator/permissions.ts'

/** The paths of the API. Who shows no valid token gets the same answer at each. */
export function apiServer(parts: ServingParts): Route[] {
  /** Loaded with the first request: whoever starts a sandbox may never ask. */
  let byPath: Promise<ReadonlyMap<string, Offer>> | undefined
  const handle = async (request: Incoming): Promise<Answer> => {
    try {
      const bearer = await bearerIn(parts, request)
      if (!bearer) return refuseStranger(parts, request)
      // As it was sent: another spelling of a path is another path.
      const route = (await (byPath ??= offers().then(pathsOf))).get(request.path.slice(basePath.length + 1))
      if (!route) return earlyProblem('no such action')
      return await answerTo(parts, bearer, route, request)
    } catch (error) {
      return failure(parts, error)
    }
  }
  return [`${basePath}/:subject`, `${basePath}/:subject/:action`].flatMap((path) =>
    (['GET', 'POST'] as const).map((method) => ({ method, path, bodyLimitBytes: mostBodyBytes, refusesItself: true, handle })),
  )
}

const pathsOf = (routes: readonly Offer[]): ReadonlyMap<string, Offer> => new Map(routes.map((route) => [route.path, route]))

const bearerIn = async ({ office }: ServingParts, { authorization }: Incoming): Promise<Bearer | undefined> => {
  const token = tokenIn(authorization)
  return token && bearerOf(office.pool, token, office.clock.now())
}

/** The token, if it was sent once: two tokens leave open who asks. */
function tokenIn(authorization: Incoming['authorization']): Secret<string> | undefined {
  const [, token] = typeof authorization === 'string' ? (/^Bearer +([\w-]{16,128}) *$/i.exec(authorization) ?? []) : []
  return token === undefined ? undefined : secret(token)
}

function refuseStranger({ access, accessLimits }: ServingParts, client: Incoming): Answer {
  const reason = client.authorization === undefined ? 'no token' : 'wrong token'
  access.refused({ operation: 'operator API', endpoint: '', login: '', address: client.clientAddress, reason })
  return earlyProblem(accessLimits.failedAt(client) ? 'too many failures' : 'unauthorized')
}

async function answerTo(
  parts: ServingParts,
  bearer: Bearer,
  { action, words, byGet }: Offer,
  request: Incoming,
): Promise<Answer> {
  const { rights, user, tokenId } = bearer
  const isGet = request.method !== 'POST'
  if (isGet && !byGet) return { ...earlyProblem('not by GET'), headers: { allow: 'POST' } }
  const { office } = parts
  const own = { ...office, ...(action.long && parts.longOffice), rights, user, who: `${user} (token ${tokenId})`, action: words }
  // Whoever may not do it learns nothing of what it takes.
  const isOthers = rights.merchant !== undefined && !action.forMerchants
  if (isOthers || !rights.may(action.needs)) return carriedOut(own, action, {})
  const members = isGet ? undefined : membersOf(request)
  const carryOut = async () => {
    const asked = members ? askedBy(action.takes, members, rights) : askedByQuery(action.takes, request.query, rights)
    return carriedOut({ ...own, madeOn: versionNamed(action, request) }, action, asked)
  }
  if (!changes(action)) return carryOut()
  const settled = (): Promise<KeyedAnswer> =>
    carryOut().catch((error: unknown) => {
      const answer = failure(parts, error)
      return answer.status === 202 ? { ...answer, did: true } : answer
    })
  return once({ pool: office.pool, tokenId, now: office.clock.now() }, request, action.once === true, settled)
}

/** A change of settings has to name one; switches may. */
function versionNamed(action: AnyAction, { headers }: Incoming): string | undefined {
  const named = headers['if-match']
  if (named === undefined && action.settings && changes(action)) throw new EarlyRefusal('version needed')
  return named === undefined ? undefined : String(named).replace(/^"(.*)"$/, '$1')
}

async function carriedOut(office: Office, action: AnyAction, asked: Record<string, unknown>): Promise<KeyedAnswer> {
  const result = await atDesk(office, action, asked)
  const left = action.leaves?.(result)
  const json = action.gives.json(result, asked)
  if (left) return { ...refusalProblem(left, json), did: true }
  const parts = action.gives.parts?.(result, exactJson)
  if (parts) return { status: 200, type: parts.mediaType, body: '', stream: Readable.from(parts.texts) }
  const version = action.settings?.(result)
  const headers = version && { etag: `"${versionOf(version)}"` }
  return { status: 200, type: 'application/json', body: exactJson(json), headers, did: true }
}

function failure({ office, log }: ServingParts, error: unknown): Answer {
  if (error instanceof EarlyRefusal) return error.answer
  if (error instanceof Refused) return refusalProblem(error.refusal)
  const errorId = uuid(office.random)
  log.error({ errorId, reason: reasonOf(error) }, 'a request of an operator failed')
  return failureProblem(error, errorId)
}
