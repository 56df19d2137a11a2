import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemClock } from '../../../src/base/clock.ts'
import { openLog } from '../../../src/base/log.ts'
import { systemRandom } from '../../../src/base/random.ts'
import { fixedKek } from '../../../src/keys/encryption.ts'
import { openKeyRing } from '../../../src/keys/ring.ts'
import { secret } from '../../../src/base/secret.ts'
import type { AnyAction } from '../../../src/operator/action.ts'
import { listAudit } from '../../../src/operator/audit/rows.ts'
import { atDesk } from '../../../src/operator/at-desk.ts'
import type { Office } from '../../../src/operator/office.ts'
import { rightsOf, type OperatorRole, type Rights } from '../../../src/operator/permissions.ts'
import { Refused } from '../../../src/operator/refused.ts'
import { subjects } from '../../../src/operator/subjects.ts'
import { openPool } from '../../../src/storage/pool.ts'
import { migratedDatabase } from '../../harness/postgres/postgres.ts'
import { closing } from '../../harness/world/opening.ts'

// The one way in: what a role may do, and what is written down of it.

const log = openLog({ level: 'fatal', destination: process.stderr })
const database = closing(await migratedDatabase())
const pool = closing(openPool({ url: database.url, connections: 4, use: 'oltp', log }))
const kek = fixedKek(secret(Buffer.alloc(32, 3)), systemRandom)

const officeOf = (rights: Rights, action: string): Office => ({
  rights,
  unrecorded: () => {},
  pool,
  cells: async () => [{ cellNo: 0, pool }],
  clock: systemClock,
  random: systemRandom,
  who: 'a test',
  action,
  databaseUrl: database.url,
  callbackPolicy: { plainHttp: false, loopbackAnyPort: false },
  keys: () => openKeyRing(pool, kek, systemClock, systemRandom),
  kek: () => kek,
  log,
  progress: () => {},
})

async function actionOf(words: string): Promise<AnyAction> {
  const action = (await subjects[words.split(' ')[0]!]!.load())[words]
  if (action) return action
  throw new Error(`there is no ${words}`)
}
const perform = async (role: OperatorRole, words: string, asked: Record<string, unknown>): Promise<unknown> =>
  atDesk(officeOf(rightsOf(role), words), await actionOf(words), asked)
const refused = (reason: string) => (error: unknown) => error instanceof Refused && error.refusal.what === reason
const newest = async () => (await listAudit(pool, { limit: 1 }))[0]!

const gate = {
  name: 'acme',
  host: '10.0.0.1',
  port: 1,
  terminalId: 'T',
  cardAcceptorId: 'C',
  cardAcceptorName: 'N',
  acquirerId: '1',
  mcc: '5999',
  descriptor: 'D',
}

test('an action beyond a role is refused, changes nothing, and is in the trail with the missing permission', async () => {
  await assert.rejects(perform('support', 'gate add', gate), refused('not permitted'))
  const { who, action, subject, details } = await newest()
  assert.deepEqual(
    { who, action, subject, details },
    { who: 'a test', action: 'refused', subject: 'gate add', details: { reason: 'not permitted' } },
  )
  assert.deepEqual(await perform('auditor', 'gate list', {}), [])
})

test('an input may need its own permission, which is checked when it is used', async () => {
  const id = 4711n
  await assert.rejects(perform('support', 'order show', { id }), refused('unknown'))
  await assert.rejects(perform('support', 'order show', { id, payer: false }), refused('unknown'))
  await assert.rejects(perform('support', 'order show', { id, payer: true }), {
    refusal: { what: 'not permitted', permission: 'persons' },
  })
  const { subject, details } = await newest()
  assert.deepEqual({ subject, details }, { subject: 'order show 4711', details: { reason: 'not permitted' } })
  await assert.rejects(perform('owner', 'order show', { id, payer: true }), refused('unknown'))
})

test('a change is in the trail under the words of its action', async () => {
  await perform('operator', 'gate add', gate)
  assert.equal((await newest()).action, 'gate add')
  await perform('operator', 'gate set', { gate: 'acme', maxOpen: 5 })
  const { action, details } = await newest()
  assert.equal(action, 'gate set')
  assert.equal((details as { after: { maxOpen: number } }).after.maxOpen, 5)
})

test('a refused action is in the trail with its ids, and without its other arguments', async () => {
  await assert.rejects(perform('owner', 'endpoint show', { endpoint: 4711n }), refused('unknown'))
  assert.deepEqual((await newest()).subject, 'endpoint show 4711')
  const controlKey = secret('hunter2')
  await assert.rejects(perform('owner', 'merchant rotate-key', { login: 'hunter2', controlKey, keepOld: 0 }), refused('weak key'))
  assert.equal((await newest()).subject, 'merchant rotate-key')
})

test('digits of a card are never in the trail; a line of a file is named by its number', async () => {
  await assert.rejects(perform('owner', 'bin find', { digits: '99999999999' }), refused('unknown'))
  assert.equal((await newest()).subject, 'bin find')
  await perform('owner', 'merchant add', { login: 'shop', name: 'Shop', cell: 0 })
  const file = '# numbers of cards\n\n4111111111111111\n41111x\n'
  const filter = perform('owner', 'filter add', { kind: 'black', merchant: 'shop', of: 'card', file })
  await assert.rejects(filter, { refusal: { what: 'no card in line', line: 4 } })
  assert.equal((await newest()).subject, 'filter add')
})

test('a user who may make users gives and takes only rights of his or her own', async () => {
  const clerk: Rights = { may: (permission) => ['users', 'read', 'cards', 'deliver'].includes(permission) }
  const asClerk = async (words: string, asked: object) => atDesk(officeOf(clerk, words), await actionOf(words), asked)
  await perform('owner', 'user add', { name: 'boss', role: 'operator' })
  const { tokenId } = (await perform('owner', 'token add', { user: 'boss', expires: 60_000 })) as { tokenId: bigint }
  await asClerk('user add', { name: 'helper', role: 'support' })
  for (const [words, asked] of [
    ['user add', { name: 'second', role: 'operator' }],
    ['user set', { user: 'helper', role: 'operator' }],
    ['user set', { user: 'boss', role: 'support' }],
    ['user disable', { user: 'boss' }],
    ['token add', { user: 'boss', expires: 60_000 }],
    ['token revoke', { token: tokenId }],
  ] as const)
    await assert.rejects(asClerk(words, asked), refused('above own rights'), words)
  await asClerk('token add', { user: 'helper', expires: 60_000 })
})
