import { chooseGate, eligibleGates } from '../../acquirer/choose.ts'
import { commissionOf } from '../../acquirer/commission.ts'
import { spellMinor } from '../../base/money.ts'
import type { Endpoint, Gate, Registry } from '../../merchant/merchant.ts'
import type { GateFacts } from './event.ts'
import type { Order, Transaction } from './order.ts'

/**
 * The gate of a transaction. Issuers see the merchant as this gate describes him. A transaction
 * that follows a payment goes to the gate of the payment, even if that gate is switched off. A
 * transfer goes to the gate whose commission was chosen; any other payment goes to the first gate
 * of the endpoint's list that is switched on.
 */
export function gateOf(order: Order, transaction: Transaction, registry: Registry): Gate | undefined {
  if (transaction.parentNo !== undefined) return registry.gate(BigInt(transaction.result.gateId ?? 0))
  const endpoint = registry.endpoint(order.endpointId)
  const chosen = order.request.transfer?.gateId
  if (!endpoint || chosen === undefined) return endpoint && chooseGate(endpoint, registry)
  return eligibleGates(endpoint, registry).find((gate) => String(gate.gateId) === chosen)
}

/** The facts of the gate that are kept with its answer. */
export const gateFactsOf = ({ settings: { descriptor, partialReversal, partialCapture } }: Pick<Gate, 'settings'>): GateFacts => {
  return { descriptor, partialReversal, partialCapture }
}

/** The commissions that an endpoint shows once money was taken; a return has none. */
export function commissionsOf(
  { currency }: Pick<Order, 'currency'>,
  { kind, amountMinor }: { kind: string; amountMinor: bigint },
  gate: Pick<Gate, 'settings'>,
  endpoint: Pick<Endpoint, 'settings'> | undefined,
): Pick<GateFacts, 'sellerCommission' | 'acquirerCommission'> {
  const shown: Pick<GateFacts, 'sellerCommission' | 'acquirerCommission'> = {}
  if (kind !== 'sale' && kind !== 'capture' && kind !== 'transfer') return shown
  for (const of of ['sellerCommission', 'acquirerCommission'] as const) {
    const chosen = endpoint?.settings[of]
    const commission = chosen && 'ofGate' in chosen ? gate.settings[of] : chosen
    if (commission) shown[of] = spellMinor(commissionOf(commission, amountMinor), currency)
  }
  return shown
}
