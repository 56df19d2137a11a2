// What the files of a test run share. Makes the keys and certificates of a sandbox in the directory it is given, and runs the one PostgreSQL: prints {"url"} when it serves, and stops and removes everything when its standard input ends,
// that is, when the run closes it or dies.
import { once } from 'node:events'
import { join } from 'node:path'
import { systemClock } from '../../src/base/clock.ts'
import { systemRandom } from '../../src/base/random.ts'
import { makeCertificates } from '../../src/sandbox/certificates.ts'
import { oauthKeyOf } from '../../src/sandbox/oauth-key.ts'
import { startTestServer } from './postgres.ts'

const ended = once(process.stdin.resume(), 'close')
// Ctrl-C reaches everybody in the terminal. The server has to outlast the tests that are just then closing their databases.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined)

const keys = process.argv[2]
if (keys === undefined) throw new Error('usage: test-cluster.js DIRECTORY')
const [server] = await Promise.all([
  startTestServer(),
  makeCertificates(join(keys, 'certificates'), systemRandom, systemClock.now()),
  oauthKeyOf(keys),
])
process.stdout.write(`${JSON.stringify({ url: server.url })}\n`)
await ended
await server.close()
