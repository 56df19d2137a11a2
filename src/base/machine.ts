import { readFileSync } from 'node:fs'

/**
 * Whether this machine may write the memory of a process to a disk; memory has card numbers. Linux
 * alone says so, in /proc.
 */
export interface MachineFacts {
  /** The limit of this process, which a gateway started in the same way has too. */
  dumpsCore: boolean
  /** The files and partitions that memory is swapped to. */
  swap: readonly string[]
}

/** Undefined where there is no /proc to read. */
export function machineFacts(proc = '/proc'): MachineFacts | undefined {
  try {
    const [, limit] = /^Max core file size\s+(\S+)/m.exec(readFileSync(`${proc}/self/limits`, 'utf8')) ?? []
    const [, ...swap] = readFileSync(`${proc}/swaps`, 'utf8').trim().split('\n')
    return { dumpsCore: limit !== '0', swap: swap.map((line) => line.split(/\s/)[0]!) }
  } catch {
    return undefined
  }
}
