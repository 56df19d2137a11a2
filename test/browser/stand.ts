import { openBrowser, type TestBrowser } from '../harness/browser/browser.ts'
import { closing, openWorld } from '../harness/world/opening.ts'
import { openShop, type Shop } from '../harness/browser/shop.ts'
import type { World } from '../harness/world/world.ts'

export interface Stand {
  world: World
  shop: Shop
  browser: TestBrowser
}

/** A world, a shop in it and a browser, for all tests of a file. They close after the last one. */
export async function openStand(...settings: Parameters<typeof openWorld>): Promise<Stand> {
  const world = await openWorld(...settings)
  return { world, shop: closing(await openShop(world)), browser: closing(await openBrowser()) }
}
