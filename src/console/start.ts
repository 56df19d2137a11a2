/** The process of the console. */
import { startServing, type Serving, type ServingOptions } from '../operator/serving.ts'
import { forgetFailures } from '../entry/failure-rows.ts'
import { forgetSessions } from '../entry/session-rows.ts'
import { mostBodyBytes } from './request.ts'
import { consoleServer } from './serve.ts'

const hourMs = 3_600_000

/** `originAt`: what a browser names as the origin of its pages, by the port. */
export const startConsole = (options: ServingOptions & { originAt: (port: number) => string }): Promise<Serving> =>
  startServing(options, {
    called: 'the console',
    mostBodyBytes,
    routes: (parts, port) => consoleServer({ ...parts, origin: options.originAt(port) }),
    work: (pool) => [
      { name: 'sessions in the console', everyMs: hourMs, run: () => forgetSessions(pool, options.clock.now()) },
      { name: 'failed tries to sign in', everyMs: hourMs, run: () => forgetFailures(pool, options.clock.now()) },
    ],
  })
