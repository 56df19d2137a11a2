import type { Gate, Registry } from '../../merchant/merchant.ts'

/**
 * How many orders are in the memory of a process or submitted to it: of a merchant, at a gate, of
 * both, and those at the gate whose payment is in progress.
 */
export interface Load {
  ofMerchant: number
  ofGate: number
  ofBoth: number
  paying: number
}

/**
 * Whether a gate takes one more payment of a merchant. The last half of its room is open only to
 * merchants who hold less than an equal share of it, so that no merchant shuts others out by coming
 * first. A merchant alone at a gate has all of it. A follow-up such as a reversal counts for its
 * merchant, but takes no room from others.
 */
export function gateHasRoom({ gateId, settings: { maxOpen } }: Gate, load: Load, registry: Registry): boolean {
  const share = maxOpen / Math.max(1, registry.merchantsAt(gateId))
  return load.paying < maxOpen && (load.ofGate < maxOpen / 2 || load.ofBoth < share)
}
