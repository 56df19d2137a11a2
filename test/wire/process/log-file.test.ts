import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { openLogFile } from '../../../src/sandbox/log-file.ts'
import { until } from '../../harness/clock/until.ts'

test('a log file that is full is kept as .1, the one before as .2, and none older', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-log-'))
  try {
    const path = join(folder, 'gateway.log')
    writeFileSync(path, 'of an earlier start\n')
    const log = openLogFile(path, 20)
    const lines = Array.from({ length: 6 }, (_, i) => `${i} has twenty letters\n`)
    // Each line fills a file; the next is written once this one is on the disk.
    for (const line of lines) {
      log.write(line)
      await until(
        () => Promise.resolve(existsSync(path) ? readFileSync(path, 'utf8') : ''),
        (text) => text.endsWith(line),
      )
    }
    assert.deepEqual(readdirSync(folder).sort(), ['gateway.log', 'gateway.log.1', 'gateway.log.2'])
    const kept = ['', '.1', '.2'].map((end) => readFileSync(path + end, 'utf8'))
    assert.deepEqual(kept, [lines[5], lines[4], lines[3]])
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})
