// What became of an order. Its name is enough, when the reply to the sale was lost.
import { openClient } from '../client/client.ts'
import { newName, payment, plain } from './sandbox.ts'

const client = openClient(plain)
const client_orderid = newName()
await client.finish(await client.sale({ ...payment, client_orderid }))

const seen = await client.status({ client_orderid })
if (seen.is === 'order') console.log(`${seen.status}: ${seen.stage}`)
else console.log(seen)
