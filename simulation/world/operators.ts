import { uuid } from '../../src/base/random.ts'
import { orderKeyText, type Change } from '../../src/order/decide/change.ts'
import { changeByFollow } from '../../src/order/decide/follow.ts'
import type { Order } from '../../src/order/decide/order.ts'
import { configuration } from '../model/configuration.ts'
import { openStoreLine } from '../model/store-line.ts'
import { intentOf } from '../parties/wants.ts'
import type { Intent } from './asking.ts'
import type { Chance } from './chance.ts'
import type { Actor, Events } from './clock.ts'
import type { Wraps } from './gateway-parts.ts'
import type { Installation } from './installation.ts'
import type { Trace } from './time-line.ts'
import { databaseOf, type Weather } from './troubles.ts'

export interface OperatorParts {
  events: Events
  chance: Chance
  installation: Installation
  weather: Weather
  wrap: Wraps
  /** A command is given, under this serial number. */
  onFollowing: (intent: Intent, serialNumber: string) => void
  trace: Trace
}

/**
 * Operators, who capture, return and release payments beside the merchant: by commands, which
 * change the database and call no gateway.
 */
export interface Operators {
  /** Gives commands for this order, perhaps none. Resolves when each is over. */
  work(order: Order): Promise<void>
}

const busyOdds = 0.12
/** How often a command is given again whose transaction others forestalled. */
const tries = 3

export function openOperators({ events, chance, installation, weather, wrap, onFollowing, trace }: OperatorParts): Operators {
  const actor: Actor = { name: 'operator', alive: true, pausedUntil: 0, wallOffsetMs: 0, numbers: new Map() }
  const clock = events.clockOf(actor)
  const random = chance.fork().random()
  const pause = (ms: number) => new Promise<void>((resolve) => events.after(ms, undefined, resolve))
  let intents = 0

  /** Whether there is nothing more to do. It may be done although the connection broke. */
  function attempt({ merchantId }: Order, intent: Intent): Promise<boolean> {
    const { orderId, operation, amount } = intent
    const cellNo = installation.homeNo(merchantId)
    const model = installation.cell(cellNo)
    const { orders } = openStoreLine({ model, events, actor, chance: chance.fork(), weather: databaseOf(weather, cellNo) })
    const serialNumber = uuid(random)
    const ask = { operation, serialNumber, operator: { who: 'ann', reason: 'as agreed' }, ...(amount && { amount }) }
    onFollowing(intent, serialNumber)
    return orders.transaction(async (tables) => {
      const [order] = await tables.load([{ merchantId, orderId }])
      if (!order || installation.moves.has(merchantId)) return true
      const change = changeByFollow(order, ask, configuration.endpoint(order.endpointId), clock.now())
      trace(
        () => `operator asks order ${orderId} to ${operation} ${amount?.text ?? 'all'}: ${'is' in change ? change.is : 'added'}`,
      )
      if ('is' in change) return true
      const added: Change = wrap.operator?.(change) ?? change
      return (await tables.save([added], undefined)).has(orderKeyText(order))
    })
  }

  async function command(order: Order): Promise<void> {
    const { idempotencyKey: _key, comment: _comment, ...intent } = intentOf(order, ++intents, chance)
    for (let n = 0; n < tries; n++) if (await attempt(order, intent).catch(() => true)) return
  }

  return {
    async work(order) {
      if (!chance.happens(busyOdds)) return
      await pause(chance.between(0, chance.pick([500, 5_000, 30_000])))
      await Promise.all(Array.from({ length: chance.pick([1, 1, 2]) }, () => command(order)))
    },
  }
}
