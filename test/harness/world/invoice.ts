import { systemClock } from '../../../src/base/clock.ts'
import type { Invoice } from '../../../src/mobile-api/invoice/invoice.ts'

const now = systemClock.now()

/** An invoice whose check is under way; each number makes another. */
export const invoiceNo = (no: number, over: Partial<Invoice> = {}): Invoice => ({
  merchantId: 1n,
  invoiceId: `invoice ${no}`,
  endpointId: 11n,
  kind: 'transfer',
  nonce: `nonce ${no}`,
  sessionToken: `token ${no}`,
  orderId: BigInt(no),
  digest: Buffer.alloc(32, no),
  request: { serialNumber: 'device', currency: 'USD', ipAddress: '192.0.2.1', billing: {} },
  state: 'checking',
  wrongAnswers: 0,
  tries: 0,
  createdAt: now,
  ...over,
})
