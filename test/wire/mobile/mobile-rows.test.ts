import assert from 'node:assert/strict'
import { test } from 'node:test'
import { valueAt } from '../../../src/spec/mobile/field.ts'
import { refusalBody } from '../../../src/spec/mobile/answers.ts'
import { mobileOperationNames, mobileRow, type MobileOperation, type MobileTable } from '../../../src/spec/mobile/operations.ts'
import { until } from '../../harness/clock/until.ts'
import { closing, openWorld } from '../../harness/world/opening.ts'
import { openApp, type Begun, type Json } from './mobile-app.ts'
import { accessTokenOf, call, initiatePaths, initiation, kinds } from './mobile-merchant.ts'
import { testCard } from '../three-d-secure/three-d-secure-browser.ts'

/** Every body on the wire has only members that the rows of the mobile reference list. */

const world = await openWorld()
const app = await openApp(world)
closing(app.merchant)

const leavesOf = (value: unknown, path = ''): string[] =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
    ? Object.entries(value).flatMap(([name, inside]) => leavesOf(inside, path === '' ? name : `${path}.${name}`))
    : [path]

/** What the words after "when state is" ask for. No body can show any other condition. */
function isNeeded(need: string, body: unknown): boolean {
  const [, states] = /^when state is (.*)$/.exec(need) ?? []
  return need === 'mandatory' || (states?.split(' or ').includes(String(valueAt(body, 'state'))) ?? false)
}

/** `masked`: paths whose value somebody made unreadable. */
function listed(what: string, table: MobileTable, body: unknown, masked: readonly string[] = []): void {
  for (const path of leavesOf(body)) {
    const row = table[path]
    assert.ok(row, `${what} has ${path}, which no row lists: ${JSON.stringify(body)}`)
    if (!masked.includes(path))
      assert.ok(row.is.fits(valueAt(body, path)), `${path} of ${what} must be ${row.is.must}: ${JSON.stringify(body)}`)
  }
  for (const [path, { need }] of Object.entries(table))
    if (isNeeded(need, body)) assert.ok(valueAt(body, path) !== undefined, `${what} lacks ${path}: ${JSON.stringify(body)}`)
}

const answered = (operation: MobileOperation, body: unknown) => listed(operation, mobileRow(operation).answer, body)

const refusal: MobileTable = { ...refusalBody, invoiceId: mobileRow('perform-sale').answer['invoiceId']! }

/** Everything that an app may say of the consumer. */
const talkative = (body: Json) => {
  const consumer = { birthDay: '10121815', ipAddresses: ['203.0.113.7'] }
  const address = { city: 'Town', country: 'USA', postcodeZip: '1', state: 'CA', street: 'Road 1', street2: 'Floor 2' }
  Object.assign(body['consumer'] as Json, consumer)
  Object.assign(body, { location: { lat: 1.5, lng: -2 }, billing: { phone: '+1 2', address } })
  Object.assign(body, { order: { description: 'Tickets', siteUrl: 'https://shop.example', purpose: 'seat 7' } })
}

const statusOf = (one: Begun): MobileOperation => `${one.kind}-status`

async function ended(one: Begun): Promise<Json> {
  listed(`perform-${one.kind}`, mobileRow(`perform-${one.kind}`).request, one.body)
  const { body } = await app.perform(one)
  answered(`perform-${one.kind}`, body)
  const { token } = body['session'] as { token: string }
  answered(statusOf(one), (await app.status(one, token)).body)
  const seen = await app.ended(one, token)
  answered(statusOf(one), seen)
  return seen
}

test('a verification, a sale and a transfer, approved, declined, to be authenticated, and refused by the merchant', async () => {
  const states = []
  for (const kind of kinds) {
    states.push((await ended(app.begin(kind, { change: talkative })))['state'])
    states.push((await ended(app.begin(kind, { securityCode: '116' })))['state'])
    states.push((await ended(app.begin(kind, { endpoint: world.endpoints.secure, number: testCard('4', 2, 0) })))['state'])
    app.merchant.lie = () => ({ status: 403, body: '' })
    states.push((await ended(app.begin(kind)))['errorCode'])
    app.merchant.lie = undefined
  }
  assert.deepEqual(
    states,
    kinds.flatMap(() => ['APPROVED', 'DECLINED', 'REDIRECT_REQUEST', 4001]),
  )
})

test('a transfer whose fee the consumer chooses, and a sale whose consumer names the sum that was held', async () => {
  const one = app.begin('transfer', { endpoint: world.endpoints.mobile_fee, amountCentis: 1_000 })
  const asks = await ended(one)
  assert.equal(asks['state'], 'TRANSFER_FEE_REQUEST')
  const { token } = asks['session'] as { token: string }
  const [fee] = asks['transferFeeList'] as { assignedId: string; commissionCentis: number }[]
  const completed = await app.complete(one, token, fee!.assignedId)
  answered('complete-transfer', completed.body)
  const seen = await app.ended(one, token)
  answered('transfer-status', seen)
  assert.deepEqual([seen['state'], valueAt(seen, 'transaction.commissionCentis')], ['APPROVED', fee!.commissionCentis])
  const sum = await ended(app.begin('sale', { endpoint: world.endpoints.mobile_random_sum }))
  assert.equal(sum['state'], 'REDIRECT_REQUEST')
})

