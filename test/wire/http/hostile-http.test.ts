import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { gzipSync } from 'node:zlib'
import { Client } from 'pg'
import { accepted, encode, encodePairs, formType, newOrderId } from '../../conformance/requests/client.ts'
import { order, readReply, refused } from '../../conformance/requests/client.ts'
import { sale, saleUrl, send, serialShape, settled, signedSale, status, statusUrl } from '../../conformance/requests/client.ts'
import { until } from '../../harness/clock/until.ts'
import { v4 } from '../../conformance/requests/oauth.ts'
import { metricsOf } from '../../harness/world/metrics.ts'
import { openWorld } from '../../harness/world/opening.ts'

/** Input that no honest client sends: the gateway answers or refuses it, and goes on selling. */

// In the end its whole log is read.
const world = await openWorld({ own: true })
const { pid } = world

const mebi = 1024 * 1024
const operations = (): string[] => [
  saleUrl(world),
  statusUrl(world),
  saleUrl(world, `group/${world.groups.multi}`),
  statusUrl(world, `group/${world.groups.multi}`),
]
const good = (): string => encodePairs(Object.entries(signedSale(world)))
const path = (url: string): string => new URL(url).pathname
const log = (): string => readFileSync(join(world.directory, 'log', 'gateway.log'), 'utf8')

/** The answer on a new connection, at its end or once `enough` is there; rejects without it. */
function talk(bytes: string | Buffer, enough = (_said: string): boolean => false): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: '127.0.0.1', port: Number(new URL(world.baseUrl).port) })
    let said = ''
    const end = () => {
      clearTimeout(late)
      socket.destroy()
      resolve(said)
    }
    const late = setTimeout(() => {
      socket.destroy()
      reject(new Error(`neither an answer nor an end within 60 s, but: ${said.slice(0, 500)}`))
    }, 60_000)
    socket.on('data', (chunk) => {
      said += chunk.toString('latin1')
      if (enough(said)) end()
    })
    socket.on('error', end).on('close', end)
    socket.write(bytes)
  })
}
const oneAnswer = (said: string): boolean => /^HTTP\/1\.1 [0-9]{3}[^]*\r\n\r\n/.test(said)
const statusCodes = (said: string): number[] => [...said.matchAll(/HTTP\/1\.1 ([0-9]{3}) /g)].map(([, code]) => Number(code))
const post = (url: string, headers: string[], body = ''): string =>
  [`POST ${path(url)} HTTP/1.1`, 'Host: x', `Content-Type: ${formType}`, ...headers, '', body].join('\r\n')

/** The database's rows of orders, to see that nothing was sold behind a reply. */
async function query<Row extends object>(sql: string): Promise<Row[]> {
  const client = new Client({ connectionString: world.databaseUrl })
  await client.connect()
  try {
    return (await client.query<Row>(sql)).rows
  } finally {
    await client.end()
  }
}

const many = (count: number, name: (at: number) => string) => Array.from({ length: count }, (_, at) => `${name(at)}=1`).join('&')

const strangeAmounts = '1e5 +1 -0 -1 ٣ 0x10 1.. 1. .1 1e999999999 １２ 1,5 NaN 0.001 ²'.split(' ')
strangeAmounts.push('1\n2', '9'.repeat(11))
const strangeIds = '0 -1 +1 1e2 01 %D9%A1%D9%A0%D9%A1 ..%2f..%2f %00 %0d%0aX:1 __proto__ constructor 101%20 null'.split(' ')
strangeIds.push(...[18, 20, 199, 300].map((digits) => '9'.repeat(digits)))

