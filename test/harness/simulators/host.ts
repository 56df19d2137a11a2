import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

const program = fileURLToPath(new URL('host-program.js', import.meta.url))

/**
 * Starts the process with the simulators of all sandboxes, which reach it at this socket. It ends
 * with the process that started it.
 */
export async function openSimulators(socket: string): Promise<{ close(): Promise<void> }> {
  const child = spawn(process.execPath, [program, socket], { stdio: ['pipe', 'pipe', 'inherit'] })
  const gone = once(child, 'exit')
  const [line] = await Promise.race([once(child.stdout, 'data'), gone.then(() => [])])
  if (line === undefined) throw new Error('the simulators did not start')
  return {
    async close() {
      child.stdin.end()
      await gone
    },
  }
}
