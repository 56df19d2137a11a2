import { createHash } from 'node:crypto'
import type { Gate, Registry } from '../merchant/merchant.ts'
import type { Connector } from './connector.ts'

/** One open line for each gate that is switched on, kept in step with the configuration. */
export type Connectors = ReturnType<typeof openConnectors>

export function openConnectors(open: (gate: Gate) => Connector, onClosed: (done: Promise<void>) => void) {
  const lines = new Map<bigint, { gate: string; connector: Connector }>()
  return {
    connector: (gateId: bigint): Connector | undefined => lines.get(gateId)?.connector,
    configure(registry: Registry): void {
      for (const gate of registry.gates()) {
        const now = markOf(gate)
        const line = lines.get(gate.gateId)
        if (gate.enabled && line?.gate === now) continue
        lines.delete(gate.gateId)
        if (line) onClosed(line.connector.close())
        if (gate.enabled) lines.set(gate.gateId, { gate: now, connector: open(gate) })
      }
    },
    states: (): { gate: string; up: boolean; open: number }[] =>
      [...lines].map(([gateId, { connector }]) => ({ gate: String(gateId), ...connector.state() })),
    async close(): Promise<void> {
      await Promise.all([...lines.values()].map((line) => line.connector.close()))
    },
  }
}

/** Changes with the settings and the secrets of a gate, and shows neither. */
const markOf = ({ settings, secrets }: Gate): string =>
  createHash('sha256')
    .update(JSON.stringify([settings, secrets?.tlsKey?.reveal(), secrets?.macKey?.reveal().toString('hex')]))
    .digest('base64')
