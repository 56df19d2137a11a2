import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { Client } from 'pg'
import { ledger, send } from '../../conformance/requests/client.ts'
import { until } from '../../harness/clock/until.ts'
import { closing, openWorld } from '../../harness/world/opening.ts'
import { openApp, type Begun, type Json } from './mobile-app.ts'
import { accessTokenOf, call, initiatePaths, initiation, mapCard } from './mobile-merchant.ts'

/** An app as an enemy: data of one transaction, consumer or merchant is good for no other. */

const world = await openWorld()
const database = closing(new Client({ connectionString: world.databaseUrl }))
await database.connect()
const app = await openApp(world)
closing(app.merchant)
const endpoints = { ...world.endpoints, plain: world.other.endpoint }
/** The world of the second merchant, whose server has a key of its own. */
const other = await openApp({ ...world, merchant: world.other, endpoints }, [world.other.endpoint])
closing(other.merchant)

const causeOf = ({ body }: { body: Json }) => (body.error as Json | undefined)?.['cause']
const messageOf = ({ body }: { body: Json }) => (body.error as Json | undefined)?.['message']
const outcomeOf = ({ state, errorCode }: Json) => [state, errorCode]
const chargedFor = (seen: Json) => ledger(world, seen.orderId as string)
const turned = (text: string) => text.replace(/[a-z]/gi, (c) => (c === c.toLowerCase() ? c.toUpperCase() : c.toLowerCase()))

describe('tokens', () => {
  test('with other letters, blanks, missing parts or of another invoice they are rejected by status and complete', async () => {
    const wish = { endpoint: world.endpoints.mobile_fee }
    const [mine, theirs] = [app.begin('transfer', wish), app.begin('transfer', wish)]
    const [token, theirToken] = [await app.accepted(mine), await app.accepted(theirs)]
    assert.equal((await app.ended(mine, token)).state, 'TRANSFER_FEE_REQUEST')
    const { accessToken } = mine
    // oxfmt-ignore
    const strange: readonly (readonly [accessToken: unknown, token: unknown])[] = [
      [turned(accessToken), token], [accessToken, turned(token)], [` ${accessToken}`, token], [accessToken, `${token} `.slice(1)], [accessToken, token.slice(0, -1)], [accessToken.slice(0, -1), token],
      [`${accessToken}x`, token], [accessToken, theirToken], [theirs.accessToken, token], [theirs.accessToken, theirToken], [token.padEnd(72, 'x'), accessToken.slice(0, 36)],
      [[accessToken], token], [accessToken, [token]], [{ length: 72 }, token], [accessToken, { toString: token }], [accessToken, null], [true, token], [`${accessToken}\0`, token],
      [accessToken, token.replaceAll('-', '\u2010')], [accessToken, token.replaceAll('-', '')],
    ]
    for (const [given, its] of strange)
      for (const last of ['status', 'economy']) {
        const path = `transfer/${mine.endpoint}/${mine.invoiceId}/${last}`
        const answer = await app.post(path, { session: { accessToken: given, token: its } })
        assert.equal(answer.status, 400, JSON.stringify([given, its, answer]))
        if (typeof given === 'string' && typeof its === 'string' && !given.includes('\0'))
          assert.equal(messageOf(answer), 'invoiceId is not known')
      }
    for (const answer of [
      await app.status({ ...mine, invoiceId: '%00' }, token),
      await app.complete({ ...mine, invoiceId: '%00' }, token, 'a'),
    ])
      assert.equal(messageOf(answer), 'invoiceId is not known')
    assert.equal((await app.ended(mine, token)).state, 'TRANSFER_FEE_REQUEST', 'it still waits')
  })

  test('two merchants with one invoice id each see and move only their own, and sign only for themselves', async () => {
    const mine = app.begin('sale')
    const { nonce } = mine.body.session as { nonce: string }
    const { invoiceId, accessToken } = mine
    const theirs = other.begin('sale', { invoiceId, accessToken, nonce, amountCentis: 2_000 })
    const stolen = { ...mine, endpoint: theirs.endpoint }
    await app.refused(stolen, 'INVALID_REQUEST', /signature/)
    const [token, theirToken] = await Promise.all([app.accepted(mine), other.accepted(theirs)])
    assert.notEqual(token, theirToken)
    for (const answer of [await app.status(mine, theirToken), await other.status(theirs, token), await app.status(stolen, token)])
      assert.deepEqual([answer.status, causeOf(answer)], [400, 'ORDER_NOT_FOUND'])
    const [seen, theirSeen] = [await app.ended(mine, token), await other.ended(theirs, theirToken)]
    for (const end of [seen, theirSeen]) assert.deepEqual(outcomeOf(end), ['APPROVED', undefined])
    assert.deepEqual([(await chargedFor(seen)).length, (await chargedFor(theirSeen)).length], [1, 1])
    assert.equal((theirSeen.transaction as Json)['amountCentis'], 2_000)
  })
})

