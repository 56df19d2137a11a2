import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { test } from 'node:test'
import { testCards } from '../../conformance/three-d-secure/shopper.ts'
import { openWorld } from '../../harness/world/opening.ts'
import {
  arrows,
  authentication,
  challenge,
  inThisOrder,
  method,
  money,
  sale,
  type Story,
  storyOf,
  throughChallenge,
  throughGateway,
  throughMethod,
  throughPayer,
  until,
} from './shop-shopper.ts'
import { askAs } from '../../harness/world/stranger.ts'

/** The sandbox's shop without scripts: what it shows of a payment is what happens in one. */

const world = await openWorld()
const shop = world.shopUrl

// oxfmt-ignore
const usual = {
  product: 'mug', scenario: 'challenge', network: 'visa', version: '2.2.0',
  cvv2: '123', way: 'server-to-server', currency: 'USD',
}

async function buy(wish: Partial<typeof usual> = {}): Promise<string> {
  const reply = await fetch(`${shop}/orders`, {
    method: 'POST',
    body: new URLSearchParams({ ...usual, ...wish }),
    redirect: 'manual',
  })
  assert.equal(reply.status, 303, await reply.text())
  return shop + reply.headers.get('location')
}

const kept = async (order: string): Promise<string> => (await (await fetch(order)).text()) + JSON.stringify(await storyOf(order))

/** Nothing of the card but its ends, and no key, in what the shop shows and tells. */
async function nothingSecretIn(order: string): Promise<void> {
  const all = await kept(order)
  for (const { number } of await testCards(world)) assert.ok(!all.includes(number), `the number of ${number.slice(-4)}`)
  assert.ok(!all.includes(world.merchant.controlKey) && all.includes('‹control key›'))
  const story = await storyOf(order)
  for (const { fields } of story.messages)
    for (const [name, value] of Object.entries(fields)) if (/cvv2|^48\.92$/i.test(name)) assert.equal(value, '***', name)
  const cvv2s = story.messages.flatMap(({ fields }) => Object.keys(fields).filter((name) => /cvv2|^48\.92$/i.test(name)))
  assert.deepEqual(
    cvv2s,
    ['cvv2', '48.92'],
    'the CVV2 was sent to the gateway and to the acquirer, and masked by both who noted it',
  )
}

/** The cards of 1.0.2, which the list for the other tests leaves out. */
const legacyNumbers = async (): Promise<string[]> => {
  const cards = (await (await fetch(`${world.acsUrl}/test-cards.json`)).json()) as { number: string; version: string }[]
  return cards.filter(({ version }) => version === '1.0.2').map(({ number }) => number)
}

const isSettled = ({ settled }: Story) => settled

test('a frictionless payment, server to server, is shown from the first message to the callback', async () => {
  const order = await buy({ scenario: 'frictionless' })
  await throughMethod(order)
  const story = await until(order, isSettled)
  assert.equal(story.status, 'approved')
  inThisOrder(story, [...sale, ...method, ...authentication, ...money, 'gateway > merchant: callback'])
  assert.ok(!arrows(story).some((one) => one.endsWith('CReq')), 'the cardholder was not asked')
  const upload = story.messages.find(({ name }) => name === 'upload-method-url-result')
  assert.equal(upload?.fields['threeDSCompInd'], 'Y')
  await nothingSecretIn(order)
})

test('a challenge, server to server, is shown in the frame and with its result', async () => {
  const order = await buy()
  await throughMethod(order)
  await throughChallenge(order)
  const story = await until(order, isSettled)
  assert.equal(story.status, 'approved')
  const frame = 'merchant > shopper: challenge frame'
  const result = ['shopper > merchant: CRes', 'merchant > gateway: upload-cres-result']
  inThisOrder(story, [...sale, ...method, ...authentication, frame, ...challenge, ...result])
  inThisOrder(story, ['directory > gateway: RReq', ...money, 'gateway > merchant: callback'])
  await nothingSecretIn(order)
  const receipt = await fetch(story.receipt_url ?? '')
  assert.equal(receipt.status, 200)
  assert.match(await receipt.text(), /10\.42/)
})

test('a second authentication that the acquirer demands is shown as well', async () => {
  const order = await buy({ scenario: 'frictionless', cvv2: '165' })
  await throughMethod(order)
  await throughChallenge(order)
  const story = await until(order, isSettled)
  assert.equal(story.status, 'approved')
  inThisOrder(story, [...authentication, ...money, ...authentication, ...challenge])
  inThisOrder(story, [...money, ...challenge.slice(0, 5), ...money])
  const codes = story.messages.filter(({ name }) => name === '1210 answer').map(({ says }) => says?.slice(0, 3))
  assert.deepEqual(codes, ['165', '000'])
})

