import { configurationRead } from '../../harness/world/configuration.ts'
import type { World } from '../../harness/world/world.ts'
import { cliOf } from '../../wire/operator/cli-run.ts'
import { order, settled, type Changes, type Way } from './client.ts'

/** Filters of the sandbox's merchant, made as an operator makes them: by the command. */

export interface Desk {
  /** Adds a filter, and waits until it is heeded. */
  add(...args: string[]): Promise<void>
}

/** An address that no other case pays from, so that no other filter meets it. */
let addresses = 0
export const newEmail = (): string => `customer-${(addresses += 1)}@filters.example`

export function openFilters(world: World): Desk {
  const { tell } = cliOf(() => world)
  return {
    async add(...args) {
      await tell(['filter', 'add', ...args, '--merchant', world.merchant.login])
      await configurationRead(world)
    },
  }
}

/** An order by this address, and what became of it. */
export const filteredOrder = async (world: World, email: string, changes: Changes = {}, way: Way = {}) => {
  const made = await order(world, { email, ...changes }, way)
  return { made, seen: await settled(world, made, way) }
}
