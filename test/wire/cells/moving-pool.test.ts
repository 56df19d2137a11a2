import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { openLog } from '../../../src/base/log.ts'
import type { CellDatabase, Whereabouts } from '../../../src/storage/cells.ts'
import { openMovingPool } from '../../../src/storage/moving-pool.ts'
import { failureOf, openPool, statement, type Pool } from '../../../src/storage/pool.ts'
import { transaction } from '../../../src/storage/transaction.ts'
import { closing } from '../../harness/world/opening.ts'
import { testDatabase } from '../../harness/postgres/postgres.ts'
import { openDatabaseProxy, type DatabaseProxy } from '../../harness/world/proxy.ts'
import { holds } from '../../harness/clock/until.ts'

/** A pool at a cell that moves: two lines to one database stand for two servers. */

const log = openLog({ level: 'silent', destination: process.stderr })
const insert = statement<object>('insert into kept values ($1)')
const all = statement<{ n: number }>('select n from kept order by n')

let [old, next] = [] as unknown as [DatabaseProxy, DatabaseProxy]
before(async () => {
  const { url } = closing(await testDatabase())
  const owner = openPool({ url, connections: 1, use: 'admin', log })
  await owner.run({ name: '', text: 'create table kept (n int)' })
  await owner.close()
  old = closing(await openDatabaseProxy(url))
  next = closing(await openDatabaseProxy(url))
})

interface Moving {
  pool: Pool
  moveTo: (line: DatabaseProxy) => void
  doubts: () => number
}

function opened(): Moving {
  let [at, doubts, moved] = [old.url, 0, (_to: CellDatabase): void => assert.fail('no pool listens')]
  const where: Whereabouts = {
    now: () => ({ url: at }),
    onMove(listener) {
      moved = listener
      return () => (moved = () => {})
    },
    doubt: () => void doubts++,
  }
  const pool = openMovingPool(where, ({ url }) => openPool({ url, connections: 4, use: 'oltp', log }))
  return {
    pool,
    doubts: () => doubts,
    moveTo({ url }) {
      at = url
      moved({ url })
    },
  }
}
const isLeft = (line: DatabaseProxy) => holds(() => line.connections() === 0, 'no connection is left')

test('statements begun before a move end at the old server, with its connections; later ones go to the new one', async () => {
  const { pool, moveTo } = opened()
  await transaction(pool, async (runner) => {
    await runner.run(insert, [1])
    moveTo(next)
    assert.equal(next.connections(), 0)
    await pool.run(insert, [2])
    assert.deepEqual([old.connections(), next.connections()], [1, 1])
    await runner.run(insert, [3])
  })
  await isLeft(old)
  assert.deepEqual(await pool.run(all), [{ n: 1 }, { n: 2 }, { n: 3 }])
  await pool.close()
  await isLeft(next)
})

test('no statement of many is lost or done twice while the pool moves to and fro', async () => {
  const { pool, moveTo } = opened()
  const numbers = Array.from({ length: 400 }, (_, i) => 1_000 + i)
  const work = Array.from({ length: 8 }, async (_, lane) => {
    for (const n of numbers.filter((one) => one % 8 === lane)) {
      if (n % 50 === 0) moveTo(n % 100 === 0 ? old : next)
      await (n % 3 === 0 ? pool.run(insert, [n]) : transaction(pool, (runner) => runner.run(insert, [n])))
    }
  })
  await Promise.all(work)
  const stored = (await pool.run(all)).map(({ n }) => n).filter((n) => n >= 1_000)
  assert.deepEqual(stored, numbers)
  await pool.close()
  await Promise.all([isLeft(old), isLeft(next)])
})

test('a failed connection makes the pool check whether the cell has moved; an error of a statement does not', async () => {
  const { pool, moveTo, doubts } = opened()
  await assert.rejects(pool.run(insert, ['no number']))
  assert.equal(doubts(), 0)
  old.refuse()
  await assert.rejects(pool.run(insert, [7]), (error) => failureOf(error) === 'connection')
  await assert.rejects(
    transaction(pool, (runner) => runner.run(insert, [7])),
    (error) => failureOf(error) === 'connection',
  )
  assert.ok(doubts() >= 2, `${doubts()} doubts`)
  moveTo(next)
  await pool.run(insert, [8])
  old.accept()
  await pool.close()
})
