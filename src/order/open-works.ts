import type { Held } from './hand.ts'
import type { Order } from './order.ts'
import { placeKey, type Place } from './change.ts'
import { placeOf, type Entry } from './submission.ts'
import type { Work } from './work.ts'

export interface Sources {
  /** An order in this process's memory, perhaps as it was before another process moved it on. */
  held: (place: Place) => Held | undefined
  isCurrent: (place: Place) => boolean
  load: (places: readonly Place[]) => Promise<Order[]>
}

/**
 * Finds the order of each event: in memory, or read. An order that is not there fails alone: the
 * batch is halved until it is found.
 */
export async function openWorks(entries: Entry[], works: Map<string, Work>, sources: Sources): Promise<[Entry, Work][]> {
  const happened = entries.filter((e) => e.item.is !== 'accept')
  const absent = new Map<string, Place>()
  for (const { item } of happened) {
    const place = placeOf(item)
    if (!sources.isCurrent(place)) absent.set(placeKey(place), place)
  }
  const read = new Map((await sources.load([...absent.values()])).map((o) => [placeKey(o), o]))
  const opened: [Entry, Work][] = []
  for (const entry of happened) {
    const key = placeKey(placeOf(entry.item))
    const held = sources.held(placeOf(entry.item))
    const order = absent.has(key) ? read.get(key) : held?.order
    if (!order) throw new Error(`there is no order ${key}`)
    const card = held?.card ?? ('card' in entry.item ? entry.item.card : undefined)
    const fresh: Work = { before: order, after: order, rows: [], deliveries: [], eraseCvv2: false, card, entries: [] }
    const work = works.get(key) ?? fresh
    // The first entry of an order may be one that brings no card.
    work.card ??= card
    works.set(key, work)
    opened.push([entry, work])
  }
  return opened
}
