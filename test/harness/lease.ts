import { once } from 'node:events'
import { connect } from 'node:net'
import { createInterface } from 'node:readline'

/** What the broker of the run answers, as one line of JSON, once it has a world. */
export type Lease<Shared> = { world: Shared } | { error: string }

/**
 * Asks the broker at this path for a world. It is this process's alone until the end of the
 * connection, that is, until it is returned or the process dies.
 */
export async function lease<Shared>(path: string): Promise<Shared & { stop(): Promise<void> }> {
  const socket = connect(path)
  const gone = once(socket, 'close').then((): [string?] => [])
  const [line] = (await Promise.race([once(createInterface(socket), 'line'), gone])) as [string?]
  if (line === undefined) throw new Error('the broker of the worlds ended')
  const answer = JSON.parse(line) as Lease<Shared>
  if ('error' in answer) throw new Error(`there is no world to share: ${answer.error}`)
  // Nothing else comes, and a test that forgets to return its world ends all the same.
  socket.unref()
  return {
    ...answer.world,
    async stop() {
      socket.destroy()
      await gone
    },
  }
}
