// The world of a sandbox, as the version in the folder that is its first argument makes it, in a
// database that this version has migrated. `npm run rolling` starts it.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Program } from '../../src/sandbox/programs.ts'

const [dist, asked] = process.argv.slice(2) as [string, string]
const load = (path: string): Promise<unknown> => import(join(dist, 'src', path))
const { openLog } = (await load('base/log.js')) as typeof import('../../src/base/log.ts')
const { systemRandom } = (await load('base/random.js')) as typeof import('../../src/base/random.ts')
const { oauthKeyOf } = (await load('sandbox/oauth-key.js')) as typeof import('../../src/sandbox/oauth-key.ts')
const { secureLineOf } = (await load('sandbox/simulators.js')) as typeof import('../../src/sandbox/simulators.ts')
const { settleWorld } = (await load('sandbox/world.js')) as typeof import('../../src/sandbox/world.ts')
const keyEncryption = (await load('keys/encryption.js')) as typeof import('../../src/keys/encryption.ts')
const { openPool } = (await load('storage/pool.js')) as typeof import('../../src/storage/pool.ts')

/** The input of this program. It prints the facts that a merchant needs. */
export interface Settling {
  databaseUrl: string
  kekFile: string
  directory: string
  certificates: string
  /** Where the simulated acquirer listens. */
  acquirer: Pick<Program, 'ready'>
}

const { databaseUrl, kekFile, directory, certificates, acquirer } = JSON.parse(asked) as Settling
const log = openLog({ level: 'warn', destination: process.stderr })
const pool = openPool({ url: databaseUrl, connections: 2, use: 'admin', log })
const kek = keyEncryption.localKeks(() => keyEncryption.readKeks('kek', readFileSync(kekFile, 'utf8')), systemRandom)
const line = secureLineOf(certificates, acquirer as Program)
const oauthKey = (await oauthKeyOf(directory)).publicKey
const lines = { acquirerPort: Number(acquirer.ready['port']), secureLine: line, oauthKey }
const { login, controlKey, endpoints } = await settleWorld(pool, kek, lines, log)
await pool.close()
console.log(JSON.stringify({ merchant: { login, control_key: controlKey.reveal() }, endpoints }))