describe('once', () => {
  test('of three kinds with one nonce at the same time, one is accepted', async () => {
    for (let round = 0; round < 4; round++) {
      const nonce = `${round}`.padStart(32, String(Date.now()))
      const all = (['verification', 'sale', 'transfer'] as const).map((kind) => app.begin(kind, { nonce }))
      const answers = await Promise.all(all.map((one) => app.perform(one)))
      assert.equal(answers.filter(({ status }) => status === 200).length, 1)
      for (const answer of answers.filter(({ status }) => status !== 200))
        assert.deepEqual([answer.status, messageOf(answer)], [400, 'session.nonce was used before'])
    }
  })

  for (const [code, next, state] of [
    ['116', '123', 'DECLINED'],
    ['123', '116', 'APPROVED'],
  ] as const)
    test(`performed again with the CVV2 ${next} after ${state} with ${code}: the same answer, and no attempt`, async () => {
      const one = app.begin('sale', { securityCode: code })
      const token = await app.accepted(one)
      const seen = await app.ended(one, token)
      assert.equal(seen.state, state)
      const card = { ...((one.body.sourceOfFunds as Json)['card'] as Json), securityCode: next }
      const again = { ...one, body: { ...one.body, sourceOfFunds: { card } } }
      for (let times = 0; times < 3; times++) assert.equal(await app.accepted(again), token)
      assert.deepEqual(await app.ended(one, token), seen)
      assert.equal((await chargedFor(seen)).length, 1)
    })

  test('a fee chosen while its time runs out: it is taken and goes on, or it is refused and declined', async () => {
    for (let round = 0; round < 4; round++) {
      const one = app.begin('transfer', { endpoint: world.endpoints.mobile_fee, amountCentis: 1_000 })
      const token = await app.accepted(one)
      await app.ended(one, token)
      const ends = `now() + interval '${round * 100} milliseconds'`
      await database.query(`update mobile_invoice set rests_until = ${ends}, due_at = ${ends} where invoice_id = $1`, [
        one.invoiceId,
      ])
      const answers: { status: number }[] = []
      const end = await until(
        async () => {
          answers.push(...(await Promise.all(['economy', 'express'].map((id) => app.complete(one, token, id)))))
          return (await app.status(one, token)).body
        },
        ({ state }) => state === 'APPROVED' || state === 'DECLINED',
        45_000,
      )
      const taken = answers.some(({ status }) => status === 200)
      assert.deepEqual(outcomeOf(end), taken ? ['APPROVED', undefined] : ['DECLINED', 4006])
      assert.equal((await chargedFor(end)).length, taken ? 2 : 0)
    }
  })
})

