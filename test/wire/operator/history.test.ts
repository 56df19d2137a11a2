import assert from 'node:assert/strict'
import { generateKeyPairSync, randomBytes } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { actionsOf, subjects } from '../../../src/operator/subjects.ts'
import { makeLineCertificates } from '../../harness/acquirer/line-certificates.ts'
import { image } from '../../harness/browser/images.ts'
import { openDirectory } from '../../harness/world/opening.ts'
import { run, words } from './cli-run.ts'
import { openInstallation } from './history-cli.ts'

// What was set, by whom and what it was before; taking it back; and trying it without a change.
// No gateway runs here, so that nothing but these commands writes.

const folder = openDirectory('history')
const { env, sql, tell, refuse, json, historyOf, newest } = await openInstallation()

const file = (name: string, content: string | Buffer): string => {
  writeFileSync(join(folder, name), content)
  return join(folder, name)
}
const { pem } = await makeLineCertificates()
const [ca, certificate, key] = ['ds-ca.pem', 'gateway-line.pem', 'gateway-line.key'].map((name) => file(name, pem(name)))
const publicKey = generateKeyPairSync('ed25519').publicKey.export({ type: 'spki', format: 'pem' }).toString()

const gate = words`gate add --name acme --host 10.0.0.1 --port 8583 --terminal-id SHOP0001 --card-acceptor-id 1
  --acquirer-id 400001 --card-acceptor-name Shop --mcc 5999 --descriptor SHOP`

/** Every action that changes a setting, in an order in which each changes something. */
const changing: readonly (readonly [action: string, args: readonly string[]])[] = [
  ['merchant add', words`--login shop`],
  ['merchant set', words`shop --page-name Shop --colour 0a7d55`],
  ['merchant rotate-key', words`shop`],
  ['merchant disable', words`shop`],
  ['merchant enable', words`shop`],
  ['merchant key add', words`shop --file ${file('public.pem', publicKey)}`],
  ['merchant key retire', words`shop 1`],
  ['merchant signing-secret', words`shop --new`],
  ['merchant signing-key', words`shop`],
  ['merchant signed-requests', words`shop payments`],
  ['gate add', gate.slice(2)],
  ['gate set', words`acme --max-open 500`],
  ['gate disable', words`acme`],
  ['gate enable', words`acme`],
  ['endpoint add', words`--merchant shop --currency USD`],
  ['endpoint set', words`101 --repeat-window 1h`],
  ['endpoint disable', words`101`],
  ['endpoint enable', words`101`],
  ['group add', words`--merchant shop --name all --endpoint 101`],
  ['group disable', words`102`],
  ['group enable', words`102`],
  ['filter add', words`black --merchant shop --of email --value eve@example.com`],
  ['filter entries', words`shop 1 add --value mallory@example.com`],
  ['filter remove', words`shop 1`],
]
/** No setting of an entity. */
const other = /^(bin import|merchant check|acquirer fault .*|filter reset)$/

