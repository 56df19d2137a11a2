import { connect, createServer, type Server, type Socket } from 'node:net'

/**
 * A TCP proxy between a gateway and its database. It can be silent, cut, refuse, and cut exactly at
 * a commit. For that it reads as much of the PostgreSQL protocol as it needs, and knows prepared
 * statements by their names.
 */
export interface DatabaseProxy {
  /** The database's URL through the proxy. */
  url: string
  /** Nothing passes in either direction, or no answer does; connections stay. */
  pause(what?: 'answers'): void
  resume(): void
  /** Cuts every connection and lets no new one through until `accept`. */
  refuse(): void
  accept(): void
  cutAll(): void
  /** How many connections lead through it. */
  connections(): number
  /**
   * Cuts the connection at the next commit of a transaction in which the statement of this name
   * ran. `before`: the server never sees the commit. `after`: it has committed, and its answer is
   * lost. Resolves when that happened.
   */
  cutAtCommit(statement: string, when: 'before' | 'after'): Promise<void>
  close(): Promise<void>
}

interface Trap {
  statement: Buffer
  when: 'before' | 'after'
  sprung: () => void
}

interface Pair {
  client: Socket
  server: Socket
}

const commitAsked = Buffer.from('commit\0')
const commitDone = Buffer.from('COMMIT\0')

export async function openDatabaseProxy(databaseUrl: string): Promise<DatabaseProxy> {
  const target = new URL(databaseUrl)
  const pairs = new Set<Pair>()
  let refusing = false
  /** The sides of a connection from which nothing is read. */
  let paused: readonly (keyof Pair)[] = []
  let trap: Trap | undefined

  function end(pair: Pair) {
    pairs.delete(pair)
    pair.client.destroy()
    pair.server.destroy()
  }

  function spring(pair: Pair) {
    const { sprung } = trap!
    trap = undefined
    end(pair)
    sprung()
  }

  const listener = createServer((client) => {
    if (refusing) return void client.destroy()
    const pair: Pair = { client, server: connect({ host: target.hostname, port: Number(target.port), noDelay: true }) }
    pairs.add(pair)
    for (const side of paused) pair[side].pause()
    passBytes(pair, () => trap, spring)
    for (const socket of [pair.client, pair.server]) {
      socket.on('error', () => end(pair))
      socket.on('close', () => end(pair))
    }
  })
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve))

  const cutAll = () => {
    for (const pair of pairs) end(pair)
  }
  return {
    url: urlThrough(listener, databaseUrl),
    pause(what) {
      paused = what === 'answers' ? ['server'] : ['client', 'server']
      for (const pair of pairs) for (const side of paused) pair[side].pause()
    },
    resume() {
      paused = []
      for (const { client, server } of pairs) for (const socket of [client, server]) socket.resume()
    },
    refuse() {
      refusing = true
      cutAll()
    },
    accept: () => void (refusing = false),
    cutAll,
    connections: () => pairs.size,
    cutAtCommit: (statement, when) =>
      new Promise((resolve) => (trap = { statement: Buffer.from(`${statement}\0`), when, sprung: resolve })),
    async close() {
      cutAll()
      await new Promise((resolve) => listener.close(resolve))
    },
  }
}

/** Passes the bytes of a connection on, up to the commit at which a trap is sprung. */
function passBytes(pair: Pair, trapNow: () => Trap | undefined, spring: (pair: Pair) => void): void {
  /** The statement of the trap ran in the present transaction. */
  let armed = false
  /** The commit of that transaction was passed on. */
  let committing = false
  pair.client.setNoDelay(true)
  pair.client.on('data', (bytes) => {
    const trap = trapNow()
    if (trap && bytes.includes(trap.statement)) armed = true
    if (trap && armed && bytes.includes(commitAsked)) {
      if (trap.when === 'before') return spring(pair)
      committing = true
    }
    pair.server.write(bytes)
  })
  pair.server.on('data', (bytes) => {
    if (!committing) return void pair.client.write(bytes)
    if (bytes.includes(commitDone)) spring(pair)
  })
}

function urlThrough(listener: Server, databaseUrl: string): string {
  const address = listener.address()
  if (address === null || typeof address === 'string') throw new Error('the proxy has no port')
  const url = new URL(databaseUrl)
  url.hostname = '127.0.0.1'
  url.port = String(address.port)
  return url.href
}
