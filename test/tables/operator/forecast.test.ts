import assert from 'node:assert/strict'
import { test } from 'node:test'
import { endpointFields, type EndpointSettings } from '../../../src/merchant/fields/endpoint.ts'
import type { FilterRule, RuleFacts } from '../../../src/merchant/filter.ts'
import { registryOf, type Registry } from '../../../src/merchant/merchant.ts'
import { differenceOf } from '../../../src/operator/forecast/judges.ts'
import { decidingOf } from '../../../src/operator/forecast/deciding.ts'
import type { Order, OrderRequest, State, TransactionResult } from '../../../src/order/decide/order.ts'
import type { Screening } from '../../../src/risk/screening.ts'
import type { OrderKind } from '../../../src/spec/words.ts'
import type { Authentication } from '../../../src/three-d-secure/authentication.ts'
import { gateRow, now, orderIn } from '../order/decide-orders.ts'

// What a change makes of a stored payment: only a difference of both configurations counts.

interface Settings extends Partial<EndpointSettings> {
  /** What is switched off, of merchant, endpoint, group, gate 1 and gate 2. */
  off?: readonly string[]
  gateIds?: readonly bigint[]
  filters?: readonly FilterRule[]
}

function registry({ off = [], gateIds = [1n, 2n], filters = [], ...settings }: Settings): Registry {
  const on = (what: string) => !off.includes(what)
  const whole = { ...endpointFields.whole({}), ...settings }
  const endpoint = { merchantId: 1n, name: 'e', currency: 'USD', gateIds, settings: whole }
  return registryOf({
    version: 0n,
    staleAt: Infinity,
    merchants: [
      { merchantId: 1n, login: 'shop', name: 'Shop', enabled: on('merchant'), cellNo: 0, controlKeys: [], publicKeys: [] },
    ],
    endpoints: [
      { ...endpoint, endpointId: 101n, enabled: on('endpoint') },
      { ...endpoint, endpointId: 102n, enabled: true, settings: endpointFields.whole({ mandatoryFields: ['purpose'] }) },
    ],
    groups: [{ groupId: 103n, merchantId: 1n, name: 'g', enabled: on('group'), endpointIds: [101n, 102n] }],
    gates: [1n, 2n].map((gateId) => ({ gateId, name: `g${gateId}`, enabled: on(`gate ${gateId}`), settings: gateRow })),
    filters: filters.map((one) => ({ merchantId: 1n, ...one })),
  })
}

const rule = (filterNo: number, facts: RuleFacts, entries: readonly string[] = [], score = 100): FilterRule => ({
  filterNo,
  name: `f${filterNo}`,
  code: '3001',
  score,
  facts,
  entries: new Set(entries),
})

interface Stored {
  kind?: OrderKind
  path?: bigint
  request?: Partial<OrderRequest>
  result?: TransactionResult
  authentication?: Partial<Authentication>
  fired?: readonly number[]
  expired?: true
}

function stored(
  state: State,
  { kind = 'sale', path = 101n, request, result = {}, authentication, fired, expired }: Stored = {},
): Order {
  const order = orderIn(state)
  const { authentication: _other, ...head } = order.transactions[0]!
  const payer = { orderDesc: 'x', ipAddress: '203.0.113.7', email: 'a@b.example', redirectUrl: 'https://shop.example/' }
  const screening = { score: 100, fired: fired?.map((filterNo) => ({ filterNo, name: '', code: '', score: 100, found: '' })) }
  return {
    ...order,
    kind,
    pathId: path,
    createdAt: now,
    request: { ...payer, ...request },
    card: { ...order.card, expiryYear: expired ? 2020 : 2030 },
    transactions: [{ ...head, kind, result, ...(authentication && { authentication: authentication as Authentication }) }],
    attempts: state === 'approved' ? order.attempts : [],
    ...(fired && { screening: screening as Screening }),
  }
}

