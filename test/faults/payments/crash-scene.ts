import { statSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { closing, openWorld } from '../../harness/world/opening.ts'
import { openFaultDesk } from '../../harness/world/fault-desk.ts'
import { connectOwn } from '../../harness/postgres/own-rows.ts'
import { openReceiver } from '../../harness/world/receiver.ts'
import { openStage } from '../../harness/three-d-secure/three-d-secure.ts'
import { openApp } from '../../wire/mobile/mobile-app.ts'
import { openSumPage } from '../../wire/mobile/mobile-sum-page.ts'

/** What must hold once the gateway serves again. */
export type Holds = () => Promise<void>

/** A row of the table of crashes. */
export interface UnderWay {
  /** What is under way, and what becomes of it. */
  what: string
  /**
   * Makes ready what takes its time. The function that it returns resolves once all is under way;
   * those of all rows run together, right before the kill.
   */
  begins: () => Promise<() => Promise<Holds>>
}

/** A row that may wait for the kill as long as it likes. */
export const resting = (what: string, rests: () => Promise<Holds>): UnderWay => ({
  what,
  async begins() {
    const holds = await rests()
    return () => Promise.resolve(holds)
  },
})

/** Merchants' servers hang until the gateway has died. */
export const hangs = { now: true }
export const merchant = closing(await openReceiver((path) => (path.startsWith('/hangs') && hangs.now ? 'hang' : 200)))
export const world = await openWorld()
export const desk = closing(await openFaultDesk(world))
export const database = closing(await connectOwn(world))
export const app = await openApp(world)
closing(app.merchant)
export const stage = openStage(world, desk, merchant)
export const sums = openSumPage(world, app, database)

let meanwhile: (() => Promise<unknown>)[] = []
/** To be done while the gateway is dead. */
export const whenDead = (act: () => Promise<unknown>) => void meanwhile.push(act)

/** When the gateway served again, in milliseconds since 1970. */
export const servedAt = () => statSync(join(world.directory, 'sandbox.json')).mtimeMs

/**
 * Kills the gateway with all of these under way, and starts it again. The last ones block each what
 * comes after, so they begin one by one.
 */
export async function killsWith(t: TestContext, rows: readonly UnderWay[], last: readonly UnderWay[] = []): Promise<void> {
  const all = [...rows, ...last]
  const ready = await Promise.all(all.map(({ begins }) => begins()))
  const holds = await Promise.all(ready.slice(0, rows.length).map((goes) => goes()))
  for (const goes of ready.slice(rows.length)) holds.push(await goes())
  await world.crash(async () => void (await Promise.all(meanwhile.map((act) => act()))))
  meanwhile = []
  if (!world.isShared) await app.serve()
  await Promise.all(all.map(({ what }, at) => t.test(what, holds[at])))
}
