import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { systemClock } from '../../../src/base/clock.ts'
import { testDatabase } from '../../harness/postgres/postgres.ts'
import { run } from './cli-run.ts'
import { accessTokenOf, configurationOf, controlKey, startServer } from '../mobile/mobile-merchant.ts'
import { closing, openDirectory, openHttp } from '../../harness/world/opening.ts'

interface Told {
  conforms: boolean
  findings: { call: string; promise: string; conforms: boolean; complaint?: string }[]
}

interface Reply {
  status: number
  body: string
}

/** A fault of a merchant's server: the answer of the good one, changed. */
type Fault = (path: string, reply: Reply, sent: string) => Reply

const database = closing(await testDatabase())
const good = closing(await startServer(database.url, systemClock))
const directory = openDirectory('check')
const file = join(directory, 'mobile.json')
writeFileSync(file, JSON.stringify(configurationOf(database.url)))
let fault: Fault
/** Passes everything on to the good server, and changes what it says. */
const { origin: faulty } = await openHttp((request, response) => {
  const pass = async () => {
    let sent = ''
    for await (const chunk of request) sent += String(chunk)
    const init = request.method === 'POST' ? { method: 'POST', body: sent } : {}
    const reply = await fetch(`${good.url}${request.url}`, init)
    const { status, body } = fault(request.url ?? '', { status: reply.status, body: await reply.text() }, sent)
    response.writeHead(status).end(body)
  }
  pass().catch(() => response.destroy())
})

const check = (url: string, ...more: string[]) => run({}, ['merchant', 'check', url, '--file', file, ...more])

async function complaintsUnder(now: Fault): Promise<string[]> {
  fault = now
  const ran = await check(faulty, '--json')
  assert.equal(ran.err, '')
  const told = JSON.parse(ran.out) as Told
  const wrong = told.findings.filter((one) => !one.conforms)
  assert.deepEqual([told.conforms, ran.code], wrong.length === 0 ? [true, 0] : [false, 1])
  return wrong.map(({ call, promise, complaint }) => `${call}: ${promise}: ${complaint}`)
}

const onBody =
  (path: RegExp, change: (body: string) => string): Fault =>
  (url, reply) =>
    path.test(url) && reply.status === 200 ? { ...reply, body: change(reply.body) } : reply
const onRefusal =
  (path: RegExp, change: (reply: Reply) => Reply): Fault =>
  (url, reply) =>
    path.test(url) && reply.status !== 200 ? change(reply) : reply

test('a server that conforms keeps every promise, and stays what it was after the check', async () => {
  for (let times = 0; times < 2; times++) {
    const ran = await check(`${good.url}/`)
    assert.equal(ran.code, 0, ran.out + ran.err)
    assert.match(ran.out, /^CALL +RESULT +WHAT\n/)
    assert.match(ran.out, /\ncheck transfer +ok +refuses a wrong session\.signature\n/)
    assert.match(ran.out, /\n\nAll \d\d promises kept\.\n$/)
    assert.doesNotMatch(ran.out, / {2}wrong {2}/)
    assert.ok(!(ran.out + ran.err).includes(controlKey))
  }
})

