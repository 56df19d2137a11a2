import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openLog } from '../../../src/base/log.ts'
import { guarded, NotNow, OpenElsewhere, type Guarded } from '../../../src/gateway/guard.ts'
import { watchRegistry } from '../../../src/merchant/live.ts'
import type { Registry } from '../../../src/merchant/merchant.ts'
import { openHandClock } from '../../harness/clock/hand-clock.ts'

/**
 * A process of cell 2 read the configuration while the merchant was in cell 1, and its clock went
 * on without it. The merchant is in the cell given here by now.
 */
async function lateProcess(cellNo: number, reads: () => void = () => {}) {
  const clock = openHandClock(0)
  const log = openLog({ level: 'fatal', destination: process.stderr })
  const stored = { version: 1n, cellNo: 1 }
  const load = () => {
    const cells = [{ cellNo: 1 }, { cellNo: 2 }]
    const merchant = { cellNo: stored.cellNo }
    return Promise.resolve({ version: stored.version, staleAt: Infinity, cells, merchant: () => merchant } as unknown as Registry)
  }
  const version = () => new Promise<bigint>((resolve) => resolve((reads(), stored.version)))
  const registry = await watchRegistry({ version, load }, clock, log, () => {})
  registry.stop()
  Object.assign(stored, { version: 2n, cellNo })
  const rooms = {
    orders: { byId: () => Promise.resolve('the order'), shown: () => 'what is shown' },
    invoices: { merchantOfPage: () => Promise.resolve(1n), findByPage: () => Promise.resolve('the page') },
    door: { submit: () => Promise.resolve('committed') },
  }
  const { orders, invoices, door } = guarded(rooms as unknown as Guarded, { cellNo: 2, registry, clock })
  const orderKey = { merchantId: 1n, orderId: 2n }
  const requests: Record<string, () => unknown> = {
    'an order': () => orders.byId(orderKey),
    'a status from memory': () => orders.shown(orderKey),
    'a page': () => invoices.findByPage('token'),
    'a sale': () => door.submit(orderKey as never),
  }
  return { requests, pass: (ms: number) => clock.pass(ms) }
}

test('a suspended process looks again before it says that a merchant has moved', async () => {
  for (const name of ['an order', 'a status from memory', 'a page', 'a sale']) {
    const { requests, pass } = await lateProcess(2)
    await assert.rejects(
      async () => requests[name]!(),
      new OpenElsewhere('merchant 1', 1),
      `${name}: what was read last is still true`,
    )
    pass(25_000)
    assert.ok(await requests[name]!(), name)
  }
})

test('it is sent on when the merchant has not come, or has gone further', async () => {
  for (const cellNo of [1, 3]) {
    const { requests, pass } = await lateProcess(cellNo)
    pass(25_000)
    for (const ask of Object.values(requests)) await assert.rejects(async () => ask(), new OpenElsewhere('merchant 1', cellNo))
  }
})

test('while the configuration cannot be read nothing is said about the merchant', async () => {
  let isAway = false
  const { requests, pass } = await lateProcess(2, () => {
    if (isAway) throw new Error('the database is away')
  })
  isAway = true
  pass(25_000)
  for (const ask of Object.values(requests)) {
    const elsewhere = (error: unknown) => error instanceof NotNow && !(error instanceof OpenElsewhere)
    await assert.rejects(async () => ask(), elsewhere)
  }
})
