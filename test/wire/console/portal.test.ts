import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { openHandClock } from '../../harness/clock/hand-clock.ts'
import { keyFileIn, startOwnApi } from '../../harness/operators/api.ts'
import { startOwnConsole } from '../../harness/operators/console.ts'
import { migratedDatabase } from '../../harness/postgres/postgres.ts'
import { closing, openDirectory } from '../../harness/world/opening.ts'
import { words } from '../operator/cli-run.ts'

// What a merchant's own people see: how to integrate, and why a signature is refused.

const { url: databaseUrl } = closing(await migratedDatabase())
const clock = openHandClock(Date.now())
const keyFile = keyFileIn(openDirectory('portal'))
const desk = closing(await startOwnConsole({ databaseUrl, keyFile, clock }))
const api = closing(await startOwnApi({ databaseUrl, keyFile, clock }))

const key = '5F3C9A61-1B7E-4D08-A2C4-6E90B7D1F835'
const rivalKey = 'C81E07B4-93D2-4AF5-8B60-2D7F19E5A3C6'
await desk.tell(words`gate add --name acme --host 10.0.0.1 --port 8583 --terminal-id SHOP0001 --card-acceptor-id 1
  --acquirer-id 400001 --card-acceptor-name Shop --mcc 5999 --descriptor SHOP`)
await desk.tell(words`merchant add --login shop --control-key ${key}`)
await desk.tell(words`merchant add --login rival --control-key ${rivalKey}`)
const made = async (merchant: string, currency: string, ...more: string[]) => {
  const all = ['endpoint', 'add', '--merchant', merchant, '--currency', currency, ...more, '--json']
  return String((JSON.parse(await desk.tell(all)) as { endpoint_id: number }).endpoint_id)
}
const usd = await made('shop', 'USD')
const jpy = await made('shop', 'JPY')
const hundredths = await made('shop', 'KWD', '--control-minor-units', 'hundredths')
const foreign = await made('rival', 'USD')

const sha1 = (...parts: string[]) => createHash('sha1').update(parts.join('')).digest('hex')
const card = '4111111111111111'
const cvv2 = '987'

interface Explained {
  verdict: string
  parts: { name: string; value: string }[]
  mistakes: { name: string }[]
  notes: string[]
  expected: string | null
  sent: string | null
}
const { token } = await api.tokenFor('support', 'shop')
async function explain(body: Record<string, string>, by = token): Promise<Explained> {
  const { status, json, text } = await api.ask('signature/explain', body, { token: by })
  assert.equal(status, 200, text)
  for (const hidden of [key, rivalKey, card, cvv2]) assert.ok(!text.includes(hidden), 'it gives away nothing')
  return json as unknown as Explained
}
const bodyOf = (fields: Record<string, string>) => new URLSearchParams(fields).toString()

const sale = {
  client_orderid: 'o-1',
  order_desc: 'Tickets',
  amount: '1.15',
  currency: 'USD',
  ipaddress: '203.0.113.7',
  email: 'jane@example.com',
  credit_card_number: card,
  card_printed_name: 'JANE DOE',
  expire_month: '12',
  expire_year: '2099',
  cvv2,
}
const order = { login: 'shop', client_orderid: 'o-1', orderid: '1000001' }
const part = { ...order, amount: '5', currency: 'USD' }
const rebill = {
  login: 'shop',
  client_orderid: 'o-2',
  cardrefid: '540462',
  amount: '7.00',
  currency: 'JPY',
  order_desc: 'x',
  ipaddress: '203.0.113.7',
}
const upload = { login: 'shop', 'client-order-id': 'o-1', orderid: '1000001', cres: 'e30' }
const ref = { login: 'shop', cardrefid: '540462' }
const { currency: _none, amount: _no, ...verification } = sale

