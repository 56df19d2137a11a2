import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Webhook } from 'standardwebhooks'
import type { Clock } from '../../src/base/clock.ts'
import { sha1Hex } from '../../src/base/digest.ts'
import { openLog } from '../../src/base/log.ts'
import { systemRandom } from '../../src/base/random.ts'
import { secret } from '../../src/base/secret.ts'
import { startMerchantServer } from '../../simulators/merchant/server.ts'

/** What the reference merchant server makes of signatures, which the public library makes here. */

const controlKey = 'AF4B5DE6-3468-424C-A922-C1DAD7CB4509'
const signingSecret = `whsec_${Buffer.alloc(32, 3).toString('base64')}`
const nowMs = Date.UTC(2026, 0, 2, 3, 4, 5, 678)
const clock: Clock = { now: () => nowMs, monotonic: () => nowMs, after: () => () => {} }

type Fields = Record<string, string>
interface Shown {
  valid: boolean
  signature: string
  headers: Fields
}

test('it believes what is signed as Standard Webhooks describes, and shows headers and verdict', async () => {
  const server = await startMerchantServer({
    host: '127.0.0.1',
    port: 0,
    login: 'shop',
    controlKey: secret(controlKey),
    signingSecret: secret(signingSecret),
    gatewayBaseUrl: 'http://127.0.0.1:8080/gateway',
    clock,
    random: systemRandom,
    log: openLog({ level: 'fatal', destination: process.stderr }),
  })
  const send = (raw: string, headers: Fields, method = 'GET') =>
    method === 'GET'
      ? fetch(`${server.url}/callback?${raw}`, { headers })
      : fetch(`${server.url}/callback?shop=7`, { method, headers: { ...headers, 'content-type': formType }, body: raw })
  const formType = 'application/x-www-form-urlencoded'
  const headersFor = (raw: string, at = nowMs, key = signingSecret): Fields => ({
    'webhook-id': 'msg_1_2_3',
    'webhook-timestamp': String(Math.floor(at / 1000)),
    'webhook-signature': new Webhook(key).sign('msg_1_2_3', new Date(at), raw),
  })
  const ids = { status: 'approved', orderid: '1000001', client_orderid: 'signed-1' }
  const control = sha1Hex(Object.values(ids).join('') + controlKey)
  const raw = new URLSearchParams({ ...ids, amount: '10.50', control }).toString()
  const anotherKey = `whsec_${Buffer.alloc(32, 4).toString('base64')}`
  // oxfmt-ignore
  const cases: [headers: Fields, verdict: string, answer: number, method?: string][] = [
    [headersFor(raw),                              'valid',              200],
    [headersFor(raw),                              'valid',              200, 'POST'],
    [headersFor(raw, nowMs - 299_000),             'valid',              200],
    [headersFor(raw, nowMs - 301_000),             'too old or too new', 400],
    [headersFor(raw, nowMs + 302_000),             'too old or too new', 400],
    [headersFor(raw, nowMs, anotherKey),           'wrong',              400],
    [headersFor(raw.replace('10.50', '99.50')),    'wrong',              400],
    [headersFor(raw.replace('10.50', '99.50')),    'wrong',              400, 'POST'],
    [{},                                           'absent',             400],
  ]
  try {
    for (const [headers, verdict, answer, method] of cases) {
      const reply = await send(raw, headers, method)
      assert.equal(reply.status, answer, verdict)
      const [newest]: Shown[] = JSON.parse(await (await fetch(`${server.url}/callbacks.json`)).text())
      assert.deepEqual([newest!.signature, newest!.valid, newest!.headers], [verdict, true, headers])
    }
    const text = await (await fetch(`${server.url}/`)).text()
    assert.match(text, /webhook-signature/)
    assert.match(text, /msg_1_2_3/)
    for (const [, verdict] of cases) assert.match(text, new RegExp(`It is ${verdict}\\.`))
    assert.match(text, /6 with a wrong control or signature/)
  } finally {
    await server.close()
  }
})
