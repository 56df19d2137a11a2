import { currencyOfNumeric } from '../../src/base/money.ts'

/** What the simulated acquirer did with each message about money, and the current state of each. */

export type Kind = 'sale' | 'preauth' | 'account-verification' | 'capture' | 'return' | 'credit' | 'debit'
export type State = 'approved' | 'declined' | 'reversed'

/** Identifies one message of a terminal: fields 41, 11 and 12. */
export interface Names {
  terminal: string
  stan: string
  time12: string
}

export interface Entry extends Names {
  rrn: string
  /** Tag OI, empty if the message had none. */
  orderId: string
  kind: Kind
  /**
   * First six and last four digits; for a capture or a return those of its original, empty when
   * that is not known.
   */
  card: string
  amountMinor: bigint
  /** ISO 4217 numeric. */
  currency: string
  actionCode: string
  approvalCode?: string
  state: State
  /** Whether a usable answer was sent. */
  answered: boolean
  /** CVV2 217: never answered, not even a repeat, and its reversal only after the slow time. */
  mute: boolean
  /** Milliseconds since 1970. */
  receivedAt: number
  reversedAt?: number
  /** For a capture or a return: the message it refers to. */
  original?: Names
}

/**
 * A line of the ledger file. `of` names the original; `stands` shows whether an entry was found
 * that the reversal cancels.
 */
type Line = { booked: StoredEntry } | { answered: Names } | { reversed: { by: Names; of: Names; stands: boolean; at: string } }

interface StoredEntry extends Omit<Entry, 'amountMinor' | 'receivedAt' | 'reversedAt' | 'approvalCode' | 'original'> {
  amountMinor: string
  approvalCode: string | null
  receivedAt: string
  reversedAt: string | null
  original: Names | null
}

export interface LedgerQuery {
  orderId?: string
  state?: State
  /** Milliseconds since 1970; entries received then or later. */
  since?: number
  limit: number
}

const isLine = (value: unknown): value is Line =>
  typeof value === 'object' && value !== null && ('booked' in value || 'answered' in value || 'reversed' in value)

const keyOf = (names: Names): string => names.terminal + '|' + names.stan + names.time12

export class Ledger {
  readonly #entries: Entry[] = []
  readonly #byNames = new Map<string, Entry>()
  readonly #byOrder = new Map<string, Entry[]>()
  readonly #byRrn = new Map<string, Entry>()
  readonly #drawnOn = new Map<string, Entry[]>()
  /** Originals, by names, whose reversal was accepted before they came. */
  readonly #forestalled = new Set<string>()
  readonly #reversals = new Set<string>()
  readonly #write: (line: string) => void

  constructor(write: (line: string) => void) {
    this.#write = write
  }

  find(names: Names): Entry | undefined {
    return this.#byNames.get(keyOf(names))
  }

  findByRrn(terminal: string, rrn: string): Entry | undefined {
    return this.#byRrn.get(`${terminal}|${rrn}`)
  }

  isForestalled(original: Names): boolean {
    return this.#forestalled.has(keyOf(original))
  }

  knowsReversal(names: Names): boolean {
    return this.#reversals.has(keyOf(names))
  }

  /** The amount of a preauthorisation that may still be captured. */
  leftToCapture(preauth: Entry): bigint {
    return preauth.amountMinor - this.#drawn(preauth, 'capture')
  }

  /**
   * The amount of a sale, debit, capture, or a preauthorisation's captures that may still be
   * returned.
   */
  leftToReturn(entry: Entry): bigint {
    if (entry.kind === 'preauth') return this.#drawn(entry, 'capture') - this.#returnedOfFamily(entry)
    const ownLeft = entry.amountMinor - this.#drawn(entry, 'return')
    const preauth = entry.original && this.find(entry.original)
    if (!preauth) return ownLeft
    const familyLeft = this.leftToReturn(preauth)
    return familyLeft < ownLeft ? familyLeft : ownLeft
  }

  book(entry: Entry): void {
    this.#apply(entry)
    this.#write(JSON.stringify({ booked: stored(entry) } satisfies Line))
  }

  markAnswered(entry: Entry): void {
    if (entry.answered) return
    entry.answered = true
    const { terminal, stan, time12 } = entry
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
    else if ('answered' in line) this.#known(line.answered).answered = true
    else this.#applyReversal(line.reversed)
  }