const paid = stored('approved')
const secure = { threeDSecure: true }
const policy = (choices: object) => ({
  ...secure,
  authenticationPolicy: { ...endpointFields.whole({}).authenticationPolicy, ...choices },
})
const black = rule(3, { is: 'black', of: 'email' }, ['a@b.example'])
const limit = rule(4, { is: 'velocity', per: 'email', limit: 3, windowMs: 60_000, counts: 'all' })
const sum = rule(5, { is: 'volume', per: 'ip', limitMinor: '9000', currency: 'USD', windowMs: 60_000, counts: 'all' })
const usd = (most: string) => rule(6, { is: 'amount', mostMinor: most, currency: 'USD' }, [], 60)
const bin = (digits: string) => rule(7, { is: 'black', of: 'bin' }, [digits])
const recurrent = (initiator: 'MERCHANT' | 'CARDHOLDER', amounts?: readonly (readonly [string, string])[]) => ({
  recurrent: { initiator, scenario: 'REGULAR' as const, ...(amounts && { amounts }) },
})
const app = { mobile: { invoiceId: 'i' } }
const declined = (errorCode: string) => stored('declined', { result: { errorCode, verified: 'UNSUPPORTED' } })
const waived = (authentication?: Partial<Authentication>) =>
  stored('approved', { result: { verified: 'UNSUPPORTED' }, ...(authentication && { authentication }) })
const off = (...operations: EndpointSettings['disabledOperations']) => ({ disabledOperations: operations })

