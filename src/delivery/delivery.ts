/** A message that must arrive. Main gives each kind its rendering. */
export type DeliveryKind = 'callback' | 'card mapping'

export interface NewDelivery {
  deliveryNo: number
  transactionNo: number
  kind: DeliveryKind
  url: string
  /** Scheme, host and port: messages queue by it, so that a slow merchant delays nobody else. */
  origin: string
}

/**
 * Whether a message waits for no earlier one of its order: what is told of the payment itself goes
 * to each URL once and before all else. What follows may find that under way for the first time, so
 * the sweep takes it, which sees that; the process that made it does not.
 */
export const goesAtOnce = ({ transactionNo }: NewDelivery): boolean => transactionNo === 1

export interface Delivery extends NewDelivery {
  merchantId: bigint
  orderId: bigint
  /** Tries made so far. */
  tries: number
}

export const originOf = (url: string): string => (URL.canParse(url) ? new URL(url).origin : url)