// oxfmt-ignore
const faults: [what: string, fault: Fault, says: RegExp, count: number][] = [
  ['a signature of other parts', onBody(/initiate-sale$/, (b) => b.replace(/"signature":"./, '"signature":"Z')),
    /^initiate sale: session\.signature is right: it is Z.*, not [0-9A-F]{40}$/m, 4],
  ['an endpoint of somebody else', onBody(/initiate-verification$/, (b) => b.replace('"111"', '"999"')),
    /^initiate verification: the endpoint is this merchant's: it is 999$/m, 4],
  ['an invoice id that is none', onBody(/initiate-transfer$/, (b) => b.replace(/"invoiceId":"/, '"invoiceId":"a b')),
    /^initiate transfer: answers endpoint, .*: invoiceId is "a b.*, not 1 to 128 letters/m, 1],
  ['rates that are numbers', onBody(/initiate-transfer$/, (b) => b.replace('"1.00"', '1')),
    /^initiate transfer: rates, if it sends any, are two texts: rates\.min is not text$/m, 1],
  ['a check that signs too much', onBody(/\/sale\/.*\/check$/, (b) => b.replace(/"checkSignature":"./, '"checkSignature":"Z')),
    /^check sale: answers invoice.*checkSignature: session\.checkSignature is "Z.*, not [0-9A-F]{40}$/m, 1],
  ['a check with another nonce', onBody(/\/verification\/.*\/check$/, (b) => b.replace(/"nonce":"./, '"nonce":"Z')),
    /^check verification: answers.*: session\.nonce is "Z/m, 1],
  ['another answer each time', onBody(/\/sale\/notification$/, (b) => b.replace('{', `{"at":${systemClock.monotonic()},`)),
    /^sale notification: answers the same again: the answer differs$/m, 1],
  ['a random sum beyond its bounds', onBody(/\/transfer\/.*\/check$/, (b) => b.replace('{', '{"transaction":{"randomSumCentis":1000},')),
    /randomSumCentis is 1000, neither 0 nor a whole number from 100 to 999$/m, 1],
  ['a refusal without a body', onRefusal(/\/sale\/.*\/check$/, () => ({ status: 403, body: '' })),
    /^check sale: refuses a wrong session\.signature: HTTP 403 without an error body$/m, 8],
  ['a refusal that is a failure', onRefusal(/initiate-sale$/, ({ body }) => ({ status: 500, body })),
    /^initiate sale: refuses a body that is not JSON: HTTP 500, after which the gateway would call again/m, 4],
  ['a refusal to the app that names an invoice', onRefusal(/initiate-sale$/, ({ body }) => ({ status: 400, body: body.replace('{', '{"invoiceId":"1",') })),
    /the answer has invoiceId, which the app does not know$/m, 4],
  ['a refusal to the gateway that does not', onRefusal(/\/transfer\/.*\/check$/, ({ body }) => ({ status: 400, body: body.replace(/,"invoiceId":"[^"]*"/, '') })),
    /^check transfer: refuses .*: invoiceId is missing, not /m, 8],
  ['a cause that there is not', onRefusal(/\/verification\/notification$/, ({ body }) => ({ status: 400, body: body.replace('INVALID_REQUEST', 'WRONG') })),
    /^verification notification: .*: error\.cause is "WRONG", not INVALID_REQUEST$/m, 3],
]

for (const [what, broken, says, count] of faults)
  test(`${what} is found, and nothing is blamed but what follows from it`, async () => {
    const complaints = await complaintsUnder(broken)
    assert.match(complaints.join('\n'), says)
    assert.equal(complaints.length, count, complaints.join('\n'))
  })

test('a server that believes everything is blamed for each lie, in all three checks', async () => {
  const complaints = await complaintsUnder((url, reply, sent) =>
    url.endsWith('/check') && reply.status !== 200 ? { status: 200, body: sent } : reply,
  )
  assert.equal(complaints.length, 7 + 8 + 8)
  for (const one of complaints) assert.match(one, /^check .*: refuses .*: it accepted, HTTP 200$/)
})

test('without an access token nothing more is tried, and one can be given', async () => {
  const accessToken = await accessTokenOf(good.url, 'demo')
  const closed: Fault = (url, reply) => (url.startsWith('/auth/') ? { status: 404, body: 'no' } : reply)
  assert.deepEqual(await complaintsUnder(closed), ['access token: GET or POST answers a token of 32 to 128 characters: HTTP 404'])
  assert.match(
    (await check(faulty)).out,
    /\n1 of 1 promise not kept\. Without an access token nothing more can be tried: --access-token/,
  )
  const given = await check(faulty, '--access-token', accessToken, '--device', 'mine')
  assert.equal(given.code, 0, given.out)
})

test('a missing server, a private address and a key that the mobile API cannot take are reported in words', async () => {
  const nobody = await check('http://127.0.0.1:1')
  assert.equal(nobody.code, 1)
  assert.match(nobody.out, /access token +wrong +.*: connection: .*ECONNREFUSED/)
  assert.match((await check('https://10.0.0.1')).out, /access token +wrong +.*: refused url: 10\.0\.0\.1 is private/)
  writeFileSync(join(directory, 'weak.json'), JSON.stringify({ control_key: 'D5F82EC1-8575-4482-AD89-97X6X0X20X22' }))
  const weak = await run({}, ['merchant', 'check', good.url, '--file', join(directory, 'weak.json')])
  assert.deepEqual([weak.code, weak.out], [1, ''])
  assert.match(weak.err, /^The mobile API needs a control key of 32 hexadecimal digits/)
  for (const args of [
    ['no url'],
    ['ftp://shop.example'],
    [good.url],
    [good.url, '--file', join(directory, 'none')],
    [good.url, '--file', file, '--login', 'x'],
  ])
    assert.equal((await run({}, ['merchant', 'check', ...args])).code, 2, args.join(' '))
})
