import assert from 'node:assert/strict'
import { createPublicKey, verify as verifyEd25519 } from 'node:crypto'
import { describe, it } from 'node:test'
import { Webhook } from 'standardwebhooks'
import { openLog } from '../../../src/base/log.ts'
import { openPool, statement } from '../../../src/storage/pool.ts'
import { configurationRead } from '../../harness/world/configuration.ts'
import { openReceiver, type Call } from '../../harness/world/receiver.ts'
import { closing, openWorld } from '../../harness/world/opening.ts'
import { until } from '../../harness/clock/until.ts'
import { cliOf } from '../../wire/operator/cli-run.ts'
import { order, type Changes } from './client.ts'

/**
 * Callbacks are signed as https://www.standardwebhooks.com describes: docs/choices.md, "Callbacks".
 * The library of that project verifies.
 */

const shop = closing(await openReceiver((path, earlier) => (path.startsWith('/fails-once') && earlier === 0 ? 500 : 200)))
const world = await openWorld()
const { json, tell } = cliOf(() => world)

interface Shown {
  signing_secret: string
  made: boolean
}
const secretOf = (login: string, ...more: string[]): Promise<Shown> => json<Shown>('merchant', 'signing-secret', login, ...more)

let paths = 0
/** A payment whose callback goes to a path of its own; waits for so many calls. */
async function called(changes: Changes = {}, { kind = 'answers', query = '', count = 1 } = {}): Promise<Call[]> {
  const path = `/${kind}/${(paths += 1)}`
  await order(world, { server_callback_url: shop.origin + path + query, ...changes })
  const calls = await until(
    () => shop.calls(path),
    ({ length }) => length >= count,
  )
  assert.equal(calls.length, count)
  return calls
}

const headersOf = ({ headers }: Call): Record<string, string> =>
  Object.fromEntries(['webhook-id', 'webhook-timestamp', 'webhook-signature'].map((name) => [name, String(headers[name])]))
const verify = (call: Call, secret = world.merchant.signingSecret, raw = call.raw) =>
  new Webhook(secret).verify(raw, headersOf(call), { jsonParse: false })

describe('the signature of a callback', { concurrency: 4 }, () => {
  // oxfmt-ignore
  const messages: [what: string, method: string, changes: Changes, query: string][] = [
    ['a query',                                'GET',  {},                                                ''],
    ['a declined payment',                     'GET',  { cvv2: '116' },                                   ''],
    ["a query after the shop's own",           'GET',  {},                                                "?shop=7&b='a|b'&c=%7E~&d=%C3%BC"],
    ['an empty query of the shop',             'GET',  {},                                                '?'],
    ['names and comments in many characters',  'GET',  { order_desc: "O'Brien & (ü) 100 %* ~", first_name: 'Zoë+' }, ''],
    ['a form, which is too long for a query',  'POST', { merchant_data: 'ü'.repeat(4_000) },              '?shop=7'],
  ]
  for (const [what, method, changes, query] of messages)
    it(`covers every byte of ${what}`, async () => {
      const [call] = await called(changes, { query })
      assert.equal(call!.method, method)
      verify(call!)
      for (const raw of [`${call!.raw}&amount=999.00`, call!.raw.replace('approved', 'declined') + 'x', call!.raw.slice(1)])
        assert.throws(() => verify(call!, world.merchant.signingSecret, raw), /No matching signature/)
    })
  it('is made with the secret of the merchant, and with no other key', async () => {
    const [call] = await called()
    assert.equal((await secretOf(world.merchant.login)).signing_secret, world.merchant.signingSecret)
    assert.match(world.merchant.signingSecret, /^whsec_[A-Za-z0-9+/]{43}=$/)
    const controlKey = `whsec_${Buffer.from(world.merchant.controlKey).toString('base64')}`
    for (const other of [world.other.signingSecret, controlKey])
      assert.throws(() => verify(call!, other), /No matching signature/)
  })
  it('has the same id and a new time at each try, and another id for another delivery', async () => {
    const notified = `/answers/notified-${process.pid}`
    const tries = await called({ notify_url: shop.origin + notified }, { kind: 'fails-once', count: 2 })
    for (const call of tries) verify(call)
    const [first, second] = tries.map(headersOf)
    assert.equal(second!['webhook-id'], first!['webhook-id'])
    assert.match(first!['webhook-id']!, /^[A-Za-z0-9_-]+$/)
    const [earlier, later] = [first, second].map((headers) => Number(headers!['webhook-timestamp']))
    assert.ok(later! > earlier!, `${earlier} ${later}`)
    for (const { at, headers } of tries) assert.ok(Math.abs(at / 1000 - Number(headers['webhook-timestamp'])) < 60)
    const other = shop.calls(notified)[0]!
    verify(other)
    assert.notEqual(headersOf(other)['webhook-id'], first!['webhook-id'])
  })
})

