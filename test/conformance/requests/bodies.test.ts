import assert from 'node:assert/strict'
import { request } from 'node:http'
import { describe, it } from 'node:test'
import { openWorld } from '../../harness/world/opening.ts'
import { accepted, encodePairs, formType, newOrderId, order, readReply, refused, required, saleFields } from './client.ts'
import { saleUrl, send, signedSale, signedStatus, statusUrl, type Changes } from './client.ts'

/** Bodies, paths, methods and the JSON form: docs/choices.md, "Wire". */

const world = await openWorld()
const paid = await order(world)

const nowhere = 999_999_999
const wrong = '0123456789012345678901234567890123456789'

const good = (): string => encodePairs(Object.entries(signedSale(world)))
const post = async (body: string | Buffer, headers: Changes = {}, url = saleUrl(world)) =>
  readReply(await send('POST', url, body, headers))
const json = async (url: string, fields: Changes): Promise<[number, Record<string, string>]> => {
  const body = encodePairs(Object.entries(fields).filter((pair): pair is [string, string] => pair[1] !== undefined))
  const answer = await send('POST', url, body, { accept: 'application/vnd.pay+json' })
  assert.match(answer.contentType, /^application\/([a-z.]+\+)?json\b/)
  const reply: Record<string, string> = {}
  for (const [name, value] of Object.entries<unknown>(JSON.parse(answer.body))) {
    assert.ok(typeof value === 'string' && value !== '', name)
    reply[name] = value
  }
  return [answer.httpStatus, reply]
}

/** A good sale of exactly so many bytes, filled up with an unknown field. */
const ofSize = (bytes: number): string => {
  const head = `${good()}&filling=`
  return head + 'x'.repeat(bytes - head.length)
}

describe('on a known operation path everything is answered 200 in the reply format', { concurrency: 4 }, () => {
  const bodyInvalid = /^Parameter body is invalid(: \S.*)?$/
  // oxfmt-ignore
  const cases: [string, () => string | Buffer, Changes?][] = [
    ['JSON with its own content type',             () => JSON.stringify(saleFields()),                         { 'content-type': 'application/json' }],
    ['a form with the content type of plain text', () => good(),                                               { 'content-type': 'text/plain' }],
    ['a multipart form',                           () => '--b\r\n\r\n--b--\r\n',                               { 'content-type': 'multipart/form-data; boundary=b' }],
    ['a form without a content type',              () => good(),                                               { 'content-type': undefined }],
    ['a content type with the same beginning',     () => good(),                                               { 'content-type': `${formType}-x` }],
    ['a percent sign at the end',                  () => `${good()}&city=a%`],
    ['a percent sign with one digit',              () => `${good()}&city=a%4`],
    ['a percent sign with no digits',              () => `${good()}&city=100%zz`],
    ['a percent sign in an unknown name',          () => `${good()}&%=x`],
    ['percent-encoded bytes that are no UTF-8',    () => `${good()}&city=%FF`],
    ['a UTF-8 sequence cut short',                 () => `${good()}&city=%E2%82`],
    ['an overlong UTF-8 sequence',                 () => `${good()}&city=%C0%AF`],
    ['a surrogate encoded as UTF-8',               () => `${good()}&city=%ED%A0%80`],
    ['raw bytes that are no UTF-8',                () => Buffer.concat([Buffer.from(`${good()}&city=`), Buffer.from([0xff, 0xfe])])],
    ['one byte more than 2 MiB',                   () => ofSize(2 * 1024 * 1024 + 1)],
    ['3 MiB',                                      () => ofSize(3 * 1024 * 1024)],
  ]
  for (const [what, body, headers] of cases) {
    it(`${what}: 3 Parameter body is invalid`, async () => {
      refused(await post(body(), headers), 3, bodyInvalid)
    })
  }
  it('such a body on the path of status: 3', async () => {
    refused(await post('login=%', {}, statusUrl(world)), 3, bodyInvalid)
  })
  it('such a body on an unknown endpoint: 4 stands before 3', async () => {
    refused(await post('login=%', {}, saleUrl(world, nowhere)), 4, 'Endpoint not found')
  })
  it('a chunked body of more than 2 MiB without a length in its head: 3', async () => {
    const reply = await new Promise<Record<string, string>>((resolve, reject) => {
      const outgoing = request(
        saleUrl(world),
        { method: 'POST', agent: false, headers: { 'content-type': formType } },
        (incoming) => {
          let body = ''
          incoming.setEncoding('utf8').on('data', (text: string) => (body += text))
          incoming.on('end', () => {
            resolve(
              readReply({ httpStatus: incoming.statusCode ?? 0, contentType: incoming.headers['content-type'] ?? '', body }),
            )
          })
        },
      )
      outgoing.on('error', reject)
      outgoing.write(`${good()}&filling=`)
      outgoing.end('x'.repeat(2 * 1024 * 1024))
    })
    refused(reply, 3, bodyInvalid)
  })
  it('a body of exactly 2 MiB is read', async () => {
    accepted(await post(ofSize(2 * 1024 * 1024)))
  })
  it('an empty form misses its first field: 1', async () => {
    refused(await post(''), 1, required('client_orderid'))
  })
  it('JSON under the content type of a form is refused', async () => {
    assert.equal((await post(JSON.stringify(saleFields()))).type, 'validation-error')
  })
  for (const parameter of ['; charset=utf-8', ';charset=UTF-8', '; charset="utf-8"', '; charset=ISO-8859-1', '; x=y']) {
    it(`a content type with ${parameter} is allowed`, async () => {
      accepted(await post(good(), { 'content-type': formType + parameter }))
    })
  }
  it('a content type is read without regard to case', async () => {
    accepted(await post(good(), { 'content-type': 'Application/X-WWW-Form-Urlencoded' }))
  })
})

