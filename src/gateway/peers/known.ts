/** The other processes of the installation, and asks that are passed to them. */
import type { Clock } from '../../base/clock.ts'
import type { Log } from '../../base/log.ts'
import { deadAfterMs } from '../../leases/heartbeat.ts'
import type { PeerEntry, PeerRow } from './rows.ts'
import type { PeerLink } from './link.ts'
import { isPage, packAsk, unpackReply, type Ask, type PeerReply } from './message.ts'

export type PassedOn =
  | Exclude<PeerReply, { is: 'not here' }>
  /** Nothing was done: no process took it. */
  | { is: 'nobody' }
  /** One took it, and its answer did not come. */
  | { is: 'lost' }

export type Peers = ReturnType<typeof openPeers>

export interface PeersParts {
  /** All that there are, this process included. */
  rows: () => Promise<PeerRow[]>
  /** This process. */
  instance: string
  open: (entry: PeerEntry) => PeerLink
  clock: Clock
  log: Log
  /** Counts asks by what became of them. */
  passed: (result: 'answered' | 'nobody' | 'lost') => void
  /** How long an ask may take. */
  withinMs?: number
}

/** Below the 60 s after which the connection of a silent client is closed. */
const usualWithinMs = 50_000
/** So many asks are under way to one process; it is as good as away for further ones. */
const mostOfPeer = 256
/** And of pages, which strangers ask for too; the rest is for requests with a merchant. */
const mostPagesOfPeer = mostOfPeer / 2
/** Who could not be reached is asked last for so long. */
const avoidMs = 1_000
/** A look that comes later than this says nothing of who was silent meanwhile. */
const lateLookMs = 2_500

interface Peer {
  row: PeerRow
  link: PeerLink
  underWay: number
  pagesUnderWay: number
  unreachedAt: number
}

const isOfPage = (ask: Ask): boolean => ask.is === 'collects' || (ask.is === 'request' && isPage(ask, ask.request))

type TableParts = Pick<PeersParts, 'rows' | 'instance' | 'open' | 'clock' | 'log'>

/** Who is there, and a link to each. */
function openTable({ rows, instance, open, clock, log }: TableParts) {
  /** By their names and addresses. */
  const peers = new Map<string, Peer>()
  /** Links to processes that are gone, until what is under way there has ended. */
  const ending = new Map<PeerLink, Promise<void>>()
  let turn = 0
  let lookedAt = -Infinity
  let steadyFrom = Infinity

  function end(name: string, how: 'close' | 'cut'): void {
    const { link } = peers.get(name)!
    const gone = link[how]()
    peers.delete(name)
    ending.set(link, gone)
    void gone.finally(() => ending.delete(link))
  }

  return {
    async look(): Promise<void> {
      const others = (await rows()).filter((row) => row.instance !== instance)
      const now = clock.monotonic()
      if (now - lookedAt > lateLookMs) steadyFrom = now
      lookedAt = now
      // While the database is down no process can renew its row, so that counts against none.
      const judges = now - steadyFrom >= deadAfterMs
      const listed = new Map(others.map((row) => [`${row.instance} ${row.url}`, row]))
      for (const [name, peer] of peers) {
        const row = listed.get(name)
        if (!row) end(name, 'close')
        else if (row.isAlive) peer.row = row
        else if (judges) {
          log.warn({ peer: row.instance }, 'a process stopped answering: requests that were passed to it are lost')
          end(name, 'cut')
        }
      }
      for (const [name, row] of listed)
        if (row.isAlive && !peers.has(name))
          peers.set(name, { row, link: open(row), underWay: 0, pagesUnderWay: 0, unreachedAt: -Infinity })
    },
    /** The least busy first; in turn where that says nothing. */
    serving(ask: Ask): Peer[] {
      const avoided = ({ unreachedAt }: Peer) => Number(clock.monotonic() - unreachedAt < avoidMs)
      const hasRoom = ({ underWay, pagesUnderWay }: Peer) =>
        underWay < mostOfPeer && (!isOfPage(ask) || pagesUnderWay < mostPagesOfPeer)
      const serves = (peer: Peer) => hasRoom(peer) && peer.row.cells.includes(ask.cellNo)
      const all = [...peers.values()].filter(serves)
      turn++
      return all.map((_, i) => all[(i + turn) % all.length]!).sort((a, b) => avoided(a) - avoided(b) || a.underWay - b.underWay)
    },
    async stop(): Promise<void> {
      for (const name of peers.keys()) end(name, 'cut')
      await Promise.all([...ending.keys()].map((link) => link.cut()))
      await Promise.all(ending.values())
    },
  }
}

export function openPeers(parts: PeersParts) {
  const { clock, log, passed, withinMs = usualWithinMs } = parts
  const { look, serving, stop } = openTable(parts)

  async function askOne(peer: Peer, ask: Ask, leftMs: number): Promise<PeerReply | 'unsent' | 'lost'> {
    const bytes = packAsk(ask, clock.now())
    const count = (by: number) => {
      peer.underWay += by
      if (isOfPage(ask)) peer.pagesUnderWay += by
    }
    count(1)
    const sent = await peer.link.post(bytes, leftMs).finally(() => count(-1))
    if (sent.is === 'answered') return unpackReply(sent.body)
    const { instance, url } = peer.row
    const { why } = sent
    if (sent.is === 'unsent') {
      peer.unreachedAt = clock.monotonic()
      log.warn({ peer: instance, url, why }, 'a process cannot be reached: the request is passed to another, or refused')
      return 'unsent'
    }
    log.error({ peer: instance, url, why }, 'a request was passed on, and its answer is lost')
    return 'lost'
  }

  async function pass(ask: Ask): Promise<PassedOn> {
    const until = clock.monotonic() + withinMs
    for (const peer of serving(ask)) {
      const leftMs = until - clock.monotonic()
      if (leftMs <= 0) break
      const reply = await askOne(peer, ask, leftMs)
      if (reply === 'lost') return { is: 'lost' }
      if (reply !== 'unsent' && reply.is !== 'not here') return reply
    }
    return { is: 'nobody' }
  }

  return {
    /** Reads again who is there; called once a second. */
    look,
    /** Passes an ask to one process that serves its cell; the next, if that cannot be reached. */
    async pass(ask: Ask): Promise<PassedOn> {
      const reply = await pass(ask)
      passed(reply.is === 'nobody' || reply.is === 'lost' ? reply.is : 'answered')
      return reply
    },
    stop,
  }
}
