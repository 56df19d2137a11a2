/** The machine that the doctor runs on. */
import type { MachineFacts } from '../../base/machine.ts'
import type { Finding } from '../../entity/show.ts'
import { ok, warning } from './finding.ts'

export function* machineFindings({ dumpsCore, swap }: MachineFacts): Generator<Finding> {
  if (dumpsCore)
    yield warning(
      'memory',
      'a process started like this one may write a core dump, with card numbers in it',
      'start gateways with ulimit -c 0 (LimitCORE=0 in a unit of systemd)',
    )
  if (swap.length > 0)
    yield warning(
      'memory',
      `memory, with card numbers in it, may be swapped to ${swap.join(', ')}`,
      'swapoff -a, or MemorySwapMax=0 in the unit of systemd; swap encrypted with a new key at each boot is fine too',
    )
  if (!dumpsCore && swap.length === 0) yield ok('memory', 'never reaches a disk: no core dumps, no swap')
}

/** The last days on which release lines of Node get repairs, as their project announces. */
const nodeLines: Readonly<Record<string, string>> = { 20: '2026-04-30', 22: '2027-04-30', 24: '2028-04-30' }

/** `version` as `process.versions.node`. A line that is newer than the known ones is good. */
export function nodeFinding(version: string, now: number): Finding {
  const [line] = version.split('.')
  const lastDay = nodeLines[line!]
  const newest = Math.max(...Object.keys(nodeLines).map(Number))
  const isPast = lastDay === undefined ? Number(line) < newest : new Date(now).toISOString().slice(0, 10) > lastDay
  if (!isPast) return ok('node', lastDay ? `${version}, which gets repairs until ${lastDay}` : version)
  return warning(
    'node',
    `${version} is of a release line that gets no repairs any more, not even for security`,
    'run Tollgate with a release line that Node.js supports, such as 24',
  )
}
