import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Client } from 'pg'
import { testDatabase } from '../../harness/postgres/postgres.ts'
import { openDatabaseProxy } from '../../harness/world/proxy.ts'
import {
  accessTokenOf,
  ask,
  begin,
  call,
  cardsOf,
  initiatePaths,
  initiation,
  kinds,
  mapCard,
  refused,
  signed,
  openServer,
  startServer,
  tell,
} from '../mobile/mobile-merchant.ts'

const { database, clock, base, newConsumer } = await openServer()

test('a verification is notified with its card, a sale or transfer with none or one, a transfer also with two', async () => {
  const accessToken = await accessTokenOf(base, newConsumer())
  const [verification, sale, transfer] = await Promise.all(kinds.map((kind) => begin(base, kind, accessToken)))
  await Promise.all([verification!, sale!, transfer!].map((one) => ask(base, one)))
  refused(await tell(base, verification!), /^reference\.serverCardId may not be empty$/, '')
  assert.equal((await tell(base, sale!)).status, 200)
  const two = {
    sourceCard: { bin: 411111, reference: { serverCardId: 1, uniqueReferenceCardId: 11 } },
    destinationCard: { bin: 555555, reference: { serverCardId: '2', uniqueReferenceCardId: 12 } },
  }
  assert.equal((await tell(base, transfer!, undefined, {}, two)).status, 200)
  const cards = await cardsOf(base, accessToken)
  const pays = Object.fromEntries(cards.map((card) => [card.bin, card.pays]))
  assert.deepEqual(pays, { 411111: true, 555555: false })
  const id = (bin: number) => ({ reference: { clientCardId: cards.find((card) => card.bin === bin)!.clientCardId } })
  const paid = await begin(base, 'transfer', accessToken)
  const { json } = await ask(base, paid, {}, { sourceOfFunds: id(411111), destinationOfFunds: id(555555) })
  assert.deepEqual(json.sourceOfFunds, { reference: { serverCardId: '1' } })
  assert.deepEqual(json.destinationOfFunds, { reference: { serverCardId: '2' } })
  const { serialNumber, nonce, endpointId, invoiceId } = paid
  assert.equal(json.session.checkSignature, signed(serialNumber, nonce, '2', endpointId, invoiceId, '1'))
})

test('a card that pays still pays after it received money; a receiving card pays once it was a source', async () => {
  const accessToken = await accessTokenOf(base, newConsumer())
  const card = (serverCardId: string) => ({ bin: 411111, reference: { serverCardId, uniqueReferenceCardId: 77 } })
  const named = async () => {
    const [one, ...others] = await cardsOf(base, accessToken)
    assert.deepEqual(others, [])
    const paid = await begin(base, 'transfer', accessToken)
    const { json } = await ask(base, paid, {}, { sourceOfFunds: { reference: { clientCardId: one!.clientCardId } } })
    return [one!.pays, json.sourceOfFunds]
  }
  const transfer = async (cards: object) => {
    const one = await begin(base, 'transfer', accessToken)
    await ask(base, one)
    assert.equal((await tell(base, one, undefined, {}, cards)).status, 200)
  }
  await transfer({ destinationCard: card('credited') })
  assert.deepEqual(await named(), [false, { reference: { serverCardId: 'credited' } }])
  await transfer({ sourceCard: card('pays') })
  assert.deepEqual(await named(), [true, { reference: { serverCardId: 'pays' } }])
  await transfer({ destinationCard: card('credited again') })
  assert.deepEqual(await named(), [true, { reference: { serverCardId: 'pays' } }])
  await transfer({ sourceCard: card('pays again'), destinationCard: card('credited too') })
  assert.deepEqual(await named(), [true, { reference: { serverCardId: 'pays again' } }])
})

