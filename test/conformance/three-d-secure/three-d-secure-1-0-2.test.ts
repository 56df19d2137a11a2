import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { deflateRawSync, deflateSync, inflateSync } from 'node:zlib'
import { openWorld } from '../../harness/world/opening.ts'
import { rebillOrder, registered } from '../cards/card.ts'
import {
  accepted,
  encodePairs,
  ledger,
  minorUnits,
  order,
  send,
  serialShape,
  settled,
  status,
  statusOf,
} from '../requests/client.ts'
import type { Changes, Fields, Order, Path } from '../requests/client.ts'
import { begin, line } from '../operations/operations.ts'
import { atPares, forPares, legacyCard, ownForm, paresFields, paresUrl, passPares, throughHtml, uploadPares } from './pares.ts'
import { approvedOnce, atMethod, lasting, methodFields, notNow, post, secureOrder, signedUpload, submit } from './shopper.ts'

/** 3-D Secure 1.0.2: specification A9, choices.md 1, 3 and 5. The upload decides: it is signed. */

const world = await openWorld()

const now = (made: Order): Promise<Fields> => statusOf(world, made, { path: world.endpoints.secure })
const redirect_url = 'https://shop.example/back'

describe('PaReqForm -> upload-pares-result -> approved / sale_approved', { concurrency: 4 }, () => {
  it('the merchant posts PaReq and MD itself, and uploads what came back: async-response with the ids of the order', async () => {
    const { made, seen } = await atPares(world, { amount: '10.5', merchant_data: ' my = data ' })
    assert.equal(line(seen), 'processing sale_3d_validating sale')
    assert.deepEqual(await ledger(world, made.orderid), [], 'nothing charged before')
    const reply = await uploadPares(world, made, await passPares(seen))
    const { orderid, client_orderid, serial } = accepted(reply)
    assert.deepEqual([orderid, client_orderid], [made.orderid, made.client_orderid])
    assert.match(serial, serialShape)
    assert.notEqual(serial, made.serial)
    const known = new Set(['type', 'serial-number', 'merchant-order-id', 'gateway-order-id', 'end-point-id'])
    assert.ok(
      Object.keys(reply).every((name) => known.has(name)),
      JSON.stringify(reply),
    )
    const final = await approvedOnce(world, made)
    assert.deepEqual([line(final), final.amount, final.merchantdata], ['approved sale_approved sale', '10.5', ' my = data '])
    assert.match(final.eci ?? '', /^0[125]$/)
    for (const name of Object.keys(final)) assert.doesNotMatch(name, /^(html|redirect-to|tds-.*)$/)
    const bySerial = await status(world, { client_orderid, orderid, 'by-request-sn': serial })
    assert.deepEqual([bySerial.status, bySerial['by-request-sn'], bySerial.amount], ['approved', serial, '10.5'])
  })
  it('md comes back from the issuer unchanged', async () => {
    const { seen } = await atPares(world)
    assert.equal((await passPares(seen)).md, ownForm(seen).MD)
  })
  it('a merchant that prints html as it is has nothing to upload: the browser brings the answer', async () => {
    const { made, seen } = await atPares(world)
    const form = await throughHtml(seen)
    assert.equal(new URL(form.action).host, new URL(world.baseUrl).host)
    assert.ok((await submit(form)).httpStatus < 400)
    await approvedOnce(world, made)
  })
  it('uploaded and brought by the browser, both: one authorisation', async () => {
    const { made, seen } = await atPares(world)
    const form = await throughHtml(seen)
    const signed = { paRes: form.fields.PaRes ?? '', md: form.fields.MD ?? '' }
    const [reply] = await Promise.all([uploadPares(world, made, signed), submit(form)])
    accepted(reply)
    await approvedOnce(world, made)
  })
  // oxfmt-ignore
  const endings: [string, string, string, string][] = [
    // scenario             status      verified-3d-status   error-code
    ['1.0.2-attempt',     'approved', 'AUTHENTICATED',     ''],
    ['1.0.2-failed',      'declined', 'NOT_AUTHENTICATED', '2001'],
    ['1.0.2-unavailable', 'declined', 'UNSUPPORTED',       '2005'],
  ]
  for (const [scenario, ending, verified, code] of endings) {
    it(`${scenario}: ${ending}, ${verified} ${code}`, async () => {
      const made = await secureOrder(world, await legacyCard(world, scenario))
      accepted(await uploadPares(world, made, await passPares(await forPares(world, made))))
      const final = await settled(world, made)
      assert.deepEqual([line(final), final['verified-3d-status']], [`${ending} sale_${ending} sale`, verified])
      assert.equal(final['error-code'] ?? '', code)
      assert.equal((await ledger(world, made.orderid)).length, ending === 'approved' ? 1 : 0)
    })
  }
  it('three wrong passwords: declined, NOT_AUTHENTICATED', async () => {
    const { made, seen } = await atPares(world)
    accepted(await uploadPares(world, made, await passPares(seen, 'wrong')))
    const final = await settled(world, made)
    assert.deepEqual([final.status, final['verified-3d-status']], ['declined', 'NOT_AUTHENTICATED'])
  })
  it('authenticated, and then declined by the acquirer', async () => {
    const { made, seen } = await atPares(world, { cvv2: '116' })
    accepted(await uploadPares(world, made, await passPares(seen)))
    const final = await settled(world, made)
    assert.deepEqual([final.status, final['error-code'], final['verified-3d-status']], ['declined', '116', 'AUTHENTICATED'])
  })
  it('a preauth: auth_3d_validating, then auth_approved', async () => {
    const credit_card_number = await legacyCard(world)
    const path = world.endpoints.secure
    const made = accepted(await begin(world, 'preauth', { credit_card_number, redirect_url }, { path }))
    const seen = await forPares(world, made)
    assert.equal(line(seen), 'processing auth_3d_validating preauth')
    accepted(await uploadPares(world, made, await passPares(seen)))
    assert.equal(line(await approvedOnce(world, made)), 'approved auth_approved preauth')
  })
  it('a recurrent payment that the cardholder starts', async () => {
    const { ref } = await registered(world, { credit_card_number: await legacyCard(world) })
    const path = world.endpoints.secure
    const made = await rebillOrder(world, ref, { recurrent_initiator: 'CARDHOLDER', redirect_url }, { path })
    accepted(await uploadPares(world, made, await passPares(await forPares(world, made))))
    await approvedOnce(world, made)
  })
  it('the request has minor units, currency and exponent, but no card number', async () => {
    const { seen } = await atPares(world, { amount: '1234.5' })
    const xml = inflateSync(Buffer.from(seen['tds-pareq-form-pareq'] ?? '', 'base64')).toString('utf8')
    const value = (name: string): string => new RegExp(`<${name}>([^<]*)</${name}>`).exec(xml)?.[1] ?? ''
    const sums = ['purchAmount', 'currency', 'exponent', 'amount'].map(value)
    assert.deepEqual(sums, [minorUnits('1234.5', 2), '840', '2', '1234.5 USD'])
    assert.match(value('expiry'), /^[0-9]{2}12$/)
    assert.equal(Buffer.from(value('xid'), 'base64').length, 20)
    const card = await legacyCard(world)
    assert.ok(!xml.includes(card) && !JSON.stringify(seen).includes(card))
  })
  const ways: [string, () => Path][] = [
    ['its group', () => world.groups.multi_secure],
    ['group/ and its group', () => `group/${world.groups.multi_secure}`],
    ['another endpoint of the merchant', () => world.endpoints.plain],
  ]
  for (const [what, path] of ways) {
    it(`uploaded through ${what}: approved`, async () => {
      const { made, seen } = await atPares(world)
      accepted(await uploadPares(world, made, await passPares(seen), {}, { path: path() }))
      await approvedOnce(world, made)
    })
  }
})