  /** Entries oldest first, at most `limit` of them, and the total number of matches. */
  search(query: LedgerQuery): { total: number; entries: StoredEntry[] } {
    const all = query.orderId === undefined ? this.#entries : (this.#byOrder.get(query.orderId) ?? [])
    const { state, since } = query
    const found = all.filter((e) => (state === undefined || e.state === state) && (since === undefined || e.receivedAt >= since))
    return { total: found.length, entries: found.slice(0, query.limit).map(stored) }
  }

  /** Count and sum for each currency, kind and state. */
  summary(): { currency: string; code: string | null; kind: Kind; state: State; count: number; amount_minor: string }[] {
    const groups = new Map<string, { currency: string; kind: Kind; state: State; count: number; sum: bigint }>()
    for (const { currency, kind, state, amountMinor } of this.#entries) {
      const key = `${currency}|${kind}|${state}`
      const group = groups.get(key) ?? { currency, kind, state, count: 0, sum: 0n }
      groups.set(key, group)
      group.count++
      group.sum += amountMinor
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
   * What was reversed counts nowhere but in `reversed`.
   */
  balances(): Record<
    'currency' | 'charged_minor' | 'returned_minor' | 'balance_minor' | 'held_minor' | 'reversed_minor',
    string
  >[] {
    const sums = new Map<string, { charged: bigint; returned: bigint; held: bigint; reversed: bigint }>()
    for (const entry of this.#entries) {
      const sum = sums.get(entry.currency) ?? { charged: 0n, returned: 0n, held: 0n, reversed: 0n }
      sums.set(entry.currency, sum)
      if (entry.state === 'reversed') sum.reversed += entry.amountMinor
      if (entry.state !== 'approved') continue
      if (entry.kind === 'return' || entry.kind === 'credit') sum.returned += entry.amountMinor
      else if (entry.kind === 'preauth') sum.held += this.leftToCapture(entry)
      else sum.charged += entry.amountMinor
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
    return this.#entries.length
  }

  #drawn(from: Entry, kind: 'capture' | 'return'): bigint {
    let sum = 0n
    for (const entry of this.#drawnOn.get(keyOf(from)) ?? []) {
      if (entry.kind === kind && entry.state === 'approved') sum += entry.amountMinor
    }
    return sum
  }

  #returnedOfFamily(preauth: Entry): bigint {
    let sum = this.#drawn(preauth, 'return')
    for (const entry of this.#drawnOn.get(keyOf(preauth)) ?? []) if (entry.kind === 'capture') sum += this.#drawn(entry, 'return')
    return sum
  }

  #known(names: Names): Entry {
    const entry = this.find(names)
    if (!entry) throw new Error('a line of the ledger names an entry that was never booked')
    return entry
  }

  #apply(entry: Entry): void {
    this.#entries.push(entry)
    this.#byNames.set(keyOf(entry), entry)
    this.#byRrn.set(`${entry.terminal}|${entry.rrn}`, entry)
    append(this.#byOrder, entry.orderId, entry)
    if (entry.original) append(this.#drawnOn, keyOf(entry.original), entry)
  }

  #applyReversal({ by, of, stands, at }: { by: Names; of: Names; stands: boolean; at: string }): void {
    this.#reversals.add(keyOf(by))
    if (!stands) {
      this.#forestalled.add(keyOf(of))
      return
    }
    const entry = this.#known(of)
    if (entry.state !== 'approved') return
    entry.state = 'reversed'
    entry.reversedAt = Date.parse(at)
  }
}

function append(index: Map<string, Entry[]>, key: string, entry: Entry): void {
  const entries = index.get(key)
  if (entries) entries.push(entry)
  else index.set(key, [entry])
}

function stored(entry: Entry): StoredEntry {
  return {
    ...entry,
    amountMinor: entry.amountMinor.toString(),
    approvalCode: entry.approvalCode ?? null,
    receivedAt: new Date(entry.receivedAt).toISOString(),
    reversedAt: entry.reversedAt === undefined ? null : new Date(entry.reversedAt).toISOString(),
    original: entry.original ?? null,
  }
}

function restored(line: StoredEntry): Entry {
  const { approvalCode, reversedAt, original, ...rest } = line
  return {
    ...rest,
    amountMinor: BigInt(line.amountMinor),
    receivedAt: Date.parse(line.receivedAt),
    ...(approvalCode === null ? {} : { approvalCode }),
    ...(reversedAt === null ? {} : { reversedAt: Date.parse(reversedAt) }),
    ...(original === null ? {} : { original }),
  }
}
