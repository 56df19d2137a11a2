/** Decimals of the minor unit by ISO 4217 where it is not two; none without a minor unit. */
// oxfmt-ignore
const decimals = new Map([
  ...'BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF'.split(' ').map((code) => [code, 0] as const),
  ...'XAG XAU XBA XBB XBC XBD XDR XPD XPT XSU XTS XUA XXX'.split(' ').map((code) => [code, 0] as const),
  ...'BHD IQD JOD KWD LYD OMR TND'.split(' ').map((code) => [code, 3] as const),
  ...'CLF UYW'.split(' ').map((code) => [code, 4] as const),
])

/**
 * How an endpoint wants amounts in checksums: by the decimals of the currency, or times a hundred
 * whatever the currency is.
 */
export type ControlMinorUnits = 'iso4217' | 'hundredths'

/**
 * An amount as it is signed: the point moved within the text, never through a float. Throws a
 * RangeError for what the currency cannot express.
 */
export function minorUnits(amount: string, currency: string, by: ControlMinorUnits = 'iso4217'): string {
  const exponent = decimals.get(currency) ?? 2
  const exact = shifted(amount, exponent)
  if (exact === undefined) throw new RangeError(`"${amount}" is not an amount of ${currency}, which has ${exponent} decimals`)
  return by === 'hundredths' ? (shifted(amount, 2) ?? exact) : exact
}

/** Zeros beyond the exponent are allowed, as in 100.00 of a currency without decimals. */
function shifted(amount: string, exponent: number): string | undefined {
  const [, units, fraction = ''] = /^([0-9]+)(?:\.([0-9]+))?$/.exec(amount) ?? []
  if (units === undefined || /[^0]/.test(fraction.slice(exponent))) return undefined
  return String(BigInt(units + fraction.slice(0, exponent).padEnd(exponent, '0')))
}
