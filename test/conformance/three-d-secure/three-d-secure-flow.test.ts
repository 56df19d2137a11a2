import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { openWorld } from '../../harness/world/opening.ts'
import { accepted, ledger, order, serialShape, settled, statusOf, type Changes, type Fields } from '../requests/client.ts'
import { until } from '../../harness/clock/until.ts'
import { answerChallenge, atChallenge, atMethod, cardOf, decoded, formsOf, load, notificationUrl } from './shopper.ts'
import { openMethod, passChallenge, secureOrder, submit, uploadCres, uploadMethod, waitsFor } from './shopper.ts'

/** Every row of the table of states for 3-D Secure 2.x, and what the browser receives. */

/** One frictionless sale and one with a challenge, as they were polled at each step. */
const at: Record<string, Fields> = {}

// oxfmt-ignore
const customer: Changes = {
  amount: '10.5', phone: '+4912345678', first_name: 'Ada', last_name: 'Lovelace',
  card_printed_name: 'A LOVELACE', merchant_data: ' my = data ', cvv2: '1234',
}

const world = await openWorld()
const number = await cardOf(world, 'challenge')
const quiet = await atMethod(world, 'frictionless', customer)
const frictionless = quiet.made
at.frame = quiet.seen
accepted(await uploadMethod(world, quiet.made, quiet.seen))
at.frictionless = await settled(world, quiet.made)
const loud = await atChallenge(world, 'challenge', customer)
const challenged = loud.made
at.method = loud.method
at.creq = loud.seen
accepted(await uploadCres(world, loud.made, (await passChallenge(loud.seen)).cres))
at.challenged = await settled(world, loud.made)

const seenAt = (step: string): Fields => at[step] ?? {}
const absoluteUrl = /^https?:\/\/[^\s/@]+(\/\S*)?$/
const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i
const stepFields = /^(html|redirect-to|tds-.*)$/

describe('a sale is accepted, and reads processing', { concurrency: 4 }, () => {
  it('the answer is async-response with gateway-order-id, and the first polls show filtering or 3-D Secure', async () => {
    const made = await secureOrder(world, 'challenge')
    const reached = await until(
      async () => {
        const seen = await statusOf(world, made, { path: world.endpoints.secure })
        assert.equal(seen.status, 'processing')
        assert.match(seen['order-stage'] ?? '', /^(sale_filtering|sale_3d_validating)$/)
        if (seen['order-stage'] === 'sale_filtering') assert.equal(seen['tds-status'], undefined)
        return seen
      },
      (seen) => seen['tds-status'] !== undefined,
    )
    assert.equal(reached['tds-status'], 'MethodUrlFrame')
  })
  it('the same sale again answers with that order, and leaves its step as it is', async () => {
    const credit_card_number = number
    const changes = { credit_card_number, redirect_url: 'https://shop.example/back' }
    const { made, seen } = await atMethod(world, number)
    const way = { path: world.endpoints.secure }
    assert.equal((await order(world, { ...changes, client_orderid: made.client_orderid }, way)).orderid, made.orderid)
    const again = await statusOf(world, made, way)
    const transId = 'tds-method-url-frame-3ds-server-trans-id'
    assert.deepEqual([again['tds-status'], again[transId]], ['MethodUrlFrame', seen[transId]])
  })
  it('it is found through its group and through another endpoint, with the same fields of the step', async () => {
    const { made, seen } = await atMethod(world, number)
    for (const path of [`group/${world.groups.multi_secure}`, world.endpoints.euro]) {
      const reply = await statusOf(world, made, { path })
      for (const name of Object.keys(seen).filter((one) => one.startsWith('tds-'))) assert.equal(reply[name], seen[name], name)
    }
  })
})

