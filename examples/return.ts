// A part of a payment is returned, and then the rest; a request for more is refused.
import { openClient } from '../client/client.ts'
import { inWords, newName, payment, plain } from './sandbox.ts'

const client = openClient(plain)
const sale = await client.sale({ ...payment, client_orderid: newName() })
console.log(`sale 10.42: ${inWords(await client.finish(sale))}`)
if (sale.is !== 'accepted') process.exit(1)

const part = await client.return({ ...sale.order, amount: '4.00', currency: 'USD' })
console.log(`return 4.00: ${inWords(await client.finish(part))}`)

const tooMuch = await client.return({ ...sale.order, amount: '7.00', currency: 'USD' })
console.log(`return 7.00: ${inWords(await client.finish(tooMuch))}`)

// Without an amount, all that is left is returned.
const rest = await client.return(sale.order)
console.log(`the rest: ${inWords(await client.finish(rest))}`)
