import type { Bench } from '../bench.ts'
import { sameForm, signedForm } from '../benches/sale.ts'

/**
 * The load of the bare post, a yardstick (posts.ts): the form of a sale, signed as a sale is, to a
 * server that does next to nothing.
 */
export const barePost: Pick<Bench, 'name' | 'open'> = {
  name: 'bare-post',
  open(merchant) {
    const same = sameForm(merchant.site, '4111111111111111')
    return async (clientOrderid) => {
      const began = performance.now()
      await merchant.post('/', signedForm(merchant, 'none', clientOrderid, same))
      const acceptMs = performance.now() - began
      return { acceptMs, finalMs: acceptMs, ending: 'approved' }
    }
  },
}
