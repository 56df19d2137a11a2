/** serve, api and console report to systemd when they accept requests, and when they stop. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { systemRandom } from '../../../src/base/random.ts'
import { until } from '../../harness/clock/until.ts'
import { openMigrated } from '../../harness/postgres/migrated.ts'
import { closing, openDirectory } from '../../harness/world/opening.ts'
import { freePort } from '../../harness/world/port.ts'
import { mainFile } from '../operator/cli-run.ts'

const directory = openDirectory('systemd')
const { url } = await openMigrated()

/** In place of systemd-notify, which systemd alone hears: it notes what it was asked to report. */
const reports = join(directory, 'reports')
writeFileSync(join(directory, 'systemd-notify'), `#!/bin/sh\necho "$NOTIFY_SOCKET $*" >> '${reports}'\n`)
chmodSync(join(directory, 'systemd-notify'), 0o755)

const key = systemRandom.bytes(32).toString('base64')
const base = { DATABASE_URL: url, ALLOW_DATABASE_OWNER: 'on', TOLLGATE_KEY: key }
const listening = { PORT: '0', OPERATOR_PORT: '0', CONSOLE_URL: 'http://127.0.0.1:0', OPERATOR_API_URL: 'http://127.0.0.1:0' }

for (const [program, processes] of [
  ['serve', '1'],
  ['serve', '2'],
  ['api', '1'],
  ['console', '1'],
] as const)
  test(`${program} of ${processes} reports READY once and STOPPING at its end`, { timeout: 120_000 }, async () => {
    writeFileSync(reports, '')
    const port = processes === '1' ? {} : { PORT: String(await freePort()), PROCESSES: processes }
    const env = { ...base, ...listening, ...port, NOTIFY_SOCKET: '/run/notify', PATH: `${directory}:${process.env['PATH']}` }
    const child = spawn(process.execPath, [mainFile, program], { env, stdio: 'ignore' })
    closing({ close: () => child.kill('SIGKILL') })
    const ended = new Promise((resolve) => child.once('exit', resolve))
    const seen = () => (existsSync(reports) ? readFileSync(reports, 'utf8') : '')
    await until(seen, (text) => text === '/run/notify READY=1\n')
    child.kill('SIGTERM')
    assert.equal(await ended, 0)
    assert.equal(seen(), '/run/notify READY=1\n/run/notify STOPPING=1\n')
  })
