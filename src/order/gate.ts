import { chooseGate, eligibleGates } from '../acquirer/choose.ts'
import type { Gate, Registry } from '../merchant/merchant.ts'
import type { Order, Transaction } from './order.ts'

/**
 * Where a transaction goes, to which issuers are told as the merchant. What follows a payment goes to the gate that has it, switched off or not; a payment to the one that takes the
 * endpoint's next, a transfer to the one whose commission was chosen.
 */
export function gateOf(order: Order, transaction: Transaction, registry: Registry): Gate | undefined {
  if (transaction.parentNo !== undefined) return registry.gate(BigInt(transaction.result.gateId ?? 0))
  const endpoint = registry.endpoint(order.endpointId)
  const chosen = order.request.transfer?.gateId
  if (!endpoint || chosen === undefined) return endpoint && chooseGate(endpoint, registry)
  return eligibleGates(endpoint, registry).find((gate) => String(gate.gateId) === chosen)
}
