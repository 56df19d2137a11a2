import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import {
  accepted,
  encodePairs,
  readReply,
  saleFields,
  send,
  sha1,
  statusUrl,
  type Fields,
} from '../../conformance/requests/client.ts'
import { approved } from '../../conformance/operations/operations.ts'
import { v4Url } from '../../conformance/requests/oauth.ts'
import { openWorld } from '../../harness/world/opening.ts'
import { cliOf, run } from './cli-run.ts'

const world = await openWorld()
const { login } = world.merchant
const { tell, json, refuse } = cliOf(() => world)
/** As a merchant of the installation. */
const own = (...given: string[]) => json<Signed>('sign', ...given, '--login', login)

const key = 'F9C0DE00-1111-4222-8333-444455556666'

interface Signed {
  control: string
  string_to_sign: string
  formula: string
  base_string: string
  authorization: string
  url: string
}

const args = (fields: Fields) => Object.entries(fields).map(([name, value]) => `${name}=${value}`)

/** With a key of the environment there is no installation. */
const alone = (...given: string[]) => run({ TOLLGATE_CONTROL_KEY: key }, ['sign', ...given])

// oxfmt-ignore
const formulas: [line: string, ...parts: string[]][] = [
  ['sale endpoint=101 client_orderid=o-1 amount=10.5 currency=USD email=a@b.c',      '101', 'o-1', '1050', 'a@b.c'],
  ['preauth endpoint=group/104 client_orderid=o-1 amount=7 currency=JPY email=a@b.c', '104', 'o-1', '7', 'a@b.c'],
  ['account-verification endpoint=101 client_orderid=o-1 email=a@b.c',               '101', 'o-1', 'a@b.c'],
  ['make-rebill-sale login=l client_orderid=o cardrefid=5 amount=0.99 currency=USD', 'l', 'o', '5', '99', 'USD'],
  ['make-rebill login=l client-order-id=o cardrefid=5 amount=1 currency=KWD',        'l', 'o', '5', '1000', 'KWD'],
  ['capture login=l client_orderid=o orderid=7 amount=1 currency=USD',               'l', 'o', '7', '100', 'USD'],
  ['return login=l client_orderid=o orderid=7',                                      'l', 'o', '7'],
  ['void login=l client_orderid=o orderid=7 amount=1 currency=USD',                  'l', 'o', '7'],
  ['create-card-ref login=l client_orderid=o orderid=7',                             'l', 'o', '7'],
  ['get-card-info login=l cardrefid=5',                                              'l', '5'],
  ['status login=l client_orderid=o',                                                'l', 'o'],
  ['upload-cres-result login=l client_orderid=o orderid=7 cres=x',                   'l', 'o', '7'],
]

for (const [line, ...parts] of formulas)
  test(`sign ${line}`, async () => {
    const ran = await alone(...line.split(' '), '--json')
    assert.equal(ran.code, 0, ran.err)
    const signed = JSON.parse(ran.out) as Signed
    assert.equal(signed.control, sha1(...parts, key))
    assert.equal(signed.string_to_sign, `${parts.join('')}‹control key›`)
    assert.ok(signed.formula.endsWith(' + control key'))
    const told = await alone(...line.split(' '))
    assert.ok(told.out.includes(signed.control) && told.out.includes(signed.string_to_sign))
    assert.ok(!(told.out + told.err + ran.out).includes(key), 'the key is not printed')
  })

test('the key of a merchant of the installation makes a control that the gateway takes', async () => {
  const fields = saleFields()
  const { control } = await own('sale', `endpoint=${world.endpoints.plain}`, ...args(fields))
  const post = (url: string, all: Fields) => send('POST', url, encodePairs(Object.entries(all))).then(readReply)
  const made = accepted(await post(`${world.baseUrl}/api/v2/sale/${world.endpoints.plain}`, { ...fields, control }))
  const named = { client_orderid: made.client_orderid, orderid: made.orderid }
  const asked = await own('status', ...args(named))
  const status = await post(statusUrl(world), { login, ...named, control: asked.control })
  assert.equal(status.type, 'status-response')
})

test('an endpoint that counts a hundred to every unit is known from the installation', async () => {
  const sale = args({ client_orderid: 'h', amount: '10', currency: 'JPY', email: 'a@b.c' })
  const { string_to_sign } = await own('sale', `endpoint=${world.endpoints.hundredths}`, ...sale)
  assert.equal(string_to_sign, `${world.endpoints.hundredths}h1000a@b.c‹control key›`)
})

test('the key may come by standard input', async () => {
  const ran = await run({}, ['sign', 'status', 'login=l', 'client_orderid=o', '--key-stdin', '--json'], `${key}\n`)
  assert.equal((JSON.parse(ran.out) as Signed).control, sha1('l', 'o', key))
})

for (const operation of ['status', 'create-card-ref'] as const)
  test(`${operation} of v4: the header it prints lets the call in`, async () => {
    const { orderid, client_orderid } = await approved(world, 'sale')
    const fields = args({ client_orderid, orderid })
    const signed = await own(`${operation}-v4`, `endpoint=${world.endpoints.plain}`, ...fields)
    assert.equal(signed.url, v4Url(world, operation))
    assert.match(signed.base_string, /^POST&http%3A%2F%2F127\.0\.0\.1/)
    const { authorization } = signed
    const body = encodePairs(Object.entries({ client_orderid, orderid }))
    assert.equal(readReply(await send('POST', signed.url, body, { authorization })).status, 'approved')
    assert.match(
      await tell(['sign', `${operation}-v4`, 'endpoint=101', ...fields]),
      /^Authorization {2}OAuth oauth_consumer_key=/m,
    )
  })

