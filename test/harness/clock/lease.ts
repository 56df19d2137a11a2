import { once } from 'node:events'
import { connect } from 'node:net'
import { createInterface } from 'node:readline'

/**
 * What the broker of the run answers, as one line of JSON: at first, once it has a world, and then
 * to each command, when it is done.
 */
export type Lease<Shared> = { world: Shared } | { error: string }

/** What the broker does on demand to a world that is leased, each command in a line of its own. */
export type Command = 'kill' | 'start'

/**
 * Asks the broker at this path for a world. It is this process's alone until the end of the
 * connection, that is, until it is returned or the process dies.
 */
export async function lease<Shared>(path: string) {
  const socket = connect(path)
  const gone = once(socket, 'close').then((): [string?] => [])
  const lines = createInterface(socket)
  const answer = async (): Promise<Shared> => {
    socket.ref()
    const [line] = (await Promise.race([once(lines, 'line'), gone])) as [string?]
    // A test that forgets to return its world ends all the same.
    socket.unref()
    if (line === undefined) throw new Error('the broker of the worlds ended')
    const said = JSON.parse(line) as Lease<Shared>
    if ('error' in said) throw new Error(`the broker of the worlds: ${said.error}`)
    return said.world
  }
  return {
    world: await answer(),
    /** Resolves with the world as it is then. */
    async ask(command: Command): Promise<Shared> {
      socket.write(`${command}\n`)
      return answer()
    },
    async stop() {
      socket.destroy()
      await gone
    },
  }
}