describe('an unknown path is 404, a wrong method 405', { concurrency: 4 }, () => {
  for (const path of ['/api/v2/nonsense/1', '/api/v3/sale/1', '/api/v2/sale', '/api/v2/sale/1/2', '/api/v2', '/nothing']) {
    it(`POST ${path}: 404`, async () => {
      assert.equal((await send('POST', world.baseUrl + path, 'a=b')).httpStatus, 404)
    })
  }
  for (const method of ['GET', 'PUT', 'DELETE', 'PATCH']) {
    it(`${method} of sale and of status, by endpoint and by group: 405`, async () => {
      for (const path of [world.endpoints.plain, `group/${world.groups.multi}`]) {
        assert.equal((await send(method, saleUrl(world, path))).httpStatus, 405)
        assert.equal((await send(method, statusUrl(world, path))).httpStatus, 405)
      }
    })
  }
})

describe('with Accept: application/vnd.pay+json the same reply is a JSON object of strings', { concurrency: 4 }, () => {
  it('an accepted sale and its status: HTTP 200', async () => {
    const [httpStatus, reply] = await json(saleUrl(world), signedSale(world))
    assert.equal(httpStatus, 200)
    const made = accepted(reply)
    const [second, seen] = await json(statusUrl(world), signedStatus(world, { client_orderid: made.client_orderid }))
    assert.deepEqual([second, seen.type, seen['gateway-order-id']], [200, 'status-response', made.orderid])
  })
  // oxfmt-ignore
  const cases: [string, number, number, () => [string, Changes]][] = [
    ['a missing field',         1,  400, () => [saleUrl(world), signedSale(world, { cvv2: undefined })]],
    ['a bad field',             3,  400, () => [saleUrl(world), signedSale(world, { cvv2: 'x' })]],
    ['a wrong control',         2,  403, () => [saleUrl(world), signedSale(world, { control: wrong })]],
    ['an unknown endpoint',     4,  404, () => [saleUrl(world, nowhere), signedSale(world)]],
    ['an unknown order',        6,  404, () => [statusUrl(world), signedStatus(world, { client_orderid: newOrderId() })]],
    ['an unsupported currency', 8,  400, () => [saleUrl(world), signedSale(world, { currency: 'EUR' })]],
    ['a client_orderid in use', 11, 400, () => [saleUrl(world), signedSale(world, { client_orderid: paid.client_orderid, order_desc: 'another' })]],
  ]
  for (const [what, code, httpStatus, make] of cases) {
    it(`${what}: code ${code}, HTTP ${httpStatus}`, async () => {
      const [seen, reply] = await json(...make())
      refused(reply, code)
      assert.equal(seen, httpStatus)
    })
  }
  it('with other Accept headers the reply is in the form format', async () => {
    for (const accept of ['*/*', 'application/json', 'text/html,application/xhtml+xml']) {
      accepted(readReply(await send('POST', saleUrl(world), encodePairs(Object.entries(signedSale(world))), { accept })))
    }
  })
})
