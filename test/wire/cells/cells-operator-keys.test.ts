import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openLog } from '../../../src/base/log.ts'
import { systemRandom } from '../../../src/base/random.ts'
import { secret } from '../../../src/base/secret.ts'
import { sealCard } from '../../../src/card/vault.ts'
import type { CellDesk, OrderDesk } from '../../../src/operator/desk.ts'
import { Refused, type OperatorRefusal } from '../../../src/operator/refused.ts'
import { resealAll, resealingIn, retireKey, rotateKeyOf } from '../../../src/operator/keys/versions.ts'
import { fixedKek } from '../../../src/keys/encryption.ts'
import { createCell } from '../../../src/storage/migrate.ts'
import { bytea, openPool, statement } from '../../../src/storage/pool.ts'
import { activationMs, openKeyRing } from '../../../src/keys/ring.ts'
import { openHandClock } from '../../harness/clock/hand-clock.ts'
import { closing } from '../../harness/world/opening.ts'
import { migratedDatabase } from '../../harness/postgres/postgres.ts'

// Keys are replaced in three cells, on a clock that only the test moves.

const log = openLog({ level: 'fatal', destination: process.stderr })
const kek = fixedKek(secret(Buffer.from(Array.from({ length: 32 }, (_, i) => i))), systemRandom)
const hourMs = 3_600_000

async function openCells() {
  const database = closing(await migratedDatabase())
  const open = (settings: { url?: string; schema?: string }) =>
    closing(openPool({ url: database.url, connections: 2, use: 'admin', log, ...settings }))
  const pool = open({})
  const clock = openHandClock(Date.parse('2026-02-03T04:05:06Z'))
  const cells: CellDesk[] = [{ cellNo: 0, pool }]
  for (const cellNo of [1, 2]) {
    const schema = `cell_${cellNo}`
    const cell = open({ schema })
    await createCell({ cell, installation: pool, schema }, clock.now())
    cells.push({ cellNo, pool: cell })
  }
  const keys = await openKeyRing(pool, kek, clock, systemRandom)
  const desk: OrderDesk = { pool, cells: async () => cells, clock, random: systemRandom, who: 'a test', action: 'a test' }
  const away = { cellNo: 2, pool: open({ url: 'postgres://127.0.0.1:1/away' }) }
  const desks = { desk, withoutCell2: { ...desk, cells: async () => [...cells.slice(0, 2), away] } }
  return { ...desks, cells, clock, keys }
}
type Cells = Awaited<ReturnType<typeof openCells>>

const versions = async ({ desk }: Cells) =>
  (await resealingIn(desk)).filter(({ table }) => table === 'order_facts').map((one) => [one.cellNo, one.version])

const refusalOf = (work: Promise<unknown>): Promise<OperatorRefusal | undefined> =>
  work.then(
    () => undefined,
    (error: unknown) => {
      if (error instanceof Refused) return error.refusal
      throw error
    },
  )

async function storeCard({ cells, keys }: Cells, cellNo: number): Promise<void> {
  const sealed = sealCard({ pan: secret('4111111111111111') }, { merchantId: 7n, orderId: 1n }, keys, systemRandom)
  await cells[cellNo]!.pool.run(
    statement(`insert into order_facts (merchant_id, order_id, request, card, card_hash, pan_sealed, pan_key)
      values (7, 1, '{}', '{}', '', $1, $2)`),
    [bytea(sealed.panSealed), sealed.panKey],
  )
}

test('a rotation makes every cell seal again, and a repeated one only finishes an interrupted one', async () => {
  const all = await openCells()
  const { desk, cells, clock } = all
  const { version } = await rotateKeyOf(desk, kek, 'pan')
  const wanted = [0, 1, 2].map((cellNo) => [cellNo, version])
  assert.deepEqual(await versions(all), wanted)
  // As if the command had ended after two cells, of which one is under way.
  await cells[1]!.pool.run(statement(`update resealing set rows = 5`))
  await cells[2]!.pool.run(statement(`delete from resealing`))
  assert.equal((await refusalOf(rotateKeyOf(desk, kek, 'pan')))?.what, 'rotation under way')
  assert.deepEqual(await versions(all), wanted)
  assert.ok((await resealingIn(desk)).every(({ cellNo, rows }) => rows === (cellNo === 1 ? 5 : 0)))
  clock.pass(activationMs)
  const next = await rotateKeyOf(desk, kek, 'pan')
  assert.equal(next.version, version + 1n)
  assert.deepEqual(
    await versions(all),
    [0, 1, 2].map((cellNo) => [cellNo, next.version]),
  )
})

test('no rotation is begun while a cell is away, except of a key that no cell has values under', async () => {
  const all = await openCells()
  const { withoutCell2 } = all
  await assert.rejects(rotateKeyOf(withoutCell2, kek, 'pan'), /cell 2: .*ECONNREFUSED/)
  assert.deepEqual(await versions(all), [])
  assert.equal((await rotateKeyOf(withoutCell2, kek, 'control')).version, 2n)
})

test('a version is retired once no cell has a value under it; a cell that is away may have some', async () => {
  const all = await openCells()
  const { desk, withoutCell2, clock, keys } = all
  const first = keys.current('pan').version
  await storeCard(all, 2)
  await rotateKeyOf(desk, kek, 'pan')
  clock.pass(activationMs + hourMs)
  await keys.refresh()
  const retired = () => retireKey(desk, 'pan', first)
  const by = { is: 'rows', table: 'order_facts', cellNo: 2 }
  assert.deepEqual(await refusalOf(retired()), { what: 'key in use', purpose: 'pan', version: first, by })
  const done = await resealAll(desk, keys, { batch: 10, rest: async () => {} })
  assert.deepEqual(
    done.filter(({ rows }) => rows > 0),
    [{ cell: 2, table: 'order_facts', rows: 1 }],
  )
  await assert.rejects(retireKey(withoutCell2, 'pan', first), /cell 2: .*ECONNREFUSED/)
  await retired()
})
