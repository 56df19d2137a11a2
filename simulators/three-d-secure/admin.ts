import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import ipaddr from 'ipaddr.js'
import type { Log } from '../../src/base/log.ts'
import type { BarPages } from '../../src/http/bar.ts'
import { get, showToPeople, type AdminCall, type Happened, type Overview } from '../desk-page.ts'
import { strangerOf } from '../this-machine.ts'
import type { FaultScripts } from './faults.ts'
import type { MessageJournal } from './journal.ts'

/**
 * The admin routes of both the directory server and the ACS. They answer only on loopback, wherever
 * the port listens.
 */

export interface AdminParts<Effect extends string> {
  faults: FaultScripts<Effect>
  journal: MessageJournal
  log: Log
  /** The answer of GET /admin. */
  overview: Overview
  places: BarPages
  /** Called when the scripts have changed, before the answer. */
  onFaults: () => Promise<void>
}

/** A request that cannot be carried out; its message is for the caller. */
export class Refused extends Error {
  readonly statusCode = 400
}

/** Returns the handler of the overview. */
export function adminRoutes<Effect extends string>(app: FastifyInstance, parts: AdminParts<Effect>) {
  const { faults, journal, log } = parts
  app.addHook('onRequest', async (request, reply) => {
    const turned = strangerOf(request, 'a simulator of Tollgate')
    if (turned) return await reply.code(turned.status).send({ error: turned.why })
    const address = ipaddr.process(request.socket.remoteAddress ?? '0.0.0.0')
    if (address.range() !== 'loopback') await reply.code(403).send({ error: 'The admin routes are for this machine alone.' })
  })
  const shown = showToPeople(app, { ...parts, happened: () => happened(journal) })
  app.get('/admin', shown)
  app.get('/admin/faults', () => ({ faults: faults.list() }))
  app.post('/admin/faults', async (request, reply) => {
    const added = faults.add(request.body)
    if (typeof added === 'string') throw new Refused(added)
    log.info({ fault: added }, 'a fault was scripted')
    await parts.onFaults()
    return reply.code(201).send(added)
  })
  app.delete('/admin/faults', async () => {
    const removed = faults.remove()
    await parts.onFaults()
    return { removed }
  })
  app.delete('/admin/faults/:id', async (request: FastifyRequest<{ Params: { id: string } }>, reply: FastifyReply) => {
    const removed = faults.remove(Number(request.params.id))
    await parts.onFaults()
    return removed === 0 ? reply.code(404).send({ error: 'There is no fault with this id.' }) : reply.send({ removed })
  })
  app.get('/admin/log', (request: FastifyRequest<{ Querystring: { id?: unknown } }>) => {
    const { id } = request.query
    return { messages: journal.list(typeof id === 'string' ? id : undefined) }
  })
  return shown
}

/** The calls that script faults; `means` says what one is made of. */
export const faultCalls = (body: string, means: string): AdminCall[] => [
  get('/admin/faults', 'all faults, with the number of messages that each took'),
  { method: 'POST', path: '/admin/faults', means, body },
  { method: 'DELETE', path: '/admin/faults', means: 'removes all faults; /admin/faults/<id> removes one' },
]

const happened = (journal: MessageJournal): Happened[] =>
  journal
    .list()
    .slice(-20)
    .toReversed()
    .map(({ time, direction, peer, type, message }) => ({
      at: Date.parse(time),
      way: direction === 'in' ? `from ${peer}` : `to ${peer}`,
      name: type,
      says: String(Object(message)['transStatus'] ?? Object(message)['errorDescription'] ?? ''),
    }))

/** Refusals are answered with their sentence, defects without. */
export function adminErrors(app: FastifyInstance, log: Log): void {
  app.setErrorHandler((error: Error & { statusCode?: number }, _request, reply) => {
    const status = error.statusCode ?? 500
    if (status >= 500) log.error({ reason: error.message, stack: error.stack }, 'a request failed')
    return reply.code(status).send({ error: status >= 500 ? 'The simulator failed; its log says why.' : error.message })
  })
  app.setNotFoundHandler((request, reply) =>
    reply
      .code(404)
      .send({ error: `There is no ${request.method} ${request.url.split('?')[0]}; GET /admin lists what there is.` }),
  )
}
