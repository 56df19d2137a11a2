import { chooseGate, eligibleGates } from '../acquirer/choose.ts'
import type { Gate, Registry } from '../merchant/merchant.ts'
import type { Order, Transaction } from './order.ts'

/**
 * The gate of a transaction. Issuers see the merchant as this gate describes him. A transaction
 * that follows a payment goes to the gate of the payment, even if that gate is switched off. A
 * transfer goes to the gate whose commission was chosen; any other payment goes to the endpoint's
 * next gate in rotation.
 */
export function gateOf(order: Order, transaction: Transaction, registry: Registry): Gate | undefined {
  if (transaction.parentNo !== undefined) return registry.gate(BigInt(transaction.result.gateId ?? 0))
  const endpoint = registry.endpoint(order.endpointId)
  const chosen = order.request.transfer?.gateId
  if (!endpoint || chosen === undefined) return endpoint && chooseGate(endpoint, registry)
  return eligibleGates(endpoint, registry).find((gate) => String(gate.gateId) === chosen)
}
