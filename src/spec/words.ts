/**
 * The words of the contract: statuses, order stages and the names of transactions on the wire.
 * Source: docs/choices.md, "States".
 */

/** Final: approved, declined, error, filtered. `unknown` still waits for the acquirer's answer. */
export type Status = 'processing' | 'unknown' | 'approved' | 'declined' | 'error' | 'filtered'

export const finalStatuses: ReadonlySet<Status> = new Set(['approved', 'declined', 'error', 'filtered'])

export const statusMeans: Readonly<Record<Status, string>> = {
  processing: 'in progress',
  unknown: "the acquirer's answer was lost, and the gateway is finding out; money may have moved",
  approved: 'charged, held or verified',
  declined: 'refused by the issuer, the acquirer or the gateway; not charged',
  error: 'failed for technical reasons, or reversed after a lost answer; not charged',
  filtered: 'refused by risk rules; not charged',
}

/** The purposes of an order; its first transaction has the same kind. */
export type OrderKind = 'sale' | 'preauth' | 'account-verification' | 'transfer'

/**
 * The follow-ups of an approved order that a merchant may request; `cancel` is the return of an
 * amount that was not captured.
 */
export type FollowKind = 'capture' | 'return' | 'cancel' | 'void'

/**
 * A request on an order, or an obligation of the gateway itself: `credit` pays a transfer out once
 * its debit is approved.
 */
export type TransactionKind = OrderKind | FollowKind | 'credit' | 'reversal'

export interface KindWords {
  /** `transaction-type` of the status reply. */
  transactionType: string
  /** `type` of the callback. */
  callbackType: string
  /** Prefix of `order-stage`. */
  stagePrefix: string
}

// oxfmt-ignore
export const kindWords: Readonly<Record<TransactionKind, KindWords>> = {
  sale:     { transactionType: 'sale',     callbackType: 'sale',     stagePrefix: 'sale_' },
  preauth:  { transactionType: 'preauth',  callbackType: 'preauth',  stagePrefix: 'auth_' },
  capture:  { transactionType: 'capture',  callbackType: 'capture',  stagePrefix: 'capture_' },
  return:   { transactionType: 'reversal', callbackType: 'reversal', stagePrefix: 'reversal_' },
  cancel:   { transactionType: 'reversal', callbackType: 'cancel',   stagePrefix: 'cancel_' },
  void:     { transactionType: 'reversal', callbackType: 'void',     stagePrefix: 'void_' },
  reversal: { transactionType: 'reversal', callbackType: 'reversal', stagePrefix: 'reversal_' },
  transfer: { transactionType: 'transfer', callbackType: 'transfer', stagePrefix: 'transfer_' },
  credit:   { transactionType: 'transfer', callbackType: 'transfer', stagePrefix: 'transfer_' },
  'account-verification': { transactionType: 'account-verification', callbackType: 'account-verification', stagePrefix: 'av_' },
}
