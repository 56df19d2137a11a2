import { childrenOf, commandLine, processStat } from './proc.ts'

/** The programs of a sandbox whose processor time is measured apart. */
export const kinds = [
  'gateway',
  'postgres_backends',
  'postgres_autovacuum',
  'postgres_background',
  'acquirer',
  'merchant_server',
  'directory_server',
  'issuer',
] as const

export type Kind = (typeof kinds)[number]

/** User and system time, in microseconds, since each process started. */
export type CpuByKind = Readonly<Record<Kind, number>>

const simulators: Readonly<Record<string, Kind>> = {
  acquirer: 'acquirer',
  merchant: 'merchant_server',
  'directory-server': 'directory_server',
  acs: 'issuer',
}

/**
 * The program of a child of the sandbox or of its PostgreSQL, by its command line. Undefined: not
 * to be seen yet, since a process has its parent's title until it gives itself another.
 */
export function kindOf(command: string): Kind | 'postmaster' | undefined {
  const simulator = /\/simulators\/([\w-]+)\/program\.js( |$)/.exec(command)?.[1]
  if (simulator !== undefined) return simulators[simulator]
  // PostgreSQL: `postgres: <cluster name>: <what it does>`; a backend shows user, database and
  // address.
  if (!command.startsWith('postgres: ')) return /(?:^|\/)postgres -D /.test(command) ? 'postmaster' : undefined
  if (/: autovacuum /.test(command)) return 'postgres_autovacuum'
  return / \S+\(\d+\)(?: |$)/.test(command) ? 'postgres_backends' : 'postgres_background'
}

interface Seen {
  kind: Kind | undefined
  cpuUs: number
  parent: number
}

/** How often it looks for processes that come and go. */
const lookEveryMs = 250

/**
 * Follows the processes of a sandbox, by the pid of its gateway, and the other gateways on its
 * database. `cpu` gives undefined where there is no /proc.
 */
export function watchProcesses(gateway: number, others: readonly number[]): { cpu(): CpuByKind | undefined; stop(): void } {
  const seen = new Map<string, Seen>()
  /** Both are children of the gateway's process, and only they are. */
  let postmaster: number | undefined

  function look(): void {
    for (const pid of childrenOf(gateway)) note(pid)
    if (postmaster !== undefined) for (const pid of childrenOf(postmaster)) note(pid)
  }

  function note(pid: number): void {
    const stat = processStat(pid)
    if (stat === undefined) return
    const key = `${pid} ${stat.startedAt}`
    const known = seen.get(key)
    const kind = known?.kind ?? kindOf(commandLine(pid) ?? '')
    if (kind === 'postmaster' && stat.parent === gateway) postmaster = pid
    else seen.set(key, { kind: kind === 'postmaster' ? undefined : kind, cpuUs: stat.cpuUs, parent: stat.parent })
  }

  function cpu(): CpuByKind | undefined {
    look()
    const own = processStat(gateway)
    const beside = others.map(processStat)
    const server = postmaster === undefined ? undefined : processStat(postmaster)
    if (own === undefined || server === undefined) return undefined
    const sums = Object.fromEntries(kinds.map((kind) => [kind, 0])) as Record<Kind, number>
    sums.gateway = own.cpuUs + beside.reduce((sum, stat) => sum + (stat?.cpuUs ?? 0), 0)
    sums.postgres_background = server.cpuUs
    let goneUs = 0
    const alive = new Set(childrenOf(server.pid))
    for (const [key, { kind, cpuUs, parent }] of seen) {
      if (kind === undefined) continue
      sums[kind] += cpuUs
      if (parent === server.pid && !alive.has(Number.parseInt(key, 10))) goneUs += cpuUs
    }
    // Children that ended between two looks, or since the last one. Backends stay; a child that
    // lives so shortly is a worker of autovacuum.
    sums.postgres_autovacuum += Math.max(0, server.endedChildrenCpuUs - goneUs)
    return sums
  }

  look()
  const looking = setInterval(look, lookEveryMs)
  looking.unref()
  return { cpu, stop: () => clearInterval(looking) }
}
