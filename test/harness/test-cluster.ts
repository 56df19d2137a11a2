// The one PostgreSQL of a whole test run: prints {"url"} when it serves, and stops and removes everything when its standard input ends,
// that is, when the run closes it or dies.
import { once } from 'node:events'
import { startTestServer } from './postgres.ts'

const ended = once(process.stdin.resume(), 'close')
// Ctrl-C reaches everybody in the terminal. The server has to outlast the tests that are just then closing their databases.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined)

const server = await startTestServer()
process.stdout.write(`${JSON.stringify({ url: server.url })}\n`)
await ended
await server.close()