describe('processing / sale_3d_validating / MethodUrlFrame', { concurrency: 4 }, () => {
  // oxfmt-ignore
  const values: [string, string | undefined][] = [
    ['type', 'status-response'],     ['status', 'processing'],           ['order-stage', 'sale_3d_validating'],  ['tds-status', 'MethodUrlFrame'],
    ['transaction-type', 'sale'],    ['amount', '10.5'],                 ['initial-amount', '10.5'],             ['currency', 'USD'],
    ['name', 'Ada Lovelace'],        ['cardholder-name', 'A LOVELACE'],  ['phone', '+4912345678'],               ['merchantdata', ' my = data '],
    ['error-code', undefined],       ['error-message', undefined],       ['approval-code', undefined],           ['transaction-date', undefined],
    ['tds-creq-form-acs-url', undefined], ['tds-creq-form-creq', undefined], ['tds-pareq-form-pareq', undefined], ['eci', undefined],
  ]
  for (const step of ['frame', 'method']) {
    for (const [name, value] of values) {
      it(`${step}: ${name} is ${value ?? 'left out'}`, () => assert.equal(seenAt(step)[name], value))
    }
    it(`${step}: tds-method-url-frame-3ds-server-trans-id is a UUID`, () => {
      assert.match(seenAt(step)['tds-method-url-frame-3ds-server-trans-id'] ?? '', uuid)
    })
    it(`${step}: tds-method-url-frame-3ds-method-url is absolute`, () => {
      assert.match(seenAt(step)['tds-method-url-frame-3ds-method-url'] ?? '', absoluteUrl)
    })
    it(`${step}: the cardholder is not authenticated yet`, () =>
      assert.equal(seenAt(step)['verified-3d-status'] ?? 'UNKNOWN', 'UNKNOWN'))
  }
  it('each order has a transaction id of its own', () => {
    const name = 'tds-method-url-frame-3ds-server-trans-id'
    assert.notEqual(seenAt('frame')[name], seenAt('method')[name])
  })
  it('html is a page that sends a form to the method URL by itself, with the same transaction id', () => {
    const seen = seenAt('method')
    assert.match(seen.html ?? '', /<html[\s>]/i)
    assert.match(seen.html ?? '', /<script[\s>].*submit/is)
    const form = formsOf(seen.html ?? '', 'https://shop.example/page').find(({ fields }) => 'threeDSMethodData' in fields)
    assert.ok(form, seen.html)
    assert.deepEqual([form.method, form.action], ['post', new URL(seen['tds-method-url-frame-3ds-method-url'] ?? '').href])
    const data = form.fields.threeDSMethodData ?? ''
    assert.match(data, /^[A-Za-z0-9_-]+$/, 'base64url without padding')
    const told = decoded(data)
    assert.equal(told.threeDSServerTransID, seen['tds-method-url-frame-3ds-server-trans-id'])
    assert.match(String(told.threeDSMethodNotificationURL), absoluteUrl)
    assert.ok(String(told.threeDSMethodNotificationURL).length <= 256)
  })
  it('the form of html is taken by the method URL', async () => {
    const { seen } = await atMethod(world, number)
    const form = formsOf(seen.html ?? '', 'https://shop.example/').find(({ fields }) => 'threeDSMethodData' in fields)
    assert.ok(form)
    assert.equal((await submit(form)).httpStatus, 200)
  })
  it('the method URL answers through the browser at the notification URL it was given, with the transaction id', async () => {
    const { seen } = await atMethod(world, number)
    const page = await openMethod(seen, 'https://shop.example/method-done')
    assert.equal(page.httpStatus, 200)
    const form = page.forms.find(({ fields }) => 'threeDSMethodData' in fields)
    assert.ok(form, page.body)
    assert.deepEqual([form.method, form.action], ['post', 'https://shop.example/method-done'])
    const transId = seen['tds-method-url-frame-3ds-server-trans-id']
    assert.equal(decoded(form.fields.threeDSMethodData ?? '').threeDSServerTransID, transId)
  })
  it('nothing was sent to the acquirer yet', async () => {
    const { made } = await atMethod(world, number)
    assert.deepEqual(await ledger(world, made.orderid), [])
  })
})

describe('MethodUrlFrame -> upload-method-url-result, frictionless -> approved / sale_approved', { concurrency: 4 }, () => {
  // oxfmt-ignore
  const values: [string, string][] = [
    ['status', 'approved'],          ['order-stage', 'sale_approved'],   ['verified-3d-status', 'AUTHENTICATED'], ['transaction-type', 'sale'],
    ['amount', '10.5'],              ['name', 'Ada Lovelace'],           ['merchantdata', ' my = data '],        ['currency', 'USD'],
  ]
  for (const [name, value] of values) it(`${name} is ${value}`, () => assert.equal(seenAt('frictionless')[name], value))
  it('processor-tx-id is SIM-<orderid>', () => {
    assert.equal(seenAt('frictionless')['processor-tx-id'], `SIM-${frictionless.orderid}`)
  })
  const shapes: [string, RegExp][] = [
    ['descriptor', /\S/],
    ['eci', /^0[25]$/],
    ['approval-code', /^[A-Z0-9]{6}$/i],
    ['processor-rrn', /^\S+$/],
    ['receipt-id', serialShape],
  ]
  for (const [name, shape] of shapes)
    it(`${name} has the shape ${shape}`, () => assert.match(seenAt('frictionless')[name] ?? '', shape))
})

