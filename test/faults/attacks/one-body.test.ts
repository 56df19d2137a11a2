import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { describe, test } from 'node:test'
import { newOrderId, order, send, settled } from '../../conformance/requests/client.ts'
import { until } from '../../harness/clock/until.ts'
import { metricsOf } from '../../harness/world/metrics.ts'
import { openWorld } from '../../harness/world/opening.ts'

/**
 * One body of a stranger must not stop the gateway: what is too large is not read, what no
 * operation needs is not parsed, and all other clients are served meanwhile.
 */

const world = await openWorld()

const mebi = 1024 * 1024
const lists = (length: number): string => '['.repeat(length / 2) + ']'.repeat(length / 2)
const keys = (count: number): string => `{${Array.from({ length: count }, (_, i) => `"k${i}":1`).join(',')}}`

async function metric(name: string): Promise<number> {
  const figure = (await metricsOf(world))(name)
  assert.ok(figure !== undefined, `${name} is not there`)
  return figure
}
const bytesRead = () => metric('tollgate_read_total{unit="bytes"}')

const post = (path: string, body: string) =>
  send('POST', `${world.baseUrl}/dapi/v1/${path}`, body, { 'content-type': 'application/json' })

/** The same in chunks: no header announces the length. */
function inChunks(path: string, body: string): Promise<string> {
  const { hostname, port, pathname } = new URL(`${world.baseUrl}/dapi/v1/${path}`)
  return new Promise((resolve, reject) => {
    const socket = connect({ host: hostname, port: Number(port) })
    let said = ''
    socket.setTimeout(60_000, () => socket.destroy(new Error('no answer')))
    socket.on('data', (chunk) => (said += chunk.toString()))
    socket.once('error', reject).once('close', () => resolve(said))
    socket.write(`POST ${pathname} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n`)
    for (let at = 0; at < body.length; at += 65_536) {
      const chunk = body.slice(at, at + 65_536)
      socket.write(`${chunk.length.toString(16)}\r\n${chunk}\r\n`)
    }
    socket.write('0\r\n\r\n')
  })
}

/** Cause and text of a refusal. */
const refusalOf = (body: string): readonly [string, string] => {
  const { error, invoiceId }: { error: { cause: string; message: string; code: string }; invoiceId: string } = JSON.parse(body)
  assert.equal(invoiceId, 'x')
  assert.match(error.code, /^[0-9a-f-]{36}$/)
  return [error.cause, error.message]
}
const tooMuch = /^the body must be a JSON object of at most 65536 bytes, 16 levels and 1000 values and names$/

describe('a body of two mebibytes for an app', () => {
  const body = lists(2 * mebi)
  // oxfmt-ignore
  const cases = [
    //  path                             HTTP  cause                    text
    [() => 'sale/1/x',                   500, 'INVALID_CONFIGURATION', /^endpointId is not known$/],
    [() => 'verification/999999/x',      500, 'INVALID_CONFIGURATION', /^endpointId is not known$/],
    [() => 'sale/1/x/status',            400, 'ORDER_NOT_FOUND',       /^invoiceId is not known$/],
    [() => 'transfer/1/x/a',             400, 'INVALID_REQUEST',       /^invoiceId is not known$/],
    [() => `sale/${world.endpoints.mobile}/x`,        400, 'INVALID_REQUEST', tooMuch],
    [() => `sale/${world.endpoints.mobile}/x/status`, 400, 'INVALID_REQUEST', tooMuch],
    [() => `transfer/${world.endpoints.mobile}/x/a`,  400, 'INVALID_REQUEST', tooMuch],
  ] as const
  for (const [path, http, cause, text] of cases)
    test(`${http} ${cause}, and not a byte of it is parsed`, async () => {
      const earlier = await bytesRead()
      const announced = await post(path(), body)
      assert.equal(announced.httpStatus, http)
      const chunked = await inChunks(path(), body)
      assert.match(chunked, new RegExp(`^HTTP/1.1 ${http} `))
      for (const answer of [announced.body, chunked.slice(chunked.indexOf('\r\n\r\n') + 4)]) {
        const [said, message] = refusalOf(answer.replace(/^[0-9a-f]+\r\n|\r\n0\r\n\r\n$/g, ''))
        assert.equal(said, cause)
        assert.match(message, text)
      }
      assert.equal(await bytesRead(), earlier)
    })
})

test('a body of up to 64 KiB is refused by its depth or its number of members before it is parsed', async () => {
  const nodes = () => metric('tollgate_read_total{unit="nodes"}')
  const path = `sale/${world.endpoints.mobile}/x`
  for (const body of [lists(65_536), keys(6_000), `{"a":${'{"a":'.repeat(16)}1${'}'.repeat(17)}`]) {
    const earlier = await nodes()
    const { httpStatus, body: answer } = await post(path, body)
    assert.equal(httpStatus, 400)
    assert.match(refusalOf(answer)[1], tooMuch)
    assert.equal(await nodes(), earlier)
  }
  // As deep, and as many, as may be: the fields are looked at.
  for (const body of [`{"a":${'{"a":'.repeat(15)}1${'}'.repeat(16)}`, keys(499)])
    assert.equal(refusalOf((await post(path, body)).body)[1], 'sourceOfFunds.card may not be empty')
})

test('while strangers send such bodies without end, another merchant sells, and no lease lapses', async () => {
  const stopped = new AbortController()
  const lapses = () => metric('tollgate_lease_changes_total{mode="late"}')
  const earlierLapses = await lapses()
  let refused = 0
  const bodies = [lists(2 * mebi), keys(150_000), lists(65_536), keys(6_000)]
  const stranger = async (at: number) => {
    while (!stopped.signal.aborted) {
      const endpoint = at % 2 === 0 ? 1 : world.endpoints.mobile
      if ((await post(`sale/${endpoint}/x`, bodies[at % 4]!)).httpStatus >= 400) refused++
    }
  }
  const attack = Array.from({ length: 10 }, (_, at) => stranger(at))
  try {
    await until(
      () => refused,
      (count) => count >= 10,
    )
    for (let sales = 0; sales < 3; sales++) {
      const earlier = refused
      const as = { as: world.other, path: world.other.endpoint }
      const made = await order(world, { client_orderid: newOrderId() }, as)
      assert.equal((await settled(world, made, as)).status, 'approved')
      await until(
        () => refused,
        (count) => count > earlier,
      )
    }
    assert.equal(await lapses(), earlierLapses)
  } finally {
    stopped.abort()
    await Promise.all(attack)
  }
})
