import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { encodePairs, readReply, saleFields, send, sha1, type Fields } from '../../conformance/requests/client.ts'
import { until } from '../../harness/clock/until.ts'
import { startServe } from '../../harness/world/serve.ts'
import { openWorld } from '../../harness/world/opening.ts'
import type { World } from '../../harness/world/world.ts'

const world = await openWorld()

interface Line {
  serial?: string
  msg?: string
  expected?: string
}

const lineOf = (log: string, serial: string): Line | undefined =>
  log
    .split('\n')
    .filter((line) => line.includes(serial) && line.endsWith('}'))
    .map((line) => JSON.parse(line) as Line)
    .find(({ msg }) => msg === 'access refused')

async function refusedBy(at: World, operation: string, fields: Fields, id: number | string = at.endpoints.plain) {
  const url = `${at.baseUrl}/api/${operation}/${id}`
  const reply = readReply(await send('POST', url, encodePairs(Object.entries({ ...fields, control: 'wrong' }))))
  assert.equal(reply['error-code'], '2', JSON.stringify(reply))
  return reply['serial-number']!
}

async function said(operation: string, fields: Fields) {
  const serial = await refusedBy(world, operation, fields)
  const log = () => readFileSync(join(world.directory, 'log', 'gateway.log'), 'utf8')
  const line = await until(() => lineOf(log(), serial), Boolean)
  return { expected: line?.expected, line: JSON.stringify(line) }
}

const order = { login: 'sandbox', client_orderid: 'nobody', orderid: '1' }
const card = { login: 'sandbox', cardrefid: '1' }
const rebill = { ...card, client_orderid: 'r', order_desc: 'd', amount: '1', currency: 'USD', ipaddress: '203.0.113.7' }
const upload = {
  login: 'sandbox',
  'client-order-id': 'nobody',
  orderid: '1',
  threeDSServerTransID: randomUUID(),
  threeDSCompInd: 'Y',
}
const { amount: _amount, ...verification } = saleFields()

// oxfmt-ignore
const formulas: [operation: string, fields: Fields, expected: string][] = [
  ['v2/sale',                 saleFields(),                          'endpoint or group id + client_orderid + amount in minor units + email + control key'],
  ['v2/account-verification', verification,                          'endpoint or group id + client_orderid + email + control key'],
  ['v2/make-rebill-sale',     rebill,                                'login + client_orderid + cardrefid + amount in minor units + currency + control key, or endpoint or group id + login + client_orderid + cardrefid + amount in minor units + currency + control key'],
  ['v2/status',               order,                                 'login + client_orderid + orderid + control key'],
  ['v2/get-card-info',        card,                                  'login + cardrefid + control key'],
  ['v2/void',                 order,                                 'login + client_orderid + orderid + control key'],
  ['v2/capture',              { ...order, amount: '1', currency: 'USD' }, 'login + client_orderid + orderid + amount in minor units + currency + control key'],
  ['v2/return',               order,                                 'login + client_orderid + orderid + control key, or login + client_orderid + orderid + amount in minor units + currency + control key (amount and currency of the order)'],
  ['3ds/v1/upload-method-url-result', upload,                         'login + client-order-id + orderid + control key'],
]

for (const [operation, fields, expected] of formulas)
  test(`${operation}: the log of the sandbox says what a refused checksum should have been made of`, async () => {
    assert.equal((await said(operation, fields)).expected, expected)
  })

test('the line has neither the key nor the right checksum', async () => {
  const { line } = await said('v2/create-card-ref', order)
  assert.ok(!line.includes(world.merchant.controlKey))
  assert.ok(!line.includes(sha1('sandbox', 'nobody', '1', world.merchant.controlKey)))
})

test('outside the sandbox the log says only that it was refused', async () => {
  const gateway = await startServe(world)
  try {
    const serial = await refusedBy(gateway.world, 'v2/status', order)
    const line = await until(() => lineOf(gateway.output(), serial), Boolean)
    assert.ok(line)
    assert.equal(line.expected, undefined)
  } finally {
    await gateway.stop()
  }
})
