import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { answerChallenge, load, submit, testCards } from '../conformance/shopper.ts'
import { startWorld, type World } from '../harness/world.ts'

/** The shop of the sandbox, opened by a shopper whose browser runs no scripts; what it shows of a payment is compared with what happens in one. */

let world: World
let shop: string
before(async () => {
  world = await startWorld()
  shop = world.shopUrl
})
after(() => world.stop())

interface Told {
  from: string
  to: string
  name: string
  says?: string
  offset_ms: number
  times: number
  fields: Record<string, string>
  string_to_sign?: string
  control?: string
  control_holds?: boolean
}

interface Story {
  client_orderid: string
  order_id: string
  mode: string
  status: string
  settled: boolean
  redirect_to?: string
  receipt_url?: string
  messages: Told[]
}

const usual = { product: 'mug', scenario: 'challenge', network: 'visa', version: '2.2.0', cvv2: '123', way: 'server-to-server', currency: 'USD' } // oxfmt-ignore

async function buy(wish: Partial<typeof usual> = {}): Promise<string> {
  const reply = await fetch(`${shop}/orders`, {
    method: 'POST',
    body: new URLSearchParams({ ...usual, ...wish }),
    redirect: 'manual',
  })
  assert.equal(reply.status, 303, await reply.text())
  return shop + reply.headers.get('location')
}

async function storyOf(order: string): Promise<Story> {
  return (await (await fetch(`${order}.json`)).json()) as Story
}

