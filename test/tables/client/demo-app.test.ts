import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  masked,
  maskedPath,
  meaningOf,
  merged,
  resultOf,
  shortPath,
  type Call,
  type JournalEntry,
} from '../../../simulators/merchant/app/calls.ts'
import {
  centisOf,
  expiryOf,
  isCardNumber,
  openApp,
  textOfCentis,
  type Screen,
  type Reported,
  type Wish,
} from '../../../simulators/merchant/app/flow.ts'

// oxfmt-ignore
const typed: [text: string, centis: number | undefined][] = [
  ['4.20',    420],
  ['4,2',     420],
  [' 17 ',    1_700],
  ['0.07',    7],
  ['8.29',    829],
  ['0',       undefined],
  ['0.00',    undefined],
  ['1.234',   undefined],
  ['-1',      undefined],
  ['1e3',     undefined],
  ['',        undefined],
]

test('an amount is read as hundredths by moving the point, and shown again', () => {
  for (const [text, centis] of typed) assert.equal(centisOf(text), centis, text)
  assert.deepEqual([7, 420, 1_700].map(textOfCentis), ['0.07', '4.20', '17.00'])
})

// oxfmt-ignore
const numbers: [typed: string, isOne: boolean][] = [
  ['4111 1111 1111 1111', true],
  ['4111-1111-1111-1111', true],
  ['378282246310005',     true],
  ['4111 1111 1111 1112', false],
  ['4111 1111 1111 111',  false],
  ['4111x1111111x1111',   false],
  ['',                    false],
  ['5018 0000 7',         true],
  ['0'.repeat(8),         false],
  ['0'.repeat(20),        false],
]

// oxfmt-ignore
const expiries: [typed: string, month?: number, year?: number][] = [
  ['12/34',    12, 2034],
  ['1/34',     1,  2034],
  ['01 / 2034', 1, 2034],
  ['12-34',    12, 2034],
  ['13/34'],
  ['00/34'],
  ['12/3'],
  ['12/19345'],
  ['December'],
]

test('a card number is judged by length and check digit, an expiry as it is printed', () => {
  for (const [text, isOne] of numbers) assert.equal(isCardNumber(text), isOne, text)
  for (const [text, month, year] of expiries) assert.deepEqual(expiryOf(text), month && { month, year }, text)
})

test('tokens and cards are masked to their ends, other card data fully, and masking twice changes nothing', () => {
  const token = '0123456789abcdef0123456789abcdef'
  const card = {
    number: '4111111111111111',
    securityCode: '123',
    expiry: { month: 1, year: 2030 },
    holder: { printedName: 'ADA' },
  }
  const shown = masked({
    session: { accessToken: token, token: 'short', nonce: token },
    sourceOfFunds: { card, list: [{ securityCode: '9' }] },
    redirectUrl: `http://127.0.0.1:1/gateway/3ds/${token}`,
  })
  assert.deepEqual(shown, {
    session: { accessToken: '0123…cdef', token: '…', nonce: token },
    sourceOfFunds: {
      card: { number: '411111…1111', securityCode: '***', expiry: '***', holder: '***' },
      list: [{ securityCode: '***' }],
    },
    redirectUrl: 'http://127.0.0.1:1/gateway/3ds/0123…cdef',
  })
  assert.deepEqual(masked(shown), shown)
  assert.equal(maskedPath(`/cards?accessToken=${token}&x=1`), '/cards?accessToken=0123…cdef&x=1')
})

const ask = (at: number, path: string, reply: unknown): Call => ({
  at,
  from: 'app',
  to: 'gateway',
  method: 'POST',
  path,
  status: 200,
  reply,
  signed: [],
  times: 1,
})
const noted = (at: number, path: string, more: Partial<JournalEntry> = {}): JournalEntry => ({
  number: at,
  at: new Date(at).toISOString(),
  path,
  invoiceId: 'one',
  request: {},
  status: 200,
  reply: {},
  signed: [],
  ...more,
})

test('the calls are in the order of time, each once, with what the merchant signed; the same answer again is counted', () => {
  const signed = [{ name: 'session.signature', string: 'ab', parts: { a: 'a', b: 'b' }, signature: 'F0' }]
  const own = [
    ask(1, '/transfer/initiate-sale', { invoiceId: 'one' }),
    ask(3, '/dapi/v1/sale/1/one/status', { state: 'PROCESSING' }),
    ask(5, '/dapi/v1/sale/1/one/status', { state: 'PROCESSING' }),
    ask(6, '/dapi/v1/sale/1/one/status', { state: 'APPROVED' }),
  ]
  const journal = [
    noted(7, '/sale/notification'),
    noted(4, '/sale/:invoiceId/check'),
    noted(2, '/transfer/initiate-sale', { signed }),
    noted(1, '/auth/request-access-token'),
  ]
  const all = merged(own, journal)
  const lines = all.map((call) => `${call.at} ${call.from} ${call.path} ${resultOf(call)} ×${call.times}`)
  assert.deepEqual(lines, [
    '1 app /transfer/initiate-sale 200 ×1',
    '3 app /dapi/v1/sale/1/one/status PROCESSING ×2',
    '4 gateway /sale/one/check 200 ×1',
    '6 app /dapi/v1/sale/1/one/status APPROVED ×1',
    '7 gateway /sale/notification 200 ×1',
  ])
  assert.deepEqual(all[0]!.signed, signed)
  assert.deepEqual(merged(own, journal), all, 'what was counted is not counted again')
})