test("the gateway's own pages carry a frictionless payment and a challenge, and the return is checked", async () => {
  for (const scenario of ['frictionless', 'challenge']) {
    const order = await buy({ scenario, way: 'hosted', network: 'mastercard' })
    await throughGateway(order)
    const story = await until(order, isSettled)
    assert.equal(story.status, 'approved', scenario)
    const asked = scenario === 'challenge' ? challenge : []
    inThisOrder(story, [...sale, 'merchant > shopper: redirect-to', ...authentication, ...asked])
    inThisOrder(story, [...authentication, ...money, 'shopper > merchant: return to redirect_url'])
    const back = story.messages.find(({ name }) => name.startsWith('return'))
    assert.deepEqual([back?.says, back?.control_holds], ['approved', true])
    assert.equal(arrows(story).filter((one) => one.endsWith('redirect_url')).length, 1)
    assert.equal(back?.string_to_sign, `approved${story.order_id}${story.client_orderid}‹control key›`)
    await nothingSecretIn(order)
  }
})

const enrolment = ['gateway > directory: VEReq', 'directory > gateway: VERes']
const payer = [
  'shopper > issuer: PAReq',
  'issuer > shopper: password page',
  'shopper > issuer: answer',
  'issuer > shopper: PARes',
]
const valuesOf = ({ messages }: Story, arrow: string, ...names: string[]) => {
  const found = messages.find(({ from, to, name }) => `${from} > ${to}: ${name}` === arrow)
  return [found?.says, ...names.map((name) => found?.fields[name])]
}

test('1.0.2, server to server: the form has a TermUrl of the shop, and XML is shown by element', async () => {
  const order = await buy({ scenario: '1.0.2' })
  await throughPayer(order)
  const story = await until(order, isSettled)
  assert.deepEqual([story.status, story.mode], ['approved', 'over'])
  inThisOrder(story, [
    'merchant > gateway: sale',
    ...enrolment,
    'gateway > merchant: status-response',
    'merchant > shopper: PAReq form',
    ...payer,
  ])
  const paid = ['shopper > merchant: PARes', 'merchant > gateway: upload-pares-result', ...money]
  inThisOrder(story, [...payer, ...paid, 'gateway > merchant: callback'])
  assert.equal(arrows(story).filter((one) => one.endsWith('upload-pares-result')).length, 1)
  const upload = story.messages.find(({ name }) => name === 'upload-pares-result')
  assert.equal(upload?.string_to_sign, `${world.merchant.login}${story.client_orderid}${story.order_id}‹control key›`)
  assert.deepEqual([upload?.control, upload?.control_holds], [upload?.fields.control, true])
  for (const value of [upload?.fields.paRes, upload?.fields.md]) assert.ok((value ?? '').length > 20)
  assert.deepEqual(valuesOf(story, enrolment[0]!, 'pan', 'Merchant/merID'), [undefined, '400000******9003', 'TOLLGATESANDBOX'])
  assert.deepEqual(valuesOf(story, enrolment[1]!, 'CH/enrolled', 'protocol'), ['Y: enrolled', 'Y', 'ThreeDSecure'])
  const asked = ['Purchase/purchAmount', 'Merchant/name', 'CH/expiry', 'TermUrl']
  assert.deepEqual(valuesOf(story, payer[0]!, ...asked), [undefined, '1042', 'Sandbox Shop', '***', `${order}/pares-result`])
  const proven = ['TX/status', 'TX/cavv', 'TX/eci', 'pan', 'Signature/SignedInfo/SignatureMethod']
  const algorithm = 'http://www.w3.org/2000/09/xmldsig#rsa-sha1'
  for (const arrow of [payer[3]!, 'shopper > merchant: PARes'])
    assert.deepEqual(valuesOf(story, arrow, ...proven), ['Y: authenticated', 'Y', '***', '05', '000000******9003', algorithm])
  await nothingSecretIn(order)
  const all = await kept(order)
  for (const number of await legacyNumbers()) assert.ok(!all.includes(number), `the number of ${number.slice(-4)}`)
  assert.match(all, /whether the issuer can authenticate: yes, no, not known/, 'each element with its meaning')
})

test('a post to the shop without a real PaRes pays nothing', async () => {
  const order = await buy({ scenario: '1.0.2' })
  await until(order, ({ mode }) => mode === 'payer')
  const post = (fields: Record<string, string>) =>
    fetch(`${order}/pares-result`, { method: 'POST', body: new URLSearchParams(fields) })
  assert.equal((await post({ MD: 'x' })).status, 200)
  assert.deepEqual([(await storyOf(order)).mode, (await storyOf(order)).status], ['payer', 'processing'])
  assert.equal((await post({ PaRes: 'eJwDAAAAAAE=', MD: '<b>' })).status, 200)
  const story = await until(order, isSettled)
  assert.equal(story.status, 'declined')
  assert.ok(!arrows(story).includes(money[0]!), 'no money was asked for')
  const page = await (await fetch(order)).text()
  assert.match(page, /<code>[^<]*eJwDAAAAAAE=/)
  assert.ok(!page.includes('<b></code>'), 'what was posted is shown as text')
})

