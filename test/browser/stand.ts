import { after } from 'node:test'
import { openBrowser, type TestBrowser } from '../harness/browser.ts'
import { openShop, type Shop } from '../harness/shop.ts'
import { startWorld, type World } from '../harness/world.ts'

export interface Stand {
  world: World
  shop: Shop
  browser: TestBrowser
}

/** A world, a shop in it and a browser, for all tests of a file; they are closed after the last one. */
export async function openStand(...settings: Parameters<typeof startWorld>): Promise<Stand> {
  const open: (() => Promise<void>)[] = []
  const close = async () => {
    for (const end of open.splice(0).toReversed()) await end()
  }
  after(close)
  try {
    const world = await startWorld(...settings)
    open.push(() => world.stop())
    const shop = await openShop(world)
    open.push(() => shop.close())
    const browser = await openBrowser()
    open.push(() => browser.close())
    return { world, shop, browser }
  } catch (thrown) {
    await close()
    throw thrown
  }
}
