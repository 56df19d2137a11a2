import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { closing, openWorld } from '../../harness/world/opening.ts'
import { order, settled, status, statusOf as orderStatus } from '../requests/client.ts'
import { until } from '../../harness/clock/until.ts'
import { at, changed, textAt, waits, type Behaviour, type Json, type Kind } from './mobile-merchant.ts'
import { about, askStatus, begin, card, cardAt, empty, ends, newInvoiceId, newToken, openMobile, orderOf } from './mobile.ts'
import { post, refused, rested, statusOf, urlOf, type Accepted } from './mobile.ts'

/** Each state with its fields, and who may ask: choices.md section 8, specification part B. */

const world = await openWorld()
const mobile = await openMobile(world, [world.endpoints.plain, world.endpoints.mobile, world.other.endpoint])
closing(mobile.shop)

const kinds: Kind[] = ['verification', 'sale', 'transfer']
const code = (kind: Kind, securityCode: string): Json => ({ [`${cardAt(kind)}.securityCode`]: securityCode })
const filters: Behaviour = (honest) => {
  const error = { cause: 'FILTERED', code: 'f-1', message: 'not this one' }
  return { status: 400, body: JSON.stringify({ error, invoiceId: honest.invoiceId }) }
}

/** yyyy-MM-dd HH:mm:ss.SSSZ, as 2017-05-10 12:00:00.000+0300; the moment that it names. */
function moment(json: unknown, name: string): number {
  const text = textAt(json, name)
  const found = /^(\d{4}-\d{2}-\d{2}) (\d{2}:\d{2}:\d{2}\.\d{3})([+-]\d{2})(\d{2})$/.exec(text)
  assert.ok(found, `${name} ${text} has the form of 2017-05-10 12:00:00.000+0300`)
  const named = Date.parse(`${found[1]}T${found[2]}${found[3]}:${found[4]}`)
  assert.ok(Math.abs(Date.now() - named) < 120_000, `${text} is now`)
  return named
}

/** The fields of a final answer, each of its form, and no others. */
function final(told: Json, made: Accepted, state: 'APPROVED' | 'DECLINED'): void {
  const { kind, invoiceId, session } = made
  assert.equal(told.state, state, JSON.stringify(told))
  const { bankOrderId, orderId, errorCode, errorMessage, transaction, secure3DAuthStatus, randomSumAuthStatus, ...rest } = told
  assert.deepEqual(rest, { invoiceId, session: { token: session.token }, state })
  assert.ok(typeof bankOrderId === 'string' && /^.{1,128}$/.test(bankOrderId), JSON.stringify(told))
  assert.ok(['AUTHENTICATED', 'NOT_AUTHENTICATED', 'UNSUPPORTED', undefined].some((one) => one === secure3DAuthStatus))
  assert.equal(randomSumAuthStatus, undefined)
  if (state === 'APPROVED') assert.deepEqual([errorCode, errorMessage], [undefined, undefined])
  else {
    assert.ok(Number.isInteger(errorCode), `errorCode in ${JSON.stringify(told)}`)
    assert.ok(typeof errorMessage === 'string' && /^.{1,128}$/.test(errorMessage), JSON.stringify(told))
  }
  if (kind === 'verification') {
    assert.deepEqual([orderId, transaction], [undefined, undefined])
    return
  }
  assert.match(textAt(told, 'orderId'), /^[1-9][0-9]*$/)
  assert.equal(typeof orderId, 'string')
  const { orderCreatedDate: _created, transactionCreatedDate: _ended, ...sums } = (transaction ?? {}) as Json
  assert.deepEqual(sums, { amountCentis: 1050, commissionCentis: 0, currency: 'USD' })
  assert.ok(
    moment(transaction, 'orderCreatedDate') <= moment(transaction, 'transactionCreatedDate'),
    'the order is not younger than its transaction',
  )
}

