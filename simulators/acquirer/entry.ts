/** An entry of the ledger: what the simulated acquirer did with one message about money. */

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
  approvalCode: string | undefined
  state: State
  /** Whether a usable answer was sent. */
  answered: boolean
  /** CVV2 217: never answered, not even a repeat, and its reversal only after the slow time. */
  mute: boolean
  /** Milliseconds since 1970. */
  receivedAt: number
  reversedAt: number | undefined
  /** For a capture or a return: the message it refers to. */
  original: Names | undefined
}

/** An entry in JSON, for the ledger file and for people. */
export interface StoredEntry extends Omit<Entry, 'amountMinor' | 'receivedAt' | 'reversedAt' | 'approvalCode' | 'original'> {
  amountMinor: string
  approvalCode: string | null
  receivedAt: string
  reversedAt: string | null
  original: Names | null
}

export const stored = (entry: Entry): StoredEntry => ({
  terminal: entry.terminal,
  stan: entry.stan,
  time12: entry.time12,
  rrn: entry.rrn,
  orderId: entry.orderId,
  kind: entry.kind,
  card: entry.card,
  amountMinor: entry.amountMinor.toString(),
  currency: entry.currency,
  actionCode: entry.actionCode,
  approvalCode: entry.approvalCode ?? null,
  state: entry.state,
  answered: entry.answered,
  mute: entry.mute,
  receivedAt: new Date(entry.receivedAt).toISOString(),
  reversedAt: entry.reversedAt === undefined ? null : new Date(entry.reversedAt).toISOString(),
  original: entry.original ?? null,
})

export const restored = (line: StoredEntry): Entry => ({
  ...line,
  amountMinor: BigInt(line.amountMinor),
  approvalCode: line.approvalCode ?? undefined,
  receivedAt: Date.parse(line.receivedAt),
  reversedAt: line.reversedAt === null ? undefined : Date.parse(line.reversedAt),
  original: line.original ?? undefined,
})
