// The client of the load process, against servers that do what they like.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type AddressInfo, type Socket } from 'node:net'
import { test } from 'node:test'
import { createServer as createTlsServer } from 'node:tls'
import { openConnections } from '../../../bench/load/connections.ts'
import { openAuthority } from '../../harness/three-d-secure/directory.ts'

const ok = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok'

/** Answers each request as `answer` says; gives what it saw. */
async function serve(answer: (socket: Socket, nth: number) => void) {
  const seen = { connections: 0, requests: [] as string[] }
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    seen.connections++
    sockets.add(socket)
    socket.on('error', () => {})
    socket.on('data', (data) => answer(socket, seen.requests.push(data.toString())))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    seen,
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    stop() {
      for (const socket of sockets) socket.destroy()
      server.close()
    },
  }
}

test('consecutive requests use one connection, simultaneous ones use one each', async () => {
  const server = await serve((socket) => socket.write(ok))
  const connections = openConnections(server.origin, 5_000)
  try {
    for (const body of ['a', 'bb'])
      assert.deepEqual(await connections.post('/x', 'text/plain', body), { status: 200, body: 'ok', kept: true })
    assert.equal(server.seen.connections, 1)
    await Promise.all([1, 2, 3].map(() => connections.post('/x', 'text/plain', 'c')))
    assert.equal(server.seen.connections, 3)
    const host = server.origin.slice('http://'.length)
    assert.equal(
      server.seen.requests[1],
      `POST /x HTTP/1.1\r\nhost: ${host}\r\ncontent-type: text/plain\r\ncontent-length: 2\r\n\r\nbb`,
    )
  } finally {
    connections.close()
    server.stop()
  }
})

test('a server that closes after its reply gets a new connection for the next request', async () => {
  const server = await serve((socket, nth) => (nth === 1 ? socket.end(ok) : socket.write(ok)))
  const connections = openConnections(server.origin, 5_000)
  try {
    await connections.post('/x', 'text/plain', 'a')
    while (server.seen.connections < 2) {
      const { status } = await connections.post('/x', 'text/plain', 'b').catch(() => ({ status: 0 }))
      if (status === 200) break
    }
    assert.equal(server.seen.connections, 2)
  } finally {
    connections.close()
    server.stop()
  }
})

// oxfmt-ignore
const failures: [what: string, answer: (socket: Socket) => void, complaint: RegExp][] = [
  ['that closes without a reply', (socket) => void socket.end(),                                  /closed before the reply/],
  ['that resets',                 (socket) => void socket.resetAndDestroy(),                      /ECONNRESET/],
  ['that stays silent',           () => {},                                                       /no reply within 100 ms/],
]

for (const [what, answer, complaint] of failures)
  test(`a request to a server ${what} fails, and says why`, async () => {
    const server = await serve(answer)
    const connections = openConnections(server.origin, 100)
    try {
      await assert.rejects(connections.post('/x', 'text/plain', 'a'), complaint)
    } finally {
      connections.close()
      server.stop()
    }
  })

test('a server that is not there, and a body that is not ASCII, are failures too', async () => {
  const server = await serve(() => {})
  server.stop()
  const connections = openConnections(server.origin, 100)
  await assert.rejects(connections.post('/x', 'text/plain', 'a'), /ECONNREFUSED/)
  await assert.rejects(connections.post('/x', 'text/plain', 'ü'), /Only ASCII/)
  connections.close()
})

test('over TLS the server must have the given name, signed by the given authority', async () => {
  const authority = await openAuthority()
  const { cert, key } = authority.of('directory-server')
  const requests: string[] = []
  const server = createTlsServer({ cert, key: key.reveal() }, (socket) => {
    socket.on('error', () => {})
    socket.on('data', (data) => {
      requests.push(data.toString())
      socket.write(ok)
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const origin = `https://127.0.0.1:${(server.address() as AddressInfo).port}`
  const post = async (ca: string, name: string) => {
    const connections = openConnections(origin, 5_000, { ca, name })
    try {
      return await connections.post('/x', 'text/plain', 'a', 'x-more: 1\r\n')
    } finally {
      connections.close()
    }
  }
  try {
    assert.equal((await post(authority.ca, 'localhost')).body, 'ok')
    assert.match(requests[0]!, /content-length: 1\r\nx-more: 1\r\n\r\na$/)
    await assert.rejects(post(authority.ca, 'pay.example'), /pay\.example/)
    await assert.rejects(post((await openAuthority()).ca, 'localhost'), /certificate|signature/)
  } finally {
    server.close()
  }
})
