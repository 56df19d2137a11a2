import type { Bench } from '../bench.ts'
import { fieldOf } from './merchant.ts'
import { sale, salesOf } from '../benches/sale.ts'

/** One sale in this many is sent twice. */
const every = 20

/**
 * Sales of a merchant who is not sure: half of those that are sent twice are at the same time, and
 * so perhaps in one batch; the others once the first was accepted, when its name is taken.
 */
export const repeats: Bench = {
  ...sale,
  name: 'repeats',
  means: `sales of which one in ${every} is sent twice, in parallel or after it is accepted; both must get the same order`,
  targets: [],
  inFlight: [256],
  inDetail: false,
  open(merchant) {
    let sent = 0
    return salesOf(merchant, async (send) => {
      sent++
      if (sent % every !== 0) return send()
      return sent % (2 * every) === 0 ? agreed(await Promise.all([send(), send()])) : agreed([await send(), await send()])
    })
  },
}

function agreed([reply, again]: [string, string]): string {
  if (fieldOf(reply, 'gateway-order-id') !== fieldOf(again, 'gateway-order-id'))
    throw new Error('a sale that was sent twice got two orders')
  return reply
}
