import { currencyOfNumeric, minorToDecimal } from '../../../src/base/money.ts'

/** The fields used of an entry in the simulated acquirer's books. */
interface Entry {
  kind: string
  card: string
  amountMinor: string
  currency: string
  state: string
}

/**
 * What the cardholder's bank would answer on the phone: the sums that are held on cards with these
 * first digits. In reality that is a text message or a line of the statement; here it is read from
 * the books of the simulated acquirer.
 */
export async function sumsHeld(acquirerAdminUrl: string, bin: string, since: number): Promise<string[]> {
  const answer = await fetch(`${acquirerAdminUrl}/ledger?since=${since}&limit=100`, { signal: AbortSignal.timeout(5_000) })
  const { entries } = (await answer.json()) as { entries: Entry[] }
  return entries
    .filter(({ kind, card, state }) => kind === 'preauth' && state === 'approved' && card.startsWith(bin))
    .map(({ amountMinor, currency }) => {
      const { code, exponent } = currencyOfNumeric(currency)!
      return `${minorToDecimal(BigInt(amountMinor), exponent)} ${code}`
    })
}
