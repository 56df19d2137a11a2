import assert from 'node:assert/strict'
import { test } from 'node:test'
import { accepted, newOrderId, refused, sale, saleControl } from '../../conformance/requests/client.ts'
import { until } from '../../harness/clock/until.ts'
import { openWorld } from '../../harness/world/opening.ts'
import { cliOf, run, words } from './cli-run.ts'

// Merchants, endpoints, groups and gates by the command line, and how the running gateway follows.

const world = await openWorld()

const { tell, json, refuse } = cliOf(() => world)

interface Added {
  login: string
  control_key: string
}
interface Endpoint {
  endpoint_id: number
  currency: string
  mandatory_fields: string[]
  disabled_operations: string[]
  amounts_above_signed: boolean
  repeat_window_ms: number
  callback_url: string | null
  merchant_server_url: string | null
}
interface Audit {
  entries: { who: string; action: string; subject: string; details: object }[]
}

/** A merchant with an endpoint in USD, both made by the commands. */
async function shop(login: string) {
  const added = await json<Added>('merchant', 'add', '--login', login)
  const { endpoint_id: endpoint } = await json<Endpoint>(...words`endpoint add --merchant ${login} --currency usd --gate 1`)
  const as = { login, controlKey: added.control_key }
  return { as, endpoint, pay: (controlKey = as.controlKey) => sale(world, {}, { path: endpoint, as: { login, controlKey } }) }
}

const taken = (reply: Record<string, string>) => reply.type === 'async-response'
const refusedSoon = async (pay: () => Promise<Record<string, string>>, code: number) =>
  refused(await until(pay, (reply) => reply['error-code'] === String(code)), code)

test('a merchant and an endpoint that were just added take payments within seconds, without a restart', async () => {
  const { as, pay } = await shop('new-shop')
  assert.match(as.controlKey, /^[0-9A-F]{8}(-[0-9A-F]{4}){3}-[0-9A-F]{12}$/)
  accepted(await until(() => pay(), taken))
})

test('after a rotation both keys are accepted for the time given, then the new one alone', async () => {
  const { as, pay } = await shop('rotating')
  accepted(await until(() => pay(), taken))
  const { control_key: fresh } = await json<Added>('merchant', 'rotate-key', 'rotating', '--keep-old', '10min')
  accepted(await until(() => pay(fresh), taken))
  accepted(await pay())
  const { control_key: third } = await json<Added>('merchant', 'rotate-key', 'rotating', '--keep-old', '8s')
  accepted(await until(() => pay(third), taken))
  await refusedSoon(() => pay(fresh), 2)
  accepted(await pay(third))
  const { control_key: next } = await json<Added>('merchant', 'rotate-key', 'rotating', '--keep-old', '0')
  accepted(await until(() => pay(next), taken))
  for (const over of [as.controlKey, fresh, third]) refused(await pay(over), 2)
})

test('a key of one’s own is taken from standard input, and a weak or short one is refused', async () => {
  const told = await tell(['merchant', 'add', '--login', 'own-key', '--control-key', '-'], 'qV7-x2LmPz0RfYc9TgWbNe\n')
  assert.match(told, /qV7-x2LmPz0RfYc9TgWbNe/)
  assert.match(told, /mobile API cannot use this key/)
  assert.match(await refuse(2, 'merchant', 'add', '--login', 'weak', '--control-key', 'abcabcabcabcabcabcabcabc'), /weak/)
  assert.match(
    await refuse(2, 'merchant', 'add', '--login', 'weak', '--control-key', 'k-0123456789'),
    /at least 22 random characters/,
  )
  assert.match(
    await refuse(2, 'merchant', 'add', '--login', 'weak', '--control-key', 'MerchantControlKey2026!'),
    /weak: it is made of words/,
  )
  assert.match(await refuse(2, 'merchant', 'add', '--login', 'a-login-of-21-letters'), /one to twenty/)
  assert.match(await refuse(1, 'merchant', 'add', '--login', 'own-key'), /already/)
  const mobile = words`endpoint add --merchant own-key --currency EUR --gate 1 --merchant-server-url https://own.example/`
  assert.match(await refuse(1, ...mobile), /32 hexadecimal digits.*rotate-key own-key/)
  await tell(['merchant', 'rotate-key', 'own-key'])
  assert.equal((await json<Endpoint>(...mobile)).merchant_server_url, 'https://own.example/')
  assert.match(
    await refuse(1, 'merchant', 'rotate-key', 'own-key', '--control-key', 'pZ4_kWq9-Lm2TxVb7RsYdH'),
    /serves the mobile API/,
  )
})

