import type { Endpoint, Gate, Registry } from '../merchant/merchant.ts'

/** The gates of an endpoint that accept payments now. */
export const eligibleGates = (endpoint: Endpoint, registry: Registry): Gate[] =>
  endpoint.gateIds.flatMap((id) => registry.gate(id) ?? []).filter((gate) => gate.enabled)

/** The gate of an endpoint's next attempt: the first of its list that is switched on. */
export const chooseGate = (endpoint: Endpoint, registry: Registry): Gate | undefined => {
  for (const id of endpoint.gateIds) {
    const gate = registry.gate(id)
    if (gate?.enabled) return gate
  }
  return undefined
}

/** The names of the attempt with this counter number; see docs/iso8583.md, "Numbers". */
export const attemptNames = (number: bigint): { stan: string; rrn: string } => ({
  stan: String((number % 999_999n) + 1n).padStart(6, '0'),
  rrn: String(number % 1_000_000_000_000n).padStart(12, '0'),
})
