import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { describe, it } from 'node:test'
import { openReceiver } from '../../harness/world/receiver.ts'
import { closing, openWorld } from '../../harness/world/opening.ts'
import { accepted, callbackControl, send, settled, notEmpty, type Changes, type Fields, type Order } from '../requests/client.ts'
import { until } from '../../harness/clock/until.ts'
import { follow } from './operations.ts'
import { atPares, forPares, legacyCard, throughHtml } from '../three-d-secure/pares.ts'
import { load, secureOrder, submit, type Form } from '../three-d-secure/shopper.ts'

/**
 * The return of the cardholder, choices.md section 6, in a browser without script, after 3-D Secure
 * 1.0.2 (`html`, the issuer's page). Not tested: `processing` after 60 s.
 */

const shop = closing(await openReceiver(() => 200))
const world = await openWorld()

let times = 0
const urlsOf = (name: string): Changes => ({
  redirect_url: `https://shop.example/${name}/back?order=${(times += 1)}&x=a%20b`,
  redirect_success_url: `https://shop.example/${name}/thanks?order=${times}`,
  redirect_fail_url: `https://shop.example/${name}/sorry?order=${times}`,
})

/** What the browser is given to send to the shop, once the gateway knows how the payment ended. */
async function returned(seen: Fields, ...words: string[]): Promise<Form> {
  const first = await submit(await throughHtml(seen, ...words))
  const toShop = ({ forms }: typeof first): Form | undefined => forms.find(({ fields }) => 'control' in fields)
  let page = first
  const last = await until(
    async () => {
      if (!toShop(page)) page = await load(page.url, undefined, page.cookies)
      return page
    },
    (one) => toShop(one) !== undefined,
    60_000,
  )
  const form = toShop(last)
  assert.ok(form, `a way back to the shop: ${last.body.slice(0, 1000)}`)
  assert.match(last.body, /\bsubmit\.call\(/, 'it sends itself')
  assert.match(last.body, /<button[ >]/i, 'and has a button where no script runs')
  return form
}

/** What a JSON Web Token (RFC 7519) says, if the signing secret signed it. */
function claimsOf(token: string): Record<string, unknown> {
  const [header, payload, signature] = token.split('.')
  const key = Buffer.from(world.merchant.signingSecret.replace('whsec_', ''), 'base64')
  assert.equal(signature, createHmac('sha256', key).update(`${header}.${payload}`).digest('base64url'))
  const read = (part = '') => JSON.parse(Buffer.from(part, 'base64url').toString()) as Record<string, unknown>
  assert.deepEqual(read(header), { alg: 'HS256', typ: 'JWT' })
  return read(payload)
}

async function ended(made: Order, seen: Fields, ...words: string[]) {
  const form = await returned(seen, ...words)
  const { controlKey } = world.merchant
  const { status = '', orderid, client_orderid, control } = form.fields
  assert.deepEqual([form.method, orderid, client_orderid], ['post', made.orderid, made.client_orderid])
  assert.equal(control, callbackControl(status, made.orderid, made.client_orderid, controlKey))
  const { amount, currency, type } = form.fields
  const { iat, exp, ...claims } = claimsOf(form.fields.token ?? '')
  const order = { orderid: made.orderid, client_orderid: made.client_orderid }
  assert.deepEqual(claims, { iss: 'tollgate', aud: world.merchant.login, status, ...order, type, amount, currency })
  assert.equal(Number(exp) - Number(iat), 3_600)
  return { form, status, final: await settled(world, made) }
}

describe('an approved payment goes to redirect_success_url if given, else to redirect_url', { concurrency: 4 }, () => {
  it('to redirect_success_url, with the fields of the callback and their control', async () => {
    const path = '/callback/approved'
    const urls = urlsOf('approved')
    const changes = { comment: 'as agreed', merchant_data: ' my=data & é😀<"> ', first_name: 'Ada', last_name: 'Lovelace' }
    const { made, seen } = await atPares(world, { ...urls, ...changes, server_callback_url: `${shop.origin}${path}` })
    const { form, status } = await ended(made, seen)
    assert.deepEqual([form.action, status], [urls.redirect_success_url, 'approved'])
    const [call] = await until(() => shop.calls(path), notEmpty)
    const { token, ...told } = form.fields
    assert.deepEqual(told, Object.fromEntries(call?.query ?? []))
    assert.ok(token)
    assert.equal(form.fields.merchantdata, changes.merchant_data)
  })
  for (const given of [{ redirect_success_url: undefined }, { redirect_success_url: undefined, redirect_fail_url: undefined }]) {
    it(`to redirect_url without ${Object.keys(given).join(' and ')}, its own query kept`, async () => {
      const urls: Changes = { ...urlsOf('plain'), ...given }
      const { made, seen } = await atPares(world, urls)
      const { form, status } = await ended(made, seen)
      assert.deepEqual([form.action, status], [urls.redirect_url, 'approved'])
    })
  }
})

describe('a declined payment goes to redirect_fail_url if given, else to redirect_url', { concurrency: 4 }, () => {
  it('declined by the issuer', async () => {
    const urls = urlsOf('denied')
    const made = await secureOrder(world, await legacyCard(world, '1.0.2-failed'), urls)
    const { form, status, final } = await ended(made, await forPares(world, made))
    assert.deepEqual([form.action, status, final.status], [urls.redirect_fail_url, 'declined', 'declined'])
    assert.deepEqual([form.fields.error_code, form.fields.error_message], [final['error-code'], final['error-message']])
  })
  it('declined by the acquirer', async () => {
    const urls = urlsOf('declined')
    const { made, seen } = await atPares(world, { ...urls, cvv2: '116' })
    const { form, status } = await ended(made, seen)
    assert.deepEqual([form.action, status, form.fields.error_code], [urls.redirect_fail_url, 'declined', '116'])
  })
  it('three wrong passwords', async () => {
    const urls = urlsOf('wrong')
    const { made, seen } = await atPares(world, urls)
    const { form, status } = await ended(made, seen, 'wrong')
    assert.deepEqual([form.action, status], [urls.redirect_fail_url, 'declined'])
  })
  it('to redirect_url without redirect_fail_url', async () => {
    const urls: Changes = { ...urlsOf('plain'), redirect_fail_url: undefined }
    const { made, seen } = await atPares(world, { ...urls, cvv2: '119' })
    const { form, status } = await ended(made, seen)
    assert.deepEqual([form.action, status], [urls.redirect_url, 'declined'])
  })
})

describe('on error to redirect_url, whatever else is given', () => {
  it('an acquirer that does not answer, and acknowledges the reversal', async () => {
    const silence = JSON.stringify({ match: { amount_minor: '7302', times: 1 }, do: { no_answer: true } })
    await send('POST', `${world.acquirerAdminUrl}/faults`, silence, { 'content-type': 'application/json' })
    const urls = urlsOf('error')
    const { made, seen } = await atPares(world, { ...urls, amount: '73.02' })
    const { form, status } = await ended(made, seen)
    assert.deepEqual([form.action, status, form.fields.error_code], [urls.redirect_url, 'error', '911'])
  })
})

describe('the page for the cardholder', () => {
  it('shows no card number, and the same after a reload', async () => {
    const urls = urlsOf('again')
    const { made, seen } = await atPares(world, urls)
    const { form } = await ended(made, seen)
    for (const value of Object.values(form.fields)) assert.ok(!value.includes('4000000000009003'), value)
    const page = await load(seen['redirect-to'] ?? '')
    const again = page.forms.find(({ fields }) => 'control' in fields)
    // A token says when it was made.
    const timeless = ({ token = '', ...fields }: Record<string, string>) => ({ ...fields, ...claimsOf(token), iat: 0, exp: 0 })
    assert.deepEqual([again?.action, timeless(again?.fields ?? {})], [form.action, timeless(form.fields)])
  })
  for (const operation of ['void', 'return'] as const)
    it(`after a ${operation} it says approved no more, and leads back as processing`, async () => {
      const urls = urlsOf(operation)
      const { made, seen } = await atPares(world, urls)
      await ended(made, seen)
      accepted(await follow(world, operation, made))
      const page = await load(seen['redirect-to'] ?? '')
      assert.ok(!page.body.includes('approved'), page.body)
      const form = page.forms.find(({ fields }) => 'control' in fields)
      const { status, orderid = '', control, token = '' } = form?.fields ?? {}
      assert.deepEqual([form?.action, status, claimsOf(token).status], [urls.redirect_url, 'processing', 'processing'])
      assert.equal(control, callbackControl('processing', orderid, made.client_orderid, world.merchant.controlKey))
    })
})