type Case = [
  operation: string,
  endpoint: string,
  fields: Record<string, string>,
  control: string,
  verdict: string,
  ...names: string[],
]
// oxfmt-ignore
const cases: Case[] = [
  ['sale',              usd,        sale,            sha1(usd, 'o-1', '115', 'jane@example.com', key),                    'right'],
  ['sale',              usd,        sale,            sha1(usd, 'o-1', '115', 'jane@example.com', key).toUpperCase(),      'right'],
  ['sale',              usd,        sale,            sha1(usd, 'o-1', '1.15', 'jane@example.com', key),                   'mistaken', 'the amount as it was sent'],
  ['sale',              usd,        sale,            sha1(usd, 'o-1', '115', key),                                        'mistaken', 'a part is missing: email'],
  ['sale',              usd,        sale,            sha1(jpy, 'o-1', '115', 'jane@example.com', key),                    'mistaken', `the id of another endpoint or group: ${jpy}`],
  ['sale',              usd,        sale,            sha1(usd, 'o-1', '115', 'jane@example.com', rivalKey),               'unexplained'],
  ['sale',              usd,        sale,            createHash('md5').update(`${usd}o-1115jane@example.com${key}`).digest('hex'), 'mistaken', 'another hash: md5'],
  ['sale',              usd,        sale,            Buffer.from(sha1(usd, 'o-1', '115', 'jane@example.com', key), 'hex').toString('base64'), 'mistaken', 'base64'],
  ['sale',              usd,        sale,            'not hexadecimal',                                                   'mistaken', 'no checksum'],
  ['preauth',           usd,        sale,            sha1(usd, 'o-1', '114', 'jane@example.com', key),                    'mistaken', 'the amount cut by floating point'],
  ['sale',              hundredths, { ...sale, currency: 'KWD' }, sha1(hundredths, 'o-1', '115', 'jane@example.com', key), 'right'],
  ['sale',              hundredths, { ...sale, currency: 'KWD' }, sha1(hundredths, 'o-1', '1150', 'jane@example.com', key), 'mistaken', 'the amount in other minor units'],
  ['account-verification', usd,     verification,    sha1(usd, 'o-1', 'jane@example.com', key),                           'right'],
  ['account-verification', usd,     verification,    sha1(usd, 'jane@example.com', 'o-1', key),                           'mistaken', 'the parts in another order: endpoint or group id + email + client_orderid + control key'],
  ['make-rebill',       jpy,        rebill,          sha1('shop', 'o-2', '540462', '7', 'JPY', key),                      'right'],
  ['make-rebill',       jpy,        rebill,          sha1(jpy, 'shop', 'o-2', '540462', '7', 'JPY', key),                 'right'],
  ['make-rebill-sale',  jpy,        rebill,          sha1('shop', 'o-2', '540462', '700', 'JPY', key),                    'mistaken', 'the amount in other minor units'],
  ['make-rebill-preauth', jpy,      rebill,          sha1('shop', 'o-2', '540462', '7', 'jpy', key),                      'mistaken', 'letters in another case: currency'],
  ['status',            usd,        order,           sha1('shop', 'o-1', '1000001', key),                                 'right'],
  ['status',            usd,        order,           sha1('shop', 'o-1', '1000001', `${key}\n`),                          'mistaken', 'a line end or blank around the control key'],
  ['status',            usd,        order,           sha1('shop', 'o-1', '1000001'),                                      'mistaken', 'no control key'],
  ['status',            usd,        order,           sha1(usd, 'shop', 'o-1', '1000001', key),                            'mistaken', 'a part too many: endpoint or group id'],
  ['status',            usd,        { ...order, login: 'rival' }, sha1('rival', 'o-1', '1000001', rivalKey),              'mistaken', 'another login'],
  ['return',            usd,        part,            sha1('shop', 'o-1', '1000001', '500', 'USD', key),                   'right'],
  ['return',            usd,        part,            sha1('shop', 'o-1', '1000001', key),                                 'mistaken', 'the parts of another operation: login + client_orderid + orderid'],
  ['return',            usd,        order,           sha1('shop', 'o-1', '1000001', key),                                 'right'],
  ['capture',           usd,        part,            sha1('shop', '1000001', '500', 'USD', key),                          'mistaken', 'a part is missing: client_orderid'],
  ['capture',           usd,        part,            sha1(`shop|o-1|1000001|5.00|USD|${key}`),                            'mistaken', 'the amount in another spelling', 'separators between the parts: "|"'],
  ['void',              usd,        order,           sha1(sha1('shop', 'o-1', '1000001', key)),                           'mistaken', 'hashed twice'],
  ['create-card-ref',   usd,        order,           sha1('shop', 'o-1', '1000001', key.toLowerCase()),                   'mistaken', 'the control key in another spelling'],
  ['get-card-info',     usd,        ref,             sha1('shop', '540462', '01234567-89AB-CDEF-0123-456789ABCDEF'),      'mistaken', 'the key of the documents'],
  ['upload-cres-result', usd,       upload,          sha1('shop', 'o-1 ', '1000001', key),                                'mistaken', 'blanks or line ends in a value: client-order-id'],
]

