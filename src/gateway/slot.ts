/**
 * One of several processes of a machine that serve on the same ports, seen from inside. Its parent,
 * which starts it (`cli/processes.ts`), keeps the sockets and the port of the operator.
 */
import { every, type Clock } from '../base/clock.ts'
import { rateOf } from '../base/rate.ts'
import type { Answer, Incoming, Route, Server } from '../http/server.ts'
import type { OperatorPlace } from './operator-port.ts'
import { bindSocket, Entrance, type Handle, type SharedSocket } from '../http/shared-socket.ts'

export interface Slot {
  /** From 0. Whoever has the number next, of the same parent or a later one, is its successor. */
  no: number
  /** The socket of this name, which the first process to ask binds. */
  socket(name: string, at: Place): Promise<SharedSocket>
  /** The port of the operator: the parent listens there, and asks all its processes. */
  operator(at: OperatorPlace): Promise<Pick<Server, 'port' | 'serve' | 'close'>>
  /**
   * From now on it accepts connections when the parent says so. `connectionsUsed` is what
   * it has of the connections that it may have, from 0 to 1.
   */
  serves(gateway: Ports & { connectionsUsed(): number }): void
  /** It begins to stop by itself, and accepts no more. */
  stops(): void
  /**
   * How many processes' share of the limits of access this one enforces: more than one while
   * others of this machine accept no connections.
   */
  shares(): number
  /** Resolves with the reason when it has to stop. */
  ended: Promise<string>
  /** Lets the process end. */
  leave(): void
}

export interface Place {
  host: string
  port: number
}

export interface Ports {
  port: number
  operatorPort: number
}

/** What a process sends to its parent; `id` wants a reply. */
export type ToParent =
  | { says: 'wants socket' | 'takes socket'; id: number; name: string }
  | { says: 'bound socket'; id: number; name: string; port: number }
  | { says: 'wants operator'; id: number; at: OperatorPlace }
  | { says: 'serves'; ports: Ports }
  | ({ says: 'load' } & Load)
  | { says: 'stops' }
  | { says: 'answer'; id: number; answer: Answer }

/** What a parent sends. A handle may come with a reply. */
export type ToSlot =
  | { says: 'reply'; id: number; port?: number | undefined }
  | { says: 'ask'; id: number; path: string }
  | ({ says: 'accept' } & Acceptance)
  | { says: 'stop' }

/** How much a process does. */
export interface Load {
  /**
   * The processors that it keeps busy: 1 and a little more if it can do no more. Not what its event
   * loop was busy, which also counts while it waits for a processor.
   */
  busy: number
  /** What it has of the connections that it may have, from 0 to 1. */
  connectionsUsed: number
}

export interface Acceptance {
  accepts: boolean
  /** How many processes' share of the limits of access it has. */
  shares: number
  /** The part of its open connections that it ends, from 0 to 1, for others to have them. */
  handsOver: number
}

/** The process of Node.js, as far as it talks with its parent. */
export type Channel = Pick<NodeJS.Process, 'on' | 'send' | 'disconnect' | 'exit' | 'cpuUsage'>

interface Reply {
  port: number | undefined
  handle: Handle | undefined
}

export const slotVariable = 'TOLLGATE_SLOT'
/** How often a process says how much it does. */
export const saysLoadEveryMs = 500

