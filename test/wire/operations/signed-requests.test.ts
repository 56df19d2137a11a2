import assert from 'node:assert/strict'
import { createHash, generateKeyPairSync, randomUUID } from 'node:crypto'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it, test } from 'node:test'
import { openClient } from '../../../client/client.ts'
import { readPairs } from '../../../client/form.ts'
import { signatureHeaders } from '../../../client/message-signature.ts'
import { configurationRead } from '../../harness/world/configuration.ts'
import { openWorld } from '../../harness/world/opening.ts'
import { cliOf, run } from '../operator/cli-run.ts'

// Requests that are signed as a whole, beside their control: docs/choices.md, "Signed requests".

const world = await openWorld()
const { plain, euro } = world.endpoints
const { login, controlKey, signingSecret } = world.merchant
const settings = { baseUrl: world.baseUrl, endpoint: plain, login, controlKey }
const unsigned = openClient(settings)
const signed = openClient({ ...settings, signingSecret })

async function demand(which: 'off' | 'follow-ups' | 'payments' | 'all'): Promise<void> {
  await cliOf(() => world).tell(['merchant', 'signed-requests', login, which])
  await configurationRead(world)
}

const payment = () => ({
  client_orderid: `signed-${randomUUID()}`,
  order_desc: 'Shoes',
  amount: '10.42',
  currency: 'USD',
  email: 'jane@example.com',
  ipaddress: '203.0.113.7',
  credit_card_number: '4111111111111111',
  card_printed_name: 'JANE DOE',
  expire_month: 12,
  expire_year: 2035,
  cvv2: '123',
})

async function approved() {
  const reply = await signed.sale(payment())
  const ending = await signed.finish(reply)
  assert.ok(reply.is === 'accepted' && ending.is === 'final' && ending.status === 'approved', JSON.stringify(ending))
  return reply.order
}

/** How a reply ended: `ok`, or the code of its refusal. */
const endOf = (reply: { is: string; code?: number }): string =>
  reply.is === 'refused' ? `refused ${reply.code}` : reply.is === 'no answer' ? reply.is : 'ok'

const paid = await approved()
const control = createHash('sha1').update(`${login}${paid.client_orderid}${paid.orderid}${controlKey}`).digest('hex')
/** The same text is a status, a return and a void, and the same control fits each. */
const body = new URLSearchParams({ login, client_orderid: paid.client_orderid, orderid: paid.orderid, control }).toString()
const urlOf = (operation: string, endpoint = plain): string => `${world.baseUrl}/api/v2/${operation}/${endpoint}`

type Part = Partial<Parameters<typeof signatureHeaders>[0]>
const headersFor = (operation: string, changes: Part = {}): Record<string, string> => {
  const moment = { nonce: randomUUID(), timestampSeconds: Math.floor(Date.now() / 1000) }
  return signatureHeaders({
    method: 'POST',
    url: urlOf(operation),
    body,
    headers: {},
    login,
    key: signingSecret,
    ...moment,
    ...changes,
  })
}

/** The reply without what every reply has of its own. */
async function send(url: string, headers: Record<string, string>, text = body): Promise<Record<string, string | undefined>> {
  const form = { 'content-type': 'application/x-www-form-urlencoded', ...headers }
  const answer = await fetch(url, { method: 'POST', headers: form, body: text })
  const { 'serial-number': _serial, ...rest } = Object.fromEntries(readPairs(await answer.text())!)
  return rest
}