describe('MethodUrlFrame -> upload-method-url-result, challenge -> processing / sale_3d_validating / CReqForm', () => {
  // oxfmt-ignore
  const values: [string, string | undefined][] = [
    ['status', 'processing'],        ['order-stage', 'sale_3d_validating'], ['tds-status', 'CReqForm'],          ['transaction-type', 'sale'],
    ['error-code', undefined],       ['approval-code', undefined],       ['transaction-date', undefined],        ['amount', '10.5'],
    ['tds-method-url-frame-3ds-server-trans-id', undefined],             ['tds-method-url-frame-3ds-method-url', undefined],
    ['tds-pareq-form-pareq', undefined], ['tds-pareq-form-acs-url', undefined], ['tds-pareq-form-md', undefined],
  ]
  for (const [name, value] of values) it(`${name} is ${value ?? 'left out'}`, () => assert.equal(seenAt('creq')[name], value))
  it('eci is there, of two characters', () => assert.match(seenAt('creq').eci ?? '', /^[0N][0-9]$/))
  it('tds-creq-form-acs-url is absolute', () => assert.match(seenAt('creq')['tds-creq-form-acs-url'] ?? '', absoluteUrl))
  it('tds-creq-form-creq is base64url without padding of a CReq of this transaction', () => {
    const creq = seenAt('creq')['tds-creq-form-creq'] ?? ''
    assert.match(creq, /^[A-Za-z0-9_-]+$/)
    const told = decoded(creq)
    assert.equal(told.messageType, 'CReq')
    assert.match(String(told.messageVersion), /^2\.[0-9]\.[0-9]$/)
    assert.equal(told.threeDSServerTransID, seenAt('method')['tds-method-url-frame-3ds-server-trans-id'])
    assert.match(String(told.acsTransID), uuid)
    assert.match(String(told.challengeWindowSize), /^0[1-5]$/)
  })
  it('html is a page that sends this CReq to the ACS by itself', () => {
    const seen = seenAt('creq')
    assert.match(seen.html ?? '', /<html[\s>]/i)
    assert.match(seen.html ?? '', /<script[\s>].*submit/is)
    const form = formsOf(seen.html ?? '', 'https://shop.example/page').find(({ fields }) => 'creq' in fields)
    assert.ok(form, seen.html)
    assert.deepEqual([form.method, form.action], ['post', new URL(seen['tds-creq-form-acs-url'] ?? '').href])
    assert.equal(form.fields.creq, seen['tds-creq-form-creq'])
  })
  it('nothing was sent to the acquirer yet', async () => {
    const { made } = await atChallenge(world)
    assert.deepEqual(await ledger(world, made.orderid), [])
  })
})

describe('CReqForm -> upload-cres-result, challenge completed -> approved / sale_approved', { concurrency: 4 }, () => {
  const values: [string, string][] = [
    ['status', 'approved'],
    ['order-stage', 'sale_approved'],
    ['verified-3d-status', 'AUTHENTICATED'],
    ['amount', '10.5'],
  ]
  for (const [name, value] of values) it(`${name} is ${value}`, () => assert.equal(seenAt('challenged')[name], value))
  it('processor-tx-id is SIM-<orderid>', () => {
    assert.equal(seenAt('challenged')['processor-tx-id'], `SIM-${challenged.orderid}`)
  })
  it('the issuer answers with a CRes of this transaction at the notification URL', async () => {
    const { made, method, seen } = await atChallenge(world)
    const { cres, action, asked } = await passChallenge(seen)
    assert.deepEqual([action, asked], [notificationUrl, 1])
    const told = decoded(cres)
    assert.deepEqual([told.messageType, told.transStatus], ['CRes', 'Y'])
    assert.equal(told.threeDSServerTransID, method['tds-method-url-frame-3ds-server-trans-id'])
    assert.equal(told.acsTransID, decoded(seen['tds-creq-form-creq'] ?? '').acsTransID)
    accepted(await uploadCres(world, made, cres))
    assert.equal((await settled(world, made)).status, 'approved')
  })
  it('a merchant that prints html as it is comes to the same end', async () => {
    const { made, seen } = await atChallenge(world)
    const form = formsOf(seen.html ?? '', 'https://shop.example/').find(({ fields }) => 'creq' in fields)
    assert.ok(form)
    const { cres, action } = await answerChallenge(await submit(form))
    assert.equal(action, notificationUrl)
    accepted(await uploadCres(world, made, cres))
    assert.equal((await settled(world, made)).status, 'approved')
  })
  it('when it is over each order was authorised once', async () => {
    for (const { orderid } of [frictionless, challenged]) {
      const books = await ledger(world, orderid)
      assert.deepEqual([books.length, books[0]?.state], [1, 'approved'])
    }
  })
  for (const step of ['frictionless', 'challenged']) {
    it(`${step}: a final order shows no field of a step`, () => {
      assert.deepEqual(
        Object.keys(seenAt(step)).filter((name) => stepFields.test(name)),
        [],
      )
    })
  }
})

