import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { deflateSync, inflateSync } from 'node:zlib'
import { accepted, invalid, newOrderId, refused, required, sale, status } from '../conformance/client.ts'
import { until } from '../harness/until.ts'
import { openFaultDesk } from '../harness/fault-desk.ts'
import { freePort } from '../harness/port.ts'
import { openReceiver } from '../harness/receiver.ts'
import { startServe } from '../harness/serve.ts'
import { openStage } from '../harness/three-d-secure.ts'
import type { Sold } from '../harness/three-d-secure-merchant.ts'
import { formOf, post } from '../harness/three-d-secure-wire.ts'
import { closing, openWorld } from '../harness/opening.ts'
import { cardOf, openPayer, passable } from './three-d-secure-payer.ts'

/** 3-D Secure 1.0.2, the only version where the browser's message decides: the issuer signed it. */

const merchant = closing(await openReceiver(() => 200))
const world = await openWorld()
const desk = closing(await openFaultDesk(world))
const stage = openStage(world, desk, merchant)
const payer = openPayer(world, stage)

/** How often the directory server was asked about a card since its start. */
async function vereqsOf(card: string): Promise<number> {
  const asked = (await stage.directoryLog()).filter(({ type, direction }) => type === 'VEReq' && direction === 'in')
  return asked.filter(({ message }) => String(message.pan).endsWith(card.slice(-4))).length
}

describe('the way of the specification', { concurrency: 4 }, () => {
  test('PaReqForm: html, redirect-to, request, address and data; the request names the order, but no card', async () => {
    const asked = await payer.atPares(passable(), { amount: '1234.5' })
    const { shown, card } = asked
    assert.deepEqual([shown.type, shown.status, shown['order-stage']], ['status-response', 'processing', 'sale_3d_validating'])
    assert.match(shown['redirect-to'] ?? '', /^http:\/\/[^/]+\/gateway\/3ds\/[A-Za-z0-9_-]{22}$/)
    const { action, fields } = formOf(shown.html ?? '')
    assert.deepEqual(
      [action, fields],
      [asked.acsUrl, { PaReq: asked.pareq, TermUrl: `${shown['redirect-to']}/pares`, MD: asked.md }],
    )
    assert.ok(asked.acsUrl.startsWith(world.acsUrl) && /^[\x21-\x7e]{1,1024}$/.test(asked.md))
    for (const name of ['tds-creq-form-creq', 'tds-method-url-frame-3ds-method-url']) assert.equal(shown[name], undefined)
    const xml = inflateSync(Buffer.from(asked.pareq, 'base64')).toString()
    const value = (name: string) => new RegExp(`<${name}>([^<]*)</${name}>`).exec(xml)?.[1]
    assert.deepEqual(['purchAmount', 'currency', 'exponent', 'amount'].map(value), ['123450', '840', '2', '1234.5 USD'])
    assert.match(value('expiry') ?? '', /^[0-9]{2}12$/)
    assert.equal(Buffer.from(value('xid') ?? '', 'base64').length, 20)
    assert.ok(!xml.includes(card) && !JSON.stringify(shown).includes(card))
    assert.equal((await stage.status(asked))['tds-pareq-form-pareq'], asked.pareq, 'the same each time')
  })

  test('upload-pares-result: approved, with eci and verified-3d-status, found by the serial number of the upload', async () => {
    const asked = await payer.atPares()
    const serial = await payer.taken(asked, await payer.answered(asked))
    const { client_orderid, orderid } = asked
    const seen = await stage.ended(asked)
    assert.deepEqual(
      [seen.status, seen['order-stage'], seen['verified-3d-status'], seen.eci],
      ['approved', 'sale_approved', 'AUTHENTICATED', '05'],
    )
    await stage.isApproved(asked)
    const found = await status(world, { client_orderid, orderid, 'by-request-sn': serial }, { path: world.endpoints.secure })
    assert.deepEqual([found['gateway-order-id'] ?? found['paynet-order-id'], found.status], [orderid, 'approved'])
  })

  // oxfmt-ignore
  const ends: [string, string, password: string, end: string, code: string | undefined, verified: string, eci: string | undefined][] = [
    ['Y',                         cardOf(0, 'mastercard'), 'hint',  'approved', undefined, 'AUTHENTICATED',     '02'],
    ['A',                         cardOf(1),               'hint',  'approved', undefined, 'AUTHENTICATED',     '06'],
    ['A',                         cardOf(1, 'mastercard'), 'hint',  'approved', undefined, 'AUTHENTICATED',     '01'],
    ['N',                         cardOf(2),               'hint',  'declined', '2001',    'NOT_AUTHENTICATED', '07'],
    ['N after three wrong tries', cardOf(0, 'visa', 9),    'wrong', 'declined', '2001',    'NOT_AUTHENTICATED', '07'],
    ['U',                         cardOf(4),               'hint',  'declined', '2005',    'UNSUPPORTED',       '07'],
  ]
  for (const [what, card, password, end, code, verified, eci] of ends)
    test(`${what} of ${card.startsWith('4') ? 'Visa' : 'Mastercard'}: ${end}, ${verified}`, async () => {
      const asked = await payer.atPares(card)
      await payer.taken(asked, await payer.answered(asked, password))
      const seen = await stage.ended(asked)
      assert.deepEqual([seen.status, seen['error-code'], seen['verified-3d-status'], seen.eci], [end, code, verified, eci])
      assert.deepEqual(await stage.states(asked), end === 'approved' ? ['approved'] : [])
    })

  // oxfmt-ignore
  const enrolments: [string, card: string, fault: object | undefined, code: string][] = [
    ['N',                        '4000000000000002',  undefined,                                     '2006'],
    ['U',                        cardOf(5),           undefined,                                     '2005'],
    ['an Error',                 cardOf(9),           undefined,                                     '2008'],
    ['HTTP 503',                 cardOf(0, 'visa', 8), { message: 'VEReq', http_status: 503 },       '2008'],
    ['what is no message',       cardOf(6, 'visa', 8), { message: 'VEReq', garbage: true },          '2008'],
    ['the VERes of another',     cardOf(6, 'visa', 9), { message: 'VEReq', wrong_ids: true },        '2008'],
    ['a script for an address',  cardOf(8, 'visa', 9), { veres_url: 'javascript:alert(1)' },         '2008'],
  ]
  for (const [what, card, fault, code] of enrolments)
    test(`the directory server answers ${what}: declined ${code}, and nobody is asked for a password`, async () => {
      if (fault) await stage.directory({ card, times: 1, ...fault })
      const sold = await stage.sell({ credit_card_number: card })
      await stage.isRefused(sold, 'declined', code)
      await payer.unmoved(sold, { paRes: 'eJwDAAAAAAE=', md: 'x' })
    })
})

