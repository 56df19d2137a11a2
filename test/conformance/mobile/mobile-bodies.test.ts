import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { closing, openWorld } from '../../harness/world/opening.ts'
import { cliOf } from '../../wire/operator/cli-run.ts'
import { ledger, nextYear, send } from '../requests/client.ts'
import { until } from '../../harness/clock/until.ts'
import { at, type Json, type Kind } from './mobile-merchant.ts'
import { about, accepted, begin, ends, initiate, json, newInvoiceId, newToken, openMobile, orderOf } from './mobile.ts'
import { perform, post, read, refused, rested, urlOf, type Told } from './mobile.ts'

/** Bodies, paths, invoices, endpoints and amounts of the mobile API: choices.md section 8. */

const world = await openWorld()
const mobile = await openMobile(world, [world.endpoints.plain, world.endpoints.yen])
closing(mobile.shop)

const nowhere = 999_999_999
const kinds: Kind[] = ['verification', 'sale', 'transfer']

describe('a body that is no JSON object is INVALID_REQUEST, in the body of a failure', { concurrency: 4 }, () => {
  // oxfmt-ignore
  const bodies: [string, string | Buffer][] = [
    ['nothing',                        ''],
    ['a blank',                        ' '],
    ['half an object',                 '{"session":'],
    ['two objects',                    '{}{}'],
    ['a form',                         'session.accessToken=x&amount=1'],
    ['null',                           'null'],
    ['a list',                         '[]'],
    ['a list with an object',          '[{}]'],
    ['a text',                         '"session"'],
    ['a number',                       '17'],
    ['true',                           'true'],
    ['single quotes',                  "{'session':{}}"],
    ['a comma too many',               '{"session":{},}'],
    ['NaN',                            '{"session":NaN}'],
    ['bytes that are no UTF-8',        Buffer.from([0x7b, 0x22, 0xff, 0xfe, 0x22, 0x3a, 0x31, 0x7d])],
    ['100,000 brackets',               '['.repeat(100_000)],
    ['100,000 nested lists',           `{"a":${'['.repeat(100_000)}${']'.repeat(100_000)}}`],
    ['an empty object',                '{}'],
  ]
  for (const kind of kinds) {
    for (const [what, body] of bodies) {
      it(`${kind}: ${what}`, async () => {
        const made = { kind, endpoint: world.endpoints.plain, invoiceId: newInvoiceId() }
        refused(await post(urlOf(mobile, made), body), 'INVALID_REQUEST', /\S/, made.invoiceId)
      })
    }
    it(`${kind}: half an object, asking for the status`, async () => {
      const made = { kind, endpoint: world.endpoints.plain, invoiceId: newInvoiceId() }
      refused(await post(urlOf(mobile, made, '/status'), '{"session":'), 'INVALID_REQUEST', /\S/, made.invoiceId)
    })
  }
  it('the code of a failure is in the log too', async () => {
    const made = { kind: kinds[0]!, endpoint: world.endpoints.plain, invoiceId: newInvoiceId() }
    const code = refused(await post(urlOf(mobile, made), '{'), 'INVALID_REQUEST', /\S/, made.invoiceId)
    const folder = join(world.directory, 'log')
    const logged = (): boolean => readdirSync(folder).some((name) => readFileSync(join(folder, name), 'utf8').includes(code))
    assert.ok(await until(logged, (found) => found), `${code} is in ${folder}`)
  })
  it('a charset in the content type changes nothing', async () => {
    const made = initiate(mobile, 'sale', { 'order.description': 'é😀' })
    const headers = { 'content-type': 'application/json; charset=UTF-8' }
    accepted(read(await send('POST', urlOf(mobile, made), JSON.stringify(made.body), headers)), made)
  })
  it('a byte order mark and line ends around the body change nothing', async () => {
    const made = initiate(mobile, 'sale')
    const headers = { 'content-type': 'application/json' }
    accepted(read(await send('POST', urlOf(mobile, made), `\ufeff\r\n${JSON.stringify(made.body)}\r\n`, headers)), made)
  })
  it('a member called __proto__ is a member like any other', async () => {
    const made = initiate(mobile, 'sale')
    const body = `{"__proto__":{"session":{}},"constructor":1,${JSON.stringify(made.body).slice(1)}`
    accepted(await post(urlOf(mobile, made), body), made)
  })
})

