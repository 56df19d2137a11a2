import type { ChildProcess } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { until } from '../clock/until.ts'

/**
 * V8 cuts texts after 1,024 characters otherwise, and the thread that watches over the main one
 * would kill a process that stands still for so long.
 */
const preload = `import { setFlagsFromString } from 'node:v8'
import { isMainThread } from 'node:worker_threads'
setFlagsFromString('--heap-snapshot-string-limit=10000000')
if (!isMainThread) process.kill = () => true`

/** The environment of a process that writes a snapshot of its heap into `directory` on SIGUSR2. */
export const snapshotsInto = (directory: string): Record<string, string> => ({
  NODE_OPTIONS: [
    '--heapsnapshot-signal=SIGUSR2',
    `--diagnostic-dir=${directory}`,
    `--import=data:text/javascript,${encodeURIComponent(preload)}`,
  ].join(' '),
})

/**
 * Every text in the heap of a process after all garbage was collected; buffers are not in it. The
 * process stands still for seconds; a gateway may lose its lease by it, and is of no use after it.
 */
export async function textsInHeap(child: ChildProcess, directory: string): Promise<string> {
  child.kill('SIGUSR2')
  const snapshot = () => readdirSync(directory).map((name) => readFileSync(join(directory, name), 'utf8'))[0] ?? ''
  const text = await until(snapshot, (seen) => isWhole.test(seen.slice(-10)), 120_000)
  const { strings } = JSON.parse(text) as { strings: string[] }
  return strings.join('\n')
}

/** The texts are written last. */
const isWhole = /"\]\}\n?$/
