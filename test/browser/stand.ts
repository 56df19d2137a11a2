import { openBrowser, type TestBrowser } from '../harness/browser/browser.ts'
import { closing, openWorld } from '../harness/world/opening.ts'
import { openShop, type Shop } from '../harness/browser/shop.ts'
import type { World } from '../harness/world/world.ts'

export interface Stand {
  world: World
  shop: Shop
  browser: TestBrowser
}

let browser: Promise<TestBrowser> | undefined
let stand: Promise<Stand> | undefined

/**
 * The Chromium of this process, for all files that run in it. It closes after the last test of the
 * last one.
 */
export const sharedBrowser = (): Promise<TestBrowser> => (browser ??= openBrowser().then(closing))

/**
 * A world and a shop in it, likewise. A file that changes what the others use, such as an endpoint
 * or the line, puts it back.
 */
export const sharedStand = (): Promise<Stand> => (stand ??= openStand())

async function openStand(): Promise<Stand> {
  const world = await openWorld()
  return { world, shop: closing(await openShop(world)), browser: await sharedBrowser() }
}
