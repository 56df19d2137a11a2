import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { rebill, registered } from '../../conformance/cards/card.ts'
import {
  accepted,
  invalid,
  newOrderId,
  order,
  refused,
  required,
  sale,
  settled,
  type Changes,
  type Fields,
} from '../../conformance/requests/client.ts'
import { until } from '../../harness/clock/until.ts'
import { openMobile, initiate, perform, empty } from '../../conformance/mobile/mobile.ts'
import { closing, openWorld } from '../../harness/world/opening.ts'
import { cliOf, run } from '../operator/cli-run.ts'

// What an operator sets for an endpoint or a gate, and what the running gateway makes of it. Each
// test has an endpoint of its own.

const world = await openWorld()
const mobile = await openMobile(world)
closing(mobile.shop)

const { tell, json } = cliOf(() => world)

async function newEndpoint(...more: string[]): Promise<number> {
  const name = newOrderId()
  const add = ['endpoint', 'add', '--merchant', world.merchant.login, '--currency', 'USD', '--gate', '1', '--name', name, ...more]
  const { endpoint_id: id } = await json<{ endpoint_id: number }>(...add)
  const sold = () => sale(world, {}, { path: id })
  await until(sold, (reply) => reply['error-code'] !== '4')
  return id
}

const address = { country: 'US', city: 'Springfield', zip_code: '62701', address1: '742 Evergreen Terrace' }

test('state is mandatory in the US unless the operator makes it optional; if sent, it must be valid', async () => {
  const path = await newEndpoint()
  const pay = (changes: Changes = {}) => sale(world, { ...address, ...changes }, { path })
  refused(await pay(), 1, required('state'))
  await tell(['endpoint', 'set', String(path), '--optional', 'state'])
  accepted(await until(pay, (reply) => reply.type === 'async-response'))
  refused(await pay({ state: 'ZZ' }), 3, invalid('state'))
  await tell(['endpoint', 'set', String(path), '--optional', 'none'])
  refused(await until(pay, (reply) => reply.type !== 'async-response'), 1, required('state'))
})

test('every optional field of payments and recurrent payments can be made mandatory', async () => {
  const path = await newEndpoint('--mandatory', 'purpose,recurrent_scenario')
  const { ref } = await registered(world)
  refused(await sale(world, {}, { path }), 1, required('purpose'))
  accepted(await sale(world, { purpose: 'wallet 77' }, { path }))
  refused(await rebill(world, ref, {}, { path }), 1, required('purpose'))
  refused(await rebill(world, ref, { purpose: 'wallet 77' }, { path }), 1, required('recurrent_scenario'))
  accepted(await rebill(world, ref, { purpose: 'wallet 77', recurrent_scenario: 'IRREGULAR' }, { path }))
})

test('so can every optional field of the mobile API, by its path', async () => {
  const id = world.endpoints.plain
  const pay = async (changes: object = {}) => {
    const made = initiate(mobile, 'sale', { ...changes }, { endpoint: id })
    return { made, told: await perform(mobile, made) }
  }
  assert.equal((await pay()).told.httpStatus, 200)
  await tell(['endpoint', 'set', String(id), '--mandatory', 'order.description,consumer.birthDay'])
  const { told } = await until(pay, ({ told: { httpStatus } }) => httpStatus !== 200)
  assert.equal((told.json.error as { message: string }).message, empty('consumer.birthDay'))
  const { told: next } = await pay({ 'consumer.birthDay': '01121980' })
  assert.equal((next.json.error as { message: string }).message, empty('order.description'))
  assert.equal((await pay({ 'consumer.birthDay': '01121980', 'order.description': 'shoes' })).told.httpStatus, 200)
  await tell(['endpoint', 'set', String(id), '--mandatory', 'none'])
  await until(pay, ({ told: { httpStatus } }) => httpStatus === 200)
})

test('the descriptor of an endpoint is shown in place of the gate’s, which is shown beside it', async () => {
  const path = await newEndpoint('--descriptor', 'SHOES*ONLINE')
  const seen = await settled(world, await order(world, {}, { path }))
  assert.deepEqual([seen.descriptor, seen['original-gate-descriptor']], ['SHOES*ONLINE', 'TOLLGATE*SANDBOX'])
  await tell(['endpoint', 'set', String(path), '--no-descriptor'])
  const later = await until(
    async () => settled(world, await order(world, {}, { path })),
    ({ descriptor }) => descriptor !== 'SHOES*ONLINE',
  )
  assert.deepEqual([later.descriptor, later['original-gate-descriptor']], ['TOLLGATE*SANDBOX', 'TOLLGATE*SANDBOX'])
})

/**
 * What the acquirer was sent about the recurrence of an order's payment, initiator and scenario.
 */
