import assert from 'node:assert/strict'
import { userInfo } from 'node:os'
import { test } from 'node:test'
import { order, settled } from '../../conformance/requests/client.ts'
import { openWorld } from '../../harness/world/opening.ts'
import { cliOf, run } from './cli-run.ts'

/** What the audit trail has besides changes: who looked at cards, and what was refused. */

const world = await openWorld()
const { tell, json, refuse } = cliOf(() => world)

interface Entry {
  who: string
  action: string
  subject: string
  details: object
}

/** The newest entry about this. */
async function newest(about: string): Promise<Entry | undefined> {
  const { entries } = await json<{ entries: Entry[] }>('audit', 'list', '--about', about, '--limit', '1')
  return entries[0]
}
const factsOf = ({ who, action, subject, details }: Entry) => ({ who, action, subject, details })
const who = userInfo().username

test('who looks at the card of an order, or searches orders, is in the trail', async () => {
  const made = await order(world)
  await settled(world, made)
  await tell(['order', 'show', made.orderid])
  const subject = `order ${made.orderid}`
  assert.deepEqual(factsOf((await newest(`order show ${subject}`))!), { who, action: 'order show', subject, details: {} })

  await tell(['order', 'find', '--client-orderid', made.client_orderid, '--merchant', world.merchant.login])
  const details = { by: ['clientOrderid', 'merchantId'], found: 1, newest: made.orderid, oldest: made.orderid }
  const found = (await newest('order find'))!
  assert.deepEqual(factsOf(found), { who, action: 'order find', subject: `orders of ${world.merchant.login}`, details })
  assert.ok(!JSON.stringify(found).includes(made.client_orderid))
})

test('TOLLGATE_ACTOR names the person behind a shared user', async () => {
  const env = { TOLLGATE_DIR: world.directory, TOLLGATE_ACTOR: 'Ann Example' }
  assert.equal((await run(env, ['merchant', 'add', '--login', 'named'])).code, 0)
  assert.equal((await newest('merchant add merchant named'))!.who, `Ann Example (${who})`)
  const bad = await run({ ...env, TOLLGATE_ACTOR: 'two\nlines' }, ['merchant', 'disable', 'named'])
  assert.equal(bad.code, 2)
  assert.match(bad.err, /TOLLGATE_ACTOR must be a name/)
})

test('a command that is refused is in the trail, without what may be a secret', async () => {
  await refuse(1, 'order', 'show', '999999999')
  const unknown = { who, action: 'refused', subject: 'order show 999999999', details: { reason: 'unknown' } }
  assert.deepEqual(factsOf((await newest('refused order show'))!), unknown)

  await refuse(1, 'merchant', 'rotate-key', 'hunter2-hunter2-hunter2')
  const rotated = (await newest('refused merchant rotate-key'))!
  assert.deepEqual(factsOf(rotated), { who, action: 'refused', subject: 'merchant rotate-key', details: { reason: 'unknown' } })
  assert.ok(!JSON.stringify(await json('audit', 'list', '--limit', '100')).includes('hunter2'))

  await refuse(2, 'delivery', 'resend')
  assert.deepEqual((await newest('refused delivery resend'))!.details, { reason: 'wrong usage' })
})

test('the chain of the trail holds with them', async () => {
  await tell(['order', 'find'])
  await tell(['audit', 'verify'])
})
