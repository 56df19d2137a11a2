// Ends what a cluster has started if the process that started it is killed: test/cluster/cluster.ts
// starts it, and tells it each process by a pipe. At the end of the pipe it ends them and removes
// the files.
import { readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { incarnationOf, serversOf, signal } from '../../src/embedded/process.ts'

const directories = process.argv.slice(2)
const lives = new Map<number, string | undefined>()

// Ctrl-C in the terminal, and the end of it, concern the one that is watched.
for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(name, () => undefined)

for await (const line of createInterface({ input: process.stdin })) {
  const pid = Number(line.slice(1))
  if (line.startsWith('+')) lives.set(pid, incarnationOf(pid))
  else lives.delete(pid)
}
for (const [pid, life] of lives) if (life !== undefined && incarnationOf(pid) === life) signal(pid, 'SIGKILL')
for (const directory of directories) {
  for (const name of namesIn(directory).filter((one) => one.startsWith('pg')))
    for (const pid of serversOf({ data: join(directory, name, 'data'), clusterName: '' })) signal(pid, 'SIGKILL')
  rmSync(directory, { recursive: true, force: true, maxRetries: 5 })
}

function namesIn(directory: string): string[] {
  try {
    return readdirSync(directory)
  } catch {
    return []
  }
}
