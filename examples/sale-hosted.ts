// A sale with 3-D Secure on the gateway's pages: the shop sends the browser away, and it comes back
// by itself.
import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import { text } from 'node:stream/consumers'
import { openClient } from '../client/client.ts'
import { browse, postBack } from './customers-browser.ts'
import { newName, payment, secure, inWords } from './sandbox.ts'

const client = openClient(secure)

const client_orderid = newName()
/** From the reply to the sale. The shop keeps it with this customer's basket. */
let orderid = ''

/**
 * The shop's page for customers who come back. What it gets came through a browser: whether the
 * money is there, status says.
 */
async function welcome(request: IncomingMessage): Promise<string> {
  const said = client.readReturn(await text(request), { client_orderid, orderid })
  return said.is === 'return'
    ? `Thank you. Order ${said.order.client_orderid} is ${said.status}.`
    : `This is no return: ${said.why}.`
}

const server = createServer((request, response) => void welcome(request).then((page) => response.end(page)))
server.listen(0, '127.0.0.1')
await once(server, 'listening')
const shop = `http://127.0.0.1:${(server.address() as { port: number }).port}`

const reply = await client.sale({
  ...payment,
  client_orderid,
  credit_card_number: '4000000000002164',
  redirect_url: `${shop}/back`,
})
if (reply.is === 'accepted') orderid = reply.order.orderid
const waiting = await client.finish(reply)
if (waiting.is === 'cardholder' && waiting.step.redirectTo !== undefined) {
  const [ending, page] = await Promise.all([
    client.finish(reply, { past: 'every step' }),
    browse(waiting.step.redirectTo, shop).then(postBack),
  ])
  console.log(inWords(ending))
  console.log(page.replace(/example-[\w-]+/, 'example-…'))
} else console.log(inWords(waiting))
server.close()
server.closeAllConnections()