test('v4 with a key file of its own needs no installation', async () => {
  const file = join(world.directory, 'merchant.pem')
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  writeFileSync(file, privateKey.export({ type: 'pkcs8', format: 'pem' }))
  const where = ['--login', 'shop', '--private-key', file, '--base-url', 'https://pay.example/gateway']
  const ran = await run({}, ['sign', 'status-v4', 'endpoint=7', 'client_orderid=o', ...where, '--json'])
  assert.equal((JSON.parse(ran.out) as Signed).url, 'https://pay.example/gateway/api/v4/status/7')
  rmSync(file)
})

// oxfmt-ignore
const wrong: [args: string[], says: RegExp][] = [
  [['sales'],                                                          /"sales" is not an operation[^]*\n {2}upload-pares-result/],
  [['sale', 'client_orderid=o', 'amount=1', 'currency=USD', 'email=a@b.c'], /^endpoint is missing/],
  [['sale', 'endpoint=101', 'amount=1', 'currency=USD', 'email=a@b.c'], /^client_orderid is missing/],
  [['sale', 'endpoint=101', 'client_orderid=o', 'amount=1', 'email=a@b.c'], /^currency is missing/],
  [['sale', 'endpoint=101', 'client_orderid=o', 'amount=1.005', 'currency=USD', 'email=a@b.c'], /^amount is "1.005": USD has 2 decimals/],
  [['sale', 'endpoint=101', 'client_orderid=o', 'amount=1,00', 'currency=USD', 'email=a@b.c'], /^amount is "1,00"/],
  [['sale', 'endpoint=101', 'client_orderid=o', 'amount=1', 'currency=usd', 'email=a@b.c'], /^currency is "usd"/],
  [['sale', 'endpoint=x'],                                             /^endpoint is "x"/],
  [['status', 'clientorderid=o'],                                      /^status has no field clientorderid/],
  [['status', 'o'],                                                    /^"o" is not field=value/],
  [['status', 'client_orderid=o', 'client_orderid=p'],                 /^client_orderid is given twice/],
  [['status-v4', 'endpoint=101'],                                      /^client_orderid is missing/],
  [['status-v4', 'client_orderid=o'],                                  /^endpoint is missing/],
  [['status-v4', 'endpoint=101', 'client_orderid=o', '--private-key', '/nowhere.pem'], /nowhere\.pem does not exist/],
]

for (const [given, says] of wrong)
  test(`sign ${given.join(' ')}: ends with 2 and says why`, async () => {
    assert.match(await refuse(2, 'sign', ...given), says)
  })

test('explained at a world: the amount of its order may be signed by a return that sends none, and by no other', async () => {
  const { orderid, client_orderid } = await approved(world, 'sale')
  const named = { login, client_orderid, orderid }
  const explained = async (fields: Fields, ...parts: string[]) => {
    const file = join(world.directory, 'request.txt')
    const control = sha1(login, client_orderid, orderid, ...parts, world.merchant.controlKey)
    writeFileSync(file, `POST /api/v2/return/${world.endpoints.plain}\n\n${encodePairs(Object.entries({ ...fields, control }))}`)
    const ran = await run({ TOLLGATE_DIR: world.directory }, ['signature', 'explain', '--request', file, '--json'])
    rmSync(file)
    const { verdict, mistakes } = JSON.parse(ran.out) as { verdict: string; mistakes: { name: string }[] }
    assert.equal(ran.code, verdict === 'right' ? 0 : 1)
    return [verdict, ...mistakes.map(({ name }) => name)]
  }
  assert.deepEqual(await explained(named), ['right'])
  assert.deepEqual(await explained(named, '1050', 'USD'), ['right'])
  const part = { ...named, amount: '3.00', currency: 'USD' }
  assert.deepEqual(await explained(part, '300', 'USD'), ['right'])
  assert.deepEqual(await explained(part, '1050', 'USD'), ['mistaken', 'the amount of the order'])
})

test('the guide of a sandbox has its addresses and test cards', async () => {
  const guide = await tell(['merchant', 'guide', login, '--endpoint', String(world.endpoints.plain)])
  assert.ok(guide.includes(`${world.baseUrl}/api/v2/sale/${world.endpoints.plain}`))
  assert.match(guide, /A test card +4111111111111111/)
  const [, cards = ''] = /More test cards +(\S+)/.exec(guide) ?? []
  assert.match(await (await fetch(cards)).text(), /4111111111111111|4000/)
})

test('an unknown merchant or endpoint ends with 1, two keys together with 2', async () => {
  const status = ['sign', 'status', 'client_orderid=o']
  assert.match(await refuse(1, ...status, '--login', 'nobody'), /no merchant nobody/)
  assert.match(await refuse(1, ...status, `endpoint=${world.other.endpoint}`), /has no endpoint/)
  const ran = await run({ TOLLGATE_CONTROL_KEY: key }, [...status, '--login', 'sandbox'])
  assert.equal(ran.code, 2)
  assert.match(ran.err, /--login and TOLLGATE_CONTROL_KEY both name a control key/)
})
