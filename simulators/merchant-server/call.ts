import type { Body } from './body.ts'
import type { Merchant } from './merchant.ts'
import type { Parts } from './signatures.ts'

/** One call of the merchant's server. */
export interface Call {
  body: Body
  /** From the path; an operation without one in its path sets it once it is known. */
  invoiceId: string
  /** The text that was signed or verified, for the journal. */
  signed: { name: string; parts: Parts; signature: string }[]
}

export type Operation = (merchant: Merchant, call: Call) => Promise<object>
