import assert from 'node:assert/strict'
import { generateKeyPairSync, randomUUID } from 'node:crypto'
import { describe, it } from 'node:test'
import { configurationRead } from '../../harness/world/configuration.ts'
import { openWorld } from '../../harness/world/opening.ts'
import { cliOf } from '../../wire/operator/cli-run.ts'
import { nowhere, refOf, registered } from '../cards/card.ts'
import { encodePairs, readReply, send, type Answer, type Changes, type Fields, type Path } from './client.ts'
import { ask, header, nowSeconds, parametersOf, post, v4, v4Url, type Operation, type Pairs, type Signing } from './oauth.ts'

/**
 * Version 4: whatever the reason, HTTP 403 with the same page, which says only access denied. A
 * body above 64 KiB is not read, and a page says so.
 */

const stranger = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey

const world = await openWorld()
const { made, ref } = await registered(world)
/** Takes signatures of the parameters alone, as made; the other endpoints refuse them. */
const lenient = world.endpoints.secure
for (const strict of [world.endpoints.plain, world.endpoints.euro])
  await cliOf(() => world).tell(['endpoint', 'set', String(strict), '--parameter-signatures', 'off'])
await configurationRead(world)
const body: Pairs = [
  ['client_orderid', made.client_orderid],
  ['orderid', made.orderid],
]
const page = pageOf(await post(v4Url(world, 'create-card-ref'), body, undefined))

const operations: Operation[] = ['create-card-ref', 'status']

/** Insists on the denial; its page, without the nonce that a page's style has each time. */
function pageOf({ httpStatus, contentType, body: html }: Answer): string {
  assert.equal(httpStatus, 403, html)
  assert.match(contentType, /^text\/html;\s*charset=utf-8$/i)
  const said = html.replaceAll(/nonce="[^"]*"/g, '')
  assert.match(said, /access( is)? denied/i)
  assert.doesNotMatch(said, /serial-number|error-code|oauth|signature|nonce is|stale|unknown/i)
  return said
}

/** A page that says so, and no more of the request than its length. */
const tooLong = ({ httpStatus, contentType, body: html }: Answer): void => {
  assert.equal(httpStatus, 413, html)
  assert.match(contentType, /^text\/html;\s*charset=utf-8$/i)
  assert.match(html, /<h1>Content too large<\/h1>[^]*above 64 KiB/)
  assert.ok(html.length < 10_000)
}
const denied = (answer: Answer): void => assert.equal(pageOf(answer), page)
const letIn = (answer: Answer): void => assert.match(readReply(answer).type ?? '', /^(create-card-ref|status)-response$/)

/** Signs a call well and sends it with changes. */
async function spoiled(operation: Operation, change: (parameters: Fields) => string | undefined, path?: Path): Promise<Answer> {
  const url = v4Url(world, operation, path)
  return post(url, body, change(parametersOf(world, url, body)))
}