describe('a body on an operation path is answered 200 in the reply format', { concurrency: 4 }, () => {
  // oxfmt-ignore
  const bodies: readonly (readonly [string, () => string | Buffer])[] = [
    ['nothing',                          () => ''],
    ['a blank',                          () => ' '],
    ['separators only',                  () => '&&==&=&&'],
    ['zero bytes',                       () => Buffer.alloc(1000)],
    ['every byte there is',              () => Buffer.from(Array.from({ length: 256 }, (_, byte) => byte))],
    ['names of the prototype',           () => '__proto__=1&constructor=2&toString=3&hasOwnProperty=4&__proto__[amount]=5&prototype.login=6'],
    ['a field a hundred thousand times', () => many(100_000, () => 'amount')],
    ['a hundred thousand fields',        () => many(100_000, (at) => `f${at}`)],
    ['a million empty fields',           () => 'a&'.repeat(mebi)],
    ['a name of 100,000 characters',     () => `${'n'.repeat(100_000)}=1`],
    ['a value of a million characters',  () => `order_desc=${'v'.repeat(1_000_000)}`],
    ['a control of a million characters', () => good().replace('control=', `control=${'0'.repeat(1_000_000)}`)],
    ['a million blanks',                 () => `client_orderid=${'+'.repeat(1_000_000)}`],
    ['3 MiB',                            () => Buffer.alloc(3 * mebi, 'x')],
    ['packed bytes',                     () => gzipSync(good())],
    ['half a surrogate',                 () => 'login=%ED%A0%80'],
    ['a number of 100,000 digits',       () => `orderid=${'9'.repeat(100_000)}&amount=${'9'.repeat(100_000)}`],
  ]
  for (const [what, body] of bodies)
    it(what, async () => {
      for (const url of operations()) {
        const reply = readReply(await send('POST', url, body()))
        assert.equal(reply.type, 'validation-error')
        assert.ok(['1', '2', '3'].includes(reply['error-code'] ?? ''), JSON.stringify(reply).slice(0, 300))
      }
    })
  it('3 MiB in chunks', async () => {
    const chunk = `10000\r\n${'x'.repeat(65_536)}\r\n`
    for (const url of operations()) {
      const said = await talk(post(url, ['Transfer-Encoding: chunked'], chunk.repeat(48) + '0\r\n\r\n'), oneAnswer)
      assert.deepEqual(statusCodes(said), [200])
      assert.match(said, /error-code=3/)
    }
  })
  for (const amount of strangeAmounts)
    it(`the amount ${JSON.stringify(amount)}: refused by its name`, async () => {
      refused(await sale(world, { amount }), 3, /^Parameter amount is invalid: /)
    })
  it('a refusal names the order also when one of its two spellings is empty', async () => {
    const client_orderid = newOrderId()
    const reply = readReply(await send('POST', saleUrl(world), `client_orderid=&client-order-id=${client_orderid}`))
    assert.equal(reply['merchant-order-id'], client_orderid)
  })
})

describe('an unknown id in a path is code 4', { concurrency: 4 }, () => {
  for (const id of strangeIds)
    it(id.length > 30 ? `${id.length} digits` : id, async () => {
      for (const url of [saleUrl(world, id), statusUrl(world, id), saleUrl(world, `group/${id}`)])
        refused(readReply(await send('POST', url, good())), 4)
    })
})

/** The names of the orders that the replies give back. */
const namesIn = (said: string) => [...said.matchAll(/merchant-order-id=([^&\r]+)/g)].map(([, name]) => name)

