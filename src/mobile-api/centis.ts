import { currencyOf } from '../base/money.ts'

/** Hundredths of the unit, whatever the currency, in its minor units; undefined where it has no such amount. */
export function minorOfCentis(centis: number, currency: string): bigint | undefined {
  const { exponent } = currencyOf(currency)!
  const shifted = BigInt(centis) * 10n ** BigInt(exponent)
  return shifted % 100n === 0n ? shifted / 100n : undefined
}