describe('the signing key', () => {
  const keyOf = (...more: string[]) =>
    json<{ public_key: string | null; made: boolean }>('merchant', 'signing-key', world.merchant.login, ...more)
  /** The signatures of a callback, and whether the one by Ed25519 is of this key. */
  async function signatures(publicKey: string) {
    const [call] = await called()
    const { 'webhook-id': id, 'webhook-timestamp': time, 'webhook-signature': all } = headersOf(call!)
    const [v1, v1a] = all!.split(' ')
    assert.match(v1!, /^v1,/)
    verify(call!)
    const x = Buffer.from(publicKey.replace(/^whpk_/, ''), 'base64').toString('base64url')
    const key = createPublicKey({ format: 'jwk', key: { kty: 'OKP', crv: 'Ed25519', x } })
    const holds = (raw: string) =>
      verifyEd25519(null, Buffer.from(`${id}.${time}.${raw}`), key, Buffer.from(v1a?.replace(/^v1a,/, '') ?? '', 'base64'))
    return { v1a, holds: holds(call!.raw), holdsForAnother: holds(`${call!.raw}&amount=999.00`) }
  }
  it('is made when an operator asks for it, and signs every byte beside the secret until it is ended', async () => {
    const { public_key: key, made } = await keyOf()
    assert.ok(made)
    assert.match(key!, /^whpk_[A-Za-z0-9+/]{43}=$/)
    assert.deepEqual(await keyOf(), { login: world.merchant.login, public_key: key, made: false })
    await configurationRead(world)
    const { v1a, ...seen } = await signatures(key!)
    assert.match(v1a!, /^v1a,[A-Za-z0-9+/]{86}==$/)
    assert.deepEqual(seen, { holds: true, holdsForAnother: false })
    const { public_key: next } = await keyOf('--new')
    await configurationRead(world)
    assert.equal((await signatures(key!)).holds, false)
    assert.equal((await signatures(next!)).holds, true)
    assert.equal((await keyOf('--off')).public_key, null)
    await configurationRead(world)
    assert.equal((await signatures(next!)).v1a, undefined)
  })
})

describe('the signing secret', () => {
  it('is made for each new merchant, and shown again on request', async () => {
    const login = `signs-${process.pid}`
    await tell(['merchant', 'add', '--login', login])
    const shown = [await secretOf(login), await secretOf(login)]
    assert.deepEqual(shown[0], shown[1])
    assert.equal(shown[0]!.made, false)
    assert.notEqual(shown[0]!.signing_secret, world.merchant.signingSecret)
  })
  it('is replaced when a new one is asked for; from then on that signs', async () => {
    const { signing_secret: fresh, made } = await secretOf(world.merchant.login, '--new')
    assert.ok(made && fresh !== world.merchant.signingSecret)
    await configurationRead(world)
    const [call] = await called()
    verify(call!, fresh)
    assert.throws(() => verify(call!), /No matching signature/)
  })
  it('is missing at a merchant of an older version, whose callbacks are not signed until an operator asks for it', async () => {
    const log = openLog({ level: 'fatal', destination: process.stderr })
    const pool = closing(openPool({ url: world.databaseUrl, connections: 1, use: 'admin', log }))
    const forget = `update merchant set signing_secret_sealed = null, signing_secret_key = null where login = $1`
    await pool.run(statement(forget), [world.merchant.login])
    await pool.run(statement(`update config_version set version = version + 1`))
    await configurationRead(world)
    const [unsigned] = await called()
    assert.deepEqual(
      Object.keys(unsigned!.headers).filter((name) => name.startsWith('webhook')),
      [],
    )
    assert.ok(unsigned!.query.get('control'))
    const { signing_secret: fresh, made } = await secretOf(world.merchant.login)
    assert.ok(made)
    await configurationRead(world)
    verify((await called())[0]!, fresh)
  })
})
