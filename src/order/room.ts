import type { Gate, Registry } from '../merchant/merchant.ts'

/**
 * Orders that a process has in hand, and those submitted to it: of a merchant, at a gate, of both;
 * and those at the gate whose payment is under way.
 */
export interface Load {
  ofMerchant: number
  ofGate: number
  ofBoth: number
  paying: number
}

/**
 * Whether a gate takes one more payment of a merchant. The last half of its room is open only to
 * merchants who hold less than an equal share of it, so that nobody shuts others out by coming
 * first; a merchant alone at a gate has all of it. What follows a payment, a reversal for example,
 * counts for its merchant and does not take the room of others.
 */
export function gateHasRoom({ gateId, settings: { maxOpen } }: Gate, load: Load, registry: Registry): boolean {
  const share = maxOpen / Math.max(1, registry.merchantsAt(gateId))
  return load.paying < maxOpen && (load.ofGate < maxOpen / 2 || load.ofBoth < share)
}