/** The slot of this process; undefined if it was started alone. */
export function openSlot(env: Readonly<Record<string, string | undefined>>, channel: Channel, clock: Clock): Slot | undefined {
  const no = env[slotVariable]
  if (no === undefined || channel.send === undefined) return undefined
  const { tell, ask, replied } = openTalk(channel)
  let isServing = false
  const kept: Handle[] = []
  const entrances = openEntrances()
  const routes = new Map<string, Route>()
  let end: (why: string) => void = () => {}
  const ended = new Promise<string>((resolve) => (end = resolve))
  const take = async (name: string) => (await ask({ says: 'takes socket', name })).handle!

  /** What it has not yet begun needs no orderly end. */
  function stop(why: string) {
    if (!isServing) channel.exit(1)
    end(why)
  }

  channel.on('message', (message: ToSlot, handle: unknown) => {
    if (message.says === 'reply') replied(message.id, { port: message.port, handle: handle as Handle | undefined })
    else if (message.says === 'ask') {
      const { id, path } = message
      void answerOf(routes.get(path), path).then((answer) => tell({ says: 'answer', id, answer }))
    } else if (message.says === 'accept') entrances.accept(message)
    else {
      for (const one of kept.splice(0)) one.close()
      stop('its parent stops')
    }
  })
  channel.on('disconnect', () => stop('its parent is gone'))

  return {
    no: Number(no),
    async socket(name, { host, port }) {
      const shared = await ask({ says: 'wants socket', name })
      if (shared.port === undefined) {
        const bound = await bindSocket(host, port)
        shared.port = bound.port
        await ask({ says: 'bound socket', name, port: bound.port }, bound.handle)
        bound.close()
      }
      // Kept beside those that it listens on. If the parent dies, a new one cannot listen here
      // before this process has ended: its successor would take its work over while it does it.
      kept.push(await take(name))
      return { port: shared.port, enter: (server, leave) => entrances.add(new Entrance(server, () => take(name)), leave) }
    },
    async operator(at) {
      const { port } = await ask({ says: 'wants operator', at })
      return {
        port: port!,
        async serve(all) {
          for (const route of all) routes.set(route.path, route)
        },
        close: () => Promise.resolve(),
      }
    },
    serves({ port, operatorPort, connectionsUsed }) {
      isServing = true
      tell({ says: 'serves', ports: { port, operatorPort } })
      const busy = rateOf(clock, () => usedMs(channel.cpuUsage()))
      every(clock, saysLoadEveryMs, () => tell({ says: 'load', busy: busy(), connectionsUsed: connectionsUsed() }))
    },
    stops: () => tell({ says: 'stops' }),
    shares: () => Math.max(1, entrances.shares()),
    ended,
    leave: () => channel.disconnect(),
  }
}

/** Where the servers of a process get connections, as its parent says. */
function openEntrances() {
  const all: { entrance: Entrance; leave: (part: number) => void }[] = []
  let shares = 0
  return {
    shares: () => shares,
    add(entrance: Entrance, leave: (part: number) => void): Entrance {
      all.push({ entrance, leave })
      return entrance
    },
    accept(acceptance: Acceptance): void {
      // It shares the work again: what it still has of the connections it was to end, it keeps.
      const returns = shares === 0
      shares = acceptance.shares
      for (const { entrance, leave } of all) {
        if (!acceptance.accepts) entrance.shut()
        else if (!entrance.isOpen) void entrance.open()
        if (returns || acceptance.handsOver > 0) leave(acceptance.handsOver)
      }
    },
  }
}

const usedMs = ({ user, system }: NodeJS.CpuUsage): number => (user + system) / 1_000

type Request = Extract<ToParent, { id: number }> extends infer One ? (One extends { says: 'answer' } ? never : One) : never
type Asked = Request extends infer One ? (One extends Request ? Omit<One, 'id'> : never) : never

/** Messages to the parent, and its replies. */
function openTalk(channel: Channel) {
  const waiting = new Map<number, (reply: Reply) => void>()
  let lastId = 0
  // Without a parent nobody is there to receive it, and the process ends.
  const tell = (message: ToParent, handle?: Handle) => void channel.send!(message, handle, undefined, () => {})
  return {
    tell,
    ask: (request: Asked, handle?: Handle) =>
      new Promise<Reply>((resolve) => {
        waiting.set(++lastId, resolve)
        tell({ ...request, id: lastId }, handle)
      }),
    replied(id: number, reply: Reply) {
      waiting.get(id)?.(reply)
      waiting.delete(id)
    },
  }
}

const answerOf = async (route: Route | undefined, path: string): Promise<Answer> =>
  route ? route.handle(question(path)) : { status: 404, type: 'text/plain', body: 'Not found\n' }

const question = (path: string): Incoming => ({
  method: 'GET',
  path,
  params: {},
  query: '',
  headers: {},
  authorization: undefined,
  clientAddress: '127.0.0.1',
  body: undefined,
  overloaded: false,
})

/** The place of a process in the heartbeats: alone a host and port, else its slot as well. */
export const placeOf = (hostAndPort: string, slot: Slot | undefined): string => (slot ? `${hostAndPort}/${slot.no}` : hostAndPort)
