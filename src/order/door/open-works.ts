import { forgottenCard, type Card } from '../../card/vault.ts'
import type { Held } from './hand.ts'
import { machine } from '../decide/machine.ts'
import { head, type Order } from '../decide/order.ts'
import { orderKeyText, type OrderKey } from '../decide/change.ts'
import { isOutside } from '../perform.ts'
import { orderKeyOf, type QueuedSubmission, type Happened } from './submission.ts'
import type { Work } from '../decide/work.ts'

export interface Sources {
  /** An order in this process's memory, possibly outdated by another process. */
  held: (orderKey: OrderKey) => Held | undefined
  isCurrent: (orderKey: OrderKey) => boolean
  load: (orderKeys: readonly OrderKey[]) => Promise<Order[]>
  /** Nothing for a card that no longer exists. */
  cards: (orderKeys: readonly OrderKey[]) => Promise<(orderKey: OrderKey) => Card | undefined>
}

/** Events that may lead to an outside step, which needs the card. */
const leadOutside = new Set(machine.filter(({ asks }) => isOutside(asks) || asks === 'record attempt').map(({ on }) => on))

const needsCard = (item: Happened): boolean => (item.is === 'event' ? leadOutside.has(item.event.is) : item.is !== 'noted')

/**
 * Finds the order of each event, in memory or in the database. If an outside step may follow, it
 * also loads the card of an order that is not in memory. If an order does not exist, or the card of
 * a payment that is under way is gone, only its own entry fails: the batch is halved until only
 * that order is left.
 */
export async function openWorks(
  entries: readonly QueuedSubmission[],
  works: Map<string, Work>,
  sources: Sources,
): Promise<[QueuedSubmission, Work][]> {
  const happened = entries.filter((e) => e.item.is !== 'accept')
  const absent = new Map<string, OrderKey>()
  const cardless = new Map<string, OrderKey>()
  for (const { item } of happened) {
    const orderKey = orderKeyOf(item)
    if (!sources.isCurrent(orderKey)) absent.set(orderKeyText(orderKey), orderKey)
    if (!sources.held(orderKey) && needsCard(item as Happened)) cardless.set(orderKeyText(orderKey), orderKey)
  }
  const [orders, cardOf] = await Promise.all([
    sources.load([...absent.values()]),
    cardless.size === 0 ? undefined : sources.cards([...cardless.values()]),
  ])
  const read = new Map(orders.map((o) => [orderKeyText(o), o]))
  const opened: [QueuedSubmission, Work][] = []
  for (const entry of happened) {
    const orderKey = orderKeyOf(entry.item)
    const key = orderKeyText(orderKey)
    const held = sources.held(orderKey)
    const order = absent.has(key) ? read.get(key) : held?.order
    if (!order) throw new Error(`there is no order ${key}`)
    const card = cardless.has(key) ? (cardOf?.(orderKey) ?? forgotten(order)) : held?.card
    const fresh: Work = { before: order, after: order, rows: [], deliveries: [], eraseCvv2: false, card, entries: [] }
    const work = works.get(key) ?? fresh
    works.set(key, work)
    opened.push([entry, work])
  }
  return opened
}

/**
 * Retention erases card numbers of ended payments alone. One whose answer was lost needs none
 * either: only its reversal is left, and one that `reconcile` restored never had a number here.
 */
function forgotten(order: Order): Card {
  const { finalAt, state } = head(order)
  if (finalAt === undefined && state !== 'unknown') throw new Error(`the card of order ${order.orderId} is gone`)
  return forgottenCard(order)
}
