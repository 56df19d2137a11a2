// What the files of a test run share: one PostgreSQL, the keys and certificates of a sandbox, a
// migrated database to copy, and worlds to lease. All of it is in the directory that it is given.
// Prints {"env"}, the environment that leads tests to it, and stops and removes everything when its
// standard input ends, that is, when the run closes it or dies.
import { once } from 'node:events'
import { join } from 'node:path'
import { systemClock } from '../../../src/base/clock.ts'
import { systemRandom } from '../../../src/base/random.ts'
import { makeCertificates } from '../../../src/sandbox/certificates.ts'
import { oauthKeyOf } from '../../../src/sandbox/oauth-key.ts'
import { openBroker } from '../world/broker.ts'
import { openSimulators } from '../simulators/host.ts'
import { migratedDatabase, startTestServer } from './postgres.ts'

const ended = once(process.stdin.resume(), 'close')
// Ctrl-C reaches everybody in the terminal. The server has to outlast the tests that are just then
// closing their databases.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined)

const directory = process.argv[2]
if (directory === undefined) throw new Error('usage: test-cluster.js DIRECTORY')
const keys = join(directory, 'keys')
const worlds = join(directory, 'worlds')
const simulators = join(directory, 'simulators')
const [server, simulatorsProcess] = await Promise.all([
  startTestServer(),
  openSimulators(simulators),
  makeCertificates(join(keys, 'certificates'), systemRandom, systemClock.now()),
  oauthKeyOf(keys),
])
// The worlds that the broker starts find all this as those of the tests do.
const env = { TOLLGATE_TEST_POSTGRES: server.url, TOLLGATE_TEST_KEYS: keys, TOLLGATE_TEST_SIMULATORS: simulators }
Object.assign(process.env, env)
const template = new URL((await migratedDatabase()).url).pathname.slice(1)
process.env['TOLLGATE_TEST_TEMPLATE'] = template
const broker = await openBroker(worlds)
const all = { ...env, TOLLGATE_TEST_TEMPLATE: template, TOLLGATE_TEST_WORLDS: worlds }
process.stdout.write(`${JSON.stringify({ env: all })}\n`)
await ended
await broker.close()
await simulatorsProcess.close()
await server.close()
// A world that was just being started ends with this process.
process.exit()
