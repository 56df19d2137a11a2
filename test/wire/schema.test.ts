import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { migratedSchema, schemaFile } from '../../tools/schema.ts'
import { testDatabase, type TestDatabase } from '../harness/postgres.ts'

const projectRoot = join(import.meta.dirname, '../../..')

let database: TestDatabase
before(async () => {
  database = await testDatabase()
})
after(() => database?.close())

test('schema.sql is what the migrations make, and migrating again changes nothing', async () => {
  const kept = readFileSync(join(projectRoot, schemaFile), 'utf8')
  for (const time of ['first', 'second']) {
    const made = await migratedSchema(database.url)
    const difference = linesOnlyIn(kept, made, '-').concat(linesOnlyIn(made, kept, '+'))
    assert.equal(made, kept, `the ${time} time the schema differs; \`npm run schema\` writes it anew:\n${difference.join('\n')}`)
  }
})

function linesOnlyIn(text: string, other: string, mark: '-' | '+'): string[] {
  const known = new Set(other.split('\n'))
  return text.split('\n').flatMap((line) => (known.has(line) ? [] : [`${mark} ${line}`]))
}
