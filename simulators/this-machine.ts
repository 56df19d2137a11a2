/**
 * Keeps web pages away from servers that are for this machine alone. A page of another site may
 * reach them by a name of its own that resolves to this machine, or post a form across sites.
 */
import type { FastifyRequest } from 'fastify'

/** Any other name may belong to a stranger. */
const hostNames = new Set(['127.0.0.1', 'localhost', '[::1]', 'shop.localhost'])

export const isThisMachine = (hostname: string): boolean => hostNames.has(hostname)

interface Turned {
  status: 403 | 421
  why: string
}

/** Why the request is not answered; undefined if it may be. `what` names the server. */
export function strangerOf({ hostname, host, method, headers }: FastifyRequest, what: string): Turned | undefined {
  if (!isThisMachine(hostname)) return { status: 421, why: `This is ${what}; open it as 127.0.0.1 or localhost.` }
  if (method === 'GET' || method === 'HEAD') return undefined
  const { origin } = headers
  const site = headers['sec-fetch-site']
  const isOwn = (site === undefined || site === 'same-origin' || site === 'none') && (!origin || origin === `http://${host}`)
  return isOwn ? undefined : { status: 403, why: `This is ${what}; it takes nothing from pages of other sites.` }
}
