/** One of several processes of a machine that serve on the same ports, seen from inside. */
import cluster from 'node:cluster'
import type { OperatorAddress } from '../gateway/operator-port.ts'
import type { Slot } from '../gateway/start.ts'
import type { Answer, Incoming, Route } from '../http/server.ts'

/** The process's other ports, for its parent (`supervisor.ts`). */
export interface OwnSlot extends Slot {
  /** From now on it serves. */
  serves(at: { port: number }): void
  /** It begins to stop. */
  stops(): void
  /** Lets the process end. */
  leave(): void
}

/** The messages of a process to its parent. */
export type ToParent =
  | { says: 'operator'; at: OperatorAddress }
  | { says: 'serves'; port: number }
  | { says: 'stops' }
  | { says: 'answer'; id: number; answer: Answer }

/** The messages of a parent: a question of the operator. */
export interface ToSlot {
  id: number
  path: string
}

/** The process of Node.js, as far as it talks with its parent. */
export type Channel = Pick<NodeJS.Process, 'on' | 'send'>

/** The number of the slot. */
export const slotVariable = 'TOLLGATE_SLOT'
/** Set where other processes of the parent have served. */
export const joinsVariable = 'TOLLGATE_SLOT_JOINS'

/**
 * The slot of this process; undefined if it was started alone. When its parent is gone,
 * node:cluster ends it immediately. It must not end in order: while it did, its port would be free,
 * and the next process in its slot would take its work over.
 */
export function openSlot(env: Readonly<Record<string, string | undefined>>, channel: Channel): OwnSlot | undefined {
  const no = env[slotVariable]
  if (no === undefined || channel.send === undefined) return undefined
  // Without a parent no process receives it, and this one ends.
  const tell = (message: ToParent) => void channel.send!(message, undefined, undefined, () => {})
  let routes: readonly Route[] = []
  channel.on('message', ({ id, path }: ToSlot) => {
    const route = routes.find((one) => one.path === path)
    void answerOf(route, path).then((answer) => tell({ says: 'answer', id, answer }))
  })
  return {
    no: Number(no),
    sharing: env[joinsVariable] === undefined ? 'binds' : 'joins',
    operator(at) {
      tell({ says: 'operator', at })
      return {
        port: at.port,
        serve: async (all) => void (routes = all),
        close: async () => {},
      }
    },
    serves: ({ port }) => tell({ says: 'serves', port }),
    stops: () => tell({ says: 'stops' }),
    leave: () => void cluster.worker?.disconnect(),
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