const invoice = '4cfb8211-5e84-4d21-9fb0-0aa6a1b2c3d4'
// oxfmt-ignore
const calls: [path: string, short: string, means: RegExp][] = [
  ['/auth/request-access-token',                        '/auth/request-access-token',                  /logs in/],
  ['/cards?accessToken=0123…cdef',                      '/cards?accessToken=0123…cdef',                /by name/],
  ['/verification/initiate-verification',               '/verification/initiate-verification',         /its own merchant/],
  [`/gateway/dapi/v1/sale/104/${invoice}`,              '/gateway/dapi/v1/sale/104/4cfb8211…',         /goes only to the gateway/],
  [`/gateway/dapi/v1/sale/104/${invoice}/status`,       '/gateway/dapi/v1/sale/104/4cfb8211…/status',  /Is it over/],
  [`/gateway/dapi/v1/transfer/107/${invoice}/acme-1`,   '/gateway/dapi/v1/transfer/107/4cfb8211…/acme-1', /has chosen/],
  [`/sale/${invoice}/check`,                            '/sale/4cfb8211…/check',                       /does not believe/],
  ['/transfer/notification',                            '/transfer/notification',                      /no number/],
]

test('every call has a title and an explanation', () => {
  for (const [path, short, means] of calls) {
    assert.equal(shortPath(path), short)
    assert.match(meaningOf({ path }), means)
  }
  assert.equal(resultOf({ status: 0, reply: undefined }), 'no answer')
  assert.equal(resultOf({ status: 400, reply: { error: { cause: 'INVALID_REQUEST' } } }), '400 INVALID_REQUEST')
})

const transfer: Wish = {
  kind: 'transfer',
  endpointId: '7',
  currency: 'USD',
  amountCentis: 2_500,
  source: { card: { number: '4111 1111 1111 1111', month: 12, year: 2030, securityCode: '123', holder: 'ADA' } },
  destination: { clientCardId: 'hers' },
}

/**
 * Runs a transfer against these answers to status, one after the other; answers what was sent
 * where, and what the screen was sent.
 */
async function run(answers: Reported[], choose: Screen['chooseFee']) {
  const sent: [url: string, body: unknown][] = []
  const seen: string[] = []
  const app = openApp({
    merchantUrl: 'm',
    gatewayUrl: 'g',
    consumer: 'ann',
    serialNumber: 'phone-1',
    now: () => 0,
    pause: () => new Promise((resolve) => setImmediate(resolve)),
    async send(url, body) {
      sent.push([url, body])
      if (url.endsWith('/status')) return answers.length > 1 ? answers.shift() : answers[0]
      const session = { accessToken: 'access', token: 'session', nonce: 'n', signature: 's' }
      return { session, endpointId: '7', invoiceId: 'one', rates: { min: '1', max: '2' } }
    },
  })
  const told = await app.run(transfer, {
    initiated: ({ rates }) => seen.push(`rates ${rates?.min} ${rates?.max}`),
    state: (state) => seen.push(state),
    redirect: (url) => seen.push(url),
    chooseFee: choose,
  })
  return { told, sent, seen, paths: sent.map(([url]) => url).filter((url) => !url.endsWith('/status')) }
}

const listing: Reported = {
  state: 'TRANSFER_FEE_REQUEST',
  transferFeeList: [{ assignedId: 'cheap.one', commissionCentis: 50, currency: 'USD' }],
}

test('a transfer: initiate with the known digits, perform, one choice, one completion, the page opened once', async () => {
  const redirect: Reported = { state: 'REDIRECT_REQUEST', redirectUrl: 'page' }
  const answers = [{ state: 'PROCESSING' }, listing, listing, listing, redirect, redirect, { state: 'APPROVED' }]
  let offered = 0
  const { told, sent, seen, paths } = await run(answers, async (fees) => (offered++, fees[0]!.assignedId))
  assert.equal(told.state, 'APPROVED')
  assert.equal(offered, 1)
  assert.deepEqual(paths, [
    'm/auth/request-access-token',
    'm/transfer/initiate-transfer',
    'g/transfer/7/one',
    'g/transfer/7/one/cheap.one',
  ])
  assert.equal(seen.filter((one) => one === 'page').length, 1)
  assert.equal(seen[0], 'rates 1 2')
  const [, initiation] = sent[1]!
  assert.deepEqual(initiation, {
    endpointId: '7',
    consumer: { device: { serialNumber: 'phone-1' } },
    session: { accessToken: 'access' },
    transaction: { currency: 'USD', amountCentis: 2_500 },
    fromBin: '411111',
  })
  const [, performed] = sent[2]! as [string, { sourceOfFunds: { card: { number: string } }; destinationOfFunds: object }]
  assert.equal(performed.sourceOfFunds.card.number, '4111111111111111')
  assert.deepEqual(performed.destinationOfFunds, { reference: { clientCardId: 'hers' } })
})

test('an app that does not choose in time sees the outcome', async () => {
  const { told, paths } = await run(
    [listing, listing, { state: 'DECLINED', errorCode: 4006 }],
    () => new Promise(() => undefined),
  )
  assert.deepEqual([told.errorCode, paths.length], [4006, 3])
})