// oxfmt-ignore
const table: readonly (readonly [what: string, order: Order, before: Settings, after: Settings, difference: string])[] = [
  // Nothing differs, or nothing that the payment meets.
  ['the same twice',              paid, {}, {}, ''],
  ['refused by both',             paid, { off: ['endpoint'] }, { off: ['endpoint'], mandatoryFields: ['phone'] }, ''],
  ['filtered by both',            paid, { filters: [black] }, { filters: [black, usd('1')] }, ''],
  // Fields.
  ['a field that is missing',     paid, {}, { mandatoryFields: ['phone'] }, 'approved > refused: field phone is missing'],
  ['a field that was sent',       stored('approved', { request: { phone: '1' } }), {}, { mandatoryFields: ['phone'] }, ''],
  ['the first that is missing',   paid, {}, { mandatoryFields: ['purpose', 'city'] }, 'approved > refused: field city is missing'],
  ['of the browser',              stored('approved', { request: { browser: { userAgent: 'x' } } }), {}, { mandatoryFields: ['customer_user_agent', 'customer_browser_info'] }, ''],
  ['no browser',                  paid, {}, { mandatoryFields: ['customer_browser_info'] }, 'approved > refused: field customer_browser_info is missing'],
  ['a field no longer needed',    stored('approved'), { mandatoryFields: ['phone'] }, {}, 'refused > approved: no longer: field phone is missing'],
  ['a state in the US',           stored('declined', { request: { country: 'US' } }), { optionalFields: ['state'] }, {}, 'declined > refused: field state is missing'],
  ['no state in France',          stored('declined', { request: { country: 'FR' } }), { optionalFields: ['state'] }, {}, ''],
  ['series',                      stored('approved', { request: { series: { expiry: '20300101', frequencyDays: '1' } } }), {}, { mandatoryFields: ['recurrent_expiry'] }, ''],
  ['a rebill has fewer fields',   stored('approved', { request: recurrent('MERCHANT') }), {}, { mandatoryFields: ['phone'] }, ''],
  ['a rebill without a list',     stored('approved', { request: recurrent('MERCHANT') }), {}, { mandatoryFields: ['enumerate_amounts'] }, 'approved > refused: field enumerate_amounts is missing'],
  ['an app sends other fields',   stored('approved', { request: app }), {}, { mandatoryFields: ['phone'], merchantServerUrl: 'x' }, ''],
  // Amounts of a list.
  ['above the signed amount',     stored('approved', { request: recurrent('MERCHANT', [['1051', '10.51']]) }), { amountsAboveSigned: true }, {}, 'approved > refused: enumerate_amounts is invalid: an entry is above the amount'],
  ['below the signed amount',     stored('approved', { request: recurrent('MERCHANT', [['1049', '10.49']]) }), { amountsAboveSigned: true }, {}, ''],
  // Switches.
  ['the operation',               paid, {}, off('sale'), 'approved > refused: sale is switched off'],
  ['another operation',           paid, {}, off('preauth', 'capture'), ''],
  ['a preauthorisation',          stored('declined', { kind: 'preauth' }), {}, off('preauth'), 'declined > refused: preauth is switched off'],
  ['a verification',              stored('approved', { kind: 'account-verification' }), {}, off('account-verification'), 'approved > refused: account-verification is switched off'],
  ['a rebill, by its other name', stored('approved', { request: recurrent('MERCHANT') }), {}, off('make-rebill'), 'approved > refused: make-rebill-sale is switched off'],
  ['a transfer is a sale',        stored('approved', { kind: 'transfer', request: app }), {}, off('sale'), 'approved > refused: sale is switched off'],
  ['the merchant',                paid, {}, { off: ['merchant'] }, 'approved > refused: the merchant is switched off'],
  ['the endpoint',                paid, {}, { off: ['endpoint'] }, 'approved > refused: its endpoint or group is switched off'],
  ['the group of another',        paid, {}, { off: ['group'] }, ''],
  ['its group',                   stored('approved', { path: 103n }), {}, { off: ['group'] }, 'approved > refused: its endpoint or group is switched off'],
  ['the next of its group',       stored('approved', { path: 103n }), {}, { off: ['endpoint'] }, 'approved > refused: field purpose is missing'],
  // Gates.
  ['no gate is left',             paid, {}, { off: ['gate 1', 'gate 2'] }, 'approved > refused: no gate is switched on'],
  ['an app, no gate is left',     stored('approved', { request: app }), {}, { off: ['gate 1', 'gate 2'] }, 'approved > error: no gate is switched on'],
  ['the next gate',               paid, {}, { off: ['gate 1'] }, 'approved > not known: without 3-D Secure, by gate 2 (g2)'],
  ['another order of gates',      paid, {}, { gateIds: [2n, 1n] }, 'approved > not known: without 3-D Secure, by gate 2 (g2)'],
  ['not the first gate',          paid, {}, { off: ['gate 2'] }, ''],
  ['a gate that was missing',     stored('error', { result: { errorCode: '909' } }), { off: ['gate 1', 'gate 2'] }, {}, 'refused > not known: no longer: no gate is switched on'],
  // Filters.
  ['a filter that fires',         paid, {}, { filters: [black] }, 'approved > filtered: filter 3 (f3)'],
  ['a filter that does not',      stored('approved', { request: { email: 'c@d.example' } }), {}, { filters: [black] }, ''],
  ['scores add up',               paid, { filters: [usd('1')] }, { filters: [usd('1'), { ...black, score: 40 }] }, 'approved > filtered: filter 3 (f3) + filter 6 (f6)'],
  ['what takes off has no part',  paid, {}, { filters: [{ ...black, score: 160 }, rule(9, { is: 'loyalty', of: 'email' }, ['a@b.example'], -50)] }, 'approved > filtered: filter 3 (f3)'],
  ['too little of a score',       paid, {}, { filters: [usd('1')] }, ''],
  ['white wins',                  stored('filtered', { fired: [3] }), { filters: [black] }, { filters: [black, rule(8, { is: 'white', of: 'ip' }, ['203.0.113.0/24'], 0)] }, 'filtered > not known: no longer: filter 3 (f3)'],
  ['a filter that goes',          stored('filtered', { fired: [3] }), { filters: [black] }, {}, 'filtered > not known: no longer: filter 3 (f3)'],
  ['younger than the payment',    paid, { filters: [black] }, {}, 'filtered > approved: no longer: filter 3 (f3)'],
  ['six digits of a card',        paid, {}, { filters: [bin('411111')] }, 'approved > filtered: filter 7 (f7)'],
  ['more digits of a card',       paid, {}, { filters: [bin('41111111')] }, ''],
  ['a new limit counts nothing',  paid, {}, { filters: [limit, sum] }, ''],
  ['one payment above a sum',     paid, {}, { filters: [{ ...sum, facts: { ...sum.facts, limitMinor: '1049' } as RuleFacts }] }, 'approved > filtered: filter 5 (f5)'],
  ['a limit that fired then',     stored('filtered', { fired: [4] }), { filters: [limit] }, {}, 'filtered > not known: no longer: filter 4 (f4)'],
  ['a sum that fired then',       stored('filtered', { fired: [5] }), { filters: [sum] }, {}, 'filtered > not known: no longer: filter 5 (f5)'],
  ['declined for an app before',  stored('declined', { request: { mobile: { invoiceId: 'i', refusal: { code: '1', message: '' } } } }), {}, { filters: [black], ...secure }, ''],
  ['an expired card is filtered', stored('declined', { expired: true, result: { errorCode: '101' } }), {}, { filters: [black] }, 'declined > filtered: filter 3 (f3)'],
  // 3-D Secure.
  ['asked from now on',           paid, {}, secure, 'approved > not known: with 3-D Secure, by gate 1 (g1)'],
  ['asked no longer',             waived({ status: 'Y' }), secure, {}, 'approved > not known: without 3-D Secure, by gate 1 (g1)'],
  ['nowhere to return to',        { ...paid, request: { orderDesc: 'x', ipAddress: '203.0.113.7', email: 'a' } }, {}, secure, 'approved > refused: field redirect_url is missing'],
  ['an expired card',             stored('declined', { expired: true }), {}, secure, ''],
  ['a merchant asks',             stored('approved', { request: recurrent('MERCHANT') }), {}, secure, ''],
  ['a cardholder asks',           stored('approved', { request: recurrent('CARDHOLDER') }), {}, secure, 'approved > not known: with 3-D Secure, by gate 1 (g1)'],
  ['one amount is authenticated', stored('approved', { request: recurrent('CARDHOLDER', [['1', '0.01']]) }), {}, secure, 'approved > refused: enumerate_amounts is invalid: 3-D Secure authenticates one amount'],
  ['a random sum',                stored('approved', { request: { mobile: { invoiceId: 'i', randomSum: 'named' } } }), {}, secure, ''],
  // Its policy.
  ['unavailable, let through',    declined('2005'), secure, policy({ unavailable: 'authorise' }), 'declined > not known: no longer: Cardholder authentication is unavailable'],
  ['not enrolled, let through',   declined('2006'), secure, policy({ notEnrolled: 'authorise' }), 'declined > not known: no longer: Card is not enrolled in 3-D Secure'],
  ['failed, let through',         declined('2008'), secure, policy({ failed: 'authorise' }), 'declined > not known: no longer: Cardholder authentication failed technically'],
  ['another case, let through',   declined('2005'), secure, policy({ failed: 'authorise' }), ''],
  ['no policy: not in time',      declined('2009'), secure, policy({ notEnrolled: 'authorise', failed: 'authorise' }), ''],
  ['no policy: refused',          stored('declined', { result: { errorCode: '2001', verified: 'NOT_AUTHENTICATED' }, authentication: { status: 'N' } }), secure, policy({ attempted: 'decline' }), ''],
  ['attempted, declined',         stored('approved', { result: { verified: 'AUTHENTICATED' }, authentication: { status: 'A', version: '2.2.0' } }), secure, policy({ attempted: 'decline' }), 'approved > declined: Cardholder authentication was only attempted'],
  ['authenticated, whatever',     stored('approved', { result: { verified: 'AUTHENTICATED' }, authentication: { status: 'Y', version: '2.2.0' } }), secure, policy({ attempted: 'decline' }), ''],
  ['unavailable, declined',       waived({ status: 'U', version: '2.2.0' }), policy({ unavailable: 'authorise' }), secure, 'approved > declined: Cardholder authentication is unavailable'],
  ['not enrolled, declined',      waived(), policy({ notEnrolled: 'authorise' }), secure, 'approved > declined: Card is not enrolled in 3-D Secure'],
  ['failed, declined',            waived({ version: '2.2.0' }), policy({ failed: 'authorise' }), secure, 'approved > declined: Cardholder authentication failed technically'],
  ['none ran then',               paid, secure, policy({ notEnrolled: 'authorise' }), ''],
]