for (const [i, [operation, endpoint, fields, control, verdict, ...names]] of cases.entries())
  test(`${i + 1}: a ${operation} is ${verdict}${names.map((name) => `, ${name}`).join('')}`, async () => {
    const version = operation.startsWith('upload') ? '/api/3ds/v1' : '/api/v2'
    const request = `POST /gateway${version}/${operation}/${endpoint}\n\n${bodyOf({ ...fields, control })}`
    const said = await explain({ request })
    assert.deepEqual([said.verdict, ...said.mistakes.map(({ name }) => name)], [verdict, ...names])
    // The first digits alone: a whole control would let its reader send the request.
    assert.match(said.expected ?? '', /^[0-9a-f]{8}…$/)
    if (verdict === 'right') assert.equal(said.expected, said.sent?.toLowerCase())
  })

test("another merchant’s endpoint looks like an unknown one, and no user's request tries its key", async () => {
  const request = bodyOf({ ...sale, control: sha1(foreign, 'o-1', '115', 'jane@example.com', rivalKey) })
  for (const path of [`/api/v2/sale/${foreign}`, '/api/v2/sale/999999'])
    assert.equal((await api.ask('signature/explain', { request, path }, { token })).status, 404)
  const { token: all } = await api.tokenFor('operator')
  assert.equal((await explain({ request, path: `/api/v2/sale/${foreign}` }, all)).verdict, 'right')
  const mine = bodyOf({ ...sale, control: sha1(usd, 'o-1', '115', 'jane@example.com', rivalKey) })
  assert.equal((await explain({ request: mine, path: `/api/v2/sale/${usd}` }, all)).verdict, 'unexplained')
})

test('the page says if a request was refused before the check of its control', async () => {
  const said = async (fields: Record<string, string>) => explain({ request: bodyOf(fields), path: `/api/v2/sale/${usd}` })
  const unread = async (fields: Record<string, string>) => {
    const { verdict, notes } = await said(fields)
    return [verdict, ...notes.map((note) => /code \d+/.exec(note)?.[0])]
  }
  const control = sha1(usd, 'o-1', '115', 'jane@example.com', key)
  assert.deepEqual(await unread(sale), ['unread', 'code 1'])
  assert.deepEqual(await unread({ ...sale, amount: '1,15', control }), ['unread', 'code 3'])
  const { email: _e, ...without } = sale
  assert.deepEqual(await unread({ ...without, control: sha1(usd, 'o-1', '115', key) }), ['right', 'code 1'])
  // A card that is masked, as it should be in what is pasted, is nothing to complain of.
  assert.deepEqual(await unread({ ...sale, credit_card_number: '411111******1111', control }), ['right'])
  assert.deepEqual(await unread({ ...sale, order_desc: '', control }), ['right', 'code 1'])
  const { verdict } = await explain({ request: 'email=%E4&control=1', path: `/api/v2/sale/${usd}` })
  assert.equal(verdict, 'unread')
})

test('for a request without an address, or of v4, the page asks for the missing part', async () => {
  const asked = async (body: object) => {
    const { status, json } = await api.ask('signature/explain', body, { token })
    return [status, json['field']]
  }
  for (const path of [undefined, '101', '/api/v2/nothing/101', '/api/v2/sale/'])
    assert.deepEqual(await asked({ request: bodyOf(sale), ...(path && { path }) }), [422, 'path'], path)
  assert.deepEqual(await asked({ request: `POST /api/v4/status/${usd}\n\nclient_orderid=o` }), [422, 'path'])
})

const visitOf = async (role: 'owner' | 'operator' | 'support', merchant?: string) => desk.comeIn(await desk.known(role, merchant))

