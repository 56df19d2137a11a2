import assert from 'node:assert/strict'
import { userInfo } from 'node:os'
import { test } from 'node:test'
import { order, settled } from '../../conformance/requests/client.ts'
import { closing, openWorld } from '../../harness/world/opening.ts'
import { cliOf, run } from './cli-run.ts'
import { openLog } from '../../../src/base/log.ts'
import { openPool, statement } from '../../../src/storage/pool.ts'
import { follow, standing } from '../../harness/world/follow.ts'
import { until } from '../../harness/clock/until.ts'

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

test('a user who views the card of an order, or searches orders, is in the trail', async () => {
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
  assert.deepEqual((await newest('refused delivery resend'))!.details, { reason: 'no deliveries named' })
})

test('the chain of the trail holds with them', async () => {
  await tell(['order', 'find'])
  await tell(['audit', 'verify'])
})

// The end of the audit trail is one locked row: its holder delays only other commands.

const log = openLog({ level: 'fatal', destination: process.stderr })
const pool = closing(openPool({ url: world.databaseUrl, connections: 1, use: 'admin', log }))

test('while a command that hangs holds the audit trail, payments go on and other commands are refused', async () => {
  const hanging = await pool.connect()
  await hanging.command('begin')
  await hanging.run(statement('select no from audit_head for update'))
  try {
    const made = await order(world)
    assert.equal((await settled(world, made)).status, 'approved')
    const { 'serial-number': serial = '' } = await follow(world, 'return', made)
    await until(
      () => standing(world, made, serial),
      ({ status }) => status === 'approved',
    )
    const told = await refuse(1, 'merchant', 'disable', world.merchant.login)
    assert.match(told, /Another command has locked the audit trail for 5 s\. Nothing was changed/)
  } finally {
    await hanging.command('rollback')
    hanging.release(false)
  }
  await tell(['audit', 'verify'])
})