test('each action that changes a setting leaves a row of its history, in the transaction of its line in the trail', async () => {
  const actions: string[] = []
  for (const subject of Object.keys(subjects))
    for (const [action, { needs }] of await actionsOf(subject))
      if (needs === 'configure' || needs === 'secrets') actions.push(action)
  const undone = ['merchant', 'gate', 'endpoint', 'group', 'filter'].map((entity) => `${entity} undo`)
  const known = [...changing.map(([action]) => action), ...undone]
  assert.deepEqual(actions.filter((action) => !other.test(action)).sort(), [...known].sort())

  const count = async () => Number((await sql('select count(*) as n from setting_change'))[0]!['n'])
  for (const [action, args] of changing) {
    const before = await count()
    await tell([...action.split(' '), ...args])
    assert.equal(await count(), before + 1, action)
    const [row] = await sql('select action, who from setting_change order by change_id desc limit 1')
    assert.equal(row!['action'], action)
    assert.match(String(row!['who']), /^ann \(/)
  }
  // The last of each entity is taken back, where it is no secret.
  for (const [entity, args] of [
    ['merchant', ['shop']],
    ['gate', ['acme']],
    ['endpoint', ['101']],
    ['group', ['102']],
    ['filter', ['shop', '1']],
  ] as const) {
    const before = await count()
    const { change } = await newest(entity, 'history', ...args)
    await tell([entity, 'undo', String(change)])
    assert.equal(await count(), before + 1, entity)
    assert.equal((await newest(entity, 'history', ...args)).undoes, change)
  }
  await tell(words`gate enable acme`)
  await tell(words`endpoint enable 101`)
})

test('two edits stand in the history, the newest first, with who, when and the difference in words; pages follow', async () => {
  await tell(words`gate set acme --max-open 400 --answer-timeout 20s`)
  await tell(words`gate set acme --max-open 300`)
  const told = await tell(words`gate history acme --limit 2`)
  const [, last, before, ...rest] = told.split('\n')
  assert.match(last!, /ann \(.*gate set +Most open: 400 → 300$/)
  assert.match(before!, /gate set +Answer timeout: 30 s → 20 s; Most open: 500 → 400$/)
  const [page, next] = /--after (\d+)/.exec(rest.join('\n'))!.slice()
  assert.ok(page)
  const changes = await historyOf(...words`gate history acme --limit 100`)
  const older = await historyOf(...words`gate history acme --after ${next!} --limit 100`)
  assert.deepEqual(changes.slice(2), older)
  assert.deepEqual(
    changes.slice(0, 2).map((one) => [one.before, one.after]),
    [
      [{ max_open: 400 }, { max_open: 300 }],
      [
        { answer_timeout_ms: 30_000, max_open: 500 },
        { answer_timeout_ms: 20_000, max_open: 400 },
      ],
    ],
  )
  assert.equal(changes.at(-1)!.before, null)
  await tell(words`gate set acme --max-open 300`)
  assert.deepEqual(await historyOf(...words`gate history acme --limit 100`), changes, 'nothing is kept of what changed nothing')
})

test('an undo writes the old values as a set does; a field that was set since is named, with its newer change', async () => {
  const url = 'https://shop.example/'
  const policy = 'unavailable=authorise'
  await tell(words`endpoint set 101 --name one --authentication-policy ${policy} --operations void=on --callback-url ${url}`)
  const first = await newest('endpoint', 'history', '101')
  const shown = await json<Record<string, unknown>>(words`endpoint show 101`)
  await tell(words`endpoint set 101 --authentication-policy safe`)
  const second = await newest('endpoint', 'history', '101')
  const refusal = await refuse(words`endpoint undo ${first.change}`)
  assert.match(refusal, new RegExp(`since other values were set after it: Authentication \\(change ${second.change}\\)`))
  assert.match(
    await tell(words`endpoint undo ${second.change}`),
    /Endpoint 101 is changed[^]*unavailable=decline.* → .*unavailable=authorise/,
  )
  assert.deepEqual(await json(words`endpoint show 101`), shown)
  await tell(words`endpoint undo ${first.change}`)
  const { name, callback_url: calls, disabled_operations: off } = await json<Record<string, unknown>>(words`endpoint show 101`)
  assert.deepEqual([name, calls, off], ['usd', null, ['capture', 'return', 'void']])
  // An undo is a change, and can be undone.
  const undone = await newest('endpoint', 'history', '101')
  assert.deepEqual([undone.action, undone.undoes], ['endpoint undo', first.change])
  await tell(words`endpoint undo ${undone.change}`)
  assert.deepEqual(await json(words`endpoint show 101`), shown)
  assert.match(await tell(words`audit list --about ${'endpoint undo'}`), /endpoint 101/)
})

test('an undo is refused by what refuses a set, and leaves all as it is', async () => {
  await tell(words`endpoint set 101 --name two`)
  const { change } = await newest('endpoint', 'history', '101')
  await tell(words`endpoint add --merchant shop --currency EUR --name one`)
  assert.match(await refuse(words`endpoint undo ${change}`), /shop has an endpoint one already/)
  assert.equal((await json<{ name: string }>(words`endpoint show 101`)).name, 'two')
  assert.equal((await newest('endpoint', 'history', '101')).change, change)
  assert.match(await refuse(words`gate undo ${change}`), /There is no change \d+ of this kind/)
})

test('the history of a secret shows only that it changed; secrets and additions cannot be undone', async () => {
  await tell(words`gate set acme --tls on --tls-ca ${ca!} --tls-name acquirer.example`)
  const inClear = await newest('gate', 'history', 'acme')
  assert.match(await tell(words`gate undo ${inClear.change}`), /Line +TLS, to acquirer.example → unencrypted/)
  assert.match(
    await tell(words`gate undo ${(await newest('gate', 'history', 'acme')).change}`),
    /unencrypted.* → TLS, to acquirer.example/,
  )
  await tell(words`gate set acme --tls off`)
  await tell(words`gate set acme --tls on --tls-ca ${ca!} --tls-cert ${certificate!} --tls-key ${key!}`)
  const withKey = await newest('gate', 'history', 'acme')
  assert.deepEqual(withKey.secrets, ['private key'])
  assert.match(await tell(words`gate history acme --limit 1`), /Line: unencrypted.* → TLS.*; private key changed/)
  assert.match(
    await refuse(words`gate undo ${withKey.change}`),
    /cannot be undone: the values it replaced were not kept.*private key/,
  )
  for (const args of [words`merchant rotate-key shop`, words`merchant signing-secret shop --new`]) {
    await tell(args)
    const { change, secrets, before, after } = await newest('merchant', 'history', 'shop')
    assert.deepEqual([secrets, before, after], [[args[1] === 'rotate-key' ? 'control key' : 'signing secret'], {}, {}])
    assert.match(await refuse(words`merchant undo ${change}`), /were not kept/)
  }
  await tell(words`merchant set shop --logo ${file('logo.png', image('png', 16, 16))}`)
  const logo = await newest('merchant', 'history', 'shop')
  await tell(words`merchant set shop --logo ${file('other.png', image('png', 32, 32))}`)
  assert.match(await refuse(words`merchant undo ${(await newest('merchant', 'history', 'shop')).change}`), /Page logo/)
  assert.match(await refuse(words`merchant undo ${logo.change}`), /since other values were set/)
  const made = (await historyOf(...words`gate history acme --limit 100`)).at(-1)!
  assert.match(await refuse(words`gate undo ${made.change}`), /it added gate 1/)
  const stored = JSON.stringify(await sql('select before, after, secrets from setting_change'))
  for (const secret of ['PRIVATE KEY', pem('gateway-line.key').split('\n')[1]!]) assert.ok(!stored.includes(secret))
})

test('of two simultaneous undos of one change, one undoes it, the other is refused', async () => {
  await tell(words`gate set acme --max-open 77`)
  const { change } = await newest('gate', 'history', 'acme')
  const ran = await Promise.all(Array.from({ length: 4 }, () => run(env, words`gate undo ${change}`)))
  assert.deepEqual(
    ran.map(({ code }) => code).sort((a, b) => a - b),
    [0, 1, 1, 1],
  )
  for (const { err } of ran.filter(({ code }) => code === 1)) assert.match(err, /Most open \(change \d+\)/)
  const undone = (await historyOf(...words`gate history acme --limit 100`)).filter(({ undoes }) => undoes === change)
  assert.equal(undone.length, 1)
})

test('values put onto a list or taken off it come back one by one, and a removed filter too', async () => {
  await tell(words`filter add black --merchant shop --of email --value a@example.com`)
  await tell(words`filter entries shop 2 add --value ${'a@example.com,b@example.com,c@example.com'}`)
  const put = await newest('filter', 'history', 'shop', '2')
  assert.deepEqual([put.before, put.after], [{ entries: [] }, { entries: ['b@example.com', 'c@example.com'] }])
  await tell(words`filter entries shop 2 remove --value a@example.com`)
  await tell(words`filter remove shop 2`)
  const removed = await newest('filter', 'history', 'shop', '2')
  assert.match(await refuse(words`filter undo ${put.change}`), /is removed already/)
  await tell(words`filter undo ${removed.change}`)
  await tell(words`filter undo ${put.change}`)
  assert.deepEqual((await json<{ entries: string[] }>(words`filter show shop 2`)).entries, [])
  await tell(words`filter entries shop 2 add --value b@example.com`)
  const again = await newest('filter', 'history', 'shop', '2')
  await tell(words`filter entries shop 2 remove --value b@example.com`)
  assert.match(await refuse(words`filter undo ${again.change}`), /Listed \(change/)
  assert.match(await tell(words`filter history shop 2`), /filter entries +Listed: b@example.com → none/)
})

/** Every table with all its rows. */
async function everything(): Promise<Record<string, unknown>> {
  const tables = await sql(
    `select relname as name from pg_class
    where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and not relispartition`,
  )
  const rows = tables.map(async ({ name }) => [
    name,
    (await sql(`select string_agg(t::text, chr(10) order by t::text) as all from ${String(name)} t`))[0],
  ])
  return Object.fromEntries(await Promise.all(rows)) as Record<string, unknown>
}

test('a dry run shows the difference or the refusal, and no table has a trace of it', async () => {
  const { change } = await newest('gate', 'history', 'acme')
  const before = await everything()
  for (const [args, shows] of [
    [words`gate set acme --max-open 5`, /nothing was changed[^]*Most open +\d+ → 5\n/],
    [words`gate set acme --mac aes-cmac --mac-key-file ${file('mac.key', randomBytes(16).toString('hex'))}`, /AES-CMAC/],
    [words`gate disable acme`, /nothing was changed[^]*Gate 1 \(acme\) is off/],
    [words`gate undo ${change}`, /nothing was changed/],
    [words`endpoint set 101 --three-d-secure on`, /nothing was changed[^]*3-D Secure +off → on\n/],
    [words`endpoint disable 101`, /nothing was changed/],
    [words`group disable 102`, /nothing was changed/],
    [words`merchant set shop --no-logo --colour 000000`, /nothing was changed[^]*Page colour/],
    [words`merchant disable shop`, /nothing was changed/],
    [words`merchant signed-requests shop all`, /nothing was changed/],
    [words`filter add amount --merchant shop --currency USD --most 5`, /nothing was changed[^]*Filter 3 of shop/],
    [words`filter entries shop 2 add --value x@example.com`, /nothing was changed[^]*1 new/],
    [words`filter remove shop 2`, /nothing was changed/],
  ] as const) {
    assert.match(await tell([...args, '--dry-run']), shows, args.join(' '))
    assert.equal((await json<{ dry_run: boolean }>([...args, '--dry-run'])).dry_run, true)
  }
  assert.deepEqual(await everything(), before)
  assert.match(await refuse(words`endpoint set 101 --name one --dry-run`), /already/)
  const after = await everything()
  const touched = Object.keys(before).filter((table) => JSON.stringify(before[table]) !== JSON.stringify(after[table]))
  assert.deepEqual(touched.sort(), ['audit', 'audit_head'], 'a refusal is in the trail, as that of a read')
})