for (const [what, order, before, after, expected] of table)
  test(`${what}: ${expected || 'no difference'}`, () => {
    const found = differenceOf(order, registry(before), registry(after))
    assert.equal(found ? `${found.before} > ${found.after}: ${found.why}` : '', expected)
  })

test('a setting without effect on decisions, or without stored data, says so; and so does each field of an endpoint', () => {
  const of = { entityId: 1n, secrets: [] } as const
  const say = (entity: 'endpoint' | 'gate' | 'merchant', ...names: string[]) =>
    decidingOf({ ...of, entity, after: Object.fromEntries(names.map((name) => [name, null])) }, undefined)
  assert.deepEqual(say('endpoint', 'authenticationPolicy'), { isJudged: true, notForecast: [] })
  assert.deepEqual(say('merchant', 'colour'), { isJudged: false, notForecast: [['colour', 'it decides about no payment']] })
  assert.match(say('gate', 'host').notForecast[0]![1], /acquirers/)
  for (const name of Object.keys(endpointFields.table)) {
    const { isJudged, notForecast } = say('endpoint', name)
    assert.ok(isJudged || notForecast.length === 1, name)
  }
  const filter = { ...of, entity: 'filter' as const, after: { removed: false, 'listed a@b.example': true } }
  assert.deepEqual(decidingOf(filter, black), { isJudged: true, notForecast: [] }, 'no value of a list leaves it')
  assert.match(String(decidingOf(filter, limit).notForecast), /^limit,the counts of this filter/)
  assert.deepEqual(decidingOf({ ...filter, before: { removed: false } }, limit).notForecast, [])
  assert.match(String(decidingOf(filter, bin('41111111')).notForecast), /^of,/)
})