test('a card that comes again keeps the client id and e-mail of its last mapping; a late repeat changes nothing', async () => {
  const consumer = newConsumer()
  const accessToken = await accessTokenOf(base, consumer, 'old@example.com')
  const first = await begin(base, 'sale', accessToken)
  const second = await begin(base, 'sale', accessToken)
  const older = { serverCardId: '100', uniqueReferenceCardId: 1, bin: 411111 }
  await ask(base, first)
  await tell(base, first, older)
  const [card] = await cardsOf(base, accessToken)
  const named = { sourceOfFunds: { reference: { clientCardId: card!.clientCardId } } }
  await accessTokenOf(base, consumer, 'new@example.com')
  const meanwhile = await begin(base, 'sale', accessToken)
  const answer = await ask(base, meanwhile, {}, named)
  assert.deepEqual(answer.json.consumer, { email: 'old@example.com' })
  await ask(base, second)
  await tell(base, second, { serverCardId: '200', uniqueReferenceCardId: 1, bin: 411111 })
  await tell(base, first, older)
  assert.deepEqual(await cardsOf(base, accessToken), [card])
  const paid = await ask(base, await begin(base, 'sale', accessToken), {}, named)
  assert.deepEqual(paid.json.sourceOfFunds, { reference: { serverCardId: '200' } })
  assert.deepEqual(paid.json.consumer, { email: 'new@example.com' })
  assert.deepEqual(await ask(base, meanwhile, {}, named), answer)
  refused(await ask(base, meanwhile), /^reference\.clientCardId is not the one that was asked for before$/, meanwhile.invoiceId)
})

test("another consumer's card and an unknown one are refused; two consumers may have the same card", async () => {
  const [ann, bob] = [await accessTokenOf(base, newConsumer()), await accessTokenOf(base, newConsumer())]
  const card = { serverCardId: '77', uniqueReferenceCardId: 77, bin: 411111 }
  const annsCard = await mapCard(base, ann, 'device-1', card)
  const bobsCard = await mapCard(base, bob, 'device-2', card)
  assert.notEqual(annsCard, bobsCard)
  for (const clientCardId of [annsCard, 'never-was']) {
    const one = await begin(base, 'transfer', bob, 'device-2')
    for (const of of ['sourceOfFunds', 'destinationOfFunds'])
      refused(
        await ask(base, one, {}, { [of]: { reference: { clientCardId } } }),
        new RegExp(`^${of}\\.reference\\.clientCardId is not a card`),
        one.invoiceId,
      )
    const reference = { reference: { clientCardId: bobsCard } }
    assert.equal((await ask(base, one, {}, { sourceOfFunds: reference, destinationOfFunds: reference })).status, 200)
  }
})

test('one of two simultaneous first checks binds the invoice, and many equal notifications make one card', async () => {
  const accessToken = await accessTokenOf(base, newConsumer())
  const one = await begin(base, 'verification', accessToken)
  const tokens = ['first-session-token', 'second-session-token']
  const answers = await Promise.all(tokens.map((token) => ask(base, one, { token })))
  assert.deepEqual(
    answers.map(({ status }) => status).sort((a, b) => a - b),
    [200, 400],
  )
  const token = tokens[answers.findIndex(({ status }) => status === 200)]!
  const same = await Promise.all([1, 2, 3].map(() => ask(base, one, { token })))
  for (const { json } of same) assert.equal(json.session.token, token)
  const card = { serverCardId: '3', uniqueReferenceCardId: 3, bin: 411111 }
  const told = await Promise.all(Array.from({ length: 8 }, () => tell(base, { ...one, token }, card)))
  for (const { status } of told) assert.equal(status, 200)
  assert.equal((await cardsOf(base, accessToken)).length, 1)
})

test('currency, random sum and data of the consumer are answered where they are configured', async () => {
  const other = await startServer(database.url, clock, { check: { currency: true, random_sum_centis: 345 } })
  try {
    const accessToken = await accessTokenOf(other.url, 'demo')
    const verified = await ask(other.url, await begin(other.url, 'verification', accessToken))
    assert.deepEqual(verified.json.transaction, { currency: 'USD', randomSumCentis: 345 })
    assert.deepEqual(verified.json.consumer, { email: 'demo@example.com', birthDay: '31121980' })
    assert.deepEqual(verified.json.billing, { phone: '+1 202 555 0100' })
    const sold = await ask(other.url, await begin(other.url, 'sale', accessToken))
    assert.deepEqual(sold.json.consumer, { email: 'demo@example.com' })
    assert.equal(sold.json.billing, undefined)
  } finally {
    await other.close()
  }
})

