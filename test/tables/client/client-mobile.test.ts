import assert from 'node:assert/strict'
import { test } from 'node:test'
import { inspect } from 'node:util'
import { finishMobile, type MobileEnding, type MobileFinishOptions } from '../../../client/mobile-finish.ts'
import { openMobileMerchant, type Check, type KeptInvoice } from '../../../client/mobile-merchant.ts'
import { readMobile, readStatus, type MobileReply, type MobileStatus } from '../../../client/mobile-replies.ts'
import type { MobileRequests, TransferBins } from '../../../client/mobile-requests.ts'
import { mobileExample } from '../../../src/reference/mobile-rows.ts'
import { mobileRow, type MobileOperation } from '../../../src/spec/mobile/operations.ts'

/**
 * The client of the mobile API: that its types have the paths of the contract, what it waits for,
 * and whom it believes.
 */

type Full<T> = T extends object ? (T extends readonly unknown[] ? T : { [K in keyof T]-?: Full<NonNullable<T[K]>> }) : T

const consumer = { device: { serialNumber: 's', imei: 'i' }, email: 'e', birthDay: 'b', ipAddresses: ['a'] }
const address = { city: 'c', country: 'c', postcodeZip: 'p', state: 's', street: 's', street2: 's' }
const surroundings = {
  location: { lat: 1, lng: 2 },
  billing: { phone: 'p', address },
  order: { description: 'd', siteUrl: 's', purpose: 'p' },
}
const holder = { printedName: 'p', firstName: 'f', lastName: 'l' }
const card = { number: 'n', expiry: { month: 1, year: 2 }, securityCode: 's', holder }
const sale = { consumer, transaction: { amountCentis: 1, currency: 'c' }, ...surroundings }

const requests: readonly (readonly [MobileOperation, readonly object[]])[] = [
  [
    'perform-verification',
    [
      { consumer, sourceCard: card, transaction: { currency: 'c' }, ...surroundings } satisfies Full<
        MobileRequests['verification']
      >,
    ],
  ],
  [
    'perform-sale',
    [
      { ...sale, sourceOfFunds: { card } } satisfies Full<MobileRequests['sale']>,
      { ...sale, sourceOfFunds: { reference: { clientCardId: 'c', securityCode: 's' } } } satisfies Full<MobileRequests['sale']>,
    ],
  ],
  [
    'perform-transfer',
    [
      { ...sale, sourceOfFunds: { card }, destinationOfFunds: { card: { number: 'n' } } } satisfies Full<
        MobileRequests['transfer']
      >,
      {
        ...sale,
        sourceOfFunds: { reference: { clientCardId: 'c', securityCode: 's' } },
        destinationOfFunds: { reference: { clientCardId: 'c' } },
      } satisfies Full<MobileRequests['transfer']>,
    ],
  ],
]

const leavesOf = (value: unknown, path = ''): string[] =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
    ? Object.entries(value).flatMap(([name, inside]) => leavesOf(inside, path === '' ? name : `${path}.${name}`))
    : [path]

test('requests of an app have the paths of the contract; the client adds the session', () => {
  for (const [operation, all] of requests) {
    const said = new Set(all.flatMap((one) => leavesOf(one)))
    const rows = Object.keys(mobileRow(operation).request).filter((path) => !path.startsWith('session.'))
    assert.deepEqual([...said].toSorted(), rows.toSorted(), operation)
  }
  const bins: Full<TransferBins> = { fromBin: 'f', toBin: 't' }
  for (const path of Object.keys(bins)) assert.ok(path in mobileRow('initiate-transfer').request)
})

test('the answers of the reference are read as what they are', () => {
  const read = (operation: MobileOperation, status = 200) =>
    readMobile({ is: 'answer', status, text: JSON.stringify(mobileExample(operation).answer) }, readStatus)
  assert.deepEqual(read('transfer-status'), {
    is: 'transaction',
    state: 'APPROVED',
    invoiceId: '6f1e1f0a-6c2d-4b55-9d6e-0e9d2f8b7a11',
    bankOrderId: '1000001',
    orderId: '1000001',
    transaction: (mobileExample('transfer-status').answer as { transaction: object }).transaction,
  })
  assert.deepEqual(read('verification-status', 502), { is: 'no answer', why: 'HTTP 502' })
  assert.deepEqual(read('perform-sale'), { is: 'no answer', why: 'its state is ""' })
  const text = '{"error":{"cause":"ORDER_NOT_FOUND","code":"7","message":"invoiceId is not known"},"invoiceId":"x"}'
  const refused = { is: 'refused', httpStatus: 400, cause: 'ORDER_NOT_FOUND', code: '7', message: 'invoiceId is not known' }
  assert.deepEqual(readMobile({ is: 'answer', status: 400, text }, readStatus), refused)
  for (const wrong of ['', '[]', 'null', '{"state":"SOLD"}'])
    assert.equal(readMobile({ is: 'answer', status: 200, text: wrong }, readStatus).is, 'no answer')
})

