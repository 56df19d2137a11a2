// The HTTP that the load process reads: whole replies out of any packets, and no guess.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ReplyReader } from '../../../bench/load/reply.ts'

const reply = (head: string, body: string) =>
  `HTTP/1.1 200 OK\r\n${head}\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`
const sale = reply('Content-Type: text/html', 'type=async-response&text=für 1 €')

test('a reply is read once it is whole, wherever its packets are cut', () => {
  const bytes = Buffer.from(sale)
  for (let cut = 1; cut < bytes.length; cut++) {
    const reader = new ReplyReader()
    // The buffer of a connection is used again for each packet.
    const packet = Buffer.from(bytes.subarray(0, cut))
    assert.equal(reader.read(packet), undefined, `cut at ${cut}`)
    packet.fill('?')
    assert.deepEqual(reader.read(bytes.subarray(cut)), { status: 200, body: 'type=async-response&text=für 1 €', kept: true })
  }
})

test('a connection that its server will close is not kept, and an error has its status', () => {
  const text = 'HTTP/1.1 503 Service Unavailable\r\nContent-Length: 2\r\nConnection: close\r\n\r\nno'
  assert.deepEqual(new ReplyReader().read(Buffer.from(text)), { status: 503, body: 'no', kept: false })
})

// oxfmt-ignore
const strange: [what: string, text: string, complaint: RegExp][] = [
  ['chunks',                    'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n', /without content-length/],
  ['no length',                 'HTTP/1.1 200 OK\r\nserver: x\r\n\r\n',                                      /without content-length/],
  ['another length than bytes', `${sale}x`,                                                                  /1 bytes after the reply/],
  ['two replies together',      sale + sale,                                                                 /bytes after the reply/],
  ['an interim reply',          'HTTP/1.1 100 Continue\r\n\r\n',                                             /Not a reply of HTTP\/1.1/],
  ['another protocol',          'SSH-2.0-x\r\n\r\n',                                                         /Not a reply of HTTP\/1.1/],
  ['an old protocol',           'HTTP/1.0 200 OK\r\ncontent-length: 0\r\n\r\n',                              /Not a reply of HTTP\/1.1/],
  ['a head without end',        `HTTP/1.1 200 OK\r\n${'a: b\r\n'.repeat(3_000)}`,                            /a head without an end/],
]

for (const [what, text, complaint] of strange)
  test(`the reader refuses ${what}`, () => {
    assert.throws(() => new ReplyReader().read(Buffer.from(text)), complaint)
  })