describe('strange HTTP, or none', { concurrency: 4 }, () => {
  const body = 'login=a'
  // oxfmt-ignore
  const refusedAlone: readonly (readonly [string, () => string])[] = [
    ['both a length and chunks',      () => post(saleUrl(world), ['Content-Length: 6', 'Transfer-Encoding: chunked'], '0\r\n\r\nPOST / HTTP/1.1\r\nHost: x\r\n\r\n')],
    ['two lengths that differ',       () => post(saleUrl(world), ['Content-Length: 7', 'Content-Length: 60'], body)],
    ['a length that is no number',    () => post(saleUrl(world), ['Content-Length: +7'], body)],
    ['a length beyond all bounds',    () => post(saleUrl(world), ['Content-Length: 99999999999999999999'], body)],
    ['chunks hidden by a tab',        () => post(saleUrl(world), ['Transfer-Encoding:\x0bchunked', 'Content-Length: 7'], body)],
    ['chunks that are not the last',  () => post(saleUrl(world), ['Transfer-Encoding: chunked, identity'], '0\r\n\r\n')],
    ['a chunk of a length that lies', () => post(saleUrl(world), ['Transfer-Encoding: chunked'], 'FFFFFFFFFFFFFFFFF\r\nx')],
    ['a blank before the colon',      () => post(saleUrl(world), ['Content-Length : 7'], body)],
    ['a line that goes on',           () => post(saleUrl(world), ['X: a', ' b', 'Content-Length : 7'], body)],
    ['a header of 100,000 characters', () => post(saleUrl(world), [`X: ${'x'.repeat(100_000)}`, 'Content-Length: 7'], body)],
    ['five thousand headers',         () => post(saleUrl(world), [...Array.from({ length: 5_000 }, (_, at) => `X-${at}: 1`), 'Content-Length: 7'], body)],
    ['no host',                       () => `POST ${path(saleUrl(world))} HTTP/1.1\r\nContent-Length: 7\r\n\r\n${body}`],
    ['another protocol',              () => `\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03${'\0'.repeat(600)}`],
    ['a path of 100,000 characters',  () => `GET /${'a'.repeat(100_000)} HTTP/1.1\r\nHost: x\r\n\r\n`],
    ['a path with a control character', () => `POST ${path(saleUrl(world))}\x01 HTTP/1.1\r\nHost: x\r\nContent-Length: 7\r\n\r\n${body}`],
  ]
  for (const [what, bytes] of refusedAlone)
    it(`${what}: refused, once, and nothing after it is read as another request`, async () => {
      const codes = statusCodes(await talk(bytes()))
      assert.equal(codes.length, 1, String(codes))
      assert.ok(codes[0]! >= 400 && codes[0]! < 500, String(codes))
    })
  it('lines that end with a line feed alone are refused or read, and never become two requests', async () => {
    const said = await talk(post(saleUrl(world), ['Content-Length: 7'], body).replaceAll('\r\n', '\n'), oneAnswer)
    assert.ok(statusCodes(said).length <= 1)
  })
  it('a body that is cut off sells nothing, although all its fields had come', async () => {
    const client_orderid = newOrderId()
    const form = encodePairs(Object.entries(signedSale(world, { client_orderid })))
    const socket = connect({ host: '127.0.0.1', port: Number(new URL(world.baseUrl).port) })
    socket.end(post(saleUrl(world), [`Content-Length: ${form.length + 1}`], form))
    await new Promise((resolve) => socket.on('close', resolve).on('error', resolve).resume())
    refused(await status(world, { client_orderid }), 6)
  })
  it('fifty requests sent ahead on one connection are answered, each its own, in their order', async () => {
    const names = Array.from({ length: 50 }, () => newOrderId())
    const requests = names.map((name) =>
      post(statusUrl(world), [`Content-Length: ${15 + name.length}`], `client_orderid=${name}`),
    )
    assert.deepEqual(
      namesIn(await talk(requests.join(''), (said) => namesIn(said).length === 50 && /error-code=1/.test(said.slice(-40)))),
      names,
    )
  })
  it('HTTP/1.0 without a host is answered, and the connection closed', async () => {
    const form = good()
    const said = await talk(
      `POST ${path(saleUrl(world))} HTTP/1.0\r\nContent-Type: ${formType}\r\nContent-Length: ${form.length}\r\n\r\n${form}`,
    )
    assert.deepEqual(statusCodes(said), [200])
    assert.match(said, /type=async-response/)
  })
  it('a whole URL in the request line means its path here, whatever host it names', async () => {
    const request = post(statusUrl(world), ['Content-Length: 0']).replace(' ', ' http://elsewhere.example')
    assert.deepEqual(statusCodes(await talk(request, oneAnswer)), [200])
  })
  for (const method of ['TRACE', 'PROPFIND', 'LOCK', 'SEARCH', 'OPTIONS', 'HEAD'])
    it(`${method} on the path of an operation: 405`, async () => {
      const said = await talk(`${method} ${path(saleUrl(world))} HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n`, oneAnswer)
      assert.deepEqual(statusCodes(said), [405])
    })
  for (const line of [
    'CONNECT elsewhere.example:443 HTTP/1.1',
    'OPTIONS * HTTP/1.1',
    'get / HTTP/1.1',
    'FOO / HTTP/1.1',
    'GET / HTTP/9.9',
    'GET /gateway/%zz HTTP/1.1',
    'GET /gateway/view-receipt/%00/%ff/ HTTP/1.1',
  ])
    it(`${line}: no answer of 500 and no hang`, async () => {
      for (const code of statusCodes(await talk(`${line}\r\nHost: x\r\nConnection: close\r\n\r\n`)))
        assert.ok(code >= 400 && code < 500, String(code))
    })
  it('a header that asks for another protocol, or to go on, changes nothing', async () => {
    const said = await talk(
      post(statusUrl(world), ['Connection: Upgrade', 'Upgrade: websocket', 'Expect: 100-continue', 'Content-Length: 7'], body),
      (all) => /error-code/.test(all),
    )
    assert.deepEqual(statusCodes(said).at(-1), 200)
  })
})