describe('each state has the fields of its table', { concurrency: 4 }, () => {
  for (const kind of kinds) {
    it(`${kind}: PROCESSING, while the merchant’s server is asked, says nothing else`, async () => {
      const { check, letGo } = waits()
      const made = await begin(mobile, kind, {}, { check })
      const { invoiceId, session } = made
      assert.deepEqual(await statusOf(mobile, made), { invoiceId, session: { token: session.token }, state: 'PROCESSING' })
      letGo()
      final(await rested(mobile, made), made, 'APPROVED')
    })
    it(`${kind}: APPROVED`, async () => {
      const { made, told } = await ends(mobile, 'APPROVED', kind)
      final(told, made, 'APPROVED')
      assert.equal(told.bankOrderId, `SIM-${orderOf(told)}`)
    })
    it(`${kind}: DECLINED by the bank, with its code`, async () => {
      for (const [securityCode, errorCode] of [
        ['116', 116],
        ['119', 119],
        ['209', 209],
        ['999', 100],
      ] as const) {
        const { made, told } = await ends(mobile, 'DECLINED', kind, code(kind, securityCode))
        final(told, made, 'DECLINED')
        assert.equal(told.errorCode, errorCode)
      }
    })
    it(`${kind}: DECLINED because the merchant’s server refused`, async () => {
      const { made, told } = await ends(mobile, 'DECLINED', kind, {}, { check: filters })
      final(told, made, 'DECLINED')
    })
    it(`${kind}: a final answer never changes`, async () => {
      for (const securityCode of ['123', '116']) {
        const made = await begin(mobile, kind, code(kind, securityCode))
        const told = await rested(mobile, made)
        for (let times = 0; times < 3; times += 1) assert.deepEqual(await statusOf(mobile, made), told)
      }
    })
  }
  it('the gateway API knows the order of a sale, and says the same', async () => {
    const { told } = await ends(mobile, 'APPROVED', 'sale')
    const made = { orderid: orderOf(told), client_orderid: textAt(told, 'invoiceId'), serial: '' }
    const seen = await orderStatus(world, made)
    const { status: state, amount, currency, 'processor-tx-id': processor, 'transaction-type': type } = seen
    assert.deepEqual([state, amount, currency, processor, type], ['approved', '10.50', 'USD', told.bankOrderId, 'sale'])
  })
  it('a verification moves no money: it is an account verification', async () => {
    const { told } = await ends(mobile, 'APPROVED', 'verification')
    const seen = await orderStatus(world, { orderid: orderOf(told), client_orderid: textAt(told, 'invoiceId'), serial: '' })
    assert.deepEqual([seen.status, seen['transaction-type']], ['approved', 'account-verification'])
  })
  it('a sale whose outcome is unknown is PROCESSING', async () => {
    const made = await begin(mobile, 'sale', code('sale', '217'))
    const seen = await until(
      () => status(world, { client_orderid: made.invoiceId }),
      ({ status: state }) => state === 'unknown',
    )
    assert.equal(seen.status, 'unknown')
    assert.equal((await statusOf(mobile, made)).state, 'PROCESSING')
  })
})

