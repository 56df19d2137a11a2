// A payment is undone as a whole.
import { openClient } from '../client/client.ts'
import { newName, payment, plain, inWords } from './sandbox.ts'

const client = openClient(plain)
const sold = await client.sale({ ...payment, client_orderid: newName() })
console.log(`sale: ${inWords(await client.finish(sold))}`)
if (sold.is !== 'accepted') process.exit(1)

const undone = await client.void({ ...sold.order, comment: 'out of stock' })
const ending = await client.finish(undone)
console.log(`void: ${inWords(ending)}`)
if (ending.is === 'final') console.log(`${ending.seen.transactionType}, ${ending.seen.stage}`)
