/** A message that must arrive. Kinds are given their rendering by main; more kinds come with more operations. */
export type DeliveryKind = 'callback' | 'card mapping'

export interface NewDelivery {
  deliveryNo: number
  transactionNo: number
  kind: DeliveryKind
  url: string
  /** Scheme, host and port: messages queue by it, so that a slow merchant delays nobody else. */
  origin: string
}

export interface Delivery extends NewDelivery {
  merchantId: bigint
  orderId: bigint
  /** Tries made so far. */
  tries: number
}

export const originOf = (url: string): string => (URL.canParse(url) ? new URL(url).origin : url)