const seen = (state: MobileStatus['state'], more: Partial<MobileStatus> = {}): MobileStatus => ({
  is: 'transaction',
  state,
  invoiceId: 'i',
  ...more,
})
const processing = seen('PROCESSING')
const redirect = seen('REDIRECT_REQUEST', { redirectUrl: 'https://pay.example/1' })
const fees = seen('TRANSFER_FEE_REQUEST', { fees: [{ assignedId: 'gate-2', commissionCentis: 50, currency: 'USD' }] })
const lost: MobileReply<MobileStatus> = { is: 'no answer', why: 'ECONNRESET' }
const refusal = (httpStatus: number): MobileReply<MobileStatus> => ({
  is: 'refused',
  httpStatus,
  cause: 'C',
  code: '',
  message: '',
})

const word = (ending: MobileEnding): string =>
  ending.is === 'final' ? ending.state : ending.is === 'open' ? ending.why : ending.is

// oxfmt-ignore
const waits: readonly (readonly [what: string, replies: MobileReply<MobileStatus>[], options: MobileFinishOptions, ends: string, asked: number])[] = [
  ['an immediate outcome',              [seen('APPROVED')],                          {},                                  'APPROVED', 1],
  ['an outcome after a while',          [processing, processing, seen('DECLINED')],  {},                                  'DECLINED', 3],
  ['a web view',                        [processing, redirect],                      {},                                  'redirect', 2],
  ['a web view that was shown',         [redirect, redirect, seen('APPROVED')],      { past: 'https://pay.example/1' },   'APPROVED', 3],
  ['another web view',                  [redirect],                                  { past: 'https://pay.example/0' },   'redirect', 1],
  ['a fee to choose',                   [processing, fees],                          {},                                  'fees', 2],
  ['a lost answer and a failed server', [lost, refusal(500), seen('APPROVED')],      {},                                  'APPROVED', 3],
  ['a refusal',                         [refusal(400)],                              {},                                  'refused', 1],
  ['no end within the limit',           [processing],                                { limitMs: 600 },                    'limit', 3],
  ['an abort',                          [processing],                                { signal: AbortSignal.abort() },     'aborted', 1],
]

for (const [what, replies, options, ends, asked] of waits)
  test(`waiting ends as it should after ${what}`, async () => {
    let at = 0
    let count = 0
    const time = { now: () => at, pause: async (ms: number) => void (at += ms) }
    const ending = await finishMobile(() => Promise.resolve(replies[Math.min(count++, replies.length - 1)]!), time, options)
    assert.deepEqual([word(ending), count], [ends, asked])
  })

const merchant = openMobileMerchant('B17F59B4-A7DC-41B4-8FF9-37D986B43D20')
const begin = (): KeptInvoice =>
  merchant.initiate({
    kind: 'sale',
    endpointId: '104',
    accessToken: 'a'.repeat(64),
    serialNumber: 'phone-1',
    currency: 'USD',
    amountCentis: 1042,
  }).invoice

const questionOf = (invoice: KeptInvoice, session: object = {}, more: object = {}): string => {
  const { accessToken, nonce, serialNumber } = invoice
  const token = 'token-of-the-gateway'
  return JSON.stringify({
    consumer: { device: { serialNumber } },
    session: { accessToken, nonce, signature: '', token, ...session },
    ...more,
  })
}

test('each invoice has an id and a nonce of its own, and nothing that prints the merchant shows the key', () => {
  const [one, other] = [begin(), begin()]
  assert.notEqual(one.invoiceId, other.invoiceId)
  assert.notEqual(one.nonce, other.nonce)
  assert.match(one.nonce, /^[0-9a-f]{64}$/)
  assert.doesNotMatch(inspect(merchant, { depth: 9, showHidden: true }), /B17F59B4/i)
})

