import { connect } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { request } from 'undici'
import type { Book } from './book.ts'
import type { Merchant } from './merchant.ts'
import { pick } from './plan.ts'

/** Orders of this prefix must not come into being. */
export const hostilePrefix = 'hostile-'

interface Attack {
  name: string
  /** Path under /gateway; the body is sent as a form. */
  path: string
  method?: 'GET' | 'PUT'
  body?: string | Buffer
}

/** Requests that must be refused, whatever else goes on. Answers how many were answered. */
export async function attack(merchant: Merchant, book: Book, draw: () => number, ended: AbortSignal): Promise<number> {
  const endpoint = merchant.file.endpoints['plain']!
  const sale = `/api/v2/sale/${endpoint}`
  let answered = 0
  for (let n = 1; !ended.aborted; n++) {
    const name = `${hostilePrefix}${n}`
    const good = merchant.sale(draw, 'http://127.0.0.1:9/').form.replace(/client_orderid=[^&]*/, `client_orderid=${name}`)
    const attacks: (Attack | { name: string; bytes: string })[] = [
      // Signed for another client_orderid, so its control is wrong.
      { name: 'wrong control', path: sale, body: good },
      { name: 'no field at all', path: sale, body: '' },
      { name: 'broken percent-encoding', path: sale, body: `${good}&comment=%zz` },
      { name: 'invalid UTF-8', path: sale, body: Buffer.from([0x63, 0x3d, 0xff, 0xfe, 0x00]) },
      { name: 'prototype keys', path: sale, body: `__proto__=1&constructor=2&toString=3&${good}` },
      { name: 'a field twice', path: sale, body: `${good}&amount=1.00` },
      {
        name: 'NUL and line ends',
        path: `/api/v2/status/${endpoint}`,
        body: `login=a%00b&client_orderid=${name}%0d%0a&control=0`,
      },
      { name: 'strange amount', path: sale, body: good.replace(/amount=[^&]*/, 'amount=1e9') },
      { name: 'huge body', path: sale, body: 'x='.padEnd(3 * 1024 * 1024, 'a') },
      { name: 'unknown path', path: `/api/v9/${'a'.repeat(5_000)}` },
      { name: 'other method', path: sale, method: 'PUT', body: good },
      { name: 'half a head', bytes: `POST /gateway${sale} HTTP/1.1\r\nHost: a\r\nX: ` },
      { name: 'no HTTP', bytes: '\u0016\u0003\u0001\u0002\u0000' },
      { name: 'less body than said', bytes: `POST /gateway${sale} HTTP/1.1\r\nHost: a\r\nContent-Length: 9000\r\n\r\n${good}` },
    ]
    const one = pick(draw, attacks)
    if ('bytes' in one) await throwBytes(merchant, one.bytes, 200 + draw() * 1_500)
    else if (await send(merchant, book, one)) answered++
    await pause(50 + draw() * 200, undefined, { signal: ended }).catch(() => undefined)
  }
  return answered
}

async function send(merchant: Merchant, book: Book, { name, path, method, body }: Attack): Promise<boolean> {
  try {
    const reply = await request(merchant.file.base_url + path, {
      method: method ?? 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: body ?? '',
      headersTimeout: 20_000,
      bodyTimeout: 20_000,
    })
    const text = await reply.body.text()
    // A gateway that is still starting gives the same answer to everything.
    if (reply.statusCode === 503 && reply.headers['retry-after'] !== undefined) return false
    // 408: a gateway was suspended for longer than the head of a request may take.
    // Without a database the reply is `error` with code 100, like any other then.
    const refused =
      reply.statusCode === 200
        ? /^type=(?:validation-)?error&/.test(text)
        : [400, 404, 405, 408, 413, 414, 431].includes(reply.statusCode)
    if (!refused) book.break('hostile requests', `${name} was answered ${reply.statusCode} ${text.slice(0, 200)}`)
    return true
  } catch {
    // No process listens, or the connection was cut: that is refused too.
    return false
  }
}

/** A connection that says this and then nothing for a while. */
function throwBytes(merchant: Merchant, bytes: string, forMs: number): Promise<void> {
  return new Promise((resolve) => {
    const { hostname, port } = new URL(merchant.file.base_url)
    const socket = connect({ host: hostname, port: Number(port) }, () => socket.write(bytes))
    const timer = setTimeout(() => socket.destroy(), forMs)
    socket.on('error', () => undefined)
    socket.resume()
    socket.once('close', () => {
      clearTimeout(timer)
      resolve()
    })
  })
}
