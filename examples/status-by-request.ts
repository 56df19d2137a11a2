// `status` reports any transaction of an order by the serial number of its request.
import { openClient } from '../client/client.ts'
import { multi, newName, payment, inWords } from './sandbox.ts'

// A group: the currency chooses the endpoint.
const client = openClient(multi)
const sold = await client.sale({ ...payment, client_orderid: newName(), currency: 'EUR' })
console.log(inWords(await client.finish(sold)))
if (sold.is !== 'accepted') process.exit(1)
const returned = await client.return({ ...sold.order, amount: '2.00', currency: 'EUR' })
console.log(inWords(await client.finish(returned)))

for (const reply of [sold, returned]) {
  if (reply.is !== 'accepted') process.exit(1)
  const seen = await client.status({ ...sold.order, 'by-request-sn': reply.serialNumber })
  if (seen.is === 'order') console.log(`${seen.transactionType}: ${seen.status}, ${seen.stage}`)
}
const newest = await client.status({ client_orderid: sold.order.client_orderid })
if (newest.is === 'order') console.log(`newest: ${newest.transactionType}`)
