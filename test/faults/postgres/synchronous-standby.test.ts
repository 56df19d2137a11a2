import assert from 'node:assert/strict'
import { test } from 'node:test'
import { untilStatus } from '../../conformance/requests/client.ts'
import { times } from '../../conformance/operations/operations.ts'
import { query } from '../../harness/postgres/embedded.ts'
import { openFaultDesk } from '../../harness/world/fault-desk.ts'
import { metricsOf } from '../../harness/world/metrics.ts'
import { closing, openWorld } from '../../harness/world/opening.ts'
import { soldAt } from '../../harness/browser/patient-shop.ts'
import { openPair } from '../../harness/postgres/standby.ts'
import { holds, until } from '../../harness/clock/until.ts'

/** The network between a database and the synchronous standby that its commits wait for is cut. */

const pair = closing(await openPair())
const world = await openWorld({ databaseUrl: pair.primary.url })
const desk = closing(await openFaultDesk(world))
await pair.synchronous()

const count = async (url: string, sql: string): Promise<number> => Number((await query(url, sql))[0]!['n'])
const waitingCommits = `select count(*) as n from pg_stat_activity
  where wait_event = 'SyncRep' and application_name = 'tollgate oltp'`
const lapses = async () => (await metricsOf(world))('tollgate_lease_changes_total{mode="late"}') ?? 0
const approved = `select count(*) as n from orders where status = 'approved'`

test('nothing is acknowledged that the standby does not have; payments answered meanwhile are approved', async () => {
  const answer = await desk.script({}, { hold: true })
  const sold = await times(10, () => soldAt(world))
  await until(desk.entries, (all) => all.length === 10)
  const lapsesBefore = await lapses()
  pair.way.pause()
  await answer()
  let acknowledged = 0
  const waiting = times(5, () => soldAt(world).finally(() => acknowledged++))
  await holds(async () => (await count(pair.primary.url, waitingCommits)) > 0, 'its commits wait')
  // No beat is confirmed either, so the gateway sends nothing meanwhile.
  await holds(async () => (await lapses()) > lapsesBefore, 'the lease is late')
  assert.equal(acknowledged, 0)
  pair.way.resume()
  for (const made of [...sold, ...(await waiting)]) {
    const seen = await untilStatus(world, made, ({ status }) => status !== 'processing' && status !== 'unknown', 120_000)
    assert.equal(seen.status, 'approved')
    assert.deepEqual(await desk.attempts(made.orderid), ['1 sale approved 000'])
  }
  assert.equal(await count(pair.primary.url, waitingCommits), 0)
  assert.deepEqual(await desk.books(), { open: 0, differences: [] })
  // It may apply a little later what it has on its disk.
  await holds(async () => (await count(pair.standby.url, approved)) === 15, 'the standby has all of them')
})
