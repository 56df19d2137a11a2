import { it } from 'node:test'
import type { World } from '../../harness/world/world.ts'
import { accepted, invalid, refused, required, sale, type Changes } from './client.ts'

/** One line a case. Each asks for the world when it runs: it starts after they are listed. */
export function saleCases(world: () => World) {
  return {
    takes: (what: string, changes: Changes): void => {
      it(`${what}: accepted`, async () => {
        accepted(await sale(world(), changes))
      })
    },
    refuses: (what: string, name: string, changes: Changes): void => {
      it(`${what}: refused, Parameter ${name} is invalid`, async () => {
        refused(await sale(world(), changes), 3, invalid(name))
      })
    },
    misses: (what: string, name: string, changes: Changes): void => {
      it(`${what}: Parameter ${name} is required`, async () => {
        refused(await sale(world(), changes), 1, required(name))
      })
    },
  }
}
