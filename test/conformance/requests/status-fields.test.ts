import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { openWorld } from '../../harness/world/opening.ts'
import { accepted, nextYear, order, send, serialShape, settled, status, statusOf } from './client.ts'
import { until } from '../../harness/clock/until.ts'
import type { Changes, Fields } from './client.ts'
import { filteredOrder, newEmail, openFilters } from './filters.ts'
import { approved, begin, followed } from '../operations/operations.ts'
import { atPares, termUrl } from '../three-d-secure/pares.ts'
import { atChallenge, decoded, passChallenge, uploadCres } from '../three-d-secure/shopper.ts'

/**
 * Every row of the specification's table of status fields, each with a value. Left out: rows of
 * transfers, and of the operator's own commissions.
 */

/** What status said of each order, by what the order is. */
const seen: Record<string, Fields> = {}

// oxfmt-ignore
const customer: Changes = {
  amount: '10.5', phone: '+4912345678', first_name: 'Ada', last_name: 'Lovelace', country: 'US', state: 'NY', city: 'New York', zip_code: '10001',
  address1: '5 Main Street', email: 'ada@example.com', card_printed_name: 'A LOVELACE', expire_month: '7', expire_year: String(nextYear % 100), merchant_data: ' my = data ',
  credit_card_number: '4242424242424242',
}

const world = await openWorld()
await Promise.all([plainOrders(), secureOrders(), legacyOrder(), filteredOne(), failedOne()])

async function plainOrders(): Promise<void> {
  const paid = await order(world, customer)
  seen.sale = await settled(world, paid)
  const { client_orderid, serial } = paid
  seen.asked = await status(world, { client_orderid, 'by-request-sn': serial })
  seen.declined = await settled(world, await order(world, { ...customer, cvv2: '116' }))
  const held = await approved(world, 'preauth', customer)
  seen.preauth = await statusOf(world, held)
  seen.capture = (await followed(world, 'capture', held)).seen
  seen.reversal = (await followed(world, 'return', held)).seen
  const refused = accepted(await begin(world, 'preauth', { ...customer, cvv2: '116' }))
  seen['declined preauth'] = await settled(world, refused)
}

async function secureOrders(): Promise<void> {
  const { credit_card_number: _card, ...others } = customer
  const { made, method, seen: challenge } = await atChallenge(world, 'challenge', others)
  seen.frame = method
  seen.challenge = challenge
  accepted(await uploadCres(world, made, (await passChallenge(challenge)).cres))
  seen.authenticated = await settled(world, made)
}

/** The acquirer never answers it, and acknowledges its reversal. */
async function failedOne(): Promise<void> {
  const silence = JSON.stringify({ match: { amount_minor: '7301', times: 1 }, do: { no_answer: true } })
  await send('POST', `${world.acquirerAdminUrl}/faults`, silence, { 'content-type': 'application/json' })
  const made = await order(world, { ...customer, amount: '73.01' })
  const ended = ({ status: now }: Fields): boolean => now !== 'processing' && now !== 'unknown'
  seen.failed = await until(() => statusOf(world, made), ended, 120_000)
}

async function legacyOrder(): Promise<void> {
  const { credit_card_number: _card, ...others } = customer
  seen.legacy = (await atPares(world, others)).seen
}

async function filteredOne(): Promise<void> {
  const email = newEmail()
  await openFilters(world).add('black', '--of', 'email', '--value', email, '--code', '3042')
  seen.filtered = (await filteredOrder(world, email, { amount: '10.5' })).seen
}

const date = /^\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01]) ([01]\d|2[0-3]):[0-5]\d:[0-5]\d [A-Z]{2,5}$/
const url = /^https?:\/\/[^\s/@]+(\/\S*)?$/
const base64 = /^[A-Za-z0-9+/_-]+={0,2}$/
const text = /\S/

