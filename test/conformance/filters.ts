import assert from 'node:assert/strict'
import type { World } from '../harness/world.ts'
import { cliOf } from '../wire/cli-run.ts'
import { order, settled, until, type Changes, type Way } from './client.ts'

/** Filters of the sandbox's merchant, made as an operator makes them: by the command. */

export interface Desk {
  /** Adds a filter, and waits until it is heeded. */
  add(...args: string[]): Promise<void>
}

/** An address that no other case pays from, so that a filter of one case says nothing to another. */
let addresses = 0
export const newEmail = (): string => `customer-${(addresses += 1)}@filters.example`

export function openFilters(world: World): Desk {
  const { tell } = cliOf(() => world)
  const put = (...args: string[]): Promise<string> => tell(['filter', 'add', ...args, '--merchant', world.merchant.login])
  return {
    async add(...args) {
      await put(...args)
      // Filters are read together: when the later one is heeded, so is the earlier.
      const email = `witness-${newEmail()}`
      await put('black', '--of', 'email', '--value', email)
      const heeded = await until(
        async () => settled(world, await order(world, { email, ipaddress: '192.0.2.1' })),
        ({ status }) => status === 'filtered',
      )
      assert.equal(heeded.status, 'filtered', 'the filter is heeded within 60 s')
    },
  }
}

/** An order by this address, and what became of it. */
export const filteredOrder = async (world: World, email: string, changes: Changes = {}, way: Way = {}) => {
  const made = await order(world, { email, ...changes }, way)
  return { made, seen: await settled(world, made, way) }
}