async function until(order: string, good: (story: Story) => boolean): Promise<Story> {
  const since = Date.now()
  for (;;) {
    const story = await storyOf(order)
    if (good(story)) return story
    assert.ok(Date.now() - since < 30_000, `not within 30 s: ${JSON.stringify({ ...story, messages: story.messages.length })}`)
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}

/** What a script would do by itself: the method in its frame, and what the browser says of itself. */
async function throughMethod(order: string): Promise<void> {
  await until(order, ({ mode }) => mode === 'method')
  const frame = await load(`${order}/method-frame`)
  const issuer = await submit(frame.forms[0]!)
  await submit(issuer.forms[0]!)
  const browser = { browserJavascriptEnabled: 'true', browserJavaEnabled: 'false', browserLanguage: 'en', browserColorDepth: '24', browserScreenWidth: '1280', browserScreenHeight: '900', browserTZ: '0' } // oxfmt-ignore
  await fetch(`${order}/browser`, { method: 'POST', body: new URLSearchParams(browser), redirect: 'manual' })
}

async function throughChallenge(order: string): Promise<void> {
  await until(order, ({ mode }) => mode === 'challenge')
  const frame = await load(`${order}/challenge-frame`)
  const { form } = await answerChallenge(await submit(frame.forms[0]!))
  await submit(form)
}

/** The gateway's own pages, on to what they post to the shop. */
async function throughGateway(order: string): Promise<void> {
  const { redirect_to: start = '' } = await until(order, ({ mode }) => mode === 'away')
  const since = Date.now()
  let page = await load(start)
  while (Date.now() - since < 30_000) {
    const back = page.forms.find(({ action }) => action.startsWith(`${order}/return`))
    const challenge = page.forms.find(({ fields }) => 'creq' in fields)
    const plain = page.forms.find(({ fields }) => fields.javascriptEnabled === 'false')
    if (back) return void (await submit(back))
    if (plain) page = await submit(plain)
    else if (challenge) page = await submit((await answerChallenge(await submit(challenge))).form)
    else {
      await new Promise((resolve) => setTimeout(resolve, 100))
      page = await load(start)
    }
  }
  assert.fail(`the gateway did not send the shopper back: ${page.body.slice(0, 500)}`)
}

const arrows = ({ messages }: Story): string[] => messages.map(({ from, to, name }) => `${from} > ${to}: ${name}`)

/** Insists that these come in this order; others may stand between them. */
function inThisOrder(story: Story, expected: readonly string[]): void {
  const all = arrows(story)
  let at = -1
  for (const one of expected) {
    const next = all.indexOf(one, at + 1)
    assert.ok(next > at, `"${one}" after ${at < 0 ? 'nothing' : `"${all[at]}"`} in\n${all.join('\n')}`)
    at = next
  }
  assert.deepEqual(story.messages.map(({ offset_ms: ms }) => ms), story.messages.map(({ offset_ms: ms }) => ms).toSorted((a, b) => a - b)) // oxfmt-ignore
}

const authentication = [
  'gateway > directory: AReq',
  'directory > issuer: AReq',
  'issuer > directory: ARes',
  'directory > gateway: ARes',
]
const challenge = ['shopper > issuer: CReq', 'issuer > shopper: challenge page', 'shopper > issuer: answer', 'issuer > directory: RReq', 'directory > gateway: RReq', 'gateway > directory: RRes', 'directory > issuer: RRes', 'issuer > shopper: CRes'] // oxfmt-ignore
const money = ['gateway > acquirer: 1200 sale', 'acquirer > gateway: 1210 answer']
const sale = [
  'shopper > merchant: Pay',
  'merchant > gateway: sale',
  'gateway > merchant: async-response',
  'merchant > gateway: status',
]
const method = ['merchant > shopper: hidden method frame', 'shopper > issuer: method', 'shopper > merchant: method notification', 'shopper > merchant: browser data', 'merchant > gateway: upload-method-url-result'] // oxfmt-ignore

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

const isSettled = ({ settled }: Story) => settled

test('a frictionless payment, server to server, is told from the first message to the callback', async () => {
  const order = await buy({ scenario: 'frictionless' })
  await throughMethod(order)
  const story = await until(order, isSettled)
  assert.equal(story.status, 'approved')
  inThisOrder(story, [...sale, ...method, ...authentication, ...money, 'gateway > merchant: callback'])
  assert.ok(!arrows(story).some((one) => one.endsWith('CReq')), 'nobody was asked')
  const upload = story.messages.find(({ name }) => name === 'upload-method-url-result')
  assert.equal(upload?.fields['threeDSCompInd'], 'Y')
  await nothingSecretIn(order)
})

test('a challenge, server to server, is shown in the frame and told with its result', async () => {
  const order = await buy()
  await throughMethod(order)
  await throughChallenge(order)
  const story = await until(order, isSettled)
  assert.equal(story.status, 'approved')
  inThisOrder(story, [...sale, ...method, ...authentication, 'merchant > shopper: challenge frame', ...challenge, 'shopper > merchant: CRes', 'merchant > gateway: upload-cres-result']) // oxfmt-ignore
  inThisOrder(story, ['directory > gateway: RReq', ...money, 'gateway > merchant: callback'])
  await nothingSecretIn(order)
  const receipt = await fetch(story.receipt_url ?? '')
  assert.equal(receipt.status, 200)
  assert.match(await receipt.text(), /10\.42/)
})

test('a second authentication that the acquirer demands is told as well', async () => {
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

test('a forged return is shown as one, and changes nothing', async () => {
  const order = await buy({ scenario: 'frictionless' })
  const { client_orderid } = await until(order, ({ mode }) => mode === 'method')
  const forged = { status: 'approved', orderid: '1', client_orderid, control: 'f'.repeat(40) }
  await fetch(`${order}/return`, { method: 'POST', body: new URLSearchParams(forged), redirect: 'manual' })
  const story = await storyOf(order)
  const back = story.messages.find(({ name }) => name.startsWith('return'))
  assert.deepEqual([back?.says, back?.control_holds, story.status], ['control does not hold', false, 'processing'])
})

test('a decline says why, and what is polled in vain is counted instead of repeated', async () => {
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
  assert.deepEqual(replies, replies.filter((one, i) => one !== replies[i - 1])) // oxfmt-ignore
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
  const { request } = await import('node:http')
  const status = await new Promise((resolve, reject) =>
    request({ host: '127.0.0.1', port, path: '/', headers: { host: `evil.example:${port}` } }, (reply) => resolve(reply.resume().statusCode)).on('error', reject).end(),
  ) // oxfmt-ignore
  assert.equal(status, 421)
  assert.equal((await fetch(`${shop}/orders/guessed`)).status, 404)
  assert.equal(
    (await fetch(`${shop}/orders`, { method: 'POST', body: new URLSearchParams({ ...usual, product: '<b>' }) })).status,
    400,
  )
})
