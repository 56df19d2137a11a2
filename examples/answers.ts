// Every way a sale can be answered, and what a shop does about each.
import { openClient } from '../client/client.ts'
import type { Ending } from '../client/finish.ts'
import { newName, payment, plain } from './sandbox.ts'

const client = openClient(plain)

/** The next action for an order of this name. */
function next(ending: Ending): string {
  switch (ending.is) {
    case 'final':
      return ending.status === 'approved' ? 'ship the shoes' : `tell the customer: ${ending.seen.reason?.message}`
    case 'cardholder':
      return `take the customer to ${ending.step.redirectTo}`
    case 'open':
      return 'wait for the callback, or finish again later'
    case 'not found':
      return 'nothing was charged: send the same request again'
    case 'refused':
      return `mend the request: ${ending.code} ${ending.message}`
    case 'no answer':
      return 'unknown: keep the order open'
  }
}

const ask = async (changes: Partial<typeof payment>): Promise<string> =>
  next(await client.finish(await client.sale({ client_orderid: newName(), ...payment, ...changes })))

console.log(await ask({}))
console.log(await ask({ cvv2: '116' }))
console.log(await ask({ email: 'nowhere' }))
console.log(await ask({ currency: 'KWD', amount: '1.234' }))
