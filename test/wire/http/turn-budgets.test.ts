import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { connect } from 'node:net'
import { describe, test } from 'node:test'
import {
  nestedCres,
  nestedMethodData,
  paresBomb,
  worstForms,
  worstJson,
  worstSigned,
} from '../../../bench/benches/worst-bodies.ts'
import { units, type Unit } from '../../../src/base/turn.ts'
import { operationNames, operations } from '../../../src/spec/gateway/operations.ts'
import { formType, newOrderId, send } from '../../conformance/requests/client.ts'
import { header, nowSeconds } from '../../conformance/requests/oauth.ts'
import { atMethod, secureOrder, whatNow } from '../../conformance/three-d-secure/shopper.ts'
import { metricsOf } from '../../harness/world/metrics.ts'
import { openWorld } from '../../harness/world/opening.ts'
import { cardOf } from '../three-d-secure/three-d-secure-payer.ts'

/**
 * The worst that a stranger can send to each route: none of it makes one turn of the event loop
 * read more than its budget (docs/reliability.md). The gateway counts, in `tollgate_read_…` of its
 * metrics; no time is measured here.
 */

/** Its own: a gateway keeps the most of a turn for life, and other tests send floods on purpose. */
const world = await openWorld({ own: true })

type Counts = Record<Unit, number>
/** Without the requests that begin: each reading of the metrics is one. */
type Read = Omit<Counts, 'requests'>
const kibi = 1024
const mebi = 1024 * kibi

/** One metric of the gateway, by unit. */
async function metric(name: string): Promise<Counts> {
  const figure = await metricsOf(world)
  return Object.fromEntries(units.map((unit) => [unit, figure(`${name}{unit="${unit}"}`) ?? NaN])) as Counts
}

/** What was read while `during` lasted; whatever it was, no turn took more than its budget. */
async function readBy(during: () => Promise<unknown>): Promise<Read> {
  const earlier = await metric('tollgate_read_total')
  await during()
  const [later, most, budget] = [
    await metric('tollgate_read_total'),
    await metric('tollgate_read_most'),
    await metric('tollgate_read_budget'),
  ]
  for (const unit of units) assert.ok(most[unit] <= budget[unit], `${most[unit]} ${unit} in one turn, and ${budget[unit]} may be`)
  const readable = units.filter((unit) => unit !== 'requests')
  return Object.fromEntries(readable.map((unit) => [unit, later[unit] - earlier[unit]])) as Read
}

const nothing: Read = { bytes: 0, pairs: 0, nodes: 0, signatures: 0 }
const form = (url: string, body: string | Buffer, headers = {}) => send('POST', url, body, headers)
const json = (path: string, body: string) =>
  send('POST', `${world.baseUrl}/dapi/v1/${path}`, body, { 'content-type': 'application/json' })

test('many simultaneous requests begin a few in each turn', async () => {
  const requests = async () => (await metric('tollgate_read_total')).requests
  const earlier = await requests()
  await readBy(() => Promise.all(Array.from({ length: 40 }, () => send('GET', `${world.baseUrl}/view-receipt/1/x`, ''))))
  assert.ok((await requests()) - earlier >= 40)
})

describe('operations with a form', () => {
  const withForm = operationNames.filter((operation) => operations[operation].signed !== 'OAuth')
  for (const [what, body] of worstForms)
    test(what, async () => {
      const urls = withForm.flatMap((operation) =>
        ['', 'group/'].map((group) => `${world.baseUrl}${operations[operation].path}/${group}${world.endpoints.plain}`),
      )
      const read = await readBy(async () => {
        for (const url of urls) assert.equal((await form(url, body)).httpStatus, 200)
      })
      assert.ok(read.bytes >= urls.length * Buffer.byteLength(body) * 0.99, `${read.bytes} bytes`)
    })
  test('many of them at the same time', async () => {
    const url = `${world.baseUrl}/api/v2/sale/${world.endpoints.plain}`
    const body = worstForms[3]![1]
    const read = await readBy(() => Promise.all(Array.from({ length: 20 }, () => form(url, body))))
    assert.ok(read.bytes >= 20 * body.length * 0.99 && read.pairs >= 20_000, JSON.stringify(read))
  })
})

