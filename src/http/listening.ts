import type { Server } from 'node:net'

/**
 * How a process comes to a port that several of this machine share (`node:cluster`): the first one
 * binds it and listens; another joins those that serve there, once it can serve as well.
 */
export type Sharing = 'binds' | 'joins'

export interface ListenAddress {
  host: string
  /** 0 picks a free port. */
  port: number
  /** Absent: no other process may listen there. */
  sharing?: Sharing | undefined
}

/** Resolves with the port. */
export const listen = (server: Server, { host, port, sharing }: ListenAddress): Promise<number> =>
  new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen({ host, port, exclusive: sharing === undefined }, () => {
      server.off('error', reject)
      const address = server.address()
      resolve(typeof address === 'object' && address ? address.port : port)
    })
  })
