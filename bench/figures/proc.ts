import { readdirSync, readFileSync } from 'node:fs'

/** The kernel's facts about one process. */
export interface ProcessStat {
  pid: number
  parent: number
  /** Tells processes apart that had the same pid, one after the other. */
  startedAt: string
  /** User and system time, all threads. */
  cpuUs: number
  /** The same of its children that have ended and were waited for. */
  endedChildrenCpuUs: number
}

/** Processor time of the whole machine. */
export interface MachineTime {
  busyUs: number
  /** The time that the hypervisor gave to other machines instead. */
  stolenUs: number
  allUs: number
}

/**
 * The kernel counts in hundredths of a second for whoever reads /proc, on every architecture
 * Node.js runs on.
 */
const usPerTick = 10_000

/** Reads the text of /proc/<pid>/stat. */
export function parseProcessStat(text: string): ProcessStat | undefined {
  // The name of the program may hold spaces and brackets, so the fields are counted from its last
  // one. The first after it is the third in the kernel's count.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
  const ticks = (field: number) => Number(fields[field - 3]) * usPerTick
  const startedAt = fields[22 - 3]
  if (startedAt === undefined) return undefined
  return {
    pid: Number.parseInt(text, 10),
    parent: Number(fields[4 - 3]),
    startedAt,
    cpuUs: ticks(14) + ticks(15),
    endedChildrenCpuUs: ticks(16) + ticks(17),
  }
}

/** Reads the text of /proc/stat. Waiting for the disk is idle time: another process could run. */
export function parseMachineStat(text: string): MachineTime | undefined {
  const [user, nice, system, idle, waiting, irq, softIrq, stolen] = (/^cpu +(.*)$/m.exec(text)?.[1] ?? '')
    .split(' ')
    .map((ticks) => Number(ticks) * usPerTick)
  if (user === undefined || stolen === undefined) return undefined
  const busyUs = user + nice! + system! + irq! + softIrq!
  return { busyUs, stolenUs: stolen, allUs: busyUs + stolen + idle! + waiting! }
}

export const processStat = (pid: number): ProcessStat | undefined => read(`${pid}/stat`, parseProcessStat)

export const machineTime = (): MachineTime | undefined => read('stat', parseMachineStat)

/** The words of its command line, or the title that it has given itself. */
export const commandLine = (pid: number): string | undefined =>
  read(`${pid}/cmdline`, (text) => text.replaceAll('\0', ' ').trim() || undefined)

/** Resident memory, in bytes. */
export const residentBytes = (pid: number): number | undefined =>
  read(`${pid}/status`, (text) => {
    const kilobytes = /^VmRSS:\s+(\d+) kB$/m.exec(text)?.[1]
    return kilobytes === undefined ? undefined : Number(kilobytes) * 1024
  })

/** The pids of the children of all its threads. */
export function childrenOf(pid: number): number[] {
  try {
    return readdirSync(`/proc/${pid}/task`).flatMap(
      (thread) => read(`${pid}/task/${thread}/children`, (text) => text.split(' ').filter(Boolean).map(Number)) ?? [],
    )
  } catch {
    return []
  }
}

/** Undefined where there is no such process, or no such file: /proc is of Linux. */
function read<Value>(path: string, parse: (text: string) => Value | undefined): Value | undefined {
  try {
    return parse(readFileSync(`/proc/${path}`, 'utf8'))
  } catch {
    return undefined
  }
}
