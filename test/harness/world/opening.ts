import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after } from 'node:test'
import { startWorld } from '../sandbox/start.ts'
import type { World } from './world.ts'

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

/** A directory for all tests of a file, which goes after the last one. */
export function openDirectory(name: string): string {
  const directory = mkdtempSync(join(tmpdir(), `tollgate-${name}-`))
  closing({ close: () => rmSync(directory, { recursive: true, force: true }) })
  return directory
}

/** A server of HTTP on this machine for all tests of a file; its connections end with it. */
export async function openHttp(listener: RequestListener): Promise<{ port: number; origin: string }> {
  const server = createServer(listener)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  closing({ close: () => server.close().closeAllConnections() })
  const { port } = server.address() as AddressInfo
  return { port, origin: `http://127.0.0.1:${port}` }
}

/** A world for all tests of a file. */
export async function openWorld(...options: Parameters<typeof startWorld>): Promise<World> {
  return closing(await startWorld(...options))
}

function close(one: Closable): unknown {
  if ('close' in one) return one.close()
  return 'stop' in one ? one.stop() : one.end()
}
