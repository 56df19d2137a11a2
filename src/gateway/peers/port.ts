/**
 * What a process does with the requests that others pass to it. It does them itself or not at all:
 * nothing here could pass one on again.
 */
import { reasonOf, type Log } from '../../base/log.ts'
import { uuid, type Random } from '../../base/random.ts'
import type { Clock } from '../../base/clock.ts'
import type { Answer, Route } from '../../http/server.ts'
import type { Gateway } from '../open.ts'
import { NotNow, OpenElsewhere } from '../guard.ts'
import { peerPath } from './link.ts'
import { packReply, unpackAsk, type Ask, type PeerReply } from './message.ts'

/** The port of a peer to the gateway over a cell. */
export type GatewayOfCell = Pick<Gateway, 'routes' | 'results' | 'collects'>

export interface PeerPortParts {
  /** The gateway over a cell; undefined if it takes no requests here. */
  gatewayOf: (cellNo: number) => GatewayOfCell | undefined
  /** The time that all processes of the installation share. */
  clock: Pick<Clock, 'now'>
  random: Random
  log: Log
  /** Counts what arrived by what became of it. */
  arrived: (result: 'answered' | 'not here' | 'refused') => void
}

/**
 * How old a request may be. Held back by somebody on the way until its merchant has sent it again,
 * it would be a second return, where the merchant names no key.
 */
const freshMs = 10_000
const logEveryMs = 10_000
/** Above the body of a request: its headers and its address. */
const besidesBytes = 131_072

/** The server for other processes. */
export function peerPort(parts: PeerPortParts, longestBodyBytes: number) {
  const { clock, log, arrived } = parts
  let loggedAt = -Infinity
  /** Counts what is refused before it reaches the route. */
  function refused(why: string): void {
    arrived('refused')
    // Not each: strangers could fill a disk.
    if (Math.abs(clock.now() - loggedAt) < logEveryMs) return
    loggedAt = clock.now()
    log.warn({ why }, 'a message to the address for other processes was refused')
  }
  const refuse = (why: string): Answer => {
    refused(why)
    return { status: 403, type: 'text/plain;charset=utf-8', body: 'Refused\n' }
  }
  const route: Route = {
    method: 'POST',
    path: peerPath,
    bodyLimitBytes: longestBodyBytes + besidesBytes,
    isShed: true,
    async handle({ body, overloaded }) {
      if (!body) return refuse('it cannot be read whole')
      const { ask, at } = unpackAsk(body, overloaded)
      const lateMs = clock.now() - at
      if (Math.abs(lateMs) > freshMs) return refuse(`it is from another time, by ${lateMs} ms`)
      const reply = await replyTo(ask, parts)
      arrived(reply.is === 'not here' ? 'not here' : 'answered')
      return { status: 200, type: 'application/octet-stream', body: packReply(reply) }
    },
  }
  return { route, refused }
}

async function replyTo(ask: Ask, { gatewayOf, random, log }: PeerPortParts): Promise<PeerReply> {
  const gateway = gatewayOf(ask.cellNo)
  if (!gateway) return { is: 'not here' }
  try {
    switch (ask.is) {
      case 'request': {
        const route = gateway.routes.find(({ method, path }) => method === ask.method && path === ask.route)
        if (!route) return { is: 'not here' }
        const { request } = ask
        const isFull = request.overloaded && route.isShed === true
        return { is: 'answer', answer: await route.handle({ ...request, overloaded: isFull }) }
      }
      case 'wanted result':
        return { is: 'wanted result', wanted: await gateway.results.wanted(ask.id) }
      case 'result':
        return { is: 'result', verdict: await gateway.results.result(ask.message) }
      case 'collects':
        return { is: 'collects', collects: await gateway.collects(ask.id, new URL(ask.url)) }
    }
  } catch (error) {
    if (error instanceof OpenElsewhere) return { is: 'moved', cellNo: error.cellNo }
    if (error instanceof NotNow) return { is: 'not here' }
    const id = uuid(random)
    log.error({ id, reason: reasonOf(error) }, 'a request that was passed to this process failed')
    return { is: 'failed', id }
  }
}
