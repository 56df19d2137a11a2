import assert from 'node:assert/strict'
import { accepted, newOrderId, sale, type Changes, type Order } from '../../conformance/requests/client.ts'
import { until } from '../clock/until.ts'
import type { World } from '../world/world.ts'

/** The database did not answer in time, or has not for a while: the order may exist. */
const askAgain = new Set(['20', '100'])

/**
 * Sells as the documents advise merchants: it repeats the same request while the gateway cannot say
 * what became of it. `more` are fields, for the name of the order.
 */
export async function soldAt(world: World, more: (name: string) => Changes = () => ({})): Promise<Order> {
  const name = newOrderId()
  const ask = async () => {
    const reply = await sale(world, { client_orderid: name, ...more(name) })
    assert.ok(reply.type === 'async-response' || askAgain.has(reply['error-code'] ?? ''), JSON.stringify(reply))
    return reply
  }
  return accepted(await until(ask, ({ type }) => type === 'async-response', 120_000, 200))
}
