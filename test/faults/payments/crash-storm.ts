import assert from 'node:assert/strict'
import { accepted, order, send, signedSale, untilStatus, type Order } from '../../conformance/requests/client.ts'
import { booksAgree, follow, sumsOf } from '../../harness/world/follow.ts'
import { until } from '../../harness/clock/until.ts'
import { takenUpWithinMs } from './crash-payments.ts'
import { desk, merchant, servedAt, world, type UnderWay } from './crash-scene.ts'

/** More simultaneous requests than one commit takes. */

const acknowledged: Order[] = []

async function sellAt(path: string): Promise<void> {
  const fields = signedSale(world, { server_callback_url: merchant.origin + path })
  const url = `${world.baseUrl}/api/v2/sale/${world.endpoints.plain}`
  const answer = await send('POST', url, new URLSearchParams(fields).toString()).catch(() => undefined)
  const read = answer && Object.fromEntries(new URLSearchParams(answer.body.replaceAll('\n', '')))
  if (read?.type === 'async-response') acknowledged.push(accepted(read))
}

const sales: UnderWay = {
  what: '200 sales in flight: each acknowledged one ends with a callback, sent at most once',
  begins: async () => async () => {
    const all = Array.from({ length: 200 }, (_, at) => sellAt(`/load/${at}`))
    await until(
      () => acknowledged.length,
      (count) => count >= 100,
    )
    return async () => {
      await Promise.all(all)
      for (const one of acknowledged)
        await untilStatus(world, one, ({ status }) => status !== 'processing' && status !== 'unknown', 120_000)
      const ids = acknowledged.map(({ orderid }) => orderid)
      const [late] = await desk.rows<{ ms: number | null }>(
        `select max(extract(epoch from first)::float8 * 1000 - $1::float8) as ms
         from (select min(at) as first from all_events
           where at > to_timestamp($1::float8 / 1000) and order_id = any ($2) group by merchant_id, order_id) events`,
        [servedAt(), ids],
      )
      assert.ok((late?.ms ?? 0) < takenUpWithinMs, `the last was picked up ${late?.ms} ms after the restart`)
      const untold = () =>
        desk.rows(
          `select order_id from orders o where order_id = any ($1) and not exists (
             select from delivery d where d.order_id = o.order_id and d.merchant_id = o.merchant_id and d.state = 'delivered')`,
          [ids],
        )
      await until(untold, ({ length }) => length === 0, 120_000)
    }
  },
}

const returns: UnderWay = {
  what: 'returns of parts: no order gives more than it had, and each that was acknowledged exists',
  async begins() {
    const sold = await Promise.all(Array.from({ length: 20 }, () => order(world)))
    for (const one of sold) await untilStatus(world, one, ({ status }) => status === 'approved')
    return async () => {
      const serials: string[] = []
      const all = sold.flatMap((made) =>
        Array.from({ length: 6 }, async (_, part) => {
          const reply = await follow(world, 'return', made, { amount: '2.50', comment: `part ${part}` }).catch(() => undefined)
          if (reply?.type === 'async-response') serials.push(reply['serial-number']!)
        }),
      )
      await until(
        () => serials.length,
        (count) => count >= 40,
      )
      return async () => {
        await Promise.all(all)
        await booksAgree(desk, 120_000)
        for (const made of sold) {
          const given = (await desk.entries(made.orderid)).slice(1).filter(({ state }) => state === 'approved')
          assert.ok(given.length <= 4, `${given.length} times 2.50 of 10.50`)
          assert.equal((await sumsOf(desk, made))[1], String(250 * given.length))
        }
        const known = await desk.rows(`select from all_transactions where serial_number = any ($1::uuid[])`, [serials])
        assert.equal(known.length, serials.length)
      }
    }
  },
}

export const storm = [sales, returns]
