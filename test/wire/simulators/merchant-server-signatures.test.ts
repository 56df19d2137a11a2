import assert from 'node:assert/strict'
import { generateKeyPairSync, sign } from 'node:crypto'
import { test } from 'node:test'
import { Webhook } from 'standardwebhooks'
import type { Clock } from '../../../src/base/clock.ts'
import { sha1Hex } from '../../../src/base/digest.ts'
import { openLog } from '../../../src/base/log.ts'
import { systemRandom } from '../../../src/base/random.ts'
import { secret } from '../../../src/base/secret.ts'
import type { CallbackKeys } from '../../../simulators/merchant/callbacks/book.ts'
import { startMerchantServer } from '../../../simulators/merchant/server.ts'

/**
 * What the reference merchant server makes of signatures. The public library makes those by HMAC;
 * it knows none by Ed25519.
 */

const controlKey = 'AF4B5DE6-3468-424C-A922-C1DAD7CB4509'
const signingSecret = `whsec_${Buffer.alloc(32, 3).toString('base64')}`
const nowMs = Date.UTC(2026, 0, 2, 3, 4, 5, 678)
const clock: Clock = { now: () => nowMs, monotonic: () => nowMs, after: () => () => {} }

type Fields = Record<string, string>
interface Shown {
  valid: boolean
  signature: string
  signatures: Fields
  headers: Fields
}

const anotherKey = `whsec_${Buffer.alloc(32, 4).toString('base64')}`
const [pair, anotherPair] = [generateKeyPairSync('ed25519'), generateKeyPairSync('ed25519')]
const log = openLog({ level: 'fatal', destination: process.stderr })
const account = { host: '127.0.0.1', port: 0, login: 'shop', controlKey: secret(controlKey), random: systemRandom, log, clock }
const start = (keys: Omit<CallbackKeys, 'controlKey'>) =>
  startMerchantServer({ ...account, ...keys, gatewayBaseUrl: 'http://127.0.0.1:8080/gateway' })

const ids = { status: 'approved', orderid: '1000001', client_orderid: 'signed-1' }
const control = sha1Hex(Object.values(ids).join('') + controlKey)
const raw = new URLSearchParams({ ...ids, amount: '10.50', control }).toString()
const changed = raw.replace('10.50', '99.50')

const stamped = (at: number, signatures: string): Fields => ({
  'webhook-id': 'msg_1_2_3',
  'webhook-timestamp': String(Math.floor(at / 1000)),
  'webhook-signature': signatures,
})
const v1 = (of = raw, at = nowMs, key = signingSecret): string => new Webhook(key).sign('msg_1_2_3', new Date(at), of)
const v1a = (of = raw, at = nowMs, { privateKey } = pair): string =>
  `v1a,${sign(null, Buffer.from(`msg_1_2_3.${Math.floor(at / 1000)}.${of}`), privateKey).toString('base64')}`

type Server = Awaited<ReturnType<typeof start>>
const send = ({ url }: Server, headers: Fields, method = 'GET') =>
  method === 'GET'
    ? fetch(`${url}/callback?${raw}`, { headers })
    : fetch(`${url}/callback?shop=7`, { method, headers: { ...headers, 'content-type': formType }, body: raw })
const formType = 'application/x-www-form-urlencoded'
const newest = async ({ url }: Server): Promise<Shown> =>
  (JSON.parse(await (await fetch(`${url}/callbacks.json`)).text()) as Shown[])[0]!