describe('bodies', { concurrency: 8 }, () => {
  const text = (one: Begun) => JSON.stringify(one.body)
  const isTaken =
    (change: (sent: string) => string | Buffer, status: number, says = /./) =>
    async () => {
      const one = app.begin('sale')
      const answer = await send('POST', `${world.baseUrl}/dapi/v1/sale/${one.endpoint}/${one.invoiceId}`, change(text(one)))
      assert.deepEqual([answer.httpStatus, answer.contentType], [status, 'application/json;charset=utf-8'], answer.body)
      assert.match(answer.body, says)
      const { rowCount } = await database.query('select from mobile_invoice where invoice_id = $1', [one.invoiceId])
      assert.equal(rowCount, status === 200 ? 1 : 0)
    }
  const deep = (levels: number) => '['.repeat(levels) + ']'.repeat(levels)
  // oxfmt-ignore
  const cases: readonly (readonly [string, (sent: string) => string | Buffer, number, RegExp?])[] = [
    ['all of it beneath __proto__',           (sent) => `{"__proto__":${sent}}`,                                   400, /may not be empty/],
    ['a session beneath __proto__',           (sent) => sent.replace('"session":', '"session":{},"__proto__":'),   400, /session\.\w+ may not be empty/],
    ['a token that everything has',           (sent) => sent.replace('"session":', '"session":"constructor","x":'), 400, /may not be empty/],
    ['an amount twice, of which the last counts', (sent) => sent.replace('"amountCentis":1050', '"amountCentis":1050,"amountCentis":1'), 400, /signature/],
    ['half a million lists in each other',    (sent) => `{"x":${deep(500_000)},${sent.slice(1)}`,                  400, /JSON object/],
    ['32 lists in each other',                (sent) => `{"x":${deep(32)},${sent.slice(1)}`,                       400, /16 levels/],
    ['14 lists in each other',                (sent) => `{"x":${deep(14)},${sent.slice(1)}`,                       200],
    ['a million lists without an end',        () => '['.repeat(1_000_000),                                         400, /JSON object/],
    ['a hundred thousand members',            (sent) => `{${Array.from({ length: 100_000 }, (_, i) => `"m${i}":0,`).join('')}${sent.slice(1)}`, 400, /JSON object/],
    ['a thousand members',                    (sent) => `{${Array.from({ length: 1_000 }, (_, i) => `"m${i}":0,`).join('')}${sent.slice(1)}`, 400, /1000 values/],
    ['3 MiB',                                 (sent) => sent + ' '.repeat(3 * 1024 * 1024),                        400, /JSON object/],
    ['UTF-16',                                (sent) => Buffer.from(sent, 'utf16le'),                              400, /JSON object/],
    ['packed',                                (sent) => gzipSync(sent),                                            400, /JSON object/],
    ['a body and another',                    (sent) => sent + sent,                                               400, /JSON object/],
    ['an amount of many digits',              (sent) => sent.replace('"amountCentis":1050', `"amountCentis":1050.${'0'.repeat(1_000)}1`), 200],
    ['an amount with an exponent',            (sent) => sent.replace('"amountCentis":1050', '"amountCentis":0.105e4'), 200],
    ['a zero byte in a text',                 (sent) => sent.replace('ada@example.com', String.raw`ada\u0000@example.com`), 400, /consumer\.email must/],
    ['half a letter in a text',               (sent) => sent.replace('ada@example.com', String.raw`ada\ud800@example.com`), 400, /consumer\.email must/],
    ['a zero byte in an optional text',       (sent) => sent.replace('{', String.raw`{"order":{"purpose":"a\u0000b"},`),   400, /order\.purpose must/],
    ['half a letter in an optional text',     (sent) => sent.replace('{', String.raw`{"order":{"purpose":"a\udc00b"},`),   400, /order\.purpose must/],
    ['an amount that is nearly it',           (sent) => sent.replace('"amountCentis":1050', '"amountCentis":1050.5'), 400, /amountCentis must be/],
  ]
  for (const [what, change, status, says] of cases) test(`${what}: HTTP ${status}`, isTaken(change, status, says))
})

