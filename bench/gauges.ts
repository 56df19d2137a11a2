import { readFileSync } from 'node:fs'
import { cpus } from 'node:os'
import { request } from 'undici'

/**
 * Where the counters of gateway and machine stand at one moment. What this platform or gateway does
 * not tell is undefined.
 */
export interface Gauges {
  /** User and system time of the gateway's process since it started. */
  gatewayCpuUs: number | undefined
  /** Batches of the door, and the changes of orders in them, since the gateway started. */
  batches: number | undefined
  batchItems: number | undefined
  /** Processor time of the whole machine, whoever used it. */
  machineBusyMs: number
  machineAllMs: number
}

/**
 * The kernel counts in hundredths of a second for whoever reads /proc, on every architecture
 * Node.js runs on.
 */
const usPerTick = 10_000

export async function readGauges(pid: number, gatewayOrigin: string): Promise<Gauges> {
  const all = cpus().map(({ times }) => times)
  const machineAllMs = all.reduce((sum, t) => sum + t.user + t.nice + t.sys + t.irq + t.idle, 0)
  const machineBusyMs = machineAllMs - all.reduce((sum, t) => sum + t.idle, 0)
  const gatewayCpuUs = cpuUsOf(pid)
  const metrics = await metricsOf(gatewayOrigin)
  return {
    gatewayCpuUs,
    batches: counterIn(metrics, 'tollgate_batches_total'),
    batchItems: counterIn(metrics, 'tollgate_batch_items_total'),
    machineBusyMs,
    machineAllMs,
  }
}

/** Resident memory, in bytes. */
export function rssOf(pid: number): number | undefined {
  const kilobytes = /^VmRSS:\s+(\d+) kB$/m.exec(procFile(pid, 'status') ?? '')?.[1]
  return kilobytes === undefined ? undefined : Number(kilobytes) * 1024
}

function cpuUsOf(pid: number): number | undefined {
  // The name of the program may hold spaces and brackets, so the fields are counted from its last
  // one: utime and stime are the 14th and 15th.
  const fields = procFile(pid, 'stat')?.split(') ').at(-1)?.split(' ')
  return fields && (Number(fields[11]) + Number(fields[12])) * usPerTick
}

function procFile(pid: number, name: string): string | undefined {
  try {
    return readFileSync(`/proc/${pid}/${name}`, 'utf8')
  } catch {
    return undefined
  }
}

/** Empty where the gateway has no such page. */
async function metricsOf(origin: string): Promise<string> {
  const { statusCode, body } = await request(`${origin}/metrics`)
  const text = await body.text()
  return statusCode === 200 ? text : ''
}

function counterIn(metrics: string, name: string): number | undefined {
  const line = metrics.split('\n').find((one) => one.startsWith(`${name}{`) && one.includes('batch="orders"'))
  return line === undefined ? undefined : Number(/\}\s+(\S+)/.exec(line)?.[1])
}