describe('without notificationURL the gateway’s own is used', { concurrency: 4 }, () => {
  const atOwn = async () => {
    const { made, seen } = await atMethod(world, number)
    accepted(await uploadMethod(world, made, seen, { notificationURL: undefined }))
    const passed = await passChallenge(await waitsFor(world, made, 'CReqForm'))
    assert.notEqual(new URL(passed.action).host, new URL(world.acsUrl).host)
    assert.notEqual(new URL(passed.action).host, new URL(notificationUrl).host)
    return { made, ...passed }
  }
  it('the CRes may be uploaded all the same', async () => {
    const { made, cres } = await atOwn()
    accepted(await uploadCres(world, made, cres))
    assert.equal((await settled(world, made)).status, 'approved')
  })
  it('the browser brings the CRes, so the merchant need not upload it', async () => {
    const { made, form } = await atOwn()
    assert.ok((await submit(form)).httpStatus < 400)
    assert.equal((await settled(world, made)).status, 'approved')
  })
})

describe('redirect-to is where the cardholder can be sent', { concurrency: 4 }, () => {
  for (const step of ['frame', 'method', 'creq']) {
    it(`${step}: an absolute URL of at most 128 characters`, () => {
      assert.match(seenAt(step)['redirect-to'] ?? '', absoluteUrl)
      assert.ok((seenAt(step)['redirect-to'] ?? '').length <= 128)
    })
  }
  it('it answers with a page, and refuses a guessed URL', async () => {
    const { seen } = await atMethod(world, number)
    const url = seen['redirect-to'] ?? ''
    const page = await load(url)
    assert.equal(page.httpStatus, 200)
    assert.match(page.contentType, /^text\/html\b/)
    assert.ok(!page.body.includes(number))
    assert.ok((await load(`${url.slice(0, -8)}AAAAAAAA`)).httpStatus >= 400)
  })
})

describe('no card number, CVV2 or authentication value is shown', { concurrency: 4 }, () => {
  /** A cryptogram of 20 bytes in base64, whole. */
  const cryptogram = /^[A-Za-z0-9+/]{27}=$/
  for (const step of ['frame', 'method', 'creq', 'frictionless', 'challenged']) {
    it(`${step}: not in a field of the status, not in html, not in what html carries in base64`, async () => {
      const seen = seenAt(step)
      const cards = [number, await cardOf(world, 'frictionless')]
      const carried = formsOf(seen.html ?? '', 'https://shop.example/').flatMap(({ fields }) => Object.values(fields))
      const inside = carried.map((value) => Buffer.from(value, 'base64').toString('utf8'))
      for (const value of [...Object.values(seen), ...carried, ...inside]) {
        for (const card of cards) assert.ok(!value.includes(card), value)
        assert.notEqual(value, customer.cvv2)
      }
      const { 'card-hash-id': _hash, ...others } = seen
      for (const value of [...Object.values(others), ...carried]) assert.doesNotMatch(value, cryptogram)
      assert.ok(!Object.keys(seen).some((name) => /cavv|authentication-?value|acct|pan\b/i.test(name)))
    })
  }
  it('a CReq has no field but its own', () => {
    const own = new Set([
      'messageType',
      'messageVersion',
      'threeDSServerTransID',
      'acsTransID',
      'challengeWindowSize',
      'messageExtension',
    ])
    const told = Object.keys(decoded(seenAt('creq')['tds-creq-form-creq'] ?? ''))
    assert.deepEqual(
      told.filter((name) => !own.has(name)),
      [],
    )
  })
})
