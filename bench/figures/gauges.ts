import { cpus } from 'node:os'
import { request } from 'undici'
import { parseMetrics, type Sample } from './metrics.ts'
import { machineTime, type MachineTime } from './proc.ts'
import { watchProcesses, type CpuByKind } from './processes.ts'
import { gatewaysOf, pidsOf, type Gateway, type Sandbox } from '../sandbox.ts'
import { openWal, type Wal, type WalAt } from './wal.ts'

/**
 * Where the counters of a sandbox and the machine stand at one moment. What this platform does not
 * show is undefined.
 */
export interface Gauges {
  cpu: CpuByKind | undefined
  /** Processor time of the bench itself. */
  benchUs: number
  machine: Omit<MachineTime, 'stolenUs'> & { stolenUs: number | undefined }
  wal: WalAt
  /** The /metrics of all gateways, one after the other; empty where there are none. */
  metrics: readonly Sample[]
}

export interface GaugeReader {
  read(): Promise<Gauges>
  wal: Wal
  stop(): Promise<void>
}

export function openGauges(sandbox: Sandbox): GaugeReader {
  const gateways = gatewaysOf(sandbox)
  const processes = watchProcesses(sandbox.pid, gateways.slice(1).flatMap(pidsOf))
  const wal = openWal(sandbox.databaseUrl)
  return {
    wal,
    async read() {
      // First the values that are read together, so that all are of the same moment.
      const cpu = processes.cpu()
      const machine = machineTime() ?? machineTimeOfNode()
      const own = process.cpuUsage()
      const [at, ...metrics] = await Promise.all([wal.read(), ...gateways.map(metricsOf)])
      return { cpu, benchUs: own.user + own.system, machine, wal: at, metrics: metrics.flat() }
    },
    async stop() {
      processes.stop()
      await wal.stop()
    },
  }
}

/** Without /proc. */
function machineTimeOfNode() {
  const all = cpus().map(({ times }) => times)
  const busyMs = all.reduce((sum, t) => sum + t.user + t.nice + t.sys + t.irq, 0)
  const idleMs = all.reduce((sum, t) => sum + t.idle, 0)
  return { busyUs: busyMs * 1_000, stolenUs: undefined, allUs: (busyMs + idleMs) * 1_000 }
}

/** Empty where the gateway has no such page. */
async function metricsOf({ operatorUrl }: Gateway): Promise<Sample[]> {
  const { statusCode, body } = await request(`${operatorUrl}/metrics`)
  const text = await body.text()
  return statusCode === 200 ? parseMetrics(text) : []
}
