// A server that hears of outcomes: it believes a callback only when its checksum holds.
import { once } from 'node:events'
import { createServer } from 'node:http'
import { text } from 'node:stream/consumers'
import { openClient } from '../client/client.ts'
import { newName, payment, plain } from './sandbox.ts'

const client = openClient(plain)
const heard: string[] = []

const server = createServer((request, response) => {
  void text(request).then((body) => {
    // A long callback comes as a form, any other as a query.
    const callback = client.readCallback(request.method === 'POST' ? body : (request.url ?? ''))
    heard.push(callback.is === 'callback' ? `${callback.type} ${callback.status} ${callback.amount}` : callback.why)
    response.writeHead(callback.is === 'callback' ? 200 : 400).end()
    server.emit('heard')
  })
})
server.listen(0, '127.0.0.1')
await once(server, 'listening')
const url = `http://127.0.0.1:${(server.address() as { port: number }).port}/callback?shop=shoes`

const callback = once(server, 'heard')
const reply = await client.sale({ ...payment, client_orderid: newName(), server_callback_url: url })
if (reply.is === 'accepted') await callback

// Somebody who knows the address, but not the key.
await fetch(`${url}&status=approved&orderid=1000001&client_orderid=example-1&type=sale&amount=10000.00&control=${'0'.repeat(40)}`)
console.log(heard.join('\n'))
server.close()
server.closeAllConnections()
