/** The words of the contract: statuses, order stages and the names that transactions carry on the wire. Source: docs/choices.md, "States". */

/** Final: approved, declined, error, filtered. `unknown` is not: the acquirer's answer is being sought. */
export type Status = 'processing' | 'unknown' | 'approved' | 'declined' | 'error' | 'filtered'

export const finalStatuses: ReadonlySet<Status> = new Set(['approved', 'declined', 'error', 'filtered'])

/** What an order was made for; each has one transaction of that kind at its head. */
export type OrderKind = 'sale'

/** A request on an order, or an obligation the gateway owes by itself. */
export type TransactionKind = OrderKind | 'reversal'

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
  reversal: { transactionType: 'reversal', callbackType: 'reversal', stagePrefix: 'reversal_' },
}