test('it believes what is signed as Standard Webhooks describes, and shows headers and verdict', async () => {
  const server = await start({ signingSecret: secret(signingSecret) })
  // oxfmt-ignore
  const cases: [headers: Fields, verdict: string, answer: number, method?: string][] = [
    [stamped(nowMs, v1()),                                        'valid',              200],
    [stamped(nowMs, v1()),                                        'valid',              200, 'POST'],
    [stamped(nowMs - 299_000, v1(raw, nowMs - 299_000)),          'valid',              200],
    [stamped(nowMs - 301_000, v1(raw, nowMs - 301_000)),          'too old or too new', 400],
    [stamped(nowMs + 302_000, v1(raw, nowMs + 302_000)),          'too old or too new', 400],
    [stamped(nowMs, v1(raw, nowMs, anotherKey)),                  'wrong',              400],
    [stamped(nowMs, v1(changed)),                                 'wrong',              400],
    [stamped(nowMs, v1(changed)),                                 'wrong',              400, 'POST'],
    [{},                                                          'absent',             400],
  ]
  try {
    for (const [headers, verdict, answer, method] of cases) {
      const reply = await send(server, headers, method)
      assert.equal(reply.status, answer, verdict)
      const { signature, signatures, valid, headers: shown } = await newest(server)
      assert.deepEqual([signature, signatures, valid, shown], [verdict, { v1: verdict }, true, headers])
    }
    const text = await (await fetch(`${server.url}/`)).text()
    assert.match(text, /webhook-signature/)
    assert.match(text, /msg_1_2_3/)
    for (const [, verdict] of cases) assert.match(text, verdictOnPage('v1', verdict))
    assert.match(text, /6 with a wrong control or signature/)
  } finally {
    await server.close()
  }
})

test('it judges each kind of signature by itself, and believes no message with a wrong one', async () => {
  const secretKey = { signingSecret: secret(signingSecret) }
  const publicKey = { signingPublicKey: pair.publicKey }
  const both = { ...secretKey, ...publicKey }
  const old = nowMs - 301_000
  const foreign = v1a(raw, nowMs, anotherPair)
  // oxfmt-ignore
  const cases: [keys: Omit<CallbackKeys, 'controlKey'>, headers: Fields, kinds: Fields, verdict: string][] = [
    [both,      stamped(nowMs, `${v1()} ${v1a()}`),                 { v1: 'valid', v1a: 'valid' },            'valid'],
    [both,      stamped(nowMs, `${v1()} ${foreign} ${v1a()}`),      { v1: 'valid', v1a: 'valid' },            'valid'],
    [both,      stamped(nowMs, v1a()),                              { v1: 'absent', v1a: 'valid' },           'valid'],
    [both,      stamped(nowMs, `${v1()} ${foreign}`),               { v1: 'valid', v1a: 'wrong' },            'wrong'],
    [both,      stamped(nowMs, `${v1()} ${v1a(changed)}`),          { v1: 'valid', v1a: 'wrong' },            'wrong'],
    [both,      stamped(nowMs, `${v1(changed)} ${v1a()}`),          { v1: 'wrong', v1a: 'valid' },            'wrong'],
    [both,      stamped(nowMs, `v1a,${v1().slice(3)}`),             { v1: 'absent', v1a: 'wrong' },           'wrong'],
    [both,      stamped(old, `${v1(raw, old)} ${v1a(raw, old)}`),   { v1: 'too old or too new', v1a: 'too old or too new' }, 'too old or too new'],
    [both,      stamped(nowMs, `${v1(raw, old)} ${v1a(raw, old)}`), { v1: 'wrong', v1a: 'wrong' },            'wrong'],
    [publicKey, stamped(nowMs, v1a()),                              { v1a: 'valid' },                         'valid'],
    [publicKey, stamped(nowMs, v1()),                               { v1a: 'absent', v1: 'unknown key' },     'absent'],
    [secretKey, stamped(nowMs, `${v1()} ${v1a()} v9,x`),            { v1: 'valid', v1a: 'unknown key', v9: 'unknown key' }, 'valid'],
    [{},        stamped(nowMs, v1()),                               { v1: 'unknown key' },                    'not checked'],
  ]
  for (const [keys, headers, kinds, verdict] of cases) {
    const server = await start(keys)
    try {
      const { status } = await send(server, headers)
      const { signature, signatures } = await newest(server)
      assert.deepEqual([signatures, signature], [kinds, verdict], headers['webhook-signature'])
      assert.equal(status, ['valid', 'not checked'].includes(verdict) ? 200 : 400)
      const text = await (await fetch(`${server.url}/`)).text()
      for (const [kind, each] of Object.entries(kinds)) assert.match(text, verdictOnPage(kind, each))
    } finally {
      await server.close()
    }
  }
})

const verdictOnPage = (kind: string, verdict: string): RegExp =>
  new RegExp(`<code>${kind}</code><span class="mark \\w+"><svg[^]*?</svg>${verdict}</span>`)
