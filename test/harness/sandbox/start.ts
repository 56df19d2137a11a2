import { lease, type Command } from '../clock/lease.ts'
import { crashBy, type SharedWorld, type World, type WorldOptions } from '../world/world.ts'

/**
 * A world that other files of the run had before, with merchants of this file's own; with options,
 * or when one file is run by hand, a new sandbox.
 */
export async function startWorld(options: WorldOptions = {}): Promise<World> {
  const broker = process.env.TOLLGATE_TEST_WORLDS
  if (broker === undefined || Object.keys(options).length > 0) {
    // All that starts a sandbox takes longer to load than most files need for their tests.
    const { startOwn } = await import('./own.ts')
    return startOwn(options)
  }
  const { world: view, ask, stop } = await lease<SharedWorld>(broker)
  const shared = { isShared: true }
  const told = async (command: Command) => void Object.assign(world, await ask(command), shared)
  const halves = { kill: () => told('kill'), start: () => told('start') }
  const world: World = { ...view, ...shared, ...halves, crash: crashBy(halves), output: onlyOwn, halt: onlyOwn, stop }
  return world
}

function onlyOwn(): never {
  throw new Error('this world is shared; a test that needs this starts one with { own: true }')
}