describe('a body may have 64 KiB', { concurrency: 2 }, () => {
  /** So many bytes of JSON. */
  const filled = (body: object, bytes: number): string => {
    const rest = `",${JSON.stringify(body).slice(1)}`
    return `{"filling":"${'x'.repeat(bytes - rest.length - 12)}${rest}`
  }
  it('exactly as many are read', async () => {
    const made = initiate(mobile, 'sale')
    const body = filled(made.body, 65_536)
    assert.equal(body.length, 65_536)
    accepted(await post(urlOf(mobile, made), body), made)
  })
  it('one more is INVALID_REQUEST', async () => {
    const made = initiate(mobile, 'sale')
    refused(await post(urlOf(mobile, made), filled(made.body, 65_537)), 'INVALID_REQUEST', /\S/, made.invoiceId)
  })
})

describe('paths and methods', { concurrency: 4 }, () => {
  // oxfmt-ignore
  const unknown = [
    '/dapi/v1/refund/{}/x', '/dapi/v2/sale/{}/x', '/dapi/v1/sale/{}', '/dapi/v1/sale/{}/x/complete', '/dapi/v1/verification/{}/x/gate-1', '/dapi/v1/sale/{}/x/status/y',
    '/dapi/v1/Sale/{}/x',
  ]
  for (const path of unknown) {
    it(`${path} is 404`, async () => {
      const answer = await send('POST', world.baseUrl + path.replace('{}', String(world.endpoints.plain)), '{}', json)
      assert.equal(answer.httpStatus, 404)
    })
  }
  for (const method of ['GET', 'PUT', 'DELETE']) {
    it(`${method} is 405`, async () => {
      const made = { kind: kinds[0]!, endpoint: world.endpoints.plain, invoiceId: newInvoiceId() }
      for (const more of ['', '/status']) assert.equal((await send(method, urlOf(mobile, made, more), '', json)).httpStatus, 405)
    })
  }
})

describe('invoiceId is 1 to 128 of A-Z a-z 0-9 . _ -', { concurrency: 4 }, () => {
  const every = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-'
  for (const kind of kinds) {
    const letter = kind[0]!
    for (const invoiceId of [letter, every + letter, letter.repeat(128), `..${letter}`, `-${letter}_`]) {
      it(`${kind}: one of ${invoiceId.length}, ${invoiceId.slice(0, 10)}, is accepted and echoed`, async () => {
        await begin(mobile, kind, {}, { invoiceId })
      })
    }
    for (const invoiceId of [letter.repeat(129), 'a b', 'a/b', 'é', 'a+b', 'a%b', "a'b", 'a\nb', 'a\0b', '😀', 'a:b', 'a,b']) {
      it(`${kind}: ${JSON.stringify(invoiceId).slice(0, 12)} of ${invoiceId.length} is refused`, async () => {
        const made = initiate(mobile, kind, {}, { invoiceId })
        refused(await perform(mobile, made), 'INVALID_REQUEST', /\S/)
      })
    }
  }
  it('an invoice may be called status', async () => {
    const { told } = await ends(mobile, 'APPROVED', 'sale', {}, { invoiceId: 'status' })
    assert.equal(told.invoiceId, 'status')
  })
})

describe('an endpoint that does not serve the mobile API is INVALID_CONFIGURATION', { concurrency: 4 }, () => {
  const cases: [string, () => number | string][] = [
    ['an endpoint that is not there', () => nowhere],
    ['endpoint 0', () => 0],
    ['one that is no number', () => 'first'],
    ['one beyond all numbers', () => '99999999999999999999999999'],
    ['a group', () => world.groups.multi],
    ['an endpoint without a merchant’s server', () => world.endpoints.hundredths],
    ['an endpoint that is switched off', () => world.endpoints.disabled],
  ]
  for (const kind of kinds) {
    for (const [what, endpoint] of cases) {
      it(`${kind}: ${what}`, async () => {
        const made = initiate(mobile, kind, {}, { endpoint: endpoint() as number })
        refused(await perform(mobile, made), 'INVALID_CONFIGURATION', /\S/, made.invoiceId)
      })
    }
  }
})