const hold = (bytes: string): Promise<Socket> =>
  new Promise((resolve, reject) => {
    const socket = connect({ host: '127.0.0.1', port: Number(new URL(world.baseUrl).port) }, () =>
      socket.write(bytes, () => resolve(socket)),
    )
    socket.on('error', reject)
  })

describe('many requests together', () => {
  it('four hundred clients that never finish, in a header, a body or between chunks, delay no other client', async () => {
    const long = 'x'.repeat(10_000)
    const halves = [
      `POST ${path(saleUrl(world))} HTTP/1.1\r\nHost: x\r\nX-Slow: `,
      post(saleUrl(world), ['Content-Length: 2000000'], long),
      post(saleUrl(world), ['Transfer-Encoding: chunked'], `2710\r\n${long}\r\n5\r\nab`),
      '',
    ]
    const sockets = await Promise.all(Array.from({ length: 400 }, (_, at) => hold(halves[at % 4]!)))
    try {
      const since = performance.now()
      assert.equal((await settled(world, await order(world))).status, 'approved')
      assert.ok(performance.now() - since < 20_000)
    } finally {
      for (const socket of sockets) socket.on('error', () => {}).destroy()
    }
  })
  it('while twenty bodies of a million fields are read, another client gets its answers', async () => {
    const made = await order(world)
    const flood = Array.from({ length: 20 }, () => send('POST', saleUrl(world), 'a&'.repeat(mebi)))
    let slowestMs = 0
    const under = new Set(flood)
    for (const one of flood) void one.finally(() => under.delete(one))
    while (under.size > 0) {
      const since = performance.now()
      await status(world, { client_orderid: made.client_orderid })
      slowestMs = Math.max(slowestMs, performance.now() - since)
    }
    assert.ok(slowestMs < 20_000, `${slowestMs} ms`)
  })
})

/** Takes a table away for as long as `during` lasts. */
async function without(table: string, during: () => Promise<void>): Promise<void> {
  await query(`alter table ${table} rename to ${table}_away`)
  try {
    await during()
  } finally {
    await query(`alter table ${table}_away rename to ${table}`)
  }
}

/** The log is read while it is written, so a whole line is waited for. */
const logged = async (id: string, reason: string, line = new RegExp(`${id}.*${reason}.*\n`)): Promise<void> =>
  assert.match(await until(log, (text) => line.test(text)), line)

describe('a failure of our own', () => {
  for (const [operation, table, call] of [
    ['status', 'order_key', () => status(world, { client_orderid: newOrderId() })],
    ['status-v4', 'nonce', () => v4(world, 'status', { client_orderid: newOrderId() })],
  ] as const)
    it(`on the path of ${operation} is code 100 without the reason, counted, under a serial number of the log`, async () => {
      await without(table, async () => {
        const reply = await call()
        assert.deepEqual([reply['type'], reply['error-code'], reply['error-message']], ['error', '100', 'Internal error'])
        await logged(reply['serial-number']!, table)
      })
      const metric = await metricsOf(world)
      assert.equal(metric(`tollgate_requests_total{operation="${operation}",outcome="internal error"}`), 1)
    })
  it('on a page is a 500 with an id and no reason, and the log has the id with the reason', async () => {
    await without('locator', async () => {
      const answer = await send('GET', `${world.baseUrl}/random-sum/${'A'.repeat(22)}`)
      assert.equal(answer.httpStatus, 500)
      assert.doesNotMatch(answer.body, /locator|relation/)
      const id = answer.body.match(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/)?.[0] ?? ''
      assert.match(id, serialShape)
      await logged(id, 'locator')
    })
  })
})

describe('after all of that', () => {
  it('the same process still sells, and its log shows only the failures made here', async () => {
    process.kill(pid, 0)
    assert.equal(world.pid, pid)
    const made = accepted(await sale(world, { order_desc: encode('still here') }))
    assert.equal((await settled(world, made)).status, 'approved')
    const failures = log()
      .split('\n')
      .filter((line) => /"level":"(error|fatal)"/.test(line) && !/locator|order_key|nonce/.test(line))
    assert.deepEqual(failures, [])
  })
})
