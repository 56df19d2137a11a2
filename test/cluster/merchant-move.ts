import { execFile } from 'node:child_process'
import { createWriteStream } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { plainEnvironment } from '../../src/embedded/process.ts'
import type { Engine } from './engine.ts'
import { keyFileOf } from './installation.ts'
import { pauseAtMostS } from './plan.ts'

const main = fileURLToPath(new URL('../../src/cli/main.js', import.meta.url))
const withinMs = 120_000

/** Runs `merchant move`, as an operator does. */
export function moveMerchant({ site, urlOf, passwords }: Engine, login: string, to: number): Promise<void> {
  const env = {
    ...plainEnvironment,
    DATABASE_URL: urlOf(0, 'tollgate_owner', passwords.owner),
    TOLLGATE_KEY_FILE: keyFileOf(site),
  }
  const log = createWriteStream(join(site.directory, 'log', 'merchant-move.log'), { flags: 'a', mode: 0o600 })
  const args = [main, 'merchant', 'move', login, '--to', String(to), '--pause-at-most', `${pauseAtMostS}s`]
  return new Promise((resolve, reject) => {
    const child = execFile(process.execPath, args, { env, timeout: withinMs }, (error, stdout, stderr) => {
      log.end()
      if (!error) return resolve()
      const says = `${stdout}${stderr}`.trim().split('\n').at(-1)
      reject(new Error(`${login} cannot be moved to cell ${to}: ${says}`))
    })
    for (const output of [child.stdout, child.stderr])
      output?.on('data', (text: string) => log.write(`${new Date().toISOString()} ${text}`))
  })
}
