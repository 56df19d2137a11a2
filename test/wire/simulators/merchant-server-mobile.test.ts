import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  accessTokenOf,
  ask,
  begin,
  call,
  cardsOf,
  initiatePaths,
  initiation,
  refused,
  signed,
  openServer,
  tell,
} from '../mobile/mobile-merchant.ts'

const { clock, base, newConsumer } = await openServer()

test('an access token has 64 characters, is always new, and comes by GET or POST, with or without a name', async () => {
  const url = `${base}/auth/request-access-token`
  const answers = [call(url), call(`${url}?consumer=ann`), call(url, { consumer: 'ann' }), call(url, ''), call(url, '{}')]
  const tokens = (await Promise.all(answers)).map(({ json }) => json.session.accessToken)
  assert.equal(new Set(tokens).size, answers.length)
  for (const token of tokens) assert.match(token, /^[0-9a-f]{64}$/)
  refused(await call(url, 'consumer=ann'), /^the body is not JSON$/)
  refused(await call(url, { consumer: 'x'.repeat(65) }), /^consumer must have 1 to 64 characters$/)
  refused(await call(url, { consumer: 'banned' }), /not served/, undefined, 'FILTERED')
})

// With its colon the amount is no part of the access token, which has digits of its own.
// oxfmt-ignore
const unfit: [kind: 'verification' | 'sale' | 'transfer', change: (body: string) => string, says: RegExp][] = [
  ['verification', () => '',                                                        /^the body is not JSON$/],
  ['verification', () => '{"consumer":',                                            /^the body is not JSON$/],
  ['verification', (b) => b.replace(/"serialNumber":"[^"]*"/, '"serialNumber":""'),  /^consumer\.device\.serialNumber may not be empty$/],
  ['verification', (b) => b.replace('{', '{"location":{"lat":90.1},'),               /^location\.lat must be a number from -90 to 90$/],
  ['verification', (b) => b.replace(/"accessToken":"[^"]*"/, `"accessToken":"${'a'.repeat(64)}"`), /^session\.accessToken is unknown/],
  ['sale',         (b) => b.replace(/,"amountCentis":1050/, ''),                     /^transaction\.amountCentis may not be empty$/],
  ['sale',         (b) => b.replace(':1050', ':0'),                                 /^transaction\.amountCentis must be a whole number/],
  ['sale',         (b) => b.replace('USD', 'JPY'),                                  /^transaction\.amountCentis is a part of a unit/],
  ['sale',         (b) => b.replace('{', '{"endpointId":"115",'),                    /^endpointId takes no such payment here$/],
  ['transfer',     (b) => b.replace('{', '{"fromBin":"41111",'),                    /^fromBin must be 6 digits, as text or as a whole number$/],
  ['transfer',     (b) => b.replace('{', '{"toBin":4111111,'),                      /^toBin must be 6 digits, as text or as a whole number$/],
]

test('an initiate that does not fit is refused by its first unfit field, without an invoice', async () => {
  const accessToken = await accessTokenOf(base, newConsumer())
  for (const [kind, change, says] of unfit) {
    const body = change(JSON.stringify(initiation(kind, accessToken, 'device-1')))
    refused(await call(`${base}${initiatePaths[kind]}`, body), says)
  }
  refused(await call(`${base}${initiatePaths.sale}`, 'x'.repeat(70_000)), /^the body cannot be read$/)
})

test('first digits of cards are taken as text and as a number', async () => {
  const accessToken = await accessTokenOf(base, newConsumer())
  for (const bins of [{ fromBin: '041111' }, { fromBin: 411111, toBin: 555555 }, { fromBin: '', toBin: null }]) {
    const { status, json } = await call(`${base}${initiatePaths.transfer}`, {
      ...initiation('transfer', accessToken, 'device-1'),
      ...bins,
    })
    assert.equal(status, 200, JSON.stringify(json))
  }
})

test('where there are several endpoints the app may name one; the first serves if it does not', async () => {
  const accessToken = await accessTokenOf(base, newConsumer())
  const from = async (more: object) =>
    (await call(`${base}${initiatePaths.transfer}`, { ...initiation('transfer', accessToken, 'device-1'), ...more })).json
      .endpointId
  assert.deepEqual([await from({}), await from({ endpointId: '114' }), await from({ endpointId: 115 })], ['114', '114', '115'])
})

test('an access token belongs to the first device that initiates with it, even of two simultaneous ones', async () => {
  const accessToken = await accessTokenOf(base, newConsumer())
  const from = (device: string) => call(`${base}${initiatePaths.sale}`, initiation('sale', accessToken, device))
  const both = await Promise.all([from('device-a'), from('device-b')])
  assert.deepEqual(
    both.map(({ status }) => status).sort((a, b) => a - b),
    [200, 400],
  )
  const [mine, theirs] = both[0].status === 200 ? ['device-a', 'device-b'] : ['device-b', 'device-a']
  assert.equal((await from(mine)).status, 200)
  refused(await from(theirs), /another device/)
})

test('an access token is good for 30 minutes; checks and notifications of invoices that were checked by then go on', async () => {
  const accessToken = await accessTokenOf(base, newConsumer())
  const late = await begin(base, 'sale', accessToken)
  const known = await begin(base, 'sale', accessToken)
  const answer = await ask(base, known)
  clock.pass(30 * 60_000 - 1)
  await begin(base, 'sale', accessToken)
  clock.pass(1)
  refused(await call(`${base}${initiatePaths.sale}`, initiation('sale', accessToken, 'device-1')), /expired/)
  refused(await call(`${base}/cards?accessToken=${accessToken}`), /expired/)
  refused(await ask(base, late), /expired/, late.invoiceId)
  // A new token clears away those that expired.
  await accessTokenOf(base, newConsumer())
  assert.deepEqual(await ask(base, known), answer)
  assert.equal((await tell(base, known, { serverCardId: '5', uniqueReferenceCardId: 5, bin: 411111 })).status, 200)
})

test('a card of repeated notifications is stored once, and payments can name it', async () => {
  const accessToken = await accessTokenOf(base, newConsumer(), 'ann@example.com')
  const one = await begin(base, 'sale', accessToken)
  await ask(base, one)
  const card = { serverCardId: '42', uniqueReferenceCardId: 9_007_199_254_740_991, bin: 411111 }
  const first = await tell(base, one, card)
  assert.equal(first.status, 200)
  assert.deepEqual(await tell(base, one, card), first)
  const cards = await cardsOf(base, accessToken)
  assert.deepEqual(cards, [{ clientCardId: cards[0]!.clientCardId, pays: true, bin: 411111, masked: '411111…' }])
  const paid = await begin(base, 'sale', accessToken)
  const { json } = await ask(base, paid, {}, { sourceOfFunds: { reference: { clientCardId: cards[0]!.clientCardId } } })
  assert.deepEqual(json.sourceOfFunds, { reference: { serverCardId: '42' } })
  assert.equal(json.session.checkSignature, signed(paid.serialNumber, paid.nonce, paid.endpointId, paid.invoiceId, '42'))
})

test('a refused request binds no invoice and stores no card', async () => {
  const accessToken = await accessTokenOf(base, newConsumer())
  const [one, other] = [await begin(base, 'sale', accessToken), await begin(base, 'sale', accessToken)]
  const card = { serverCardId: 42, uniqueReferenceCardId: 7, bin: 411111 }
  refused(await tell(base, one, card), /^session\.token is not that of/, '')
  refused(await ask(base, one, { nonce: other.nonce }), /^session\.nonce is not/, one.invoiceId)
  assert.equal((await ask(base, one)).status, 200)
  refused(await ask(base, one, { token: other.token }), /^session\.token is not the one of this invoice$/, one.invoiceId)
  refused(await ask(base, other, { token: one.token }), /^session\.token is another invoice's$/, other.invoiceId)
  refused(await tell(base, one, card, { accessToken: 'x'.repeat(64) }), /^session\.accessToken is not/, one.invoiceId)
  refused(await tell(base, one, { ...card, serverCardId: 2 ** 60 }), /serverCardId must be text or an exact whole number$/, '')
  assert.deepEqual(await cardsOf(base, accessToken), [])
})
