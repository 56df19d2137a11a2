import assert from 'node:assert/strict'
import { test } from 'node:test'
import { atDesk } from '../../../src/operator/at-desk.ts'
import { action } from '../../../src/operator/action.ts'
import { startServing, type ServingParts } from '../../../src/operator/serving.ts'
import { entities, statement } from '../../../src/storage/pool.ts'
import { openHandClock } from '../../harness/clock/hand-clock.ts'
import { until } from '../../harness/clock/until.ts'
import { keyFileIn, startOwn } from '../../harness/operators/api.ts'
import { startOwnConsole } from '../../harness/operators/console.ts'
import { openMigrated } from '../../harness/postgres/migrated.ts'
import { closing, openDirectory } from '../../harness/world/opening.ts'

// What strangers can fill, and what an action that changes nothing can do.

const { url: databaseUrl, pool } = await openMigrated()
const clock = openHandClock(Date.now())
const keyFile = keyFileIn(openDirectory('limits'))
const desk = closing(await startOwnConsole({ databaseUrl, keyFile, clock }))
let parts: ServingParts | undefined
closing(
  await startOwn({ databaseUrl, keyFile, clock }, (options) =>
    startServing(options, { called: 'a test', mostBodyBytes: 1_024, routes: (own) => ((parts = own), []) }),
  ),
)

const challenges = entities<{ network: string; count: bigint }>(
  'select network, count(*) from operator_challenge group by network order by count desc',
)

test('however often strangers ask for a challenge, a network has 256 at most, and they are gone after minutes', async () => {
  const [stranger, other] = [desk.elsewhere(desk.visit()), desk.elsewhere(desk.visit())]
  const ask = async (visit: typeof other) => assert.equal((await visit.send('/passkey/sign-in', {})).status, 200)
  await ask(other)
  for (let i = 0; i < 100; i++) await Promise.all(Array.from({ length: 10 }, () => ask(stranger)))
  const [most, least, ...more] = await pool.run(challenges)
  assert.ok(most!.count > 200n && most!.count <= 256n, String(most!.count))
  assert.deepEqual([least!.count, more], [1n, []], 'another network does not notice')
  clock.pass(11 * 60_000)
  await until(
    () => pool.run(challenges),
    (rows) => rows.length === 0,
  )
})

const view = statement<object>(`insert into operator_view (user_id, name, address)
  select user_id, 'x' || now(), '/' from operator_user limit 1 returning name`)

test('an action that changes nothing reads in transactions that can change nothing, in all cells', async () => {
  await desk.tell(['user', 'add', 'somebody', '--role', 'support'])
  const { office, longOffice } = parts!
  const own = { ...office, who: 'a test', action: 'a test', rights: { may: () => true } }
  for (const on of [own, { ...own, ...longOffice }])
    for (const needs of ['read', 'cards', 'audit', 'configure'] as const) {
      const tried = action({
        does: 'tries',
        needs,
        takes: {},
        looks: () => ({ subject: `what needs ${needs}` }),
        async perform({ pool: registry, cells }) {
          const [cell] = await cells()
          return [await registry.run(view), await cell!.pool.run(view)]
        },
        gives: { json: () => ({}) },
        examples: [],
      })
      const done = atDesk(on, tried, {})
      if (needs === 'configure') assert.equal(((await done) as unknown[]).length, 2)
      else await assert.rejects(done, { code: '25006' }, needs)
      const read = { ...tried, perform: ({ pool: registry }: typeof own) => registry.run(entities('select 1 as one')) }
      await atDesk(on, read, {})
    }
  assert.match(await desk.tell(['audit', 'list']), /what needs read/, 'what was looked at is in the trail all the same')
})
