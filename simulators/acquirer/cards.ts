/**
 * What the simulated issuers know about a card. Everything is derived from the first six digits, so
 * that a card always behaves the same way, and so that its facts can be derived again from the
 * masked number in the ledger.
 */

export interface CardFacts {
  productCode: string
  productName: string
  typeCode: string
  typeName: string
  issuerCountry: string
  issuerName: string
}

// The first row whose prefix fits; a range is written as its first and last prefix.
// oxfmt-ignore
const products: { from: string; to: string; code: string; name: string }[] = [
  { from: '4',    to: '4',    code: 'F',   name: 'Visa Classic' },
  { from: '51',   to: '55',   code: 'MCS', name: 'Mastercard Standard' },
  { from: '2221', to: '2720', code: 'MCS', name: 'Mastercard Standard' },
  { from: '34',   to: '34',   code: 'AXG', name: 'American Express Green' },
  { from: '37',   to: '37',   code: 'AXG', name: 'American Express Green' },
  { from: '35',   to: '35',   code: 'JST', name: 'JCB Standard' },
  { from: '6011', to: '6011', code: 'DCR', name: 'Discover Consumer' },
  { from: '65',   to: '65',   code: 'DCR', name: 'Discover Consumer' },
  { from: '62',   to: '62',   code: 'UPC', name: 'UnionPay Classic' },
  { from: '30',   to: '30',   code: 'DNC', name: 'Diners Club' },
  { from: '36',   to: '36',   code: 'DNC', name: 'Diners Club' },
  { from: '',     to: '',     code: 'TST', name: 'Test Card' },
]

/** Country of the issuer by the sixth digit. */
const issuerCountries = ['GBR', 'USA', 'DEU', 'FRA', 'NLD', 'CAN', 'BRA', 'JPN', 'AUS', 'SGP']

/**
 * Product by network prefix, debit when the fifth digit is odd and credit when it is even, country
 * by the sixth digit.
 */
export function cardFacts(maskedCard: string): CardFacts {
  const product = products.find(({ from, to }) => {
    const start = maskedCard.slice(0, from.length)
    return start >= from && start <= to
  })!
  const debit = Number(maskedCard[4] ?? 0) % 2 === 1
  const issuerCountry = issuerCountries[Number(maskedCard[5])] ?? 'GBR'
  return {
    productCode: product.code,
    productName: product.name,
    typeCode: debit ? 'D' : 'C',
    typeName: debit ? 'Debit' : 'Credit',
    issuerCountry,
    issuerName: `Simulated Bank ${issuerCountry}`,
  }
}

/** Cards of this BIN (4242 4242 4242 4242 is one) belong to a loyalty program; no others do. */
const loyaltyBin = '424242'

/** A point for each whole unit of the currency; the balance before a payment is always 1250. */
export function loyaltyOf(maskedCard: string, wholeUnits: bigint): Record<'LB' | 'LM' | 'LO' | 'LP', string> | undefined {
  if (!maskedCard.startsWith(loyaltyBin)) return undefined
  const balance = 1250n + wholeUnits
  return { LB: balance.toString(), LM: `You have ${balance} points`, LO: wholeUnits.toString(), LP: 'TOLLGATE POINTS' }
}

/**
 * First six and last four digits; fewer leading digits of a short number, so that at least three
 * digits are hidden.
 */
export function maskCard(pan: string): string {
  const shown = Math.max(0, Math.min(6, pan.length - 7))
  return pan.slice(0, shown) + '*'.repeat(Math.max(0, pan.length - shown - 4)) + pan.slice(-4)
}