test('a consumer who was blocked meanwhile is FILTERED, also by the check', async () => {
  const accessToken = await accessTokenOf(base, 'soon-blocked')
  const one = await begin(base, 'sale', accessToken)
  const stricter = await startServer(database.url, clock, { blocked_consumers: ['soon-blocked'] })
  try {
    refused(await ask(stricter.url, one), /not served/, one.invoiceId, 'FILTERED')
    refused(
      await call(`${stricter.url}${initiatePaths.sale}`, initiation('sale', accessToken, 'device-1')),
      /not served/,
      undefined,
      'FILTERED',
    )
  } finally {
    await stricter.close()
  }
})

test('the journal shows calls with what was signed, newest first, and neither tokens nor card data', async () => {
  const accessToken = await accessTokenOf(base, newConsumer())
  const one = await begin(base, 'sale', accessToken)
  const stray = {
    sourceOfFunds: { card: { number: '4111111111111111', securityCode: '7391397', holder: { printedName: 'ANN EXAMPLE' } } },
    note: 'pan 4111 1111 1111 1111',
    n: 4111111111111111,
  }
  await ask(base, one, {}, stray)
  await ask(base, one, { nonce: 'x'.repeat(32) })
  const { calls } = (await call(`${base}/log?invoiceId=${one.invoiceId}`)).json
  assert.deepEqual(
    calls!.map(({ path, status }) => `${path} ${status}`),
    ['/sale/:invoiceId/check 400', '/sale/:invoiceId/check 200', '/transfer/initiate-sale 200'],
  )
  const text = JSON.stringify(calls)
  assert.doesNotMatch(text, /4111111111111111|4111 1111|7391397|ANN EXAMPLE/)
  assert.ok(!text.includes(accessToken))
  const [, checked] = calls!
  assert.deepEqual(
    checked!.signed.map(({ name }) => name),
    ['session.signature', 'session.checkSignature'],
  )
  assert.equal(checked!.signed[1]!.string, `${one.serialNumber}${one.nonce}${one.endpointId}${one.invoiceId}`)
  const quiet = await startServer(database.url, clock, { journal: false })
  assert.equal((await fetch(`${quiet.url}/log`)).status, 404)
  await quiet.close()
})

test('while the database is away the server answers SERVER_UNAVAILABLE, 503; to a defect SERVER_FAILED, 500', async () => {
  const own = await testDatabase()
  const client = new Client({ connectionString: own.url })
  await client.connect()
  const proxy = await openDatabaseProxy(own.url)
  const alone = await startServer(proxy.url, clock)
  try {
    const accessToken = await accessTokenOf(alone.url, 'demo')
    const one = await begin(alone.url, 'sale', accessToken)
    await client.query('drop table merchant_server.cards')
    const named = { sourceOfFunds: { reference: { clientCardId: 'c' } } }
    refused(await ask(alone.url, one, {}, named), /^internal error$/, one.invoiceId, 'SERVER_FAILED', 500)
    proxy.refuse()
    refused(await ask(alone.url, one), /cannot answer now/, one.invoiceId, 'SERVER_UNAVAILABLE', 503)
    refused(await call(`${alone.url}/auth/request-access-token`), /cannot answer now/, undefined, 'SERVER_UNAVAILABLE', 503)
    proxy.accept()
    assert.equal((await ask(alone.url, one)).status, 200)
  } finally {
    await alone.close()
    await client.end()
    await proxy.close()
    await own.close()
  }
})

test('an unknown path, another method and a path that cannot be read are refused with an error body', async () => {
  refused(await call(`${base}/sale/%zz/check`, {}), /^the path cannot be read$/)
  for (const answer of [await call(`${base}/nothing`), await call(`${base}${initiatePaths.sale}`)]) {
    assert.equal(answer.status, 404)
    assert.equal(answer.json.error?.cause, 'INVALID_REQUEST')
  }
  assert.match(await (await fetch(base)).text(), /POST\s+\/transfer\/\{invoiceId\}\/check/)
})