describe('a signed request', { concurrency: 4 }, () => {
  it('is taken where its signature holds, once', async () => {
    const headers = headersFor('status')
    assert.equal((await send(urlOf('status'), headers)).type, 'status-response')
    assert.equal((await send(urlOf('status'), headers))['error-code'], '2')
    assert.equal((await send(urlOf('status'), {})).type, 'status-response')
  })
  it('is accepted once when it is sent twenty times together', async () => {
    const headers = headersFor('status')
    const replies = await Promise.all(Array.from({ length: 20 }, () => send(urlOf('status'), headers)))
    assert.equal(replies.filter(({ type }) => type === 'status-response').length, 1)
  })
  it('with a wrong signature has the reply of a wrong control, though none is demanded and the control holds', async () => {
    const wrongControl = await send(urlOf('return'), {}, body.replace(control, '0'.repeat(40)))
    assert.equal(wrongControl['error-code'], '2')
    const good = headersFor('return')
    const { signature: _, ...half } = good
    // oxfmt-ignore
    const cases: [what: string, headers: Record<string, string>, url?: string | undefined, text?: string][] = [
      ['that of a status',                headersFor('status')],
      ['that of another endpoint',        good, urlOf('return', euro)],
      ['that of another body',            good, undefined, `${body}&comment=x`],
      ['that of another secret',          headersFor('return', { key: world.other.signingSecret })],
      ['that of another login',           headersFor('return', { login: world.other.login })],
      ['one from ten minutes ago',        headersFor('return', { timestampSeconds: Math.floor(Date.now() / 1000) - 600 })],
      ['half of one',                     half],
      ['one without the Idempotency-Key', { ...good, 'idempotency-key': randomUUID() }],
    ]
    for (const [what, headers, url = urlOf('return'), text] of cases)
      assert.deepEqual(await send(url, headers, text), wrongControl, what)
    const status = await unsigned.status(paid)
    assert.ok(status.is === 'order' && status.status === 'approved', JSON.stringify(status))
  })
  it('whose signature is wrong does not use up the nonce', async () => {
    const nonce = randomUUID()
    assert.equal((await send(urlOf('status'), headersFor('return', { nonce })))['error-code'], '2')
    assert.equal((await send(urlOf('status'), headersFor('status', { nonce }))).type, 'status-response')
  })
})

describe('the demand for signatures', () => {
  // oxfmt-ignore
  const demands: [which: 'off' | 'follow-ups' | 'payments' | 'all', status: string, sale: string, followUp: string][] = [
    ['follow-ups', 'ok',        'ok',        'refused 2'],
    ['payments',   'ok',        'refused 2', 'refused 2'],
    ['all',        'refused 2', 'refused 2', 'refused 2'],
    ['off',        'ok',        'ok',        'ok'],
  ]
  for (const [which, status, sale, followUp] of demands)
    it(`${which}: its requests are refused without a signature, at each endpoint, and accepted with one`, async () => {
      const order = await approved()
      await demand(which)
      const shown = await cliOf(() => world).json<{ signed_requests: string }>('merchant', 'show', login)
      assert.equal(shown.signed_requests, which)
      assert.equal(endOf(await unsigned.status(order)), status)
      assert.equal(endOf(await unsigned.sale(payment())), sale)
      if (followUp !== 'ok')
        for (const endpoint of [plain, euro])
          assert.equal(endOf(await openClient({ ...settings, endpoint }).return(order)), followUp)
      const by = followUp === 'ok' ? unsigned : signed
      assert.equal(endOf(await by.return(order, { idempotencyKey: randomUUID() })), 'ok')
      assert.equal(endOf(await signed.status(order)), 'ok')
      assert.equal(endOf(await signed.sale(payment())), 'ok')
    })
})

test('an Ed25519 key that the operator registered signs in place of the secret, until it is retired', async () => {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519')
  const file = join(world.directory, 'ed25519.pem')
  writeFileSync(file, publicKey.export({ format: 'pem', type: 'spki' }))
  const { signingSecret: _, ...shared } = { ...settings, signingSecret }
  const byKey = openClient({ ...shared, signingKey: privateKey.export({ format: 'pem', type: 'pkcs8' }).toString() })
  const { tell, json } = cliOf(() => world)
  await demand('all')
  assert.equal(endOf(await byKey.sale(payment())), 'refused 2')
  const { key_no: no, type } = await json<{ key_no: number; type: string }>('merchant', 'key', 'add', login, '--file', file)
  assert.equal(type, 'Ed25519')
  await configurationRead(world)
  assert.equal(endOf(await byKey.sale(payment())), 'ok')
  assert.equal(endOf(await byKey.return(paid, { idempotencyKey: randomUUID() })), 'ok')
  await tell(['merchant', 'key', 'retire', login, String(no)])
  await configurationRead(world)
  assert.equal(endOf(await byKey.status(paid)), 'refused 2')
  assert.equal(endOf(await signed.status(paid)), 'ok')
})

