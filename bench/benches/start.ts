import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { request } from 'undici'
import { median, rounded } from '../figures/figures.ts'
import type { Output } from '../figures/output.ts'
import { makeDirectory, servingOn, spawnTollgate, startSandbox, type Spawned } from '../sandbox.ts'
import type { Started } from '../started.ts'
import { figure } from '../figures/table.ts'
import type { ByName } from '../wishes.ts'

/** The names are those of the JSON line. */
interface StartRow {
  bench: 'start'
  what: 'gateway' | 'sandbox'
  /** Not among the others: it reads from the disk what the others find in memory. */
  first_ms: number
  ms: number[]
  median_ms: number | null
}

/** After the first. */
const warmStarts = 3
const lookEveryMs = 5
const readyWithinMs = 60_000

export const start: ByName = {
  name: 'start',
  means: 'from the start of the process to the first good reply of /ready: the gateway, and the whole sandbox',
  async run(_wishes, output, started) {
    const { directory } = await started.keep(makeDirectory())
    output.people(`${start.name}: ${start.means}\n`)
    output.progress.say('Starting a sandbox with an empty database')
    const sandbox = await started.keep(startSandbox({}, started.interrupted, directory))
    const measure = (what: StartRow['what'], command: string, settings: Record<string, string>) => {
      const spawn = (port: number) =>
        spawnTollgate(directory, [command], { ...settings, PORT: String(port), OPERATOR_PORT: String(port + operatorAbove) })
      return measureStarts(what, spawn, output, started)
    }
    await measure('gateway', 'serve', servingOn(sandbox))
    await sandbox.stop()
    await measure('sandbox', 'sandbox', {})
    return true
  },
}

async function measureStarts(
  what: StartRow['what'],
  spawn: (port: number) => Spawned,
  { progress, lines, people }: Output,
  { interrupted, keep }: Started,
): Promise<void> {
  const took: number[] = []
  // Always the same one, as when a gateway is started again.
  const port = await freePort()
  for (let nth = 1; nth <= 1 + warmStarts; nth++) {
    progress.say(`Start ${nth} of ${1 + warmStarts}: ${what}`)
    const began = performance.now()
    const child = await keep(spawn(port))
    took.push(rounded((await readyAt(child, port, interrupted)) - began, 0))
    await child.stop()
  }
  const [first, ...others] = took
  const row: StartRow = { bench: 'start', what, first_ms: first!, ms: others, median_ms: rounded(median(others), 0) }
  lines(row)
  people(`${what.padEnd(8)} median ${figure(row.median_ms)} ms of ${others.join(', ')} ms; the first ${first} ms`)
}

async function readyAt({ ended }: Spawned, port: number, interrupted: AbortSignal): Promise<number> {
  for (const end = performance.now() + readyWithinMs; ; await pause(lookEveryMs)) {
    interrupted.throwIfAborted()
    const output = ended()
    if (output !== undefined) throw new Error(`It ended before it was ready:\n${output}`)
    if (await isReady(port)) return performance.now()
    if (performance.now() > end) throw new Error(`It was not ready within ${readyWithinMs / 1_000} s.`)
  }
}

/** False also if no process listens. */
async function isReady(port: number): Promise<boolean> {
  try {
    const { statusCode, body } = await request(`http://127.0.0.1:${port + operatorAbove}/ready`, { reset: true })
    await body.dump()
    return statusCode === 200
  } catch {
    return false
  }
}

/** The system does not give ports of this range to the other programs of a sandbox. */
const ports = { first: 20_000, last: 31_000 }
const operatorAbove = 1_000

export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(ports.first, ports.last)
    const server = createServer().listen(port, '127.0.0.1')
    const listens = await once(server, 'listening').then(
      () => true,
      () => false,
    )
    if (!listens) continue
    server.close()
    await once(server, 'close')
    return port
  }
}
