import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { order, settled } from '../../conformance/requests/client.ts'
import { until } from '../../harness/clock/until.ts'
import { askApi, tokensOf } from '../../harness/operators/api.ts'
import { openHttp, openWorld } from '../../harness/world/opening.ts'
import { cliOf } from '../operator/cli-run.ts'

// Callbacks to a server that fails and then works.

let works = false
const broken = `<p>Out of
order\u0007 for ada@example.com, ada%40example.com: 4111 1111 1111 1111</p>${'.'.repeat(400)}`
const { origin } = await openHttp((_request, response) => response.writeHead(works ? 200 : 503).end(works ? 'OK' : broken))
const world = await openWorld()
const { tell } = cliOf(() => world)
const { operator_api_url: url } = JSON.parse(readFileSync(join(world.directory, 'sandbox.json'), 'utf8')) as {
  operator_api_url: string
}
const tokenFor = tokensOf(tell)
const [support, owner, stranger] = [
  await tokenFor('support', world.merchant.login),
  await tokenFor('owner'),
  await tokenFor('owner', world.other.login),
]

const ask = async <T>(path: string, body: object, { token } = support): Promise<T> => {
  const { status, json, text } = await askApi(url, path, body, { token })
  assert.equal(status, 200, text)
  return json as T
}

interface Story {
  state: string
  method: string
  fields: Record<string, string>
  tries: { http_status: number; answer: string | null }[]
}
interface Origins {
  origins: { origin: string; merchant: string; due: number; delivered: number; failed_tries: number; failure: string | null }[]
}
const made = await order(world, { server_callback_url: `${origin}/paid`, amount: '12.34' })
await settled(world, made)
const callback = { order: made.orderid, number: 1 }
const tried = await until(
  () => ask<Story>('delivery/show', callback),
  ({ tries }) => tries.length > 0,
)

test('a callback has what it says, without the payer and without its control', async () => {
  assert.deepEqual([tried.state, tried.method], ['due', 'GET'])
  const { amount, orderid, email, control } = tried.fields
  assert.deepEqual([amount, orderid], ['12.34', made.orderid])
  assert.equal(email, '(of the payer)')
  assert.equal(control, '*'.repeat(40))
  assert.equal((await askApi(url, 'delivery/show', { ...callback, payer: true }, support)).status, 403)
  const { fields } = await ask<Story>('delivery/show', { ...callback, payer: true }, owner)
  assert.deepEqual([fields['email'], fields['control']], ['ada@example.com', control])
})

test('a try that failed has the beginning of what was answered: printable, without card and payer', async () => {
  const [{ http_status: status, answer }] = tried.tries as [Story['tries'][number]]
  assert.equal(status, 503)
  const start = `<p>Out of order\ufffd for (of the payer), (of the payer): 411111******1111</p>`
  assert.ok(answer?.startsWith(`${start}...`), String(answer))
  const seen = await ask<Story>('delivery/show', { ...callback, payer: true }, owner)
  const whole = seen.tries[0]!.answer!
  assert.match(whole, /for ada@example\.com, ada%40example\.com: 411111\*{6}1111/)
  assert.equal(whole.length, 300)
})

test('a server that fails is listed with what it answered, for its own merchant alone', async () => {
  const { origins } = await ask<Origins>('delivery/origins', {})
  const { merchant, due, failed_tries: failed, failure } = origins.find((one) => one.origin === origin) ?? assert.fail()
  assert.deepEqual([merchant, due, failure], [world.merchant.login, 1, 'answered 503'])
  assert.ok(failed >= 1)
  const { origins: theirs } = await ask<Origins>('delivery/origins', {}, stranger)
  assert.ok(theirs.every((one) => one.merchant === world.other.login && one.origin !== origin))
  const narrowed = await ask<{ deliveries: { order_id: string }[] }>('delivery/list', {
    origin: `${origin}/paid?x=1`,
    state: 'due',
  })
  assert.deepEqual(
    narrowed.deliveries.map((one) => one.order_id),
    [made.orderid],
  )
})

test('sent again to a server that works, it arrives, and the tries before are kept', async () => {
  works = true
  assert.equal((await ask<{ resent: number }>('delivery/resend', { origin, yes: true })).resent, 1)
  const { tries } = await until(
    () => ask<Story>('delivery/show', callback),
    ({ state }) => state === 'delivered',
  )
  assert.deepEqual(tries.map((one) => [one.http_status, one.answer === null]).slice(-2), [
    [503, false],
    [200, true],
  ])
  const { origins } = await ask<Origins>('delivery/origins', { origin, from: '1h' })
  assert.deepEqual(
    origins.map(({ due, delivered }) => [due, delivered]),
    [[0, 1]],
  )
  assert.match(await tell(['order', 'show', made.orderid]), new RegExp(`delivery show ${made.orderid} 1`))
  assert.match(
    await tell(['delivery', 'show', made.orderid, '1']),
    /RESULT +ANSWER[^]+answered 503 .*Out of order[^]+answered 200/,
  )
})
