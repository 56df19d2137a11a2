// The reference merchant server as a program of its own, with the endpoints of the mobile API, and
// the shop beside it, where they are configured: program.js --port N [--shop-port N] [--host
// 127.0.0.1] [--die-with-parent] With --die-with-parent it stops when its standard input ends.
import { parseArgs } from 'node:util'
import { systemClock } from '../../src/base/clock.ts'
import { openLog, reasonOf } from '../../src/base/log.ts'
import { systemRandom } from '../../src/base/random.ts'
import type { BarPages } from '../../src/http/bar.ts'
import { followParent } from '../parent.ts'
import { readConfiguration, variable } from './configuration.ts'
import { startMerchant } from './start.ts'

const stopWithinMs = 900

const log = openLog({ level: process.env['LOG_LEVEL'] ?? 'info', destination: process.stderr })
try {
  const { dieWithParent, ...addresses } = readArguments()
  const places: BarPages = {}
  const world = { ...addresses, places, clock: systemClock, random: systemRandom, log }
  const { port, url, shopUrl, close } = await startMerchant(world, readConfiguration(takeVariable()))
  const stop = stopOnce(close)
  process.on('SIGTERM', stop)
  process.on('SIGINT', stop)
  if (dieWithParent) followParent(places, stop)
  process.stdout.write(`${JSON.stringify({ ready: true, port, url, shop_url: shopUrl })}\n`)
} catch (thrown) {
  process.stderr.write(`The merchant server cannot start: ${reasonOf(thrown)}\n`)
  process.exitCode = 2
}

function readArguments(): { host: string; port: number; shopPort: number; dieWithParent: boolean } {
  const { values } = parseArgs({
    options: {
      port: { type: 'string' },
      'shop-port': { type: 'string', default: '0' },
      host: { type: 'string', default: '127.0.0.1' },
      'die-with-parent': { type: 'boolean', default: false },
    },
  })
  const isPort = (text: string | undefined) => text !== undefined && /^\d{1,5}$/.test(text)
  if (!isPort(values.port)) throw new Error('--port needs a number; 0 takes a free port')
  if (!isPort(values['shop-port'])) throw new Error('--shop-port needs a number; 0 takes a free port')
  return {
    host: values.host,
    port: Number(values.port),
    shopPort: Number(values['shop-port']),
    dieWithParent: values['die-with-parent'],
  }
}

/** Takes it out of the environment, so that nothing started from here inherits the key. */
function takeVariable(): string | undefined {
  const text = process.env[variable]
  delete process.env[variable]
  return text
}

function stopOnce(close: () => Promise<void>): () => void {
  let stopping = false
  return () => {
    if (stopping) return
    stopping = true
    systemClock.after(stopWithinMs, () => process.exit(1))
    close().then(
      () => process.exit(0),
      (thrown: unknown) => {
        log.error({ reason: reasonOf(thrown) }, 'The merchant server did not close cleanly.')
        process.exit(1)
      },
    )
  }
}
