import { currencyOfNumeric } from '../../src/base/money.ts'
import { restored, stored, type Entry, type Kind, type Names, type State, type StoredEntry } from './entry.ts'
import { hashOf, RecordIndex, Records } from './records.ts'

export type { Names }

/**
 * A line of the ledger file. `of` names the original; `stands` shows whether an entry was found
 * that the reversal cancels.
 */
type Line = { booked: StoredEntry } | { answered: Names } | { reversed: { by: Names; of: Names; stands: boolean; at: string } }

export interface LedgerQuery {
  orderId?: string
  state?: State
  /** Milliseconds since 1970; entries received then or later. */
  since?: number
  limit: number
}

const isLine = (value: unknown): value is Line =>
  typeof value === 'object' && value !== null && ('booked' in value || 'answered' in value || 'reversed' in value)

export const keyOf = (names: Names): string => names.terminal + '|' + names.stan + names.time12

/**
 * What the simulated acquirer did with each message about money, and the current state of each. It
 * keeps every entry, since a repeat, a reversal or a return may come at any time: 128 bytes each
 * and 24 to 48 of indexes, so 1,000,000 sales take about 155 MB. A reversal leaves one name or two.
 */
export class Ledger {
  readonly #records = new Records()
  readonly #byNames: RecordIndex<Names>
  readonly #byRrn: RecordIndex<Pick<Entry, 'terminal' | 'rrn'>>
  /** The last entry of each order; each names the one before it. */
  readonly #byOrder: RecordIndex<string>
  /** Originals, by names, whose reversal was accepted before they came. */
  readonly #forestalled = new Set<string>()
  readonly #reversals = new Set<string>()
  readonly #write: (line: string) => void

