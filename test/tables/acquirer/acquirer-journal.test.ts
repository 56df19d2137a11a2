import assert from 'node:assert/strict'
import { appendFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { Journal } from '../../../simulators/acquirer/journal.ts'

test('a ledger file of several megabytes is read line by line, and a torn last line is cut off', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'tollgate-journal-'))
  t.after(() => rm(folder, { recursive: true }))
  const path = join(folder, 'ledger.jsonl')
  const lines = Array.from({ length: 3000 }, (_, number) => `${number}:`.padEnd(1000 + (number % 7), 'é'))
  await writeFile(path, lines.join('\n') + '\n')
  await appendFile(path, 'torn')
  const replayed: string[] = []
  const journal = Journal.open(
    path,
    (line) => replayed.push(line),
    (reason) => assert.fail(reason),
  )
  assert.deepEqual(replayed, lines)
  journal.append('the next')
  journal.close()
  assert.equal(await readFile(path, 'utf8'), [...lines, 'the next', ''].join('\n'))
})