describe('a repeat or a late upload: async-response, no effect', { concurrency: 4 }, () => {
  it('eight simultaneous uploads make one authorisation, and a ninth later changes nothing', async () => {
    const { made, seen } = await atPares(world)
    const signed = await passPares(seen)
    for (const reply of await Promise.all(Array.from({ length: 8 }, () => uploadPares(world, made, signed)))) accepted(reply)
    const final = await approvedOnce(world, made)
    accepted(await uploadPares(world, made, signed))
    assert.deepEqual(lasting(await settled(world, made)), lasting(final))
    assert.equal((await ledger(world, made.orderid)).length, 1)
  })
  it('a good one after a decline does not revive the order', async () => {
    const { made, seen } = await atPares(world)
    const signed = await passPares(seen)
    const forged = closed(opened(signed.paRes).replace(/<purchAmount>\d+</, '<purchAmount>1<'))
    accepted(await uploadPares(world, made, { ...signed, paRes: forged }))
    const final = await settled(world, made)
    assert.equal(final.status, 'declined')
    accepted(await uploadPares(world, made, signed))
    assert.deepEqual(lasting(await settled(world, made)), lasting(final))
    assert.deepEqual(await ledger(world, made.orderid), [])
  })
})

const opened = (paRes: string): string => inflateSync(Buffer.from(paRes, 'base64')).toString('utf8')
const closed = (xml: string): string => deflateSync(Buffer.from(xml, 'utf8')).toString('base64')
const inLines = (text: string, between: string): string => (text.match(/.{1,76}/g) ?? []).join(between)

