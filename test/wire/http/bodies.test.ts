import assert from 'node:assert/strict'
import { connect, type Socket } from 'node:net'
import { after, describe, it } from 'node:test'
import { formType, order, readReply, saleUrl, send, settled, statusUrl } from '../../conformance/requests/client.ts'
import { until } from '../../harness/clock/until.ts'
import { openWorld } from '../../harness/world/opening.ts'

/** Memory for bodies is bounded, and a client can take it from others only by sending bytes. */

const world = await openWorld()

const mebi = 1024 * 1024
const held: Socket[] = []

/** Connections that send the beginning of a sale and then nothing. */
async function hold(count: number, headers: string, body: string): Promise<void> {
  const { pathname, port } = new URL(saleUrl(world))
  const bytes = `POST ${pathname} HTTP/1.1\r\nHost: x\r\nContent-Type: ${formType}\r\n${headers}\r\n\r\n${body}`
  await Promise.all(
    Array.from({ length: count }, async () => {
      const socket = connect({ host: '127.0.0.1', port: Number(port) })
      held.push(socket.on('error', () => {}).resume())
      await new Promise((resolve) => socket.on('close', resolve).write(bytes, resolve))
    }),
  )
}

function letGo(): void {
  for (const socket of held.splice(0)) socket.destroy()
}

const codeOf = async (body: string) => readReply(await send('POST', statusUrl(world), body))['error-code']
const sells = async () => assert.equal((await settled(world, await order(world))).status, 'approved')
const large = `login=${'x'.repeat(1.5 * mebi)}`

/** What a client is answered that reads only once it has written so many pieces of 64 KiB. */
function answerAfter(announcedBytes: number, pieces: number): Promise<string> {
  const { pathname, port } = new URL(saleUrl(world))
  const head = `POST ${pathname} HTTP/1.1\r\nHost: x\r\nContent-Type: ${formType}\r\nContent-Length: ${announcedBytes}\r\n\r\n`
  return new Promise((resolve, reject) => {
    const socket = connect({ host: '127.0.0.1', port: Number(port) })
    let said = ''
    socket.once('error', reject).once('close', () => resolve(said))
    socket.setTimeout(60_000, () => socket.destroy(new Error('no answer')))
    socket.write(head)
    const write = (left: number): void => {
      if (left > 0) socket.write('x'.repeat(mebi / 16), () => setTimeout(write, 1, left - 1))
      else socket.on('data', (chunk) => (said += chunk.toString()))
    }
    write(pieces)
  })
}

describe('bodies that are too large', () => {
  it('are answered when their sender has written all of it, and is not cut off before', async () => {
    assert.match(await answerAfter(3 * mebi, 48), /^HTTP\/1\.1 200 [^]*error-code=3\b/)
  })
  it('are answered even if the body never arrives, or not completely', async () => {
    for (const pieces of [0, 30]) assert.match(await answerAfter(3 * mebi, pieces), /^HTTP\/1\.1 200 [^]*error-code=3\b/)
  })
})

describe('bodies that do not come', () => {
  after(letGo)
  for (const [what, headers] of [
    ['a length announced', `Content-Length: ${2 * mebi}`],
    ['chunks announced', 'Transfer-Encoding: chunked'],
  ] as const)
    it(`${what} on two hundred connections, and no byte of it, keeps no body away, small or large`, async () => {
      await hold(200, headers, '')
      await sells()
      assert.notEqual(await codeOf(large), '20')
    })
})

describe('bodies that come, and do not end', () => {
  after(letGo)
  const part = 'x'.repeat(2 * mebi - 1)
  for (const [what, headers, body] of [
    ['with a length', `Content-Length: ${2 * mebi}`, part],
    ['in chunks', 'Transfer-Encoding: chunked', `${part.length.toString(16)}\r\n${part}`],
  ] as const)
    it(`${what}: beyond 64 MiB a large body is refused as overload, small ones go on, and all is well afterwards`, async () => {
      // Some of the bodies that grow at the same time are refused themselves, and leave room.
      const more = async () => (await hold(8, headers, body), codeOf(large))
      assert.equal(await until(more, (code) => code === '20'), '20')
      await sells()
      letGo()
      assert.notEqual(
        await until(
          () => codeOf(large),
          (code) => code !== '20',
        ),
        '20',
      )
    })
})
