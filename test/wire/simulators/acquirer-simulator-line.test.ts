import assert from 'node:assert/strict'
import { appendFile, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { closing, openDirectory } from '../../harness/world/opening.ts'
import { frame, GatewayEnd, network, openAcquirer, payment } from '../acquirer/acquirer-line.ts'

const folder = openDirectory('acquirer')
const { acquirer, line, next, newSale, entryOf } = await openAcquirer()

describe('the line', () => {
  test('without sign-on, and after sign-off, everything but network messages is refused and not booked', async () => {
    const end = closing(await GatewayEnd.open(acquirer.port))
    const first = newSale()
    assert.equal((await end.ask('1804', network(next(), '831'))).fields[39], '800')
    assert.equal((await end.ask('1200', first)).fields[39], '904')
    assert.equal((await end.ask('1804', network(next(), '801'))).fields[39], '800')
    assert.equal((await end.ask('1200', first)).fields[39], '000')
    assert.equal((await end.ask('1804', network(next(), '802'))).fields[39], '800')
    const last = newSale()
    assert.equal((await end.ask('1200', last)).fields[39], '904')
    assert.equal((await end.ask('1804', network(next(), '999'))).fields[39], '904')
    assert.equal(await entryOf(last), undefined)
  })

  test('a message may come in pieces, or many in one piece', async () => {
    const sales = Array.from({ length: 5 }, () => newSale())
    const first = frame('1200', sales[0]!)
    const other = closing(await GatewayEnd.signedOn(acquirer.port))
    for (const [from, to] of [
      [0, 1],
      [1, 2],
      [2, 9],
      [9, 100],
      [100, first.length],
    ] as const) {
      line.socket.write(first.subarray(from, to))
      await other.echo(next()) // so that this piece was read before the next is sent
    }
    line.socket.write(Buffer.concat(sales.slice(1).map((sale) => frame('1200', sale))))
    await line.until(() => sales.every((sale) => line.to(sale).length === 1), 'five answers')
  })
})

test('a ledger file with a line of another program is refused', async () => {
  const file = join(folder, 'broken.jsonl')
  await appendFile(file, '{"answered":{"terminal":"T","stan":"1","time12":"1"}}\n')
  await assert.rejects(openAcquirer({ ledgerFile: file }), /line 1 of the ledger/)
})

test('neither the file, nor the admin port, has a card number, an expiry or a CVV2', async () => {
  // No time of a message has an hour, a minute or a second of 99 or 91.
  const file = join(folder, 'masked.jsonl')
  const { line: end, call } = await openAcquirer({ ledgerFile: file })
  await end.ask('1200', payment({ stan: 1, cvv2: '1234', pan: '5105105105105100', expiry: '9912' }))
  await end.ask('1200', payment({ stan: 2, cvv2: '1234', pan: '800000001', expiry: '9912' }))
  const seen = [await readFile(file, 'utf8')]
  for (const path of ['/ledger', '/messages', '/ledger/summary']) seen.push(JSON.stringify((await call('GET', path)).body))
  for (const text of seen) assert.doesNotMatch(text, /5105105105105100|800000001|9912|92=1234|920041234/)
  assert.match(seen[0]!, /510510\*{6}5100/)
  assert.match(seen[2]!, /92=\*\*\*/)
})