test('a switched-off entity takes no payments, and takes them again when it is on', async () => {
  const { endpoint, pay } = await shop('switched')
  accepted(await until(() => pay(), taken))
  for (const [family, id] of [
    ['merchant', 'switched'],
    ['endpoint', String(endpoint)],
  ] as const) {
    await tell([family, 'disable', id])
    await refusedSoon(pay, 5)
    await tell([family, 'enable', id])
    accepted(await until(() => pay(), taken))
  }
})

test('settings of an endpoint hold for the next payment, and taking them away too', async () => {
  const { endpoint, pay } = await shop('strict-shop')
  accepted(await until(() => pay(), taken))
  const id = String(endpoint)
  const set = await json<Endpoint>(
    ...words`endpoint set ${id} --mandatory phone,city --callback-url http://127.0.0.1:9/paid`,
    ...words`--amounts-above-signed on --repeat-window 90s`,
  )
  assert.deepEqual([set.mandatory_fields, set.callback_url], [['phone', 'city'], 'http://127.0.0.1:9/paid'])
  assert.equal(set.amounts_above_signed, true)
  assert.equal(set.repeat_window_ms, 90_000)
  await refusedSoon(pay, 1)
  const freed = await json<Endpoint>(...words`endpoint set ${id} --mandatory none --no-callback-url --operations sale=off`)
  assert.deepEqual(
    [freed.mandatory_fields, freed.callback_url, freed.disabled_operations],
    [[], null, ['capture', 'return', 'sale', 'void']],
  )
  await refusedSoon(pay, 5)
  assert.match(await refuse(2, 'endpoint', 'set', id), /Nothing to set/)
  assert.match(await refuse(2, 'endpoint', 'set', id, '--mandatory', 'shoe_size'), /which "shoe_size" is not/)
  assert.match(await refuse(2, 'endpoint', 'set', id, '--callback-url', 'http://user:secret@shop.example/'), /credentials/)
  assert.match(await refuse(1, 'endpoint', 'set', '999999', '--name', 'x'), /no endpoint 999999/)
})

test('a group takes payments in the currencies of its members', async () => {
  const { as, endpoint } = await shop('grouped')
  const euro = await json<Endpoint>('endpoint', 'add', '--merchant', 'grouped', '--currency', 'EUR', '--gate', '1')
  const group = await json<{ group_id: number }>(
    ...words`group add --merchant grouped --name all --endpoint ${`${endpoint},${euro.endpoint_id}`}`,
  )
  const path = `group/${group.group_id}`
  // In the path of a group the checksum begins with the group's id.
  const inGroup = (currency: string) => {
    const changes = { client_orderid: newOrderId(), currency }
    const control = saleControl(group.group_id, changes.client_orderid, '1050', 'ada@example.com', as.controlKey)
    return sale(world, { ...changes, control }, { path })
  }
  for (const currency of ['USD', 'EUR']) accepted(await until(() => inGroup(currency), taken))
  await tell(['group', 'disable', String(group.group_id)])
  await refusedSoon(() => inGroup('USD'), 5)
  assert.match(
    await refuse(1, 'group', 'add', '--merchant', 'grouped', '--name', 'odd', '--endpoint', String(world.other.endpoint)),
    /not an endpoint of grouped/,
  )
})

test('a gate needs what its acquirer gave, is found by its name, and an endpoint goes without it while it is off', async () => {
  const settings = words`--host 127.0.0.1 --port 9 --terminal-id T1 --card-acceptor-id A1 --card-acceptor-name A`
  assert.match(await refuse(2, 'gate', 'add', '--name', 'second', ...settings), /needs --acquirer-id, --mcc, --descriptor/)
  const rest = words`--acquirer-id 400009 --mcc 5999 --descriptor SECOND`
  assert.match(
    await refuse(2, 'gate', 'add', '--name', 'second', ...settings, '--acquirer-id', 'x', '--mcc', '5999', '--descriptor', 'S'),
    /--acquirer-id must be/,
  )
  const added = await json<{ answer_timeout_ms: number }>(...words`gate add --name second`, ...settings, ...rest)
  assert.equal(added.answer_timeout_ms, 30_000)
  const set = await json<{ answer_timeout_ms: number; host: string }>('gate', 'set', 'second', '--answer-timeout', '20s')
  assert.deepEqual([set.answer_timeout_ms, set.host], [20_000, '127.0.0.1'])
  await json('gate', 'disable', 'second')
  assert.match(await tell(['gate', 'list']), /second +off/)
})

