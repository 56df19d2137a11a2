/** serve, api and console report to systemd when they accept requests, and when they stop. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
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

const reports = join(directory, 'reports')

/**
 * In place of systemd-notify, which systemd alone hears: it notes what it was asked to report, and
 * whether the program accepts connections when it says so.
 */
function writeNotify(port: number): void {
  const script = `#!/bin/bash
[ "$1" = READY=1 ] && { (exec 3<>/dev/tcp/127.0.0.1/${port}) && open=' open' || open=' closed'; }
echo "$NOTIFY_SOCKET $*$open" >> '${reports}'
`
  writeFileSync(join(directory, 'systemd-notify'), script, { mode: 0o755 })
  writeFileSync(reports, '')
}

const key = systemRandom.bytes(32).toString('base64')
const base = { DATABASE_URL: url, ALLOW_DATABASE_OWNER: 'on', TOLLGATE_KEY: key }

for (const [program, processes] of [
  ['serve', '1'],
  ['serve', '2'],
  ['api', '1'],
  ['console', '1'],
] as const)
  test(`${program} of ${processes} reports READY once it accepts requests, and then STOPPING`, { timeout: 120_000 }, async () => {
    const port = await freePort()
    const origin = `http://127.0.0.1:${port}`
    const listening = {
      PORT: String(port),
      OPERATOR_PORT: '0',
      CONSOLE_URL: origin,
      OPERATOR_API_URL: origin,
      PROCESSES: processes,
    }
    writeNotify(port)
    const env = { ...base, ...listening, NOTIFY_SOCKET: '/run/notify', PATH: `${directory}:${process.env['PATH']}` }
    const child = spawn(process.execPath, [mainFile, program], { env, stdio: 'ignore' })
    closing({ close: () => child.kill('SIGKILL') })
    const ended = new Promise((resolve) => child.once('exit', resolve))
    const seen = () => readFileSync(reports, 'utf8')
    await until(seen, (text) => text !== '')
    assert.equal(seen(), '/run/notify READY=1 open\n')
    child.kill('SIGTERM')
    assert.equal(await ended, 0)
    assert.equal(seen(), '/run/notify READY=1 open\n/run/notify STOPPING=1\n')
  })
