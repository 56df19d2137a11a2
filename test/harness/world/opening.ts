import { after } from 'node:test'
import { startWorld, type World } from './world.ts'

type Closable = { close(): unknown } | { stop(): unknown } | { end(): unknown }

const open: Closable[] = []
after(async () => {
  for (const one of open.splice(0).toReversed()) await close(one)
})

/**
 * What a file opens for all its tests. It is closed after the last one, before what was opened
 * earlier.
 */
export function closing<One extends Closable>(one: One): One {
  open.push(one)
  return one
}

/** A world for all tests of a file. */
export async function openWorld(...options: Parameters<typeof startWorld>): Promise<World> {
  return closing(await startWorld(...options))
}

function close(one: Closable): unknown {
  if ('close' in one) return one.close()
  return 'stop' in one ? one.stop() : one.end()
}