test('every change is in the audit trail with who made it, and no key is', async () => {
  const { control_key: key } = await json<Added>('merchant', 'add', '--login', 'audited')
  const { control_key: fresh } = await json<Added>('merchant', 'rotate-key', 'audited')
  await tell(['merchant', 'disable', 'audited'])
  const { entries } = await json<Audit>('audit', 'list', '--about', 'merchant audited')
  assert.deepEqual(
    entries.map((entry) => entry.action),
    ['merchant disable', 'merchant rotate-key', 'merchant add'],
  )
  assert.ok(entries.every((entry) => entry.who !== ''))
  const all = JSON.stringify(await json<Audit>('audit', 'list', '--limit', '1000'))
  for (const secret of [key, fresh, 'legacy-key-0123456789']) assert.ok(!all.includes(secret), 'no key in the audit trail')
  assert.match(all, /endpoint set/)
})

test('one page of the audit trail follows the other', async () => {
  const whole = await json<{ entries: { audit_id: string }[] }>('audit', 'list', '--limit', '6')
  const first = await json<{ entries: { audit_id: string }[]; next: string }>('audit', 'list', '--limit', '3')
  const second = await json<{ entries: { audit_id: string }[] }>('audit', 'list', '--limit', '3', '--after', first.next)
  assert.deepEqual([...first.entries, ...second.entries], whole.entries)
  assert.equal(whole.entries.length, 6)
})

test('a merchant that is shown has no key in what is printed', async () => {
  for (const args of [
    ['merchant', 'show', world.merchant.login],
    ['merchant', 'show', world.merchant.login, '--json'],
    ['merchant', 'list', '--json'],
  ])
    assert.ok(!(await tell(args)).includes(world.merchant.controlKey))
  assert.match(await refuse(1, 'merchant', 'show', 'nobody'), /no merchant nobody.*merchant list/)
})

test('an installation is worked on by DATABASE_URL and TOLLGATE_KEY, and only with the right key', async () => {
  const env = { DATABASE_URL: world.databaseUrl }
  const wrong = { ...env, TOLLGATE_KEY: Buffer.from(Array.from({ length: 32 }, (_, i) => i)).toString('base64') }
  assert.equal((await run(env, ['merchant', 'list'])).code, 0)
  const keyless = await run(env, ['merchant', 'add', '--login', 'elsewhere'])
  assert.deepEqual([keyless.code, keyless.out], [2, ''])
  assert.match(keyless.err, /TOLLGATE_KEY is missing/)
  const foreign = await run(wrong, ['merchant', 'add', '--login', 'elsewhere'])
  assert.equal(foreign.code, 1)
  assert.match(foreign.err, /does not open the keys of this database/)
  const nowhere = await run({ TOLLGATE_DIR: '/nowhere' }, ['merchant', 'list'])
  assert.equal(nowhere.code, 2)
  assert.match(nowhere.err, /No sandbox is running in \/nowhere/)
})

test('every command has a help with examples, and wrong usage ends with 2', async () => {
  const families = ['merchant', 'endpoint', 'group', 'gate', 'order', 'delivery', 'audit', 'keys', 'acquirer fault']
  for (const family of families) {
    const named = family.split(' ')
    const verbs = [...(await tell([...named, '--help'])).matchAll(/^ {2}([a-z-]+) /gm)]
      .map((match) => match[1]!)
      .filter((verb) => verb !== 'help')
    assert.ok(verbs.length > 0, family)
    for (const verb of verbs)
      assert.match(await tell([...named, verb, '--help']), /\nExamples\n {2}npx tollgate /, `${family} ${verb}`)
  }
  assert.match(await tell(['doctor', '--help']), /Examples/)
  await refuse(2, 'order', 'show')
  await refuse(2, 'order', 'show', 'abc')
  await refuse(2, 'merchant', 'frobnicate')
  await refuse(2, 'endpoint', 'add', '--merchant', 'sandbox', '--currency', 'XXQ')
  const several = await refuse(1, 'endpoint', 'add', '--merchant', 'sandbox', '--currency', 'USD')
  assert.match(several, /Choose a gate with --gate: 1 \(sandbox acquirer\), 2 \(economy\), 3 \(express\)/)
})