describe('operations with an OAuth header', () => {
  const signed = operationNames.filter((operation) => operations[operation].signed === 'OAuth')
  const authorization = (changes: Record<string, string> = {}) =>
    header({
      oauth_consumer_key: world.merchant.login,
      oauth_nonce: randomUUID(),
      oauth_signature: Buffer.alloc(256, 7).toString('base64'),
      oauth_signature_method: 'RSA-SHA256',
      oauth_timestamp: String(nowSeconds()),
      ...changes,
    })
  const ask = (operation: (typeof signed)[number], path: string | number, changes?: Record<string, string>) =>
    form(`${world.baseUrl}${operations[operation].path}/${path}`, worstSigned, { authorization: authorization(changes) })

  test('wrong signatures of merchants, unknown logins and foreign endpoints cost the same, up to eight a turn', async () => {
    for (const operation of signed) {
      // Two keys; two addresses, and the parameters alone.
      const own = await readBy(() => ask(operation, world.endpoints.plain))
      assert.equal(own.signatures, 6)
      for (const [path, changes] of [
        [world.endpoints.plain, { oauth_consumer_key: 'nobody' }],
        [world.other.endpoint, {}],
        [`group/${world.groups.multi}`, {}],
        [999_999, {}],
      ] as const)
        assert.equal((await readBy(() => ask(operation, path, { ...changes }))).signatures, own.signatures, String(path))
      const many = await readBy(() => Promise.all(Array.from({ length: 30 }, () => ask(operation, world.endpoints.plain))))
      assert.equal(many.signatures, 180)
    }
  })
  // oxfmt-ignore
  const cheap: readonly (readonly [what: string, changes: Record<string, string>])[] = [
    ['a time stamp that is off',      { oauth_timestamp: '1000000000' }],
    ['another method',                { oauth_signature_method: 'PLAINTEXT' }],
    ['another version',               { oauth_version: '2.0' }],
    ['a signature too short for RSA', { oauth_signature: Buffer.alloc(255, 7).toString('base64') }],
    ['a signature beyond 8192 bits',  { oauth_signature: Buffer.alloc(1_025, 7).toString('base64') }],
    ['a signature that is no base64', { oauth_signature: `!${Buffer.alloc(256, 7).toString('base64')}` }],
  ]
  for (const [what, changes] of cheap)
    test(`${what} costs no check of a signature`, async () => {
      for (const operation of signed) {
        const read = await readBy(async () =>
          assert.equal((await ask(operation, world.endpoints.plain, changes)).httpStatus, 403),
        )
        assert.equal(read.signatures, 0)
      }
    })
  test('a body above 64 KiB, and one that is not a form, are neither read nor checked', async () => {
    for (const operation of signed)
      for (const sent of ['x'.repeat(64 * kibi + 1), 'a'.repeat(2 * mebi), '%']) {
        const url = `${world.baseUrl}${operations[operation].path}/${world.endpoints.plain}`
        const read = await readBy(() => form(url, sent, { authorization: authorization() }))
        assert.equal(read.signatures, 0)
        assert.ok(read.bytes <= 1, `${read.bytes} bytes`)
      }
  })
})

describe('the mobile API', () => {
  const paths = (endpoint: number) => [
    ...['verification', 'sale', 'transfer'].flatMap((kind) => ['', '/status'].map((end) => `${kind}/${endpoint}/a${end}`)),
    `transfer/${endpoint}/a/b`,
  ]
  for (const [what, body] of worstJson)
    test(what, async () => {
      const read = await readBy(async () => {
        for (const path of paths(world.endpoints.mobile)) assert.equal((await json(path, body)).httpStatus, 400)
      })
      assert.equal(read.bytes, paths(0).length * body.length)
      assert.ok(read.nodes <= 7_000, `${read.nodes} nodes`)
    })
  test('no body for a missing endpoint is read, whatever it is', async () => {
    for (const [, body] of worstJson)
      for (const path of paths(999_999)) assert.deepEqual(await readBy(() => json(path, body)), nothing)
  })
})

