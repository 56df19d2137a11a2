import type { Bench } from '../bench.ts'
import { errorOf, fieldOf, orderForm } from './merchant.ts'
import { storedCount, storedOrder } from './stored-orders.ts'

/**
 * The load of the status of stored orders (long-status.ts): one `status` of an order drawn at
 * random. The gateway has hardly any of them in memory, so nearly each is read.
 */
export const storedStatus: Pick<Bench, 'name' | 'open'> = {
  name: 'stored-status',
  open(merchant) {
    const { stored } = merchant.site
    if (stored === undefined) throw new Error('There are no stored orders.')
    const count = storedCount(stored)
    return async () => {
      const { orderid, clientOrderid, endpoint } = storedOrder(stored, Math.floor(Math.random() * count))
      const began = performance.now()
      const reply = await merchant.post(`/api/v2/status/${endpoint}`, orderForm(merchant, clientOrderid, orderid))
      const tookMs = performance.now() - began
      const isShown = fieldOf(reply, 'status') !== undefined && fieldOf(reply, 'gateway-order-id') === orderid
      return { acceptMs: tookMs, finalMs: tookMs, ending: isShown ? 'approved' : `no stored order: ${errorOf(reply)}` }
    }
  },
}