/** The row, where it is seen, and its value or shape. Each row comes at least once. */
// oxfmt-ignore
const rows: [string, string, string | RegExp][] = [
  ['type',                    'sale',          'status-response'],
  ['status',                  'sale',          'approved'],
  ['status',                  'declined',      'declined'],
  ['status',                  'failed',        'error'],
  ['status',                  'filtered',      'filtered'],
  ['status',                  'frame',         'processing'],
  ['amount',                  'sale',          '10.5'],
  ['amount',                  'asked',         '10.5'],
  ['initial-amount',          'sale',          '10.5'],
  ['currency',                'sale',          'USD'],
  ['gateway-order-id',        'sale',          /^[1-9][0-9]{6,9}$/],
  ['merchant-order-id',       'sale',          /^c-/],
  ['serial-number',           'sale',          serialShape],
  ['by-request-sn',           'asked',         serialShape],
  ['end-point-id',            'sale',          /^[1-9][0-9]*$/],
  ['transaction-type',        'sale',          'sale'],
  ['transaction-type',        'preauth',       'preauth'],
  ['transaction-type',        'capture',       'capture'],
  ['transaction-type',        'reversal',      'reversal'],
  ['order-stage',             'sale',          'sale_approved'],
  ['order-stage',             'declined',      'sale_declined'],
  ['order-stage',             'filtered',      'sale_filtered'],
  ['order-stage',             'failed',        'sale_error'],
  ['order-stage',             'frame',         'sale_3d_validating'],
  ['order-stage',             'legacy',        'sale_3d_validating'],
  ['order-stage',             'preauth',       'auth_approved'],
  ['order-stage',             'capture',       'capture_approved'],
  ['order-stage',             'reversal',      'reversal_approved'],
  ['phone',                   'sale',          '+4912345678'],
  ['email',                   'sale',          'ada@example.com'],
  ['first-name',              'sale',          'Ada'],
  ['last-name',               'sale',          'Lovelace'],
  ['last-name',               'authenticated', 'Lovelace'],
  ['country',                 'sale',          'US'],
  ['state',                   'sale',          'NY'],
  ['city',                    'sale',          'New York'],
  ['zip_code',                'sale',          '10001'],
  ['address1',                'sale',          '5 Main Street'],
  ['last-four-digits',        'sale',          '4242'],
  ['bin',                     'sale',          '424242'],
  ['card-type',               'sale',          'VISA'],
  ['bank-name',               'sale',          text],
  ['name',                    'sale',          'Ada Lovelace'],
  ['cardholder-name',         'sale',          'A LOVELACE'],
  ['cardholder-name',         'preauth',       'A LOVELACE'],
  ['card-exp-month',          'sale',          /^0?7$/],
  ['card-exp-month',          'declined',      /^0?7$/],
  ['card-exp-year',           'sale',          String(nextYear)],
  ['card-hash-id',            'sale',          /^\S{22,}$/],
  ['card-country-alpha-three-code', 'sale',    /^[A-Z]{3}$/],
  ['gate-partial-reversal',   'sale',          /^(enabled|disabled)$/],
  ['gate-partial-capture',    'preauth',       /^(enabled|disabled)$/],
  ['processor-rrn',           'sale',          /^[A-Za-z0-9]{12}$/],
  ['processor-tx-id',         'sale',          /^SIM-[1-9][0-9]*$/],
  ['approval-code',           'sale',          /^[A-Za-z0-9]{6}$/],
  ['terminal-id',             'sale',          /^[\x21-\x7e]{1,8}$/],
  ['terminal-id',             'preauth',       /^[\x21-\x7e]{1,8}$/],
  ['receipt-id',              'sale',          serialShape],
  ['gateway-processing-date', 'sale',          date],
  ['gateway-processing-date', 'capture',       date],
  ['transaction-date',        'sale',          date],
  ['transaction-date',        'declined',      date],
  ['transaction-date',        'filtered',      date],
  ['descriptor',              'sale',          text],
  ['original-gate-descriptor', 'sale',         text],
  ['error-message',           'declined',      text],
  ['error-message',           'failed',        text],
  ['error-message',           'filtered',      text],
  ['error-code',              'declined',      '116'],
  ['error-code',              'failed',        '911'],
  ['error-code',              'filtered',      '3042'],
  ['motivational-message',    'declined',      text],
  ['motivational-message',    'declined preauth', text],
  ['verified-3d-status',      'sale',          'UNKNOWN'],
  ['verified-3d-status',      'authenticated', 'AUTHENTICATED'],
  ['eci',                     'challenge',     /^0[0-7]$/],
  ['eci',                     'authenticated', /^0[125]$/],
  ['ips-src-payment-product-code', 'sale',     /^\S+$/],
  ['ips-src-payment-product-name', 'sale',     /[A-Za-z]{3}/],
  ['ips-src-payment-type-code', 'sale',        /^\S+$/],
  ['ips-src-payment-type-name', 'sale',        /[A-Za-z]{3}/],
  ['merchantdata',            'sale',          ' my = data '],
  ['loyalty-balance',         'sale',          /^[0-9]+(\.[0-9]+)?$/],
  ['loyalty-message',         'sale',          text],
  ['loyalty-bonus',           'sale',          /^[0-9]+(\.[0-9]+)?$/],
  ['loyalty-program',         'sale',          text],
  ['html',                    'frame',         /<html[\s>][^]*<form[\s>]/i],
  ['html',                    'challenge',     /<html[\s>][^]*<form[\s>]/i],
  ['html',                    'legacy',        /<html[\s>][^]*<form[\s>]/i],
  ['redirect-to',             'frame',         url],
  ['redirect-to',             'challenge',     url],
  ['redirect-to',             'legacy',        url],
  ['tds-status',              'frame',         'MethodUrlFrame'],
  ['tds-status',              'challenge',     'CReqForm'],
  ['tds-status',              'legacy',        'PaReqForm'],
  ['tds-method-url-frame-3ds-server-trans-id', 'frame', serialShape],
  ['tds-method-url-frame-3ds-method-url', 'frame', url],
  ['tds-creq-form-acs-url',   'challenge',     url],
  ['tds-creq-form-creq',      'challenge',     base64],
  ['tds-pareq-form-pareq',    'legacy',        base64],
  ['tds-pareq-form-acs-url',  'legacy',        url],
  ['tds-pareq-form-md',       'legacy',        /^[\x21-\x7e]{1,1024}$/],
]