describe('each kind of failure is the same denial', { concurrency: 4 }, () => {
  for (const operation of operations) {
    const headers: [string, (parameters: Fields) => string | undefined][] = [
      ['no Authorization header', () => undefined],
      ['an empty one', () => ''],
      ['the scheme alone', () => 'OAuth'],
      ['the scheme Basic', () => `Basic ${Buffer.from('sandbox:x').toString('base64')}`],
      ['the scheme Bearer', () => 'Bearer x'],
      ['the right parameters under a wrong scheme', (all) => header(all, 'OAuth2')],
      ['the right parameters without a scheme', (all) => header(all).replace('OAuth ', '')],
      ['no name=value pairs', () => 'OAuth ,,,=,"'],
      ['a signature that is no base64', (all) => header({ ...all, oauth_signature: '!!!' })],
      ['a signature that was cut', (all) => header({ ...all, oauth_signature: (all.oauth_signature ?? '').slice(0, 100) })],
      ['an empty signature', (all) => header({ ...all, oauth_signature: '' })],
      ['a parameter given twice', (all) => `${header(all)}, oauth_nonce="${all.oauth_nonce}"`],
    ]
    for (const name of ['oauth_consumer_key', 'oauth_nonce', 'oauth_signature', 'oauth_signature_method', 'oauth_timestamp'])
      headers.push([`no ${name}`, (all) => header(Object.fromEntries(Object.entries(all).filter(([one]) => one !== name)))])
    for (const [name, other] of [
      ['oauth_nonce', () => 'other'],
      ['oauth_timestamp', (signed: string) => String(Number(signed) + 1)],
      ['oauth_version', () => '1.1'],
      ['oauth_more', () => 'x'],
    ] as const)
      headers.push([`${name} altered after signing`, (all) => header({ ...all, [name]: other(all[name] ?? '') })])
    for (const [what, change] of headers)
      it(`${operation}: ${what}`, async () => {
        denied(await spoiled(operation, change))
      })

    const signings: [string, () => Signing][] = [
      ['an unknown login', () => ({ oauth: { oauth_consumer_key: 'nobody' } })],
      ['a login of a merchant that has no key', () => ({ oauth: { oauth_consumer_key: world.other.login } })],
      ['an empty login', () => ({ oauth: { oauth_consumer_key: '' } })],
      ['a key of somebody else', () => ({ key: stranger })],
      ['the parameters alone', () => ({ text: 'parameters' })],
      ['no nonce, duly signed', () => ({ oauth: { oauth_nonce: undefined } })],
      ['an empty nonce, duly signed', () => ({ oauth: { oauth_nonce: '' } })],
      ['no time stamp, duly signed', () => ({ oauth: { oauth_timestamp: undefined } })],
      ['version 2.0, duly signed', () => ({ oauth: { oauth_version: '2.0' } })],
      ['the method GET in the signed text', () => ({ method: 'GET' })],
      ['another host in the signed text', () => ({ url: v4Url(world, operation).replace(/\/\/[^/:]+/, '//gateway.example') })],
      ['another port in the signed text', () => ({ url: v4Url(world, operation).replace(/:[0-9]+\//, ':1/') })],
      ['another scheme in the signed text', () => ({ url: v4Url(world, operation).replace('http:', 'https:') })],
      [
        'another endpoint of the same merchant in the signed text',
        () => ({ url: v4Url(world, operation, world.endpoints.euro) }),
      ],
      [
        'the other operation in the signed text',
        () => ({ url: v4Url(world, operation === 'status' ? 'create-card-ref' : 'status') }),
      ],
      ['no body in the signed text', () => ({ signed: [] })],
      ['another orderid in the signed text', () => ({ signed: [body[0] ?? ['', ''], ['orderid', '1']] })],
      ['a field in the signed text that was not sent', () => ({ signed: [...body, ['more', 'x']] })],
    ]
    for (const other of ['HMAC-SHA1', 'RSA-SHA1', 'HMAC-SHA256', 'PLAINTEXT', 'RSA-SHA512', ''])
      signings.push([`the signature method "${other}"`, () => ({ oauth: { oauth_signature_method: other } })])
    for (const seconds of [-310, 360, -86_400, 86_400])
      signings.push([`a time stamp off by ${seconds} s`, () => ({ oauth: { oauth_timestamp: String(nowSeconds() + seconds) } })])
    for (const text of ['now', '-1', '0', '1e9', '9'.repeat(30), new Date(0).toISOString()])
      signings.push([`the time stamp ${text}`, () => ({ oauth: { oauth_timestamp: text } })])
    for (const [what, signing] of signings)
      it(`${operation}: ${what}`, async () => {
        denied(await ask(world, operation, body, signing()))
      })

    it(`${operation}: the parameters alone where the endpoint takes them, by another key or of another body`, async () => {
      const text = 'parameters'
      letIn(await ask(world, operation, body, { text }, lenient))
      denied(await ask(world, operation, body, { text, key: stranger }, lenient))
      denied(await ask(world, operation, body, { text, signed: [body[0] ?? ['', ''], ['orderid', '1']] }, lenient))
    })
    it(`${operation}: the parameters alone at a group, unless each of its endpoints takes them`, async () => {
      const group = `group/${world.groups.multi_secure}`
      letIn(await ask(world, operation, body, {}, group))
      denied(await ask(world, operation, body, { text: 'parameters' }, group))
    })
    it(`${operation}: the endpoint of another merchant, duly signed`, async () => {
      denied(await ask(world, operation, body, {}, world.other.endpoint))
      denied(await ask(world, operation, body, { text: 'parameters' }, world.other.endpoint))
    })
    it(`${operation}: a field added, changed or taken away after signing`, async () => {
      const url = v4Url(world, operation)
      const [one = ['', ''], two = ['', '']] = body
      const sent: Pairs[] = [[one], [one, two, ['x', 'y']], [one, ['orderid', '1']], [one, two, two], []]
      for (const pairs of sent) denied(await post(url, pairs, header(parametersOf(world, url, body))))
    })
    it(`${operation}: OAuth parameters in the body or in the query instead of the header`, async () => {
      const url = v4Url(world, operation)
      const all = Object.entries(parametersOf(world, url, body))
      denied(await post(url, [...body, ...all], undefined))
      denied(await post(`${url}?${encodePairs(all)}`, body, undefined))
    })
    it(`${operation}: before everything else, so with any other fault too`, async () => {
      for (const path of [nowhere, `group/${nowhere}`, world.endpoints.disabled, `group/${world.groups.multi}`]) {
        denied(await post(v4Url(world, operation, path), body, undefined))
        denied(await ask(world, operation, body, { key: stranger }, path))
      }
      denied(await post(v4Url(world, operation), [], undefined))
      denied(await send('POST', v4Url(world, operation), 'not=%zz', {}))
      denied(await send('POST', v4Url(world, operation), '{}', { 'content-type': 'application/json' }))
    })
    it(`${operation}: a body above 64 KiB is 413, with any signature and path; one of 64 KiB is read`, async () => {
      const filled = (length: number): Pairs => [...body, ['x', '!'.repeat(length - encodePairs(body).length - '&x='.length)]]
      const url = v4Url(world, operation, lenient)
      for (const text of ['base string', 'parameters'] as const) {
        const [most, more] = [filled(65_536), filled(65_537)]
        const sent = (pairs: Pairs) => pairs.map((pair) => pair.join('=')).join('&')
        const call = (pairs: Pairs) =>
          send('POST', url, sent(pairs), { authorization: header(parametersOf(world, url, pairs, { text })) })
        assert.equal(sent(most).length, 65_536)
        letIn(await call(most))
        tooLong(await call(more))
        denied(await send('POST', url, sent(most), {}))
        for (const path of [nowhere, `group/${nowhere}`, world.other.endpoint]) {
          tooLong(await send('POST', v4Url(world, operation, path), sent(more), {}))
          tooLong(await send('POST', v4Url(world, operation, path), sent(more), { 'content-type': 'application/json' }))
        }
        // A type that cannot be read says nothing of the length.
        denied(await send('POST', url, sent(most), { 'content-type': '/' }))
      }
    })
    it(`${operation}: login and control of v2 open nothing`, async () => {
      const fields: Pairs = [...body, ['login', world.merchant.login], ['control', 'x']]
      denied(await post(v4Url(world, operation), fields, undefined))
    })
    it(`${operation}: as JSON is asked for, the same page`, async () => {
      denied(await post(v4Url(world, operation), body, undefined, { accept: 'application/vnd.pay+json' }))
    })
  }
})

describe('a nonce is valid once', { concurrency: 4 }, () => {
  it('a repeat is denied, for the same operation or another one', async () => {
    for (const text of ['base string', 'parameters'] as const) {
      const url = v4Url(world, 'status', lenient)
      const authorization = header(parametersOf(world, url, body, { text }))
      letIn(await post(url, body, authorization))
      denied(await post(url, body, authorization))
      denied(await post(url, body, authorization))
    }
    const oauth: Changes = { oauth_nonce: randomUUID() }
    letIn(await ask(world, 'create-card-ref', body, { oauth }))
    denied(await ask(world, 'status', body, { oauth }))
    denied(await ask(world, 'create-card-ref', body, { oauth, text: 'parameters' }, lenient))
    denied(await ask(world, 'create-card-ref', body, { oauth: { ...oauth, oauth_timestamp: String(nowSeconds() + 30) } }))
  })
  it('of 20 simultaneous equal requests, one is accepted', async () => {
    const url = v4Url(world, 'create-card-ref')
    const authorization = header(parametersOf(world, url, body))
    const answers = await Promise.all(Array.from({ length: 20 }, () => post(url, body, authorization)))
    assert.equal(answers.filter(({ httpStatus }) => httpStatus === 200).length, 1)
    for (const answer of answers) if (answer.httpStatus !== 200) denied(answer)
  })
  it('a nonce under a signature that does not hold is not used up', async () => {
    const oauth = { oauth_nonce: randomUUID() }
    denied(await ask(world, 'status', body, { oauth, key: stranger }))
    denied(await ask(world, 'status', body, { oauth, signed: [] }))
    letIn(await ask(world, 'status', body, { oauth }))
    denied(await ask(world, 'status', body, { oauth }))
  })
  it('a refusal uses it up as well', async () => {
    const oauth = { oauth_nonce: randomUUID() }
    const pairs: Pairs = [['client_orderid', 'nobody’s']]
    assert.equal(readReply(await ask(world, 'status', pairs, { oauth }))['error-code'], '6')
    denied(await ask(world, 'status', pairs, { oauth }))
  })
  for (const [what, oauth_nonce] of [
    ['one character', '7'],
    ['64 characters', 'n'.repeat(64)],
    ['other characters than letters', 'a-b_c.d~e+/='],
  ] as const)
    it(`a nonce of ${what} will do`, async () => {
      letIn(await ask(world, 'status', body, { oauth: { oauth_nonce } }))
      denied(await ask(world, 'status', body, { oauth: { oauth_nonce } }))
    })
})

describe('after a crash', () => {
  it('a nonce from before is still used, a new one is let in', async () => {
    const url = v4Url(world, 'create-card-ref')
    const authorization = header(parametersOf(world, url, body))
    letIn(await post(url, body, authorization))
    await world.crash()
    denied(await post(url, body, authorization))
    assert.equal(refOf(await v4(world, 'create-card-ref', Object.fromEntries(body))), ref)
  })
})
