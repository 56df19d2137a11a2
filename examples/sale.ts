// A sale without 3-D Secure: the request, and what became of it.
import { openClient } from '../client/client.ts'
import { newName, plain } from './sandbox.ts'

const { baseUrl, login, controlKey, endpoint } = plain

const client = openClient({ baseUrl, login, controlKey, endpoint })
const reply = await client.sale({
  client_orderid: newName(),
  order_desc: 'Shoes',
  amount: '10.42',
  currency: 'USD',
  email: 'jane@example.com',
  ipaddress: '203.0.113.7',
  credit_card_number: '4111111111111111',
  card_printed_name: 'JANE DOE',
  expire_month: 12,
  expire_year: new Date().getFullYear() + 4,
  cvv2: '123',
})
const ending = await client.finish(reply)
if (ending.is === 'final') console.log(`${ending.status}: order ${ending.order.orderid}`)
else console.log(ending)