describe('bodies that browsers send', () => {
  test('forms of the pages of a payment are read up to 64 KiB, and not above', async () => {
    const { seen } = await atMethod(world, 'frictionless')
    const steps = ['begun', 'browser', 'method', 'challenge', 'pares'].map((step) => `${seen['redirect-to']}/${step}`)
    const urls = [...steps, `${world.baseUrl}/3ds/collect`]
    const all = (body: string) => async () => {
      for (const url of urls) assert.ok((await form(url, body)).httpStatus < 500, url)
    }
    for (const body of [`cres=${'%41'.repeat(21_000)}`, 'threeDSMethodData=e&'.repeat(999)]) {
      const read = await readBy(all(body))
      assert.ok(read.bytes >= urls.length * body.length * 0.99, `${read.bytes} bytes`)
    }
    assert.deepEqual(await readBy(all(`cres=${'%41'.repeat(60_000)}`)), nothing)
  })
  test('a PaRes that inflates at the page of a payment that waits for one', async () => {
    const made = await secureOrder(world, cardOf(0))
    const seen = await whatNow(world, made)
    assert.equal(seen['tds-status'], 'PaReqForm')
    const body = new URLSearchParams({ PaRes: paresBomb, MD: seen['tds-pareq-form-md'] ?? '' }).toString()
    const read = await readBy(async () => assert.equal((await form(`${seen['redirect-to']}/pares`, body)).httpStatus, 303))
    assert.ok(read.bytes >= body.length + 64 * kibi, `${read.bytes} bytes`)
  })
  test('no page of a missing payment reads a form', async () => {
    const token = 'A'.repeat(22)
    const paths = ['browser', 'challenge', 'pares'].map((step) => `3ds/${token}/${step}`)
    for (const path of [...paths, `random-sum/${token}`])
      assert.deepEqual(await readBy(() => form(`${world.baseUrl}/${path}`, `cres=${'%41'.repeat(21_000)}`)), nothing)
  })
  test('a method result of nothing but nesting', async () => {
    const read = await readBy(() => form(`${world.baseUrl}/3ds/collect`, `threeDSMethodData=${nestedMethodData}`))
    assert.ok(read.bytes >= nestedMethodData.length + 3_000 && read.nodes === 0, JSON.stringify(read))
  })
  test('a PaRes and a cres that a merchant uploads without a control that holds', async () => {
    const names = { login: world.merchant.login, 'client-order-id': newOrderId(), orderid: '1000001', control: '0'.repeat(40) }
    const common = new URLSearchParams(names).toString()
    const read = await readBy(async () => {
      for (const [operation, field] of [
        ['upload-pares-result', `md=x&paRes=${encodeURIComponent(paresBomb)}`],
        ['upload-cres-result', `cres=${nestedCres}`],
      ] as const) {
        const answer = await form(`${world.baseUrl}/api/3ds/v1/${operation}/${world.endpoints.plain}`, `${common}&${field}`)
        assert.match(answer.body, /error-code=[23]\b/)
      }
    })
    assert.ok(read.bytes >= 2 * 64 * kibi, `${read.bytes} bytes`)
  })
})

describe('the head before the body', () => {
  const port = () => Number(new URL(world.baseUrl).port)
  const statusOf = (head: string): Promise<string> =>
    new Promise((resolve, reject) => {
      const socket = connect({ host: '127.0.0.1', port: port() })
      let said = ''
      socket.setTimeout(60_000, () => socket.destroy(new Error(`no answer, but: ${said.slice(0, 200)}`)))
      socket.on('data', (chunk) => (said += chunk.toString('latin1')))
      socket.once('error', reject).once('close', () => resolve(/^HTTP\/1\.1 ([0-9]{3})/.exec(said)?.[1] ?? 'none'))
      socket.write(`${head}\r\nHost: x\r\nConnection: close\r\n\r\n`)
    })
  const pages = () => ['3ds/x', '3ds/x/state', 'random-sum/x', 'view-receipt/1/x', 'nothing'].map((path) => `/gateway/${path}`)
  const head = (path: string) => [
    `GET ${path}${'/a'.repeat(8_000)} HTTP/1.1`,
    `GET ${path}?since=${'%41'.repeat(5_300)} HTTP/1.1`,
    `GET ${path} HTTP/1.1\r\nCookie: ${'a=b; '.repeat(3_200)}`,
    `GET ${path} HTTP/1.1\r\n${Array.from({ length: 950 }, (_, i) => `a${i}: bbbbbb`).join('\r\n')}`,
  ]
  test('paths, queries, cookies and headers up to 16 KiB are taken, and nothing of them is read', async () => {
    const read = await readBy(async () => {
      for (const path of pages())
        for (const one of head(path)) assert.match(await statusOf(one), /^(?:200|404)$/, one.slice(0, 60))
    })
    assert.deepEqual(read, nothing)
  })
  test('beyond 16 KiB they are a 431', async () => {
    for (const path of pages())
      for (const one of [
        `GET ${path}?${'a'.repeat(17_000)} HTTP/1.1`,
        `GET ${path} HTTP/1.1\r\nCookie: ${'a=b; '.repeat(3_400)}`,
      ])
        assert.equal(await statusOf(one), '431')
  })
  test('a form of another type is not read', async () => {
    const url = `${world.baseUrl}/api/v2/sale/${world.endpoints.plain}`
    assert.deepEqual(await readBy(() => form(url, worstForms[0]![1], { 'content-type': `${formType}x` })), nothing)
  })
})
