import { currencyOf } from '../base/money.ts'

/** Hundredths of the unit, whatever the currency, in its minor units; undefined where it has no such amount. */
export function minorOfCentis(centis: number, currency: string): bigint | undefined {
  const shifted = BigInt(centis) * unitOf(currency)
  return shifted % 100n === 0n ? shifted / 100n : undefined
}

/** To be shown: a half of a hundredth is rounded up. */
export const centisOfMinor = (minor: bigint, currency: string): number =>
  Number((minor * 100n + unitOf(currency) / 2n) / unitOf(currency))

const unitOf = (currency: string): bigint => 10n ** BigInt(currencyOf(currency)!.exponent)
