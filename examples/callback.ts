// A server that hears of outcomes. A callback says when to look; what it is about and how it ended,
// status says.
import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import { text } from 'node:stream/consumers'
import { orderNamedIn } from '../client/callback.ts'
import { openClient } from '../client/client.ts'
import { newName, payment, plain } from './sandbox.ts'

const client = openClient(plain)
const heard: string[] = []
/**
 * The orders of the shop by name, each with the number that the gateway gave it. A callback may be
 * quicker than the reply that has it.
 */
const orders = new Map<string, Promise<string | undefined>>()

async function hear(request: IncomingMessage): Promise<string | undefined> {
  // A long callback comes as a form, any other as a query.
  const body = await text(request)
  const said = request.method === 'POST' ? body : (request.url ?? '')
  const client_orderid = orderNamedIn(said)?.client_orderid ?? ''
  const orderid = await orders.get(client_orderid)
  if (orderid === undefined) return 'no order of this shop'
  const callback = client.readCallback(said, { client_orderid, orderid }, request.headers)
  if (callback.is !== 'callback') return callback.why
  const status = await client.status(callback.order)
  return status.is === 'order' ? `${callback.type} ${status.status} ${status.fields.amount}` : undefined
}

const server = createServer((request, response) => {
  void hear(request).then((outcome) => {
    if (outcome !== undefined) heard.push(outcome)
    // Without an answer of status the gateway is asked to call again.
    response.writeHead(outcome === undefined ? 503 : 200).end()
    server.emit('heard')
  })
})
server.listen(0, '127.0.0.1')
await once(server, 'listening')
const url = `http://127.0.0.1:${(server.address() as { port: number }).port}/callback?shop=shoes`

const callback = once(server, 'heard')
const name = newName()
const selling = client.sale({ ...payment, client_orderid: name, server_callback_url: url })
orders.set(
  name,
  selling.then((reply) => (reply.is === 'accepted' ? reply.order.orderid : undefined)),
)
const reply = await selling
if (reply.is === 'accepted') await callback

// Somebody who knows the address and the order, but not the keys.
const forged = new URLSearchParams({ status: 'approved', orderid: (await orders.get(name)) ?? '', client_orderid: name })
await fetch(`${url}&${forged.toString()}&type=sale&amount=10000.00&control=${'0'.repeat(40)}`)
console.log(heard.join('\n'))
server.close()
server.closeAllConnections()
