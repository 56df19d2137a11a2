import type { Clock } from '../../src/base/clock.ts'
import type { Log } from '../../src/base/log.ts'
import type { Random } from '../../src/base/random.ts'
import type { Pool } from '../../src/storage/pool.ts'
import type { Configuration } from './configuration.ts'

/** The ports of every operation of the merchant's server. */
export interface Merchant extends Configuration {
  pool: Pool
  clock: Clock
  random: Random
  log: Log
}