describe('references', () => {
  /** A card that a verification mapped with this address; its serverCardId. */
  async function mapped(email: string): Promise<string> {
    const token = await app.accepted(app.begin('verification', { email }))
    return String(((await app.notified('verification', token))['reference'] as Json)['serverCardId'])
  }

  test('the id of a card is a text: another spelling of the same number is unknown', async () => {
    const id = await mapped('ada@example.com')
    const arabic = Array.from(id, (digit) => String.fromCharCode(0x660 + Number(digit))).join('')
    const others = [`${id[0]!}.${id.slice(1)}e${id.length - 1}`, `0x${BigInt(id).toString(16)}`, arabic]
    for (const [clientCardId, code] of [[id, undefined], ...others.map((text) => [text, 4004] as const)] as const) {
      app.merchant.cards.set(clientCardId, clientCardId)
      const seen = await app.ended(app.begin('sale', { reference: { clientCardId } }))
      assert.deepEqual(outcomeOf(seen), code ? ['DECLINED', code] : ['APPROVED', undefined], clientCardId)
    }
  })

  test('the e-mail address of the mapping is one in whatever letters; a part of it, or none, is another', async () => {
    app.merchant.cards.set('with e-mail', await mapped('Ada.Lovelace@Example.com'))
    const reference = { clientCardId: 'with e-mail' }
    for (const [email, code] of [
      ['aDA.lOVELACE@eXAMPLE.COM', undefined],
      ['ada@example.com', 4004],
      ['Ada.Lovelace@Example.com.', 4004],
      ['ada.lovelace+1@example.com', 4004],
    ] as const)
      assert.equal((await app.ended(app.begin('sale', { reference, email }))).errorCode, code, email)
    const silent = app.begin('sale', { reference, change: (body: Json) => void delete (body['consumer'] as Json)['email'] })
    assert.equal((await app.ended(silent)).errorCode, 4004)
  })
})

describe('at the reference server', () => {
  /** What the merchant's server hands to the app of a consumer. */
  async function initiated(kind: Begun['kind'], amountCentis = 1_150) {
    const accessToken = await accessTokenOf(world.merchantServerUrl, 'mallory', 'ada@example.com')
    const { json } = await call(
      `${world.merchantServerUrl}${initiatePaths[kind]}`,
      initiation(kind, accessToken, 'device-1', { amountCentis }),
    )
    const { nonce, signature } = json.session
    return { accessToken, nonce, signature, invoiceId: json.invoiceId!, endpoint: Number(json.endpointId) }
  }
  const begun = (
    kind: Begun['kind'],
    given: Awaited<ReturnType<typeof initiated>>,
    wish: object = {},
    serialNumber = 'device-1',
  ) => {
    const { accessToken, nonce, signature, invoiceId, endpoint } = given
    const change = (body: Json) => {
      body['session'] = { accessToken, nonce, signature }
      body['consumer'] = { device: { serialNumber }, email: 'ada@example.com' }
    }
    return app.begin(kind, { endpoint, invoiceId, accessToken, nonce, securityCode: '111', amountCentis: 1_150, change, ...wish })
  }

  test('signed text with shifted fields, or of another kind, passes the gateway and is refused by the merchant', async () => {
    type Given = Awaited<ReturnType<typeof initiated>>
    // oxfmt-ignore
    const cases: readonly (readonly [string, (given: Given) => Begun])[] = [
      ['an amount of which a digit is in the invoice', (g) => begun('sale', { ...g, invoiceId: `${g.invoiceId}1` }, { amountCentis: 150 })],
      ['a nonce of which a letter is in the invoice',  (g) => begun('sale', { ...g, nonce: g.nonce.slice(0, -1), invoiceId: g.nonce.slice(-1) + g.invoiceId })],
      ['a token of which a letter is in the device',   (g) => begun('sale', { ...g, accessToken: g.accessToken.slice(0, -1) }, {}, `${g.accessToken.slice(-1)}device-1`)],
      ['a sale as a transfer',                         (g) => begun('transfer', g)],
    ]
    for (const [what, make] of cases) {
      const one = make(await initiated('sale'))
      const seen = await app.ended(one)
      assert.deepEqual(outcomeOf(seen), ['DECLINED', 4001], what)
      assert.deepEqual(await chargedFor(seen), [])
    }
    assert.equal((await app.ended(begun('sale', await initiated('sale')))).state, 'APPROVED')
  })

  test("another consumer's clientCardId pays nothing and is paid nothing", async () => {
    const accessToken = await accessTokenOf(world.merchantServerUrl, 'alice', 'alice@example.com')
    const card = { serverCardId: '1234567890123456789', uniqueReferenceCardId: 7, bin: 411111 }
    const clientCardId = await mapCard(world.merchantServerUrl, accessToken, 'device-1', card)
    for (const [kind, wish] of [
      ['sale', { reference: { clientCardId } }],
      ['transfer', { to: { reference: { clientCardId } } }],
    ] as const) {
      const seen = await app.ended(begun(kind, await initiated(kind), wish))
      assert.deepEqual(outcomeOf(seen), ['DECLINED', 4001])
    }
  })
})