test('questions and notifications to a merchant, with cards and with their references', async () => {
  const one = app.begin('transfer')
  const { token } = (await ended(one))['session'] as { token: string }
  const notified = await app.notified('transfer', token)
  app.merchant.cards.set('card-7', String(valueAt(notified, 'sourceCard.reference.serverCardId')))
  app.merchant.cards.set('card-9', String(valueAt(notified, 'destinationCard.reference.serverCardId')))
  const reference = { clientCardId: 'card-7', securityCode: '123' }
  const to = { reference: { clientCardId: 'card-9' } }
  for (const again of [app.begin('sale', { reference }), app.begin('transfer', { reference, to })]) {
    const seen = await ended(again)
    assert.equal(seen['state'], 'APPROVED', JSON.stringify(seen))
  }
  await until(() => kinds.every((kind) => app.merchant.calls.some(({ path }) => path === `/${kind}/notification`)), Boolean)
  const called = new Set<MobileOperation>()
  for (const { path, body } of app.merchant.calls) {
    const operation = operationAt(path)
    called.add(operation)
    listed(operation, mobileRow(operation).request, body)
  }
  const here = kinds.flatMap((kind) => [`check-${kind}`, `${kind}-notification`])
  assert.deepEqual([...called].toSorted(), here.toSorted())
})

test('a refusal has the cause and the status that its operation has in the reference', async () => {
  const refusing: [MobileOperation, () => Promise<{ status: number; body: Json }>, RegExp][] = [
    ['perform-sale', () => app.perform(app.begin('sale', { change: (body) => delete body['transaction'] })), /may not be empty/],
    ['perform-sale', () => app.perform(app.begin('sale', { endpoint: 999_999 })), /not known/],
    ['sale-status', () => app.post(`sale/${world.endpoints.plain}/none/status`, {}), /may not be empty/],
    ['sale-status', () => app.status(app.begin('sale'), 'a'.repeat(36)), /not known/],
    ['complete-transfer', () => app.complete(app.begin('transfer'), 'a'.repeat(36), 'economy'), /not known/],
  ]
  for (const [operation, asks, says] of refusing) {
    const { status, body } = await asks()
    listed(operation, refusal, body)
    assert.match(String(valueAt(body, 'error.message')), says)
    const cause = valueAt(body, 'error.cause')
    assert.ok(
      mobileRow(operation).refusals.some((row) => row.cause === cause && row.http === status),
      JSON.stringify(body),
    )
  }
})

const patternOf = (path: string) => new RegExp(`^${path.replaceAll(/\{\w+\}|:\w+/g, '[^/]+')}$`)

/** The operation of a merchant's server that has this path. */
function operationAt(path: string): MobileOperation {
  const found = mobileOperationNames.find(
    (name) => mobileRow(name).side === 'merchant' && patternOf(mobileRow(name).path).test(path),
  )
  assert.ok(found, path)
  return found
}

test("the requests to the merchant's reference server and its answers have the fields of the rows", async () => {
  const server = world.merchantServerUrl
  const accessToken = await accessTokenOf(server, 'rows', 'rows@example.com')
  for (const kind of kinds) {
    const { status, json } = await call(`${server}${initiatePaths[kind]}`, initiation(kind, accessToken, 'device-1'))
    assert.equal(status, 200)
    answered(`initiate-${kind}`, json)
    const { session, invoiceId, endpointId } = json
    const wish = { endpoint: Number(endpointId), securityCode: '111' }
    const change = (body: Json) => void Object.assign(body['session'] as Json, session, { accessToken })
    const seen = await ended({ ...app.begin(kind, { ...wish, change }), invoiceId: invoiceId!, accessToken })
    assert.equal(seen['state'], 'APPROVED', JSON.stringify(seen))
  }
  const { calls } = await until(
    async () =>
      (await call(`${server}/log`)).json as unknown as {
        calls: { path: string; status: number; request: object; reply: object }[]
      },
    ({ calls: all }) => kinds.every((kind) => all.some(({ path }) => path === `/${kind}/notification`)),
  )
  assert.ok(calls.filter(({ status }) => status === 200).length >= 10)
  for (const { path, status, request, reply } of calls) {
    const operation = operationAt(path)
    // Invoices of the other server, about which the gateway asked before it read its configuration.
    if (status !== 200) {
      listed(operation, refusal, reply)
      continue
    }
    // The journal shows an access token by its ends.
    listed(operation, mobileRow(operation).request, request, ['session.accessToken'])
    listed(operation, mobileRow(operation).answer, reply, ['session.accessToken'])
  }
})