async function recurrenceSent({ orderid }: { orderid: string }): Promise<string[]> {
  const answer = await fetch(`${world.acquirerAdminUrl}/messages?order_id=${orderid}`)
  const { messages } = (await answer.json()) as { messages: { fields: Fields }[] }
  const tags = messages.flatMap(({ fields }) => fields['48'] ?? [])
  return ['RI', 'RS'].map((tag) => tags.flatMap((text) => new RegExp(`\\b${tag}=(\\S+)`).exec(text)?.[1] ?? [])[0] ?? 'none')
}

test('who asks for a recurrent payment and how it comes is the gate’s setting, unless the request says it', async () => {
  const { ref } = await registered(world)
  const pay = async (changes: Changes = {}) => {
    const made = accepted(await rebill(world, ref, changes))
    await settled(world, made)
    return recurrenceSent(made)
  }
  assert.deepEqual(await pay(), ['MERCHANT', 'REGULAR'])
  await tell(['gate', 'set', '1', '--recurrent-initiator', 'CARDHOLDER', '--recurrent-scenario', 'IRREGULAR'])
  const set = await until(pay, ([initiator]) => initiator !== 'MERCHANT')
  assert.deepEqual(set, ['CARDHOLDER', 'IRREGULAR'])
  const said = { recurrent_initiator: 'MERCHANT', recurrent_scenario: 'REGULAR' }
  assert.deepEqual(await pay(said), ['MERCHANT', 'REGULAR'])
  // Where 3-D Secure runs, a payment that is the cardholder's by the gate's setting needs the
  // address to come back to.
  const { secure } = world.endpoints
  refused(await rebill(world, ref, {}, { path: secure }), 1, required('redirect_url'))
  accepted(await rebill(world, ref, said, { path: secure }))
  await tell(['gate', 'set', '1', '--recurrent-initiator', 'MERCHANT', '--recurrent-scenario', 'REGULAR'])
  assert.deepEqual(await until(pay, ([initiator]) => initiator === 'MERCHANT'), ['MERCHANT', 'REGULAR'])
})

test('a filter may look at the purpose of a payment', async () => {
  const path = await newEndpoint()
  const on = ['--merchant', world.merchant.login, '--endpoint', String(path)]
  const { filter } = await json<{ filter: number }>('filter', 'add', 'black', ...on, '--of', 'purpose', '--value', 'Wallet 77')
  assert.ok(filter > 0)
  const trial = (purpose: string) =>
    json<{ filtered: boolean }>('filter', 'test', '--endpoint', String(path), '--card', '4111111111111111', '--purpose', purpose)
  assert.deepEqual([(await trial('wallet 77')).filtered, (await trial('wallet 7')).filtered], [true, false])
  const pay = async (purpose: string) => (await settled(world, await order(world, { purpose }, { path }))).status
  const status = await until(
    () => pay('WALLET 77'),
    (seen) => seen !== 'approved',
  )
  assert.equal(status, 'filtered')
  assert.equal(await pay('wallet 78'), 'approved')
})

test('the doctor names merchants whose control key can be guessed or stands in public documents', async () => {
  const controlKey = 'A60112DA-E32A-4747-932A-FFE978067A65'
  await tell(['merchant', 'add', '--login', 'by-the-book', '--control-key', controlKey])
  const key = readFileSync(join(world.directory, 'keys', 'master.key'), 'utf8')
  const found = async (env: Record<string, string>) =>
    JSON.parse((await run(env, ['doctor', '--json'])).out).checks.filter(({ what }: Fields) => what === 'control keys')
  const installation = { DATABASE_URL: world.databaseUrl, TOLLGATE_KEY: key.trim() }
  const [inProduction] = await found(installation)
  assert.equal(inProduction.is, 'warning')
  // The world may have merchants of an earlier file with such keys.
  assert.match(inProduction.says, /^by-the-book: this control key appears in public documents(?:; others: .+)?$/)
  assert.match(inProduction.advice, /merchant rotate-key by-the-book$/)
  assert.equal((await found({ TOLLGATE_DIR: world.directory }))[0].is, 'ok')
})

test('an endpoint shows the commissions of its gate, and what operators set is shown to them', async () => {
  await tell(['gate', 'set', '1', '--seller-commission', '30+150', '--acquirer-commission', '5+20'])
  const path = await newEndpoint('--seller-commission', 'gate')
  const seen = await until(
    async () => settled(world, await order(world, {}, { path })),
    (reply) => reply['seller-commission'] !== undefined,
  )
  assert.deepEqual([seen['seller-commission'], seen['acquirer-commission']], ['0.46', undefined])
  const shown = await tell(['endpoint', 'show', String(path)])
  assert.match(shown, /Seller's commission +the gate's\n(?!.*Acquirer's commission)/)
  assert.match(await tell(['gate', 'show', '1']), /Acquirer's commission +5 minor units and 0.2 %/)
  const { seller_commission: seller } = await json<{ seller_commission: unknown }>('gate', 'show', '1')
  assert.deepEqual(seller, { fixed_minor: 30, basis_points: 150 })
})
