// Processor time, where the system says it (Linux).
import { existsSync, readdirSync, readFileSync } from 'node:fs'

const ticksASecond = 100
export const isKnown = existsSync('/proc/self/stat')

/**
 * The fields of a process after its name, or undefined when it is gone: its state, its parent, and
 * from the eleventh on user and system time, its own and that of children it waited for.
 */
function statOf(pid) {
  try {
    return readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1).split(' ')
  } catch {
    return undefined
  }
}

const secondsIn = (fields, first, last) =>
  fields.slice(first, last + 1).reduce((sum, ticks) => sum + Number(ticks), 0) / ticksASecond

/** Processor time of this process and of all that it or its children waited for. */
export const secondsInAll = () => secondsIn(statOf('self'), 11, 14)

/** Processor time of the children that this process waited for, and of theirs. */
export const secondsOfEnded = () => (isKnown ? secondsIn(statOf('self'), 13, 14) : 0)

/** The running children of this process: their command lines, and the seconds of all below them. */
export function runningChildren() {
  const below = new Map()
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    const fields = statOf(pid)
    if (!fields) continue
    const parent = Number(fields[1])
    below.set(parent, [...(below.get(parent) ?? []), { pid: Number(pid), seconds: secondsIn(fields, 11, 14) }])
  }
  const sum = ({ pid, seconds }) => (below.get(pid) ?? []).reduce((all, child) => all + sum(child), seconds)
  return (below.get(process.pid) ?? []).map((child) => ({ command: commandOf(child.pid), seconds: sum(child) }))
}

function commandOf(pid) {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8')
  } catch {
    return ''
  }
}