test('a forged return is shown as one, and changes nothing', async () => {
  const order = await buy({ scenario: 'frictionless' })
  const { client_orderid } = await until(order, ({ mode }) => mode === 'method')
  const forged = { status: 'approved', orderid: '1', client_orderid, control: 'f'.repeat(40) }
  await fetch(`${order}/return`, { method: 'POST', body: new URLSearchParams(forged), redirect: 'manual' })
  const story = await storyOf(order)
  const back = story.messages.find(({ name }) => name.startsWith('return'))
  assert.deepEqual([back?.says, back?.control_holds, story.status], ['control does not hold', false, 'processing'])
})

test('a decline says why, and polls without news are counted instead of repeated', async () => {
  const order = await buy({ scenario: 'plain', cvv2: '116' })
  const story = await until(order, isSettled)
  assert.equal(story.status, 'declined')
  inThisOrder(story, ['shopper > merchant: Pay', 'merchant > gateway: sale', ...money, 'gateway > merchant: callback'])
  inThisOrder(story, sale)
  const answer = story.messages.find(({ name }) => name === '1210 answer')
  assert.equal(answer?.says, '116 Not sufficient funds')
  const page = await (await fetch(order)).text()
  assert.match(page, /Declined[^]*Not sufficient funds/)
  const replies = story.messages
    .filter(({ name }) => name === 'status-response')
    .map(({ fields }) => JSON.stringify({ ...fields, 'serial-number': '' }))
  for (const [at, one] of replies.entries()) assert.notEqual(one, replies[at - 1])
})

test('every page allows its own style and script alone, and strangers under another name get none', async () => {
  const order = await buy({ scenario: 'plain' })
  for (const url of [`${shop}/`, order]) {
    const reply = await fetch(url)
    const policy = reply.headers.get('content-security-policy') ?? ''
    assert.match(policy, /^default-src 'none'; style-src 'nonce-[^']+'; script-src 'nonce-[^']+';/)
    assert.doesNotMatch(policy, /unsafe/)
    const page = await reply.text()
    assert.doesNotMatch(page, /\sstyle="|\son\w+="|<link[^>]+href="http|src="http/)
    assert.equal(reply.headers.get('set-cookie'), null)
  }
  const { port } = new URL(shop)
  const asked = request({ host: '127.0.0.1', port, path: '/', headers: { host: `evil.example:${port}` } }).end()
  const [reply] = (await once(asked, 'response')) as [IncomingMessage]
  assert.equal(reply.resume().statusCode, 421)
  assert.equal((await fetch(`${shop}/orders/guessed`)).status, 404)
  assert.equal(
    (await fetch(`${shop}/orders`, { method: 'POST', body: new URLSearchParams({ ...usual, product: '<b>' }) })).status,
    400,
  )
})

// Pages of other sites, which a browser on this machine may show, and the servers of a sandbox.

const { acquirerAdminUrl, directoryServerUrl, acsUrl, merchantServerUrl } = world

const servers: readonly (readonly [name: string, read: string, post: string])[] = [
  ['acquirer', `${acquirerAdminUrl}/ledger`, `${acquirerAdminUrl}/faults`],
  ['directory server', new URL('/admin/log', directoryServerUrl).href, new URL('/admin/faults', directoryServerUrl).href],
  ['issuer', `${acsUrl}/admin/log`, `${acsUrl}/admin/faults`],
  ['merchant', `${merchantServerUrl}/callbacks.json`, `${merchantServerUrl}/auth/request-access-token`],
]
for (const [name, read, post] of servers) {
  test(`the simulated ${name} is not read under a name of somebody else`, async () => {
    const { port } = new URL(read)
    for (const host of ['elsewhere.example', `elsewhere.example:${port}`, '127.0.0.1.elsewhere.example', '192.0.2.1'])
      assert.equal((await askAs(read, { host })).status, 421, host)
    for (const host of [`127.0.0.1:${port}`, `localhost:${port}`]) assert.equal((await askAs(read, { host })).status, 200, host)
  })
  test(`the simulated ${name} takes nothing that a page of another site posts`, async () => {
    const plain = { 'content-type': 'text/plain' }
    for (const headers of [{ origin: 'https://elsewhere.example' }, { origin: 'null' }, { 'sec-fetch-site': 'cross-site' }])
      assert.equal((await askAs(post, { ...plain, ...headers }, '{}')).status, 403, JSON.stringify(headers))
    const own = await askAs(post, { ...plain, origin: new URL(post).origin, 'sec-fetch-site': 'same-origin' }, '{}')
    assert.notEqual(own.status, 403)
  })
}