describe('a PARes that fails a check: async-response, and the order is declined', { concurrency: 4 }, () => {
  // oxfmt-ignore
  const forgeries: [string, (xml: string) => string][] = [
    ['N made Y',              (xml) => xml.replace(/<status>N<\/status>/, '<status>Y</status>')],
    ['another amount',        (xml) => xml.replace(/<purchAmount>\d+</, '<purchAmount>1<')],
    ['a time of its own',     (xml) => xml.replace(/<time>[^<]*</, '<time>20300101 00:00:00<')],
    ['no signature',          (xml) => xml.replace(/<(\w+:)?Signature[\s>][^]*<\/(\w+:)?Signature>/, '')],
    ['a doctype',             (xml) => xml.replace(/(<\?xml[^>]*\?>)?/, '$1<!DOCTYPE ThreeDSecure [<!ENTITY x "y">]>')],
  ]
  for (const [what, forge] of forgeries) {
    it(`${what}: never authorised`, async () => {
      const { made, seen } = await atPares(world)
      const { paRes, md } = await passPares(seen, what === 'N made Y' ? 'wrong' : 'hint')
      const forged = forge(opened(paRes))
      assert.notEqual(forged, opened(paRes), 'the message was changed')
      accepted(await uploadPares(world, made, { paRes: closed(forged), md }))
      const final = await settled(world, made)
      assert.equal(final.status, 'declined')
      assert.match(final['error-code'] ?? '', /^2[0-9]{3}$/)
      assert.notEqual(final['verified-3d-status'], 'AUTHENTICATED')
      assert.deepEqual(await ledger(world, made.orderid), [])
    })
  }
  it('that of another order, though of the same card and amount', async () => {
    const [mine, other] = await Promise.all([atPares(world), atPares(world)])
    const { paRes } = await passPares(other.seen)
    accepted(await uploadPares(world, mine.made, { paRes, md: ownForm(mine.seen).MD ?? '' }))
    assert.equal((await settled(world, mine.made)).status, 'declined')
    assert.deepEqual(await ledger(world, mine.made.orderid), [])
  })
})

describe('a PARes is read however it was wrapped', { concurrency: 4 }, () => {
  // oxfmt-ignore
  const wraps: [string, (paRes: string) => string][] = [
    ['in lines with CR LF',           (paRes) => inLines(paRes, '\r\n')],
    ['in lines with LF, one behind',  (paRes) => `${inLines(paRes, '\n')}\n`],
    ['with each plus made a blank',   (paRes) => paRes.replaceAll('+', ' ')],
    ['as raw DEFLATE',                (paRes) => deflateRawSync(Buffer.from(opened(paRes), 'utf8')).toString('base64')],
  ]
  for (const [what, wrap] of wraps) {
    it(`${what}: approved`, async () => {
      const { made, seen } = await atPares(world)
      const { paRes, md } = await passPares(seen)
      accepted(await uploadPares(world, made, { paRes: wrap(paRes), md }))
      await approvedOnce(world, made)
    })
  }
})

describe('a step not yet reached: 9, and the order goes on', { concurrency: 4 }, () => {
  it('a PARes for an order at MethodUrlFrame, and for one without 3-D Secure', async () => {
    const framed = (await atMethod(world, 'frictionless')).made
    const { seen } = await atPares(world)
    const signed = await passPares(seen)
    notNow(await uploadPares(world, framed, signed), framed)
    assert.equal((await now(framed))['tds-status'], 'MethodUrlFrame')
    const plain = await order(world, { cvv2: '217' })
    notNow(await uploadPares(world, plain, signed, {}, { path: world.endpoints.plain }), plain)
  })
  it('a method result and a CRes for an order at PaReqForm', async () => {
    const { made, seen } = await atPares(world)
    const frame = await atMethod(world, 'frictionless')
    notNow(await post(world, 'method-url', signedUpload(world, made, methodFields(frame.seen))), made)
    assert.deepEqual(lasting(await now(made)), lasting(seen))
  })
})

describe('with Accept: application/vnd.pay+json', { concurrency: 4 }, () => {
  it('an accepted upload is HTTP 200, a missing field 400, a wrong control 403, an unknown endpoint 404', async () => {
    const { made, seen } = await atPares(world)
    const signed = await passPares(seen)
    const json = async (changes: Changes, path?: number): Promise<[number, Fields]> => {
      const body = encodePairs(Object.entries(paresFields(world, made, signed, changes)))
      const answer = await send('POST', paresUrl(world, path), body, { accept: 'application/vnd.pay+json' })
      return [answer.httpStatus, JSON.parse(answer.body)]
    }
    const outline = async (...asked: Parameters<typeof json>) => {
      const [httpStatus, { type, 'error-code': code }] = await json(...asked)
      return [httpStatus, type, code]
    }
    assert.deepEqual(await outline({ md: undefined }), [400, 'validation-error', '1'])
    assert.deepEqual(await outline({ control: 'x' }), [403, 'validation-error', '2'])
    assert.deepEqual(await outline({}, 999_999_999), [404, 'validation-error', '4'])
    assert.deepEqual(await outline({}), [200, 'async-response', undefined])
    await approvedOnce(world, made)
  })
})