test('by page: a merchant’s user pastes a curl command and reads the mistake, with nothing of the card shown again', async () => {
  const visit = await visitOf('support', 'shop')
  const { html: form } = await visit.get('/signature/explain')
  assert.ok(form.includes('<textarea id="request"') && !form.includes('name="merchant"'), 'it need not say who it is')
  const data = Object.entries({ ...sale, control: sha1(usd, 'o-1', '1.15', 'jane@example.com', key) })
  const pairs = data.map(([name, value]) => `--data-urlencode '${name}=${value}'`).join(' \\\n  ')
  const { status, html } = await visit.post('/signature/explain', {
    request: `curl https://pay.example/gateway/api/v2/sale/${usd} \\\n  ${pairs}`,
  })
  assert.equal(status, 200)
  assert.match(html, /the amount as it was sent/)
  assert.match(html, /1042 is signed/)
  const right = sha1(usd, 'o-1', '115', 'jane@example.com', key)
  assert.ok(html.includes(`${right.slice(0, 8)}…`))
  for (const hidden of [card, cvv2, key, right]) assert.ok(!html.includes(hidden), hidden)
  const trail = await desk.tell(['audit', 'list', '--about', 'signature of shop', '--json'])
  assert.ok(trail.includes('the amount as it was sent') && !trail.includes('jane@example.com') && !trail.includes(card))
})

test('the page distinguishes a replaced key from one that is still accepted', async () => {
  await desk.tell(words`merchant add --login turning --control-key ${key}`)
  const endpoint = await made('turning', 'USD')
  const { token: own } = await api.tokenFor('auditor', 'turning')
  const named = { login: 'turning', client_orderid: 'o-1' }
  const request = `POST /api/v2/status/${endpoint}\n\n${bodyOf({ ...named, control: sha1('turning', 'o-1', key) })}`
  await desk.tell(words`merchant rotate-key turning --keep-old 30min`)
  assert.equal((await explain({ request }, own)).verdict, 'right')
  clock.pass(40 * 60_000)
  const { verdict, mistakes } = await explain({ request }, own)
  assert.deepEqual([verdict, mistakes[0]?.name], ['mistaken', 'a control key that was replaced'])
})

test('the guide has the merchant’s own ids, and its sample request has the right control', async () => {
  const visit = await visitOf('support', 'shop')
  const { html } = await visit.get('/merchant/guide')
  for (const id of [usd, jpy, hundredths]) assert.ok(html.includes(id))
  assert.ok(html.includes(`/api/v2/sale/${usd}`) && !html.includes(`/${foreign}`) && !html.includes(key))
  assert.equal((await visit.get(`/merchant/guide?endpoint=${foreign}`)).status, 409)
  for (const [operation, endpoint] of [
    ['sale', jpy],
    ['sale', hundredths],
    ['return', usd],
    ['upload-method-url-result', usd],
  ] as const) {
    const { json } = await api.ask('merchant/guide', { endpoint, operation }, { token })
    const example = String(json['example'])
    const control = execFileSync('sh', ['-c', `${example.split('\n')[0]}; printf %s "$control"`], {
      env: { ...process.env, CONTROL_KEY: key },
    })
    const request = example.replace('$control', control.toString()).split('\n').slice(1).join('\n')
    assert.deepEqual((await explain({ request })).verdict, 'right', example)
  }
})

test('an owner of the merchant replaces its control key by page, without naming the merchant; support may not', async () => {
  await desk.tell(words`merchant add --login renewing`)
  const visit = await visitOf('owner', 'renewing')
  const { html: places } = await visit.get('/me')
  for (const path of ['merchant/guide', 'signature/explain', 'merchant/rotate-key', 'merchant/show'])
    assert.ok(places.includes(`href="/${path}"`), path)
  const { html } = await visit.post('/merchant/rotate-key', { keep_old: '1h' })
  const [shown] = /[0-9A-F]{8}(-[0-9A-F]{4}){3}-[0-9A-F]{12}/.exec(html) ?? []
  assert.ok(shown, 'it is shown')
  for (const path of ['/merchant/rotate-key', '/merchant/show']) assert.ok(!(await visit.get(path)).html.includes(shown))
  assert.equal((await visit.post('/merchant/rotate-key', { login: 'shop' })).status, 409, 'no key of another merchant')
  assert.equal((await (await visitOf('support', 'renewing')).post('/merchant/rotate-key')).status, 403)
  const { html: all } = await (await visitOf('owner')).get('/me')
  assert.ok(all.includes('href="/merchant/guide"') && !all.includes('href="/merchant/show"'))
})
