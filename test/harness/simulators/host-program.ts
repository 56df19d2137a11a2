// The simulators of all sandboxes of a run in one process, because a process for each would cost
// more than most files do: host-program.js SOCKET. A connection stands for a process: the
// first line names the simulator, the answer is the line that its program prints, and the simulator
// stops when either end closes. All end with standard input.
import { closeSync, openSync, writeSync } from 'node:fs'
import { once } from 'node:events'
import { createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { acquirer } from '../../../simulators/acquirer/simulator.ts'
import { acs } from '../../../simulators/acs/simulator.ts'
import { directoryServer } from '../../../simulators/directory-server/simulator.ts'
import { merchant } from '../../../simulators/merchant/simulator.ts'
import type { Simulator } from '../../../simulators/run.ts'
import { openLog, reasonOf, type Log } from '../../../src/base/log.ts'
import type { BarPages } from '../../../src/http/bar.ts'
import type { Launch } from '../../../src/sandbox/programs.ts'

const simulators: Record<string, Simulator> = { acquirer, acs, 'directory-server': directoryServer, merchant }
/** By log file: the next life of a simulator begins when the one before has ended. */
const lives = new Map<string, Promise<unknown>>()

async function live(socket: Socket): Promise<void> {
  socket.on('error', () => undefined)
  const lines = createInterface(socket)
  const gone = once(socket, 'end')
  const launch = JSON.parse(String(await once(lines, 'line').then(([line]) => line))) as Launch
  const places: BarPages = {}
  lines.on('line', (line) => Object.assign(places, JSON.parse(line)))
  const file = join(launch.directory, 'log', `${launch.name}.log`)
  const before = lives.get(file)
  const life = Promise.resolve(before).then(() => withLog(file, (log) => run(socket, gone, { ...launch, log, places })))
  lives.set(file, life)
  await life
  socket.end()
}

async function run(
  socket: Socket,
  gone: Promise<unknown>,
  { name, ...given }: Omit<Launch, 'directory'> & { log: Log; places: BarPages },
) {
  const { ready, close } = await simulators[name]!.start({ ...given, onFailure: () => socket.end() })
  socket.write(`${JSON.stringify({ ready: true, ...ready })}\n`)
  await gone
  await close()
}

/** A failure is in the log alone, as that of a program. */
async function withLog(path: string, use: (log: Log) => Promise<void>): Promise<void> {
  const file = openSync(path, 'a', 0o600)
  let isOpen = true
  const log = openLog({ level: 'info', destination: { write: (line) => void (isOpen && writeSync(file, line)) } })
  await use(log).catch((thrown: unknown) => log.fatal({ reason: reasonOf(thrown) }, 'the simulator ends'))
  isOpen = false
  closeSync(file)
}

const listener = createServer({ allowHalfOpen: true }, (socket) => void live(socket))
// Ctrl-C reaches everybody in the terminal; the worlds stop first.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined)
process.stdin.resume().once('close', () => process.exit())
listener.listen(process.argv[2], () => process.stdout.write('\n'))