describe('centis are hundredths of the unit, whatever the exponent of the currency', { concurrency: 4 }, () => {
  const charged = async (told: Json): Promise<string[]> =>
    (await ledger(world, orderOf(told))).map(({ amountMinor, state }) => `${amountMinor} ${state}`)

  it('1050 centis of USD are 10.50', async () => {
    const { told } = await ends(mobile, 'APPROVED', 'sale')
    assert.deepEqual(await charged(told), ['1050 approved'])
  })
  it('one centi of USD is 0.01', async () => {
    const { told } = await ends(mobile, 'APPROVED', 'sale', { 'transaction.amountCentis': 1 })
    assert.deepEqual(await charged(told), ['1 approved'])
  })
  const yen = (amountCentis: unknown): Json => ({ 'transaction.currency': 'JPY', 'transaction.amountCentis': amountCentis })
  it('1000 centis of JPY are 10 yen', async () => {
    const { told } = await ends(mobile, 'APPROVED', 'sale', yen(1000), { endpoint: world.endpoints.yen })
    assert.deepEqual(await charged(told), ['10 approved'])
  })
  for (const amount of [1050, 1001, 99, 1]) {
    it(`${amount} centis cannot be expressed in JPY`, async () => {
      const made = initiate(mobile, 'sale', yen(amount), { endpoint: world.endpoints.yen })
      refused(await perform(mobile, made), 'INVALID_REQUEST', about('transaction.amountCentis'), made.invoiceId)
    })
  }
  it('every number of centis can be expressed in KWD, which has three decimals', async () => {
    const { tell } = cliOf(() => world)
    const settings = `--merchant ${world.merchant.login} --currency KWD --plain-http-callbacks on --merchant-server-url`.split(
      ' ',
    )
    const added = await tell(['endpoint', 'add', '--gate', 'sandbox acquirer', ...settings, mobile.shop.url])
    const endpoint = Number(/^Endpoint (\d+) /.exec(added)?.[1])
    const made = await until(
      async () => {
        const changes = { 'transaction.currency': 'KWD', 'transaction.amountCentis': 1051 }
        const one = initiate(mobile, 'sale', changes, { endpoint })
        return { one, told: await perform(mobile, one) }
      },
      ({ told }) => at(told.json, 'error.cause') !== 'INVALID_CONFIGURATION',
    )
    const token = accepted(made.told, made.one)
    const told = await rested(mobile, { ...made.one, session: { accessToken: at(made.one.body, 'session.accessToken'), token } })
    assert.deepEqual([told.state, await charged(told)], ['APPROVED', ['10510 approved']])
  })
  for (const kind of kinds) {
    it(`${kind}: a currency that the endpoint does not have is refused`, async () => {
      const made = initiate(mobile, kind, { 'transaction.currency': 'EUR' })
      const told: Told = await perform(mobile, made)
      assert.notEqual(told.httpStatus, 200)
      assert.deepEqual(mobile.shop.checks(made.invoiceId), [])
    })
  }
})

describe('a card that is not good is no bad field', { concurrency: 4 }, () => {
  for (const kind of kinds) {
    const expiry = kind === 'verification' ? 'sourceCard.expiry' : 'sourceOfFunds.card.expiry'
    it(`${kind}: an expiry in the past is accepted, and declined with 101`, async () => {
      const { told } = await ends(mobile, 'DECLINED', kind, { [expiry]: { month: 1, year: nextYear - 3 } })
      assert.equal(told.errorCode, 101)
    })
  }
})

describe('messages of failures contain no data', { concurrency: 4 }, () => {
  it('the message does not contain sent values', async () => {
    const number = '4111111111111112'
    const made = initiate(mobile, 'sale', { 'sourceOfFunds.card.number': number })
    const told = await perform(mobile, made)
    refused(told, 'INVALID_REQUEST', about('sourceOfFunds.card.number'), made.invoiceId)
    assert.ok(!JSON.stringify(told.json).includes(number))
  })
  it('no access token is in it either', async () => {
    const accessToken = newToken()
    const made = initiate(mobile, 'sale', { 'session.accessToken': accessToken, 'session.signature': newToken(40) })
    const told = await perform(mobile, made)
    refused(told, 'INVALID_REQUEST', /\S/, made.invoiceId)
    assert.ok(!JSON.stringify(told.json).includes(accessToken))
  })
})

describe('when all of this is over', () => {
  it('the merchant’s server was asked about nothing that it did not initiate', () => {
    assert.deepEqual(mobile.shop.strays, [])
  })
})
