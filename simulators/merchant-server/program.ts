// The merchant's server of the mobile API as a program of its own; its configuration is named by
// MERCHANT_SERVER_CONFIG.
import { readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { systemClock } from '../../src/base/clock.ts'
import { reasonOf } from '../../src/base/log.ts'
import { systemRandom } from '../../src/base/random.ts'
import { runProgram, type Simulator } from '../run.ts'
import { readConfiguration } from './configuration.ts'
import { startMerchantServer } from './start.ts'

const variable = 'MERCHANT_SERVER_CONFIG'

const usage = `usage: program.js [--die-with-parent]

  MERCHANT_SERVER_CONFIG   a JSON file, or the JSON itself: login, control_key, endpoints, database_url,
                           port … (docs/sandbox.md)
  LOG_LEVEL                debug, info, warn, error (info)
  --die-with-parent        stops when standard input ends
`

const start: Simulator['start'] = async ({ args, env, log }) => {
  parseArgs({ args, options: {} })
  const configuration = readConfiguration(configurationIn(env))
  if ('complaints' in configuration)
    throw new Error(`The merchant server cannot start:\n${configuration.complaints.map((one) => `  - ${one}`).join('\n')}\n`)
  const server = await startMerchantServer({ ...configuration, clock: systemClock, random: systemRandom, log }).catch(
    (error: unknown) => {
      throw new Error(`The merchant server cannot start: ${reasonOf(error)}\n`)
    },
  )
  log.info({ login: configuration.login, url: server.url }, 'the merchant server serves')
  return { ready: { port: server.port, url: server.url }, close: server.close }
}

/** Removes the configuration from the environment. No complaint repeats any of it. */
function configurationIn(env: Record<string, string | undefined>): unknown {
  const given = env[variable]
  delete env[variable]
  if (given === undefined || given === '') throw new Error(`${variable} is not set: the JSON file with the configuration\n`)
  const read = given.trimStart().startsWith('{') ? given : readFile(given)
  let json: unknown
  try {
    json = JSON.parse(read)
  } catch {
    json = undefined
  }
  if (json === undefined) throw new Error(`${variable} is not JSON\n`)
  return json
}

function readFile(name: string): string {
  try {
    return readFileSync(name, 'utf8')
  } catch (error) {
    throw new Error(`${variable}: ${reasonOf(error)}\n`, { cause: error })
  }
}

await runProgram({ name: 'the merchant server', usage, start })
