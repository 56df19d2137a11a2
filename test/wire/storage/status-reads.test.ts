import assert from 'node:assert/strict'
import { test } from 'node:test'
import { pino } from 'pino'
import { systemClock } from '../../../src/base/clock.ts'
import { orderCanBeShown } from '../../../src/gateway-api/checks.ts'
import { performStatus } from '../../../src/gateway-api/status.ts'
import type { Attempt, Order, Transaction } from '../../../src/order/decide/order.ts'
import { openCopies } from '../../../src/order/copies.ts'
import { openHand } from '../../../src/order/door/hand.ts'
import { openReader } from '../../../src/order/read.ts'
import { openOrderStore } from '../../../src/order/store/store.ts'
import { statusView } from '../../../src/order/decide/view.ts'
import { ensurePartitions } from '../../../src/storage/partitions.ts'
import { type Pool } from '../../../src/storage/pool.ts'
import { now, openAttempt, orderIn } from '../../tables/order/decide-orders.ts'
import { openMigrated } from '../../harness/postgres/migrated.ts'
import { closing } from '../../harness/world/opening.ts'

/** A status reads what it shows, however much was asked of the order. */

const log = pino({ level: 'silent' })
let rows = 0

const serial = (n: number) => `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`

/**
 * A sale of 10.00 with a hundred returns of 0.01, each under a serial number and with an attempt;
 * what the gateway owes on its own comes last.
 */
function busyOrder(): Order {
  const made = orderIn('approved', { kind: 'sale', amountMinor: 1000n, amountText: '10.00' })
  const { finalAt } = made.transactions[0]!
  const payment: Transaction = { ...made.transactions[0]!, serialNumber: serial(1), amountMinor: 1000n }
  const returns = Array.from({ length: 100 }, (_, i): Transaction => ({
    no: i + 2,
    kind: 'return',
    origin: 'request',
    serialNumber: serial(i + 2),
    parentNo: 1,
    state: i === 99 ? 'error' : 'approved',
    amountMinor: 1n,
    amountText: '0.01',
    result: { errorCode: String(i) },
    asked: { operation: 'return' },
    tries: 0,
    createdAt: now,
    finalAt: now,
  }))
  const { serialNumber: _none, asked: _nothing, ...owed } = returns.at(-1)!
  const reversal: Transaction = { ...owed, no: 102, kind: 'reversal', origin: 'gateway', parentNo: 101 }
  const attempts = [payment, ...returns].map(({ no }): Attempt => ({
    ...openAttempt,
    no,
    transactionNo: no,
    outcome: 'approved',
    endedAt: now,
  }))
  return { ...made, ...(finalAt === undefined ? {} : { finalAt }), transactions: [payment, ...returns, reversal], attempts }
}

const order = busyOrder()
const merchant = {
  merchantId: order.merchantId,
  login: 'shop',
  name: 'Shop',
  enabled: true,
  cellNo: 0,
  controlKeys: [],
  publicKeys: [],
}

const { pool } = await openMigrated('oltp', 2)
await ensurePartitions(pool)
await openOrderStore(pool).transaction(async (tables) => {
  const { merchantId, orderId, clientOrderid } = order
  await tables.claimKeys([{ merchantId, orderId, clientOrderid, digest: Buffer.alloc(32), at: now, heldUntil: now }])
  await tables.save([{ after: order, rows: [], deliveries: [], eraseCvv2: false }], undefined)
  const repeat = { merchantId, orderId, operation: 'return', at: now }
  await tables.insertRepeats([{ ...repeat, serialNumber: serial(900), transactionNo: 7 }])
})
const counting: Pool = {
  ...pool,
  async run(sql, values) {
    const read = await pool.run(sql, values)
    rows += read.length
    return read
  },
}
const reader = closing(
  openReader({
    store: openOrderStore(counting),
    hand: openHand(),
    copies: openCopies(1),
    heartbeat: { processId: 1n, holding: () => true },
    clock: systemClock,
    log,
  }),
)

// oxfmt-ignore
const asks: [what: string, by: 'orderid' | 'client_orderid', bySerial: string | undefined, no: number | undefined][] = [
  ['the newest that a request made',                        'orderid',        undefined,   101],
  ['the newest that a request made, by the name',           'client_orderid', undefined,   101],
  ['the payment, by its serial number',                     'orderid',        serial(1),   1],
  ['one of the returns, by its serial number',              'orderid',        serial(51),  51],
  ['the one that a repeat means',                           'client_orderid', serial(900), 7],
  ['none, by a serial number that no request had',          'orderid',        serial(999), undefined],
]
for (const [what, by, bySerial, no] of asks)
  test(`${what}: ${no === undefined ? 'code 6' : `transaction ${no}`}, from at most four rows`, async () => {
    const values = {
      client_orderid: order.clientOrderid,
      ...(by === 'orderid' ? { orderid: order.orderId } : {}),
      ...(bySerial === undefined ? {} : { 'by-request-sn': bySerial }),
    }
    const views = { pages: () => assert.fail(), legacy: { form: () => assert.fail() } }
    rows = 0
    const found = await orderCanBeShown({ merchant, values }, { orders: reader })
    const reply = 'refused' in found ? found : performStatus({ serialNumber: 's', values, ...found }, views)
    assert.ok(rows <= 4, `${rows} rows were read`)
    if (no === undefined) return assert.deepEqual(reply, { refused: 'order not found', detail: '' })
    const expected: Record<string, string | undefined> = { ...statusView(order, order.transactions[no - 1]!) }
    for (const [name, value] of Object.entries(expected)) assert.equal('refused' in reply ? undefined : reply[name], value, name)
  })

test('a repeat of an order that is no longer stored is noted nowhere, and the other repeats of its batch are', async () => {
  const { merchantId, orderId } = order
  const repeat = { merchantId, operation: 'sale', transactionNo: 1, at: now }
  // No partition is made for this id.
  const gone = { ...repeat, orderId: 10n ** 12n, serialNumber: serial(901) }
  const stored = { ...repeat, orderId, serialNumber: serial(902) }
  await openOrderStore(pool).transaction((tables) => tables.insertRepeats([gone, stored]))
  const shown = await reader.shown({ merchantId, orderId }, serial(902))
  assert.equal(shown?.transaction?.no, 1)
})
