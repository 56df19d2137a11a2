/**
 * The words of the contract: statuses, order stages and the names that transactions carry on the
 * wire. Source: docs/choices.md, "States".
 */

/** Final: approved, declined, error, filtered. `unknown` still waits for the acquirer's answer. */
export type Status = 'processing' | 'unknown' | 'approved' | 'declined' | 'error' | 'filtered'

export const finalStatuses: ReadonlySet<Status> = new Set(['approved', 'declined', 'error', 'filtered'])

export const statusMeans: Readonly<Record<Status, string>> = {
  processing: 'under way',
  unknown: "the acquirer's answer was lost and is being sought; money may have moved",
  approved: 'charged, held or verified',
  declined: 'refused by issuer, acquirer or the gateway itself; not charged',
  error: 'it failed for technical reasons, or was reversed after a lost answer; not charged',
  filtered: 'refused by risk rules; not charged',
}

/** What an order was made for; each has one transaction of that kind at its head. */
export type OrderKind = 'sale' | 'preauth' | 'account-verification' | 'transfer'

/**
 * What a merchant may ask of an approved order; `cancel` is the return of what was not captured.
 */
export type FollowKind = 'capture' | 'return' | 'cancel' | 'void'

/**
 * A request on an order, or an obligation the gateway owes by itself: `credit` pays a transfer out
 * once its debit is approved.
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
