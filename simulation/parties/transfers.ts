import { maskCard } from '../../simulators/acquirer/cards.ts'
import type { FaultScripts } from '../../simulators/acquirer/faults.ts'
import { configuration } from '../model/configuration.ts'

/**
 * Cards that transfers credit. The acquirer's scripts recognise by their digits those that it
 * seldom credits.
 */
export const destinations = {
  well: '6011111111111117',
  refused: '6011000990139424',
  silent: '6011601160116611',
} as const

/**
 * The fee of a gate for a transfer, with halves rounded up; computed independently of the gateway.
 */
export function commissionAt(gateId: bigint, amountMinor: bigint): bigint {
  const { commissionFixedMinor, commissionBasisPoints } = configuration.gate(gateId)!.settings
  return BigInt(commissionFixedMinor) + (amountMinor * BigInt(commissionBasisPoints) * 2n + 10_000n) / 20_000n
}

/** One issuer refuses every credit, and another seldom answers one. */
export function refuseCredits(faults: FaultScripts): void {
  const message = 'authorisation'
  faults.add({ match: { message, card: maskCard(destinations.refused) }, do: { decline: '119' } })
  faults.add({ match: { message, card: maskCard(destinations.silent), probability: 0.5, seed: 1 }, do: { no_answer: true } })
}