describe('npx tollgate sign-request', () => {
  const url = urlOf('status')
  /** The headers as they are printed, and as `curl -H @file` reads them. */
  const printed = (text: string): Record<string, string> =>
    Object.fromEntries(
      text
        .trim()
        .split('\n')
        .map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 2)]),
    )
  const status = (headers: Record<string, string>, text = body) => send(url, headers, text).then((reply) => reply.type ?? '')
  const fileOf = (name: string, content: string): string => {
    const file = join(world.directory, `${name}-${process.pid}`)
    writeFileSync(file, content)
    return file
  }

  it('prints headers with which the gateway takes a request that has to be signed, and no other body or call', async () => {
    await demand('all')
    const { tell } = cliOf(() => world)
    assert.equal(await status({}), 'validation-error')
    const own = ['sign-request', url, '--login', login]
    const byInput = printed(await tell(own, body))
    assert.equal(await status(byInput, `${body}&x=1`), 'validation-error')
    assert.equal(await status(byInput), 'status-response')
    assert.equal(await status(byInput), 'validation-error')
    const text = `${body}\n`
    const file = fileOf('body', text)
    assert.equal(await status(printed(await tell([...own, '--body', file])), text), 'status-response')
    assert.equal(await status(printed(await tell([...own, '--body', file]))), 'validation-error')
    const named = printed(await tell([...own, '--idempotency-key', 'mine-1'], body))
    assert.equal(named['Idempotency-Key'], 'mine-1')
    assert.equal(await status({ ...named, 'Idempotency-Key': 'mine-2' }), 'validation-error')
    assert.equal(await status(named), 'status-response')
    rmSync(file)
  })

  it('signs without an installation, by the secret of the environment or by an Ed25519 key, and prints neither', async () => {
    await demand('all')
    const { privateKey, publicKey } = generateKeyPairSync('ed25519')
    const publicFile = fileOf('public.pem', publicKey.export({ format: 'pem', type: 'spki' }).toString())
    const privateFile = fileOf('private.pem', privateKey.export({ format: 'pem', type: 'pkcs8' }).toString())
    await cliOf(() => world).tell(['merchant', 'key', 'add', login, '--file', publicFile])
    await configurationRead(world)
    const ways: [env: Record<string, string>, more: string[]][] = [
      [{ TOLLGATE_SIGNING_SECRET: signingSecret }, []],
      [{}, ['--private-key', privateFile]],
    ]
    for (const [env, more] of ways) {
      const ran = await run(env, ['sign-request', url, '--login', login, ...more, '--json'], body)
      assert.equal(ran.code, 0, ran.err)
      assert.ok(!ran.out.includes(signingSecret))
      const { headers } = JSON.parse(ran.out) as { headers: Record<string, string> }
      assert.equal(await status(headers), 'status-response')
    }
    rmSync(publicFile)
    rmSync(privateFile)
  })

  // oxfmt-ignore
  const wrong: [args: string[], env: Record<string, string>, says: RegExp][] = [
    [['ftp://pay.example/x'],                         {},                                            /must be a URL/],
    [[url, '--method', 'post'],                       {},                                            /in capitals, such as POST/],
    [[url],                                           { TOLLGATE_SIGNING_SECRET: signingSecret },    /Whose request is it\?/],
    [[url, '--login', 'l'],                           { TOLLGATE_SIGNING_SECRET: 'whsec_c2hvcnQ=' }, /is not a signing secret/],
    [[url, '--login', 'l', '--private-key', '/no.pem'], {},                                          /\/no\.pem does not exist/],
    [[url, '--login', 'l', '--private-key', '/no.pem'], { TOLLGATE_SIGNING_SECRET: signingSecret },  /both name a key to sign with/],
    [[url, '--login', 'l', '--body', '/no.txt'],      { TOLLGATE_SIGNING_SECRET: signingSecret },    /--body: \/no\.txt cannot be read/],
  ]
  for (const [args, env, says] of wrong)
    it(`${args.join(' ').replace(url, 'URL')}: ends with 2 and says why`, async () => {
      const ran = await run(env, ['sign-request', ...args], body)
      assert.equal(ran.code, 2, ran.out)
      assert.match(ran.err, says)
    })
})
