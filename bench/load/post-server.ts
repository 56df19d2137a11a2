// The server of the bare post (posts.ts), a process of its own. Its first message is its port; to
// each message it answers what processor time it has used.
import { createHash } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { ServerTime } from './exchange.ts'

/** With the hash as long as the reply that accepts a sale. */
const reply = `type=async-response&serial-number=00000000-0000-4000-8000-000000000000&end-point-id=101&control=`.padEnd(105, '0')

const server = createServer((request, response) => {
  const chunks: Buffer[] = []
  request.on('data', (chunk: Buffer) => chunks.push(chunk))
  request.on('end', () => {
    const body = reply + createHash('sha1').update(Buffer.concat(chunks)).digest('hex')
    response.writeHead(200, { 'content-type': 'text/html;charset=utf-8', 'content-length': body.length })
    response.end(body)
  })
})
server.keepAliveTimeout = 60_000
server.listen(0, '127.0.0.1', () => process.send!((server.address() as AddressInfo).port))

process.on('message', () => {
  const { user, system } = process.cpuUsage()
  process.send!({ us: user + system } satisfies ServerTime)
})
// Whoever started it is gone.
process.on('disconnect', () => process.exit(0))
