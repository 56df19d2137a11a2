import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { until } from '../../harness/clock/until.ts'
import { startCells, type CellsWorld } from './cells-world.ts'
import { cliOf, run } from '../operator/cli-run.ts'

// Partitions of three cells, the first of them of long ago.

let cells: CellsWorld
const directory = mkdtempSync(join(tmpdir(), 'tollgate-cells-'))
before(async () => {
  cells = await startCells()
})
after(async () => {
  rmSync(directory, { recursive: true, force: true })
  await cells?.stop()
})

const { tell, json, refuse } = cliOf(() => cells.world)
const partitions = (...args: string[]) => run({ TOLLGATE_DIR: cells.world.directory }, ['partitions', ...args])

interface Listed {
  partitions: { cell: number; number: number; state: string }[]
  next_order_id: number
}
const states = async () =>
  (await json<Listed>('partitions', 'list')).partitions
    .filter(({ number }) => number === 0)
    .map(({ cell, state }) => [cell, state])
const inAll = (...all: string[]) => all.map((state, cell) => [cell, state])
const old = ['--before', '200d']
const width = 10_000_000

test('partitions of every cell are listed and made, those of one cell alone if it is named', async () => {
  assert.deepEqual(await states(), inAll('attached', 'attached', 'attached'))
  assert.match(await tell(['partitions', 'list']), /^CELL +NO /)
  const own = await json<Listed>('partitions', 'list', '--cell', '1')
  assert.ok(own.partitions.length > 0 && own.partitions.every(({ cell }) => cell === 1))
  assert.match(await refuse(1, 'partitions', 'list', '--cell', '9'), /There is no cell 9/)
  await cells.rows(2, 'drop table request_p1')
  assert.deepEqual(await json('partitions', 'ensure', '--cell', '1'), { made: [] })
  assert.deepEqual(await json('partitions', 'ensure'), { made: ['cell_2.request_p1'] })
  const { entries } = await json<{ entries: { details: object }[] }>('audit', 'list', '--about', 'partitions ensure')
  assert.deepEqual(entries[0]!.details, { made: ['request_p1'], cell: 2 })
})

test('old partitions leave every cell, each into its own directory, and a needed one stays', async () => {
  const sold: string[] = []
  for (const cellNo of [0, 1, 2]) sold.push((await cells.paid(cellNo)).orderid)
  await cells.world.crash(async () => {
    await cells.rows(0, `update id_block set next_id = $1 where name = 'order'`, [width])
    for (const cellNo of [0, 1, 2]) {
      for (const table of ['orders', 'transaction'])
        await cells.rows(
          cellNo,
          `update ${table} set created_at = created_at - interval '400 days', final_at = final_at - interval '400 days'`,
        )
      await cells.rows(cellNo, 'delete from idempotency_key')
    }
    await cells.rows(2, `update orders set final_at = null where order_id = $1`, [sold[2]])
  })
  assert.match(await refuse(1, 'partitions', 'detach', ...old), /Partition 0 of cell 1 stays attached: new orders get ids in it/)
  // A sale in cell 0 alone shows that the ids beyond are in use; cells 1 and 2 have none.
  const beyond = await cells.paid(0)
  assert.ok(Number(beyond.orderid) >= width)
  await cells.rows(0, `update orders set created_at = created_at - interval '190 days' where order_id = $1`, [beyond.orderid])

  const detached = await partitions('detach', ...old)
  assert.equal(detached.code, 1)
  assert.match(detached.out, /^Detached partition 0\.\nDetached partition 0 of cell 1\.\n\nNext: .*\n$/)
  assert.match(detached.err, /^Partition 0 of cell 2 stays attached: 1 transaction of it has not ended\.\n$/)
  assert.deepEqual(await states(), inAll('detached', 'detached', 'attached'))
  await cells.rows(2, `update orders set final_at = created_at where order_id = $1`, [sold[2]])
  assert.deepEqual(await json('partitions', 'detach', '--cell', '2', ...old), { detached: [0], left: [] })

  const files = join(directory, 'old')
  const exported = await json<{ cells: { cell: number; directory: string; exported: { orders: number }[] }[] }>(
    'partitions',
    'export',
    '--to',
    files,
  )
  assert.deepEqual(
    exported.cells.map((one) => [one.cell, one.directory, one.exported.length]),
    [
      [0, files, 1],
      [1, join(files, 'cell-1'), 1],
      [2, join(files, 'cell-2'), 1],
    ],
  )
  assert.ok(exported.cells.every(({ exported: [one] }) => one!.orders >= 1))
  for (const name of ['', 'cell-1', 'cell-2']) assert.ok(readdirSync(join(files, name)).includes('p0.manifest.json'))
  rmSync(join(files, 'cell-1', 'orders_p0.copy.gz'))
  const dropped = await partitions('drop', '--from', files, '--yes')
  assert.equal(dropped.code, 1)
  assert.match(dropped.out, /^Dropped partition 0\.\nDropped partition 0 of cell 2\.\n$/)
  assert.match(dropped.err, /^Partition 0 of cell 1 is not dropped: orders_p0\.copy\.gz is missing/)
  await tell(['partitions', 'export', '--to', files, '--cell', '1'])
  assert.ok(existsSync(join(files, 'cell-1', 'orders_p0.copy.gz')))
  await tell(['partitions', 'drop', '--from', files, '--yes'])
  assert.deepEqual(await states(), [])
  const { entries } = await json<{ entries: { action: string; details: { cell?: number } }[] }>(
    'audit',
    'list',
    '--about',
    'partitions drop',
  )
  assert.deepEqual(new Set(entries.map(({ details }) => details.cell)), new Set([undefined, 1, 2]))
})

test('a cell that is away is named, when the others are done', async () => {
  await cells.withoutCell2(async () => {
    for (const args of [['list'], ['ensure'], ['detach', ...old], ['export', '--to', directory], ['drop', '--from', directory]]) {
      const { code, err } = await partitions(...args)
      assert.equal(code, 1, args.join(' '))
      assert.match(err, /Cell 2 cannot be reached/)
    }
    assert.equal((await partitions('ensure', '--cell', '1')).code, 0)
  })
})

test('the gateway seals again in every cell, and keys list says how far that is', async () => {
  for (const cellNo of [0, 1, 2]) await cells.paid(cellNo)
  const { version } = await json<{ version: string }>('keys', 'rotate', 'pan')
  interface Resealing {
    cell: number
    version: string
    ended_at: string | null
  }
  const resealing = async () => (await json<{ resealing: Resealing[] }>('keys', 'list')).resealing
  const ended = await until(resealing, (all) => all.every((one) => one.version === version && one.ended_at !== null), 60_000)
  assert.deepEqual(new Set(ended.map(({ cell }) => cell)), new Set([0, 1, 2]))
  assert.match(await tell(['keys', 'list']), /^CELL +TABLE/m)
  for (const cellNo of [0, 1, 2]) {
    const found = await cells.rows<{ pan_key: string }>(
      cellNo,
      'select distinct pan_key from order_facts where pan_key is not null',
    )
    assert.deepEqual(
      found.map((row) => row.pan_key),
      [version],
      `cell ${cellNo}`,
    )
  }
})
