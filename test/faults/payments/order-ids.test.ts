import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemClock } from '../../../src/base/clock.ts'
import { openLog } from '../../../src/base/log.ts'
import { failureOf, openPool } from '../../../src/storage/pool.ts'
import { openIds, type IdName } from '../../../src/storage/ids.ts'
import { closing } from '../../harness/world/opening.ts'
import { migratedDatabase } from '../../harness/postgres/postgres.ts'
import { openDatabaseProxy } from '../../harness/world/proxy.ts'
import { holds } from '../../harness/clock/until.ts'

/** The ids of a gateway while its database is away. */

const { url } = closing(await migratedDatabase())
const way = closing(await openDatabaseProxy(url))
let lines = ''
const log = openLog({ level: 'warn', destination: { write: (line: string) => void (lines += line) } })
const pool = closing(openPool({ url: way.url, connections: 1, use: 'oltp', log }))
const idsOf = (name: IdName) => openIds(pool, name, 1, { clock: systemClock, log })

test('a request waits for the id of its order until the database is back', async () => {
  const ids = idsOf('order')
  const first = await ids.take()
  way.refuse()
  const waiting = ids.take()
  await holds(() => /"batch":"order ids".*"tries":3/.test(lines), 'it is tried again')
  way.accept()
  assert.equal(await waiting, first + 1n)
})

test('no commit waits for the id of an attempt: a commit without one is tried again as a whole', async () => {
  const ids = idsOf('attempt')
  await ids.take()
  way.refuse()
  const before = lines.length
  await assert.rejects(ids.take(), (error) => failureOf(error) === 'connection')
  assert.doesNotMatch(lines.slice(before), /tried again/)
  way.accept()
  assert.ok((await ids.take()) > 0n)
})
