// The reference merchant server, with the endpoints of the mobile API, and the shop beside it,
// where they are configured.
import { parseArgs } from 'node:util'
import { systemClock } from '../../src/base/clock.ts'
import { reasonOf } from '../../src/base/log.ts'
import { systemRandom } from '../../src/base/random.ts'
import { whole, type Simulator } from '../run.ts'
import { readConfiguration, variable } from './configuration.ts'
import { startMerchant } from './start.ts'

const usage = `usage: program.js --port N [--shop-port N] [--host 127.0.0.1] [--die-with-parent]

  --port, --shop-port    0 takes a free port; what was taken is printed as one line of JSON
  ${variable}   the configuration, as a JSON object
  --die-with-parent      stops when standard input ends
`

export const merchant: Simulator = {
  name: 'the merchant server',
  usage,
  async start({ args, env, log, places }) {
    const { values } = parseArgs({
      args,
      options: {
        port: { type: 'string' },
        'shop-port': { type: 'string', default: '0' },
        host: { type: 'string', default: '127.0.0.1' },
      },
    })
    const text = env[variable]
    delete env[variable]
    try {
      const port = whole('--port', values.port, 65_535)
      const addresses = { host: values.host, port, shopPort: whole('--shop-port', values['shop-port'], 65_535) }
      const world = { ...addresses, places, clock: systemClock, random: systemRandom, log }
      const { url, shopUrl, close, ...taken } = await startMerchant(world, readConfiguration(text))
      return { ready: { port: taken.port, url, shop_url: shopUrl }, close }
    } catch (thrown) {
      throw new Error(`The merchant server cannot start: ${reasonOf(thrown)}\n`, { cause: thrown })
    }
  },
}