describe('what is refused has no effect', { concurrency: 4 }, () => {
  test('a wrong control is 2, a missing field 1, one that is too long 3; and the order waits on', async () => {
    const asked = await payer.atPares()
    const answer = await payer.answered(asked)
    const wrong = createHash('sha1').update('wrong').digest('hex')
    refused(await payer.upload(asked, answer, { control: wrong }), 2, 'INVALID_CONTROL_CODE')
    refused(await payer.upload(asked, answer, {}, { as: world.other, path: world.other.endpoint }), 6)
    for (const name of ['paRes', 'md', 'login', 'client-order-id', 'orderid', 'control'])
      for (const value of [undefined, '', '  ']) refused(await payer.upload(asked, answer, { [name]: value }), 1, required(name))
    refused(await payer.upload(asked, answer, { paRes: 'A'.repeat(10_241) }), 3, invalid('paRes'))
    refused(await payer.upload(asked, answer, { md: 'm'.repeat(1_025) }), 3, invalid('md'))
    assert.equal((await stage.status(asked))['tds-status'], 'PaReqForm')
    // As others spell it, and by the path of a group.
    const spelled = { 'client-order-id': undefined, client_orderid: asked.client_orderid }
    const reply = await payer.upload(asked, answer, spelled, { path: `group/${world.groups.multi_secure}` })
    assert.equal(reply.type, 'async-response', JSON.stringify(reply))
    await stage.isApproved(asked)
  })

  test('before its step, and for an order of 3-D Secure 2.x or of none, it is 9', async () => {
    const [framed, plain] = [await stage.atMethod(), await sale(world, { client_orderid: newOrderId() })]
    const card = cardOf(0, 'mastercard', 7)
    await stage.directory({ card, message: 'VEReq', times: 1, delay_ms: 5_000 })
    const sold = await stage.sell({ credit_card_number: card })
    const answer = { paRes: 'eJwDAAAAAAE=', md: 'x' }
    for (const one of [sold, framed]) refused(await payer.upload(one, answer), 9)
    const made = { ...sold, orderid: plain['gateway-order-id']!, client_orderid: plain['merchant-order-id']! }
    refused(await payer.upload(made, answer, {}, { path: world.endpoints.plain }), 9)
    assert.equal((await stage.status(framed))['tds-status'], 'MethodUrlFrame')
    assert.equal(await vereqsOf(framed.card), 0, 'a card of 2.x is not asked about by 1.0.2')
    await until(
      () => stage.status(sold),
      (seen) => seen['tds-status'] === 'PaReqForm',
    )
    await stage.hurry(sold)
    await stage.isRefused(sold, 'declined', '2009')
    await payer.unmoved(sold, answer)
  })

  test('a repeat and another answer that comes late change nothing, whatever came first', async () => {
    const [one, other] = [await payer.atPares(), await payer.atPares(cardOf(2))]
    const [yes, no] = [await payer.answered(one), await payer.answered(other)]
    await payer.taken(one, yes)
    await stage.isApproved(one)
    for (const late of [yes, no, { ...no, md: 'x' }]) await payer.unmoved(one, late)
    await payer.taken(other, no)
    await stage.isRefused(other, 'declined', '2001')
    for (const late of [no, yes]) await payer.unmoved(other, late)
  })
})

