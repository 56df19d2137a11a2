import { knownCurrency, mostMinor } from '../../base/money.ts'

/**
 * Hundredths of the unit in minor units of the currency; undefined where it cannot express them,
 * or acquirers cannot be asked for so much.
 */
export function minorOfCentis(centis: number, currency: string): bigint | undefined {
  const shifted = BigInt(centis) * unitOf(currency)
  return shifted % 100n === 0n && shifted / 100n <= mostMinor ? shifted / 100n : undefined
}

/** For display: half a hundredth is rounded up. */
export const centisOfMinor = (minor: bigint, currency: string): number =>
  Number((minor * 100n + unitOf(currency) / 2n) / unitOf(currency))

const unitOf = (currency: string): bigint => 10n ** BigInt(knownCurrency(currency).exponent)