describe('every row of the table is there with a value of its shape', () => {
  for (const [name, where, value] of rows) {
    it(`${name} of ${where}: ${value}`, () => {
      const found = seen[where]?.[name]
      if (typeof value === 'string') assert.equal(found, value)
      else assert.match(found ?? '', value)
    })
  }
  it('no reply has a field that the table has not', () => {
    const known = new Set(rows.map(([name]) => name))
    for (const [where, fields] of Object.entries(seen)) {
      const unknown = Object.keys(fields).filter((name) => !known.has(name))
      assert.deepEqual(unknown, [], where)
    }
  })
})

describe('rows that belong together agree', () => {
  it('the dates are of now, and an outcome is not older than the acquirer’s', () => {
    for (const where of ['sale', 'preauth', 'capture', 'reversal']) {
      const [processed = 0, ended = 0] = ['gateway-processing-date', 'transaction-date'].map((name) =>
        Date.parse(`${(seen[where]?.[name] ?? '').slice(0, 19).replace(' ', 'T')}Z`),
      )
      assert.ok(Math.abs(ended - Date.now()) < 300_000, where)
      assert.ok(processed <= ended + 1_000, where)
    }
  })
  it('card, customer and amount are those of the order in each of its transactions', () => {
    const names = ['amount', 'initial-amount', 'currency', 'name', 'cardholder-name', 'bin', 'last-four-digits', 'card-exp-month']
    for (const name of [...names, 'card-exp-year', 'card-hash-id', 'card-type', 'merchantdata', 'email', 'phone'])
      for (const where of ['preauth', 'capture', 'reversal', 'declined', 'declined preauth'])
        assert.equal(seen[where]?.[name], seen.sale?.[name], `${name} of ${where}`)
  })
  it('end-point-id is the endpoint that took the payment; in a group, the one of the currency', async () => {
    const { euro, secure } = world.endpoints
    const group = `group/${world.groups.multi}`
    const made = await order(world, { currency: 'EUR' }, { path: group })
    for (const path of [group, euro, secure])
      assert.equal((await statusOf(world, made, { path }))['end-point-id'], String(euro), String(path))
  })
  it('a card without a loyalty program has no loyalty data, and neither has what the acquirer was never asked', () => {
    for (const where of ['authenticated', 'frame', 'challenge', 'legacy', 'filtered'])
      for (const name of Object.keys(seen[where] ?? {})) assert.doesNotMatch(name, /^loyalty-/, where)
  })
  it('fields of the acquirer are missing for orders that never reached it', () => {
    for (const where of ['frame', 'challenge', 'legacy', 'filtered'])
      for (const name of ['processor-rrn', 'approval-code', 'gateway-processing-date', 'motivational-message'])
        assert.equal(seen[where]?.[name], undefined, `${name} of ${where}`)
  })
  it('only declined, failed and filtered orders have a reason', () => {
    for (const [where, fields] of Object.entries(seen)) {
      const refused = ['declined', 'error', 'filtered'].includes(fields.status ?? '')
      assert.deepEqual([where, 'error-code' in fields, 'error-message' in fields], [where, refused, refused])
    }
  })
  it("the cardholder's next step is shown while it is open, each with its own fields only", () => {
    const steps: Record<string, RegExp> = {
      frame: /^tds-(status|method-url-frame-.*)$/,
      challenge: /^tds-(status|creq-form-.*)$/,
      legacy: /^tds-(status|pareq-form-.*)$/,
    }
    for (const [where, fields] of Object.entries(seen))
      for (const name of Object.keys(fields).filter((one) => /^(tds-|html$|redirect-to$)/.test(one)))
        if (name.startsWith('tds-')) assert.match(name, steps[where] ?? /^$/, where)
        else assert.ok(where in steps, `${name} of ${where}`)
  })
  it('html of 1.0.2 carries the three fields of the status, and a TermUrl of the gateway', () => {
    const { html = '', ...legacy } = seen.legacy ?? {}
    assert.match(html, /<script[\s>].*submit/is, 'it sends itself')
    assert.ok(!html.includes(termUrl))
    for (const value of [legacy['tds-pareq-form-md'] ?? '', legacy['tds-pareq-form-acs-url'] ?? '']) assert.ok(value !== '')
    assert.match(html, /name="PaReq"/)
    assert.match(html, /name="MD"/)
    assert.match(html, /name="TermUrl"/)
  })
  it('the challenge request names the transaction of the frame before it', () => {
    const { threeDSServerTransID } = decoded(seen.challenge?.['tds-creq-form-creq'] ?? '')
    assert.equal(threeDSServerTransID, seen.frame?.['tds-method-url-frame-3ds-server-trans-id'])
  })
})
