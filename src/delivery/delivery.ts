/** A message that must arrive. The main program assigns each kind its rendering. */
export type DeliveryKind = 'callback' | 'card mapping'

export interface NewDelivery {
  deliveryNo: number
  transactionNo: number
  kind: DeliveryKind
  url: string
  /** Scheme, host and port: messages queue by it, so that a slow server delays no others. */
  origin: string
}

/**
 * Whether a message can be sent without waiting for an earlier one of its order. Messages about the
 * payment itself are sent to each URL once, before all others. A later message may find that first
 * try still running. Only the sweep can see this, so it takes later messages, not the process that
 * created them.
 */
export const goesAtOnce = ({ transactionNo }: NewDelivery): boolean => transactionNo === 1

export interface Delivery extends NewDelivery {
  merchantId: bigint
  orderId: bigint
  /** Tries made so far. */
  tries: number
}

export const originOf = (url: string): string => (URL.canParse(url) ? new URL(url).origin : url)