  constructor(write: (line: string) => void) {
    this.#write = write
    const records = this.#records
    this.#byNames = new RecordIndex({
      hash: ({ terminal, stan, time12 }) => hashOf(terminal, stan, time12),
      keyOf: (no) => records.names(no),
      isKeyOf: (no, { terminal, stan, time12 }) =>
        records.isText(no, 'stan', stan) && records.isText(no, 'time12', time12) && records.isText(no, 'terminal', terminal),
    })
    this.#byRrn = new RecordIndex({
      hash: ({ terminal, rrn }) => hashOf(terminal, rrn),
      keyOf: (no) => ({ terminal: records.text(no, 'terminal'), rrn: records.text(no, 'rrn') }),
      isKeyOf: (no, { terminal, rrn }) => records.isText(no, 'rrn', rrn) && records.isText(no, 'terminal', terminal),
    })
    this.#byOrder = new RecordIndex({
      hash: (orderId) => hashOf(orderId),
      keyOf: (no) => records.text(no, 'orderId'),
      isKeyOf: (no, orderId) => records.isText(no, 'orderId', orderId),
    })
  }

  /** The entry as it is now; later changes do not reach it. */
  find(names: Names): Entry | undefined {
    const no = this.#byNames.find(names)
    return no === undefined ? undefined : this.#records.entry(no)
  }

  findByRrn(terminal: string, rrn: string): Entry | undefined {
    const no = this.#byRrn.find({ terminal, rrn })
    return no === undefined ? undefined : this.#records.entry(no)
  }

  isForestalled(original: Names): boolean {
    return this.#forestalled.size > 0 && this.#forestalled.has(keyOf(original))
  }

  knowsReversal(names: Names): boolean {
    return this.#reversals.has(keyOf(names))
  }

  /** The amount of a preauthorisation that may still be captured. */
  leftToCapture(preauth: Names): bigint {
    return this.#leftToCapture(this.#known(preauth))
  }

  /**
   * The amount of a sale, debit, capture, or a preauthorisation's captures that may still be
   * returned.
   */
  leftToReturn(names: Names): bigint {
    return this.#leftToReturn(this.#known(names))
  }

  book(entry: Entry): void {
    this.#apply(entry)
    this.#write(JSON.stringify({ booked: stored(entry) } satisfies Line))
  }

  markAnswered({ terminal, stan, time12 }: Names): void {
    const no = this.#known({ terminal, stan, time12 })
    if (this.#records.isAnswered(no)) return
    this.#records.setAnswered(no)
    this.#write(JSON.stringify({ answered: { terminal, stan, time12 } } satisfies Line))
  }

  /**
   * Accepts the reversal `by` of the message `of`. `entry` is what it takes back; without one its
   * original is refused should it still come. A reversal that changes nothing any more leaves no
   * line.
   */
  reverse(by: Names, of: Names, entry: Entry | undefined, at: number): void {
    const news = entry ? entry.state === 'approved' : !this.isForestalled(of)
    if (!news && this.knowsReversal(by)) return
    const line = { reversed: { by, of, stands: entry !== undefined, at: new Date(at).toISOString() } } satisfies Line
    this.#applyReversal(line.reversed)
    this.#write(JSON.stringify(line))
  }

  /** Replays one line of the ledger file. Throws if it is not one. */
  replay(text: string): void {
    const line: unknown = JSON.parse(text)
    if (!isLine(line)) throw new Error('a line of the ledger is of an unknown kind')
    if ('booked' in line) this.#apply(restored(line.booked))
    else if ('answered' in line) this.#records.setAnswered(this.#known(line.answered))
    else this.#applyReversal(line.reversed)
  }

  /** Entries oldest first, at most `limit` of them, and the total number of matches. */
  search({ orderId, state, since, limit }: LedgerQuery): { total: number; entries: StoredEntry[] } {
    const records = this.#records
    const entries: StoredEntry[] = []
    let total = 0
    for (const no of orderId === undefined ? this.#all() : this.#ofOrder(orderId)) {
      if (state !== undefined && records.state(no) !== state) continue
      if (since !== undefined && records.receivedAt(no) < since) continue
      if (total++ < limit) entries.push(stored(records.entry(no)))
    }
    return { total, entries }
  }

  /** Count and sum for each currency, kind and state. */
  summary(): { currency: string; code: string | null; kind: Kind; state: State; count: number; amount_minor: string }[] {
    const records = this.#records
    const groups = new Map<string, { currency: string; kind: Kind; state: State; count: number; sum: bigint }>()
    for (const no of this.#all()) {
      const [currency, kind, state] = [records.text(no, 'currency'), records.kind(no), records.state(no)]
      const key = `${currency}|${kind}|${state}`
      const group = groups.get(key) ?? { currency, kind, state, count: 0, sum: 0n }
      groups.set(key, group)
      group.count++
      group.sum += records.amountMinor(no)
    }
    return [...groups.entries()]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([, { currency, kind, state, count, sum }]) => {
        const code = currencyOfNumeric(currency)?.code ?? null
        return { currency, code, kind, state, count, amount_minor: sum.toString() }
      })
  }

  /**
   * The money that stands, per currency: `charged` (sales, captures, debits), `returned` (returns,
   * credits), `balance` their difference, `held` what preauthorisations keep beyond their captures.
   * A reversed amount counts in `reversed` alone.
   */
  balances(): Record<
    'currency' | 'charged_minor' | 'returned_minor' | 'balance_minor' | 'held_minor' | 'reversed_minor',
    string
  >[] {
    const records = this.#records
    const sums = new Map<string, { charged: bigint; returned: bigint; held: bigint; reversed: bigint }>()
    for (const no of this.#all()) {
      const [currency, kind, state] = [records.text(no, 'currency'), records.kind(no), records.state(no)]
      const sum = sums.get(currency) ?? { charged: 0n, returned: 0n, held: 0n, reversed: 0n }
      sums.set(currency, sum)
      if (state === 'reversed') sum.reversed += records.amountMinor(no)
      if (state !== 'approved') continue
      if (kind === 'return' || kind === 'credit') sum.returned += records.amountMinor(no)
      else if (kind === 'preauth') sum.held += this.#leftToCapture(no)
      else sum.charged += records.amountMinor(no)
    }
    return [...sums.entries()]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([currency, { charged, returned, held, reversed }]) => ({
        currency,
        charged_minor: charged.toString(),
        returned_minor: returned.toString(),
        balance_minor: (charged - returned).toString(),
        held_minor: held.toString(),
        reversed_minor: reversed.toString(),
      }))
  }

  get size(): number {
    return this.#records.count
  }

  *#all(): Generator<number> {
    for (let no = 0; no < this.#records.count; no++) yield no
  }

  #ofOrder(orderId: string): number[] {
    const numbers: number[] = []
    for (let no = this.#byOrder.find(orderId); no !== undefined; no = this.#records.link(no, 'earlierOfOrder')) numbers.push(no)
    return numbers.reverse()
  }

  /** The entries of this kind that refer to this one. */
  *#drawnOn(from: number, kind: 'capture' | 'return'): Generator<number> {
    const records = this.#records
    for (let no = records.link(from, 'lastDrawn'); no !== undefined; no = records.link(no, 'earlierDrawn'))
      if (records.kind(no) === kind) yield no
  }

  #leftToCapture(preauth: number): bigint {
    return this.#records.amountMinor(preauth) - this.#drawn(preauth, 'capture')
  }

  #leftToReturn(no: number): bigint {
    if (this.#records.kind(no) === 'preauth') return this.#drawn(no, 'capture') - this.#returnedOfFamily(no)
    const ownLeft = this.#records.amountMinor(no) - this.#drawn(no, 'return')
    const preauth = this.#records.link(no, 'original')
    if (preauth === undefined) return ownLeft
    const familyLeft = this.#leftToReturn(preauth)
    return familyLeft < ownLeft ? familyLeft : ownLeft
  }

  #drawn(from: number, kind: 'capture' | 'return'): bigint {
    let sum = 0n
    for (const no of this.#drawnOn(from, kind)) if (this.#records.state(no) === 'approved') sum += this.#records.amountMinor(no)
    return sum
  }

  #returnedOfFamily(preauth: number): bigint {
    let sum = this.#drawn(preauth, 'return')
    for (const capture of this.#drawnOn(preauth, 'capture')) sum += this.#drawn(capture, 'return')
    return sum
  }

  #known(names: Names): number {
    const no = this.#byNames.find(names)
    if (no === undefined) throw new Error('the ledger has no entry of this name')
    return no
  }

  #apply(entry: Entry): void {
    const original = entry.original && this.#known(entry.original)
    const records = this.#records
    const no = records.add(entry)
    this.#byNames.put(entry, no)
    this.#byRrn.put(entry, no)
    records.setLink(no, 'earlierOfOrder', this.#byOrder.find(entry.orderId))
    this.#byOrder.put(entry.orderId, no)
    if (original === undefined) return
    records.setLink(no, 'original', original)
    records.setLink(no, 'earlierDrawn', records.link(original, 'lastDrawn'))
    records.setLink(original, 'lastDrawn', no)
  }

  #applyReversal({ by, of, stands, at }: { by: Names; of: Names; stands: boolean; at: string }): void {
    this.#reversals.add(keyOf(by))
    if (!stands) {
      this.#forestalled.add(keyOf(of))
      return
    }
    const no = this.#known(of)
    if (this.#records.state(no) === 'approved') this.#records.setReversed(no, Date.parse(at))
  }
}
