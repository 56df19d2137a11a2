/**
 * What a process does with the requests that others pass to it. It does them itself or not at all:
 * nothing here could pass one on again.
 */
import { reasonOf, type Log } from '../../base/log.ts'
import { uuid, type Random } from '../../base/random.ts'
import type { Clock } from '../../base/clock.ts'
import type { Answer, Route } from '../../http/server.ts'
import type { Gateway } from '../open.ts'
import { OpenElsewhere } from '../neighbours.ts'
import { peerPath } from './link.ts'
import { packReply, unpackAsk, type Ask, type Reply } from './message.ts'
import type { PeerSealing } from './seal.ts'

/** What a peer needs of the gateway over a cell. */
export type Asked = Pick<Gateway, 'routes' | 'results' | 'collects'>

export interface PeerRouteParts {
  sealing: Pick<PeerSealing, 'opened'>
  /** The gateway over a cell; undefined if it takes no requests here. */
  gatewayOf: (cellNo: number) => Asked | undefined
  /** The time that all processes of the installation share. */
  clock: Pick<Clock, 'now'>
  random: Random
  log: Log
  /** Counts what arrived by what became of it. */
  arrived: (result: 'answered' | 'not here' | 'refused') => void
}

/**
 * How old a message may be. Its name is kept as long, so that none is accepted twice: one that
 * somebody on the way sends again would be a second return, where a merchant names no key.
 */
const freshMs = 10_000
const logEveryMs = 10_000
/** Above the body of a request: its headers, its address and the seal. */
const besidesBytes = 131_072

export function peerRoute(parts: PeerRouteParts, longestBodyBytes: number): Route {
  const { sealing, clock, log, arrived } = parts
  const isNew = openNames()
  let loggedAt = -Infinity
  const refuse = (why: string, status = 403): Answer => {
    arrived('refused')
    // Not each: strangers could fill a disk.
    if (Math.abs(clock.now() - loggedAt) >= logEveryMs) {
      loggedAt = clock.now()
      log.warn({ why }, 'a message that no process of this installation sent was refused')
    }
    return { status, type: 'text/plain;charset=utf-8', body: 'Refused\n' }
  }
  return {
    method: 'POST',
    path: peerPath,
    bodyLimitBytes: longestBodyBytes + besidesBytes,
    isShed: true,
    async handle({ body, overloaded }) {
      const opened = body && sealing.opened(body)
      if (!opened) return refuse('it is not sealed for this process')
      const { ask, at } = unpackAsk(opened.plain, overloaded)
      const now = clock.now()
      if (Math.abs(now - at) > freshMs) return refuse(`it is from another time, by ${now - at} ms`)
      // What came first may have been done, so this must not read as if nothing was.
      if (!isNew(opened.name, now)) return refuse('it came before', 409)
      const reply = await replyTo(ask, parts)
      arrived(reply.is === 'not here' ? 'not here' : 'answered')
      return { status: 200, type: 'application/octet-stream', body: opened.answer(packReply(reply)) }
    },
  }
}

/** The names of messages that are not too old to come again, the oldest first. */
function openNames(): (name: string, now: number) => boolean {
  const names = new Map<string, number>()
  return (name, now) => {
    for (const [old, at] of names) {
      // Accepted by a clock that was behind by as much, it may be sent again for twice that time.
      if (now - at <= 2 * freshMs) break
      names.delete(old)
    }
    if (names.has(name)) return false
    names.set(name, now)
    return true
  }
}

async function replyTo(ask: Ask, { gatewayOf, random, log }: PeerRouteParts): Promise<Reply> {
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
    const id = uuid(random)
    log.error({ id, reason: reasonOf(error) }, 'a request that was passed to this process failed')
    return { is: 'failed', id }
  }
}