describe('a PARes that proves nothing is declined, and nothing is at the acquirer', { concurrency: 4 }, () => {
  // oxfmt-ignore
  const forged = [
    'wrong root', 'foreign key', 'wrong digest', 'wrong signature', 'no signature', 'altered amount', 'other currency', 'other purchase', 'other card', 'tampered',
    'no proof', 'unsigned first', 'unsigned last', 'comment', 'doctype', 'hmac', 'exclusive c14n', 'transform', 'bomb',
  ]
  for (const pares of forged)
    test(`${pares}: 2011, and the good one does not help any more`, async () => {
      const asked = await payer.atPares()
      await payer.script({ card: asked.card, pares })
      await payer.taken(asked, await payer.answered(asked))
      await stage.isRefused(asked, 'declined', '2011')
      // Asked by way of another TermUrl, the issuer gives a good one.
      const again = formOf(await post(asked.acsUrl, { PaReq: asked.pareq, TermUrl: 'https://shop.example/2', MD: asked.md }))
      const page = await post(new URL(again.action, asked.acsUrl).href, { ...again.fields, action: 'submit', password: 'hint' })
      await payer.unmoved(asked, { paRes: formOf(page).fields.PaRes ?? '', md: asked.md })
    })

  test('N with a proof is N', async () => {
    const asked = await payer.atPares()
    await payer.script({ card: asked.card, pares: 'proof of N' })
    await payer.taken(asked, await payer.answered(asked))
    await stage.isRefused(asked, 'declined', '2001')
  })

  test('the certificates in another order are no fault', async () => {
    const asked = await payer.atPares()
    await payer.script({ card: asked.card, pares: 'leaf last' })
    await payer.taken(asked, await payer.answered(asked))
    await stage.isApproved(asked)
  })

  test('the answer of another order with the same card and amount, under either MD, or replayed: 2011', async () => {
    const card = passable()
    const [first, second, third, fourth] = [
      await payer.atPares(card),
      await payer.atPares(card),
      await payer.atPares(card),
      await payer.atPares(card),
    ]
    const answer = await payer.answered(first)
    await payer.taken(second, answer)
    await payer.taken(third, { ...answer, md: third.md })
    await payer.script({ card, pares: 'replay' })
    await payer.taken(fourth, await payer.answered(fourth))
    for (const one of [second, third, fourth]) await stage.isRefused(one, 'declined', '2011')
    await payer.taken(first, answer)
    await stage.isApproved(first)
  })

  test('an amount that the browser changed on the way to the issuer comes back signed, and is 2011', async () => {
    const asked = await payer.atPares()
    const cheap = inflateSync(Buffer.from(asked.pareq, 'base64')).toString().replace('<purchAmount>1050<', '<purchAmount>10<')
    await payer.taken(asked, await payer.answered({ ...asked, pareq: deflateSync(cheap).toString('base64') }))
    await stage.isRefused(asked, 'declined', '2011')
  })

  test('data that cannot be inflated or is no base64 is refused with code 3, and the good one still counts', async () => {
    const asked = await payer.atPares()
    const good = await payer.answered(asked)
    for (const paRes of ['AAAA', '*', 'PFBBUmVzLz4=']) {
      const reply = await payer.upload(asked, { ...good, paRes })
      assert.deepEqual([reply.type, reply['error-code']], ['validation-error', '3'], JSON.stringify(reply))
    }
    await payer.taken(asked, good)
    await stage.isApproved(asked)
  })

  test('another MD with a good PARes: never authorised', async () => {
    for (const spoil of [{ md: 'x' }, { md: 'A'.repeat(1_024) }]) {
      const asked = await payer.atPares()
      await payer.taken(asked, { ...(await payer.answered(asked)), ...spoil })
      await stage.isRefused(asked, 'declined', '2011')
    }
  })
})

