import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { systemClock } from '../../../src/base/clock.ts'
import { openLog } from '../../../src/base/log.ts'
import { createCell, type CellPools, migrate, migrateCell, migrations, ofCell } from '../../../src/storage/migrate.ts'
import { cellTables } from '../../../src/storage/grants.ts'
import { openPool } from '../../../src/storage/pool.ts'
import { partitionsAhead } from '../../../src/storage/partitions.ts'
import { migratedSchema, readSchema, schemaFile } from '../../../tools/schema.ts'
import { testDatabase } from '../../harness/postgres/postgres.ts'
import { closing } from '../../harness/world/opening.ts'

const projectRoot = join(import.meta.dirname, '../../../..')

const database = closing(await testDatabase())
const log = openLog({ level: 'silent', destination: process.stderr })

async function newCell(schema: string): Promise<CellPools> {
  const open = (settings: object) => {
    return closing(openPool({ url: database.url, connections: 4, use: 'admin', log, ...settings }))
  }
  const pools = { cell: open({ schema }), installation: open({}), schema }
  await createCell(pools, systemClock.now())
  return pools
}

const kept = (file: string) => readFileSync(join(projectRoot, file), 'utf8')
function assertSame(made: string, wanted: string, what: string): void {
  const difference = linesOnlyIn(wanted, made, '-').concat(linesOnlyIn(made, wanted, '+'))
  assert.equal(made, wanted, `${what}; \`npm run schema\` writes it anew:\n${difference.join('\n')}`)
}

test('schema.sql is what the migrations make, and migrating again changes nothing', async () => {
  for (const time of ['first', 'second']) {
    assertSame(await migratedSchema(database.url), kept(schemaFile), `the ${time} time the schema differs`)
  }
})

test('a new cell has the tables of cell 0, and to create or migrate it again changes nothing', async () => {
  const pools = await newCell('cell_7')
  const { cell, installation } = pools
  await createCell(pools, systemClock.now())
  // Side by side they would change the same rights.
  const again = await Promise.all(Array.from({ length: 4 }, () => migrateCell(pools, systemClock.now())))
  assert.deepEqual(again.flat(), [])
  const made = ofCell(await readSchema(cell))
  assertSame(made.join(';\n'), ofCell(kept(schemaFile)).join(';\n'), 'the tables of the new cell differ')
  assert.equal(made.filter((one) => /create (table|view)/.test(one)).length, cellTables.length)
  const [{ nextOrderId, end }, ofInstallation] = [await partitionsAhead(cell, installation), await partitionsAhead(installation)]
  assert.deepEqual([nextOrderId, end], [ofInstallation.nextOrderId, ofInstallation.end])
})

test('a migration of cells runs in every cell, and one of the installation in none but cell 0', async () => {
  const pools = await newCell('cell_8')
  const next = [
    { name: '9998-test.cell.sql', sql: 'alter table nonce add column test_of_cells text;\n' },
    { name: '9999-test.sql', sql: 'alter table merchant add column test_of_installation text;\n' },
  ]
  const known = [...migrations(), ...next]
  assert.deepEqual(
    await migrate(pools.installation, systemClock.now(), log, known),
    next.map(({ name }) => name),
  )
  assert.deepEqual(await migrateCell(pools, systemClock.now(), known), ['9998-test.cell.sql'])
  for (const pool of [pools.installation, pools.cell]) await pool.run({ name: '', text: 'select test_of_cells from nonce' })
  // This version does not know what the newer one applied.
  await assert.rejects(migrateCell(pools, systemClock.now()), /9998-test\.cell\.sql/)
})

function linesOnlyIn(text: string, other: string, mark: '-' | '+'): string[] {
  const known = new Set(other.split('\n'))
  return text.split('\n').flatMap((line) => (known.has(line) ? [] : [`${mark} ${line}`]))
}
