import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { mobileExample } from '../../../src/reference/mobile-rows.ts'
import { mobileOperationNames, mobileRow } from '../../../src/spec/mobile/operations.ts'
import type { Fields } from '../../conformance/requests/client.ts'
import { until } from '../../harness/clock/until.ts'
import { fieldsOf, pagesAt, plainText, replyOf, unescaped, type Seen } from '../../harness/documents/pages.ts'
import { openWorld } from '../../harness/world/opening.ts'

/** The documents in the sandbox, where the mobile API and the API of operators can be tried. */

const world = await openWorld()
const sandbox = JSON.parse(readFileSync(join(world.directory, 'sandbox.json'), 'utf8')) as {
  merchant: { login: string; control_key: string }
}
const { login, control_key: controlKey } = sandbox.merchant
const see = pagesAt(new URL(world.baseUrl).origin)

test('the mobile API: each operation has a page with every path, its examples and what is signed', async () => {
  for (const operation of mobileOperationNames) {
    const { status, page } = await see(`/docs/reference/mobile-${operation}`)
    assert.equal(status, 200)
    const text = unescaped(plainText(page))
    const { request: asked, answer, refusals } = mobileRow(operation)
    for (const path of [...Object.keys(asked), ...Object.keys(answer)]) assert.ok(text.includes(path), path)
    for (const { cause } of refusals) assert.ok(text.includes(cause), cause)
    const { carries, answers } = mobileExample(operation)
    for (const signed of [carries, answers]) if (signed) assert.ok(text.includes(signed.signature))
  }
  assert.equal((await see('/docs/reference/mobile-nothing')).status, 404)
})

for (const operation of mobileOperationNames)
  test(`${operation}: the page makes what it needs, signs it and is answered`, async () => {
    const path = `/docs/reference/mobile-${operation}`
    const opened = await see(path)
    const ready = opened.page.includes('value="prepare"') ? await see(path, { _do: 'prepare' }) : opened
    const sent = await see(path, { ...fieldsOf(ready), _do: 'send' })
    assert.match(sent.page, /class="good">(?:HTTP 200|APPROVED|TRANSFER_FEE_REQUEST)</, sent.page)
    const mandatory = Object.entries(mobileRow(operation).answer).filter(([, { need }]) => need === 'mandatory')
    const reply = replyOf(sent)
    for (const [name] of mandatory) assert.ok(reply[name], name)
    for (const { page } of [opened, ready, sent]) assert.ok(!page.includes(controlKey), 'the key is on no page')
  })

test('a transfer is made from page to page: begun, its fee chosen, approved', async () => {
  const to = async (name: string, { page }: Seen) => {
    const [, href] = new RegExp(`href="(/docs/reference/mobile-${name}\\?[^"]*)"`).exec(page)!
    return send(`/docs/reference/mobile-${name}`, await see(unescaped(href!)))
  }
  const send = async (path: string, from: Seen) => see(path, { ...fieldsOf(from), _do: 'send' })
  const path = '/docs/reference/mobile-complete-transfer'
  const completed = await send(path, await see(path, { _do: 'prepare' }))
  const isDone = async () => (await to('transfer-status', completed)).page.includes('class="good">APPROVED<')
  assert.ok(await until(isDone, (done) => done))
})

const operatorPage = '/docs/reference/operator'
const operate = async (action: string, fields: Fields = {}) => {
  const opened = await see(`${operatorPage}?_action=${action}`)
  const sent = await see(operatorPage, { ...fieldsOf(opened), _action: action, ...fields, _do: 'send' })
  assert.doesNotMatch(sent.page, /tollgate_[\w-]{20}/, 'the token is on no page')
  return { ...sent, reply: replyOf(sent) }
}

test('the API of operators: a page reads, and changes settings that it has read', async () => {
  const shown = await operate('merchant/show')
  assert.equal(shown.reply.login, login)
  assert.equal((await operate('merchant/set', { colour: '0a7d55' })).reply.code, 'version needed')
  assert.equal((await operate('merchant/set', { colour: '0a7d55', 'If-Match': shown.reply.ETag! })).status, 200)
  assert.equal((await operate('merchant/show')).reply['page.colour'], '#0a7d55')
})

test('the API of operators: the page says what it may not do, and what there is not', async () => {
  const refused = await operate('merchant/rotate-key')
  assert.deepEqual([refused.reply.code, refused.reply.permission], ['not permitted', 'secrets'])
  assert.match(refused.page, /class="bad">not permitted</)
  const { page } = await see(operatorPage)
  const actions = [...page.matchAll(/href="[^"]*\?_action=([^#"]+)#try-it"/g)].map(([, action]) => action!)
  assert.ok(actions.length >= 100, String(actions.length))
  for (const action of ['order/find', 'gate/set', actions.at(-1)!])
    assert.ok((await see(`${operatorPage}?_action=${action}`)).page.includes(`<option value="${action}" selected`), action)
})