test('uploads side by side are one authorisation, and of a good and a forged one the first counts alone', async () => {
  const [one, other] = [await payer.atPares(), await payer.atPares()]
  const [good, yes] = [await payer.answered(one), await payer.answered(other)]
  await Promise.all(Array.from({ length: 4 }, () => payer.taken(one, good)))
  await stage.isApproved(one)
  await Promise.all([payer.taken(other, yes), payer.taken(other, { ...yes, md: 'x' }), payer.taken(other, yes)])
  const { status: end } = await stage.ended(other)
  assert.deepEqual(await stage.states(other), end === 'approved' ? ['approved'] : [])
  assert.ok(end === 'approved' || end === 'declined')
})

test('killed while orders wait: the answer counts afterwards, once; a question under way is not asked again', async () => {
  const [asked, lost] = [await payer.atPares(), cardOf(0, 'mastercard', 3)]
  const answer = await payer.answered(asked)
  // Killed between telling an outcome and noting that, it would tell it again.
  const untold = () => desk.rows(`select from delivery where state = 'due'`)
  assert.deepEqual(await until(untold, ({ length }) => length === 0), [])
  await stage.directory({ card: lost, message: 'VEReq', delay_ms: 5_000 })
  const sold = await stage.sell({ credit_card_number: lost })
  const asks = () => vereqsOf(lost)
  assert.equal(await until(asks, (count) => count > 0), 1)
  await world.crash()
  const shown = await stage.status(asked)
  for (const name of ['pareq', 'acs-url', 'md'])
    assert.equal(shown[`tds-pareq-form-${name}`], asked.shown[`tds-pareq-form-${name}`])
  await Promise.all([payer.taken(asked, answer), payer.taken(asked, answer)])
  await stage.isApproved(asked)
  await payer.unmoved(asked, answer)
  await stage.isRefused(sold, 'declined', '2008')
  assert.equal(await asks(), 0)
})

test('an installation that names no directory server of 1.0.2 asks none', async () => {
  const file = join(world.directory, 'three-d-secure.json')
  const pem = (name: string) => join(world.directory, 'certificates', name)
  const own = { certificate: pem('gateway.pem'), key: pem('gateway.key') }
  // oxfmt-ignore
  const results = {
    host: '127.0.0.1', port: await freePort(), url: 'https://results.example/3ds/results',
    certificate: pem('gateway-results.pem'), key: pem('gateway-results.key'), directory_server_authority: pem('ds-ca.pem'),
  }
  const areqs = { areq_url: 'https://ds.example/areq', authority: pem('ds-ca.pem'), ...own }
  const servers = [{ name: 'simulated', common_name: 'directory-server', ...areqs }]
  writeFileSync(file, JSON.stringify({ server_ref_number: 'SIM_TEST', results, directory_servers: servers }))
  const env = { THREE_DS_CONFIG: file, PUBLIC_URL: 'https://pay.example' }
  Object.assign(process.env, env)
  const served = await startServe(world).finally(() => Object.keys(env).forEach((name) => delete process.env[name]))
  try {
    const path = served.world.endpoints.secure
    const card = cardOf(0, 'visa', 7)
    const made = await sale(served.world, { credit_card_number: card, redirect_url: 'https://shop.example/back' }, { path })
    const sold: Sold = { ...accepted(made), card, amountMinor: '1050', transId: '', page: '' }
    await stage.isRefused(sold, 'declined', '2006')
    assert.equal(await vereqsOf(card), 0)
    assert.deepEqual(
      (await stage.events(sold)).filter((name) => name.includes('enrol')),
      [],
    )
  } finally {
    await served.stop()
  }
})

test('where the merchant takes what the issuer cannot say, U is charged with the eci of no proof', async () => {
  const policy = JSON.stringify({ authenticationPolicy: { unavailable: 'authorise' } })
  await desk.rows('update endpoint set settings = settings || $1::jsonb where endpoint_id = $2', [policy, world.endpoints.secure])
  await desk.rows('update config_version set version = version + 1')
  const sell = async () => {
    const asked = await payer.atPares(cardOf(4))
    await payer.taken(asked, await payer.answered(asked))
    return { asked, seen: await stage.ended(asked) }
  }
  const { asked, seen } = await until(sell, (last) => last.seen.status === 'approved')
  assert.deepEqual([seen['verified-3d-status'], seen.eci], ['UNSUPPORTED', '07'])
  await stage.isApproved(asked)
})

test('in the end the books are equal, no secret is left, and each outcome had one callback', async () => {
  assert.deepEqual(await stage.complaints(), [])
})