describe('a stranger gets ORDER_NOT_FOUND', { concurrency: 4 }, () => {
  for (const kind of kinds) {
    const other = kind === 'sale' ? 'verification' : 'sale'
    // oxfmt-ignore
    const strangers: [string, (mine: Accepted, theirs: Accepted) => [Accepted, Accepted['session']]][] = [
      ['an invoice that is not there',                     (mine) => [{ ...mine, invoiceId: newInvoiceId() }, mine.session]],
      ['an endpoint that is not there',                    (mine) => [{ ...mine, endpoint: 999_999_999 }, mine.session]],
      ['another endpoint of the merchant',                 (mine) => [{ ...mine, endpoint: world.endpoints.mobile }, mine.session]],
      ['an endpoint without the mobile API',               (mine) => [{ ...mine, endpoint: world.endpoints.euro }, mine.session]],
      ['another merchant’s endpoint',                      (mine) => [{ ...mine, endpoint: world.other.endpoint }, mine.session]],
      [`the path of a ${other}`,                           (mine) => [{ ...mine, kind: other }, mine.session]],
      ['an access token that never was',                   (mine) => [mine, { ...mine.session, accessToken: newToken() }]],
      ['a session token that never was',                   (mine) => [mine, { ...mine.session, token: newToken(36) }]],
      ['the access token of another invoice',              (mine, theirs) => [mine, { ...mine.session, accessToken: theirs.session.accessToken }]],
      ['the session token of another invoice',             (mine, theirs) => [mine, { ...mine.session, token: theirs.session.token }]],
      ['both tokens of another invoice',                   (mine, theirs) => [mine, theirs.session]],
      ['an access token in capital letters',               (mine) => [mine, { ...mine.session, accessToken: textAt(mine.session, 'accessToken').toUpperCase() }]],
    ]
    for (const [what, ask] of strangers) {
      it(`${kind}: ${what}`, async () => {
        const [mine, theirs] = [await begin(mobile, kind), await begin(mobile, kind)]
        const [made, session] = ask(mine, theirs)
        refused(await askStatus(mobile, made, session), 'ORDER_NOT_FOUND', /\S/, made.invoiceId)
        await statusOf(mobile, mine)
      })
    }
    it(`${kind}: two invoices of one access token are two all the same`, async () => {
      const changes = { 'session.accessToken': newToken() }
      const [one, two] = [await begin(mobile, kind, changes), await begin(mobile, kind, changes)]
      refused(await askStatus(mobile, one, two.session), 'ORDER_NOT_FOUND', /\S/, one.invoiceId)
      await statusOf(mobile, one)
      await statusOf(mobile, two)
    })
  }
  it('an order of the gateway API is no invoice', async () => {
    const made = await order(world)
    await settled(world, made)
    const asked = { kind: kinds[1]!, endpoint: world.endpoints.plain, invoiceId: made.client_orderid }
    const session = { accessToken: newToken(), token: newToken(36) }
    refused(await askStatus(mobile, asked, session), 'ORDER_NOT_FOUND', /\S/, asked.invoiceId)
  })
  it('all strangers get the same answer', async () => {
    const mine = await begin(mobile, 'sale')
    const session = { accessToken: newToken(), token: newToken(36) }
    const told = [
      await askStatus(mobile, mine, session),
      await askStatus(mobile, { ...mine, invoiceId: newInvoiceId() }, mine.session),
      await askStatus(mobile, { ...mine, endpoint: 999_999_999 }, mine.session),
    ]
    assert.equal(new Set(told.map(({ json }) => at(json, 'error.message'))).size, 1)
  })
})

describe('a status request has two fields', { concurrency: 4 }, () => {
  const long = (length: number): string => 'a'.repeat(length)
  // oxfmt-ignore
  const bad: [string, unknown[]][] = [
    ['session.accessToken', [long(31), long(129), 12, true, [], {}]],
    ['session.token',       [long(15), long(37), 12, true, [], {}]],
  ]
  for (const kind of kinds) {
    for (const [path, values] of bad) {
      for (const value of [undefined, null, '', ...values]) {
        const shown = (JSON.stringify(value) ?? 'missing').slice(0, 12)
        const nothing = value === undefined || value === null || value === ''
        it(`${kind}: ${path} ${shown} is INVALID_REQUEST`, async () => {
          const made = await begin(mobile, kind)
          const body = changed({ session: { ...made.session } }, { [path]: value })
          const told = await post(urlOf(mobile, made, '/status'), body)
          refused(told, 'INVALID_REQUEST', nothing ? empty(path) : about(path), made.invoiceId)
        })
      }
    }
    it(`${kind}: other members are ignored`, async () => {
      const made = await begin(mobile, kind)
      const told = await post(urlOf(mobile, made, '/status'), {
        ...made.body,
        session: { ...made.session, nonce: 7 },
        sourceCard: card(),
      })
      assert.equal(told.httpStatus, 200, JSON.stringify(told.json))
    })
  }
})
