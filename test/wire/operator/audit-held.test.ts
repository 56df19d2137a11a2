import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openLog } from '../../../src/base/log.ts'
import { openPool, statement } from '../../../src/storage/pool.ts'
import { order, settled } from '../../conformance/requests/client.ts'
import { follow, standing } from '../../harness/world/follow.ts'
import { closing, openWorld } from '../../harness/world/opening.ts'
import { until } from '../../harness/clock/until.ts'
import { cliOf } from './cli-run.ts'

// The end of the audit trail is one locked row: its holder delays other commands, and nobody else.

const world = await openWorld()
const { tell, refuse } = cliOf(() => world)
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
    assert.match(told, /Another command has held the audit trail for 5 s\. Nothing was changed/)
  } finally {
    await hanging.command('rollback')
    hanging.release(false)
  }
  await tell(['audit', 'verify'])
})