test('a check is accepted only if all of it matches the invoice', () => {
  const asked = {
    kind: 'sale',
    endpointId: '104',
    accessToken: 'a'.repeat(64),
    serialNumber: 'phone-1',
    currency: 'USD',
    amountCentis: 1042,
  } as const
  const { invoice, answer } = merchant.initiate(asked)
  const { signature } = (answer as { session: { signature: string } }).session
  const clientCardId = 'card-7'
  const read = (session: object = {}, more: object = {}) =>
    merchant.readCheck(questionOf(invoice, { signature, ...session }, more), invoice)
  assert.deepEqual(read(), { is: 'check', token: 'token-of-the-gateway' })
  const named = { sourceOfFunds: { reference: { clientCardId } }, destinationOfFunds: { reference: { clientCardId: 'card-9' } } }
  assert.deepEqual(read({ signature: signature.toLowerCase() }, named), {
    is: 'check',
    token: 'token-of-the-gateway',
    sourceClientCardId: clientCardId,
    destinationClientCardId: 'card-9',
  })
  const strange: readonly (readonly [object, object])[] = [
    [{ signature: 'F'.repeat(40) }, {}],
    [{ nonce: begin().nonce }, {}],
    [{ accessToken: 'b'.repeat(64) }, {}],
    [{ token: '' }, {}],
    [{}, { consumer: { device: { serialNumber: 'phone-2' } } }],
  ]
  for (const [session, more] of strange) assert.equal(read(session, more).is, 'not genuine', JSON.stringify([session, more]))
  for (const changed of [{ amountCentis: 1 }, { currency: 'EUR' }, { endpointId: '105' }, { token: 'another-session-token' }])
    assert.equal(merchant.readCheck(questionOf(invoice, { signature }), { ...invoice, ...changed }).is, 'not genuine')
  for (const text of ['', '[]', '{', 'null']) assert.equal(merchant.readCheck(text, invoice).is, 'not genuine')
})

test('the answer to a check has what the rows list, with the cards that were asked for', () => {
  const invoice = { ...begin(), kind: 'transfer' as const }
  const check: Check = { is: 'check', token: 'token-of-the-gateway' }
  const answer = merchant.answerCheck(invoice, check, {
    sourceServerCardId: '2244',
    destinationServerCardId: '3355',
    consumer: { email: 'e', birthDay: 'b', ipAddresses: ['a'] },
    billing: { phone: 'p', address },
    transaction: { currency: 'USD', randomSumCentis: 123 },
  })
  assert.deepEqual(leavesOf(answer).toSorted(), Object.keys(mobileRow('check-transfer').answer).toSorted())
})

test('a notification is accepted for a checked invoice, with the token and the device that began it', async () => {
  const invoice: KeptInvoice = { ...begin(), token: 'token-of-the-gateway' }
  const find = async (token: string) => (token === invoice.token ? invoice : undefined)
  const body = (session: object = {}, cards: object = {}) =>
    JSON.stringify({
      consumer: { device: { serialNumber: 'phone-1' } },
      session: { accessToken: invoice.accessToken, token: invoice.token, ...session },
      ...cards,
    })
  const reference = { serverCardId: '77', uniqueReferenceCardId: 5 }
  const mapped = { ...reference, bin: 411111 }
  const cards = { sourceCard: { bin: 411111, reference }, destinationCard: { bin: 411111, reference } }
  assert.deepEqual(await merchant.readNotification(body({}, cards), find), {
    is: 'notification',
    invoice,
    source: mapped,
    destination: mapped,
  })
  const verification = { ...invoice, kind: 'verification' as const }
  const told = await merchant.readNotification(body({}, { reference, sourceCard: { bin: 411111 } }), async () => verification)
  assert.deepEqual(told, { is: 'notification', invoice: verification, source: mapped })
  assert.deepEqual(await merchant.readNotification(body(), find), { is: 'notification', invoice })
  for (const session of [{ token: 'another-session-token' }, { accessToken: 'b'.repeat(64) }, { token: '' }])
    assert.equal((await merchant.readNotification(body(session), find)).is, 'not genuine')
  const { token: _none, ...unchecked } = invoice
  assert.equal((await merchant.readNotification(body(), async () => unchecked)).is, 'not genuine')
  const answer = merchant.answerNotification({ is: 'notification', invoice })
  assert.deepEqual(leavesOf(answer).toSorted(), Object.keys(mobileRow('sale-notification').answer).toSorted())
})
