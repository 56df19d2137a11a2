import assert from 'node:assert/strict'
import { type Order } from '../../conformance/requests/client.ts'
import { until } from '../clock/until.ts'
import type { FaultDesk } from '../world/fault-desk.ts'
import type { Receiver } from '../world/receiver.ts'
import type { Sold } from './three-d-secure-merchant.ts'
import type { Json } from './three-d-secure-wire.ts'

/** Orders with 3-D Secure as the gateway stores them. */
export interface SecureRows {
  stored(orderId: string): Promise<Stored>
  /** The present wait of the order is over now. */
  hurry(sold: Order): Promise<void>
  /** Names of what happened to the order. */
  events(sold: Order): Promise<string[]>
  /** Orders that have ended and keep a secret beyond its need. */
  kept(): Promise<string[]>
  /**
   * Orders that have ended and whose outcome was not sent, or sent twice. With `killed` an outcome
   * may have been sent and not recorded, so that it is sent again, and the same.
   */
  untold(sold: readonly Sold[], callbacks: Receiver, killed?: 'killed'): Promise<string[]>
}

interface Stored {
  state: string
  step: string | null
  version: number
  dueInMs: number | null
  authentication: Json | null
  cvv2: Buffer | null
  /** The hour of the key that sealed it: hours since 1970. */
  keyHour: number | null
}

const storedOrder = `
  select t.state, t.step, o.version, extract(epoch from t.due_at - now())::float8 * 1000 as "dueInMs", t.authentication,
    c.cvv2_sealed as cvv2,
    (c.cvv2_key >> 32)::float8 as "keyHour"
  from all_transactions t join orders o using (merchant_id, order_id) join order_facts c using (merchant_id, order_id)
  where t.order_id = $1 and t.transaction_no = 1`

const keptSecrets = `
  select concat_ws(' ', 'order', t.order_id, t.state, 'keeps',
    case when t.authentication::jsonb ? 'authenticationValue' then 'its proof' else 'its CVV2' end) as text
  from all_transactions t join orders o using (merchant_id, order_id) join order_facts c using (merchant_id, order_id)
  where t.transaction_no = 1 and o.status <> 'processing'
    and (t.authentication::jsonb ? 'authenticationValue' or c.cvv2_sealed is not null)`

const owedCallbacks = `
  select status, (select count(*)::int from delivery d where d.order_id = o.order_id) as owed
  from orders o where order_id = $1`

const endWait = `
  update orders set due_at = now() - interval '1 second'
  where order_id = $1 and step like 'await%' returning 1`

export function openSecureRows(desk: Pick<FaultDesk, 'rows'>): SecureRows {
  let last: Promise<unknown> = Promise.resolve()
  /** Tests run side by side, and their connection takes one query at a time. */
  function rows<Row extends object>(sql: string, values: unknown[] = []): Promise<Row[]> {
    const next = last.then(() => desk.rows<Row>(sql, values))
    last = next.catch(() => undefined)
    return next
  }

  return {
    async stored(orderId) {
      const [row] = await rows<Stored>(storedOrder, [orderId])
      assert.ok(row, `order ${orderId}`)
      return row
    },
    async hurry({ orderid }) {
      assert.equal((await rows(endWait, [orderid])).length, 1, 'it waits')
    },
    async events({ orderid }) {
      const events = await rows<{ event: string }>(
        'select event from all_events where order_id = $1 and transaction_no = 1 order by event_no',
        [orderid],
      )
      return events.map(({ event }) => event)
    },
    kept: async () => (await rows<{ text: string }>(keptSecrets)).map(({ text }) => text),
    async untold(sold, callbacks, killed) {
      const untold: string[] = []
      for (const { orderid, client_orderid } of sold) {
        const [row] = await rows<{ status: string; owed: number }>(owedCallbacks, [orderid])
        const { status, owed } = row!
        if (status === 'processing' || status === 'unknown') continue
        const calls = await until(
          () => callbacks.calls(`/${client_orderid}`),
          ({ length }) => length > 0,
          60_000,
        )
        const statuses = calls.map(({ query }) => query.get('status'))
        const sent = (killed ? [...new Set(statuses)] : statuses).join()
        if (sent !== status || owed !== 1)
          untold.push(`order ${orderid} is ${status}, owed ${owed} callbacks, and was sent: ${sent || 'nothing'}`)
      }
      return untold
    },
  }
}
