import assert from 'node:assert/strict'
import { PassThrough, Readable, Writable } from 'node:stream'
import { after, before, test } from 'node:test'
import { systemClock } from '../../../src/base/clock.ts'
import { systemRandom } from '../../../src/base/random.ts'
import { runTollgate } from '../../../src/cli/run.ts'
import { until } from '../../harness/clock/until.ts'
import { configurationRead } from '../../harness/world/configuration.ts'
import { copyOrder, startCells, type CellsWorld } from './cells-world.ts'
import { cliOf } from '../operator/cli-run.ts'

// What an operator asks of orders, over three cells.

let cells: CellsWorld
before(async () => {
  cells = await startCells()
})
after(async () => {
  await cells?.stop()
})

const { tell, json, refuse } = cliOf(() => cells.world)

interface Line {
  order_id: number
  merchant: string
}
interface Found {
  orders: Line[]
  next: number | null
}

interface Page {
  next: number | string | null
}

/** Every page of a list, one after the other. */
async function allPages<Row>(args: string[], rowsOf: (page: never) => Row[]): Promise<Row[][]> {
  const pages: Row[][] = []
  for (let next: Page['next'] | undefined; next !== null;) {
    const page = await json<Page>(...args, ...(next === undefined ? [] : ['--after', String(next)]))
    pages.push(rowsOf(page as never))
    next = page.next
  }
  return pages
}

/** One sale in each cell, three times over; returns their ids with the number of their cell. */
async function nineOrders(changes: Record<string, string> = {}) {
  const made: { cellNo: number; id: number }[] = []
  for (const cellNo of [0, 1, 2, 0, 1, 2, 0, 1, 2]) made.push({ cellNo, id: Number((await cells.paid(cellNo, changes)).orderid) })
  return made
}

test('orders of three cells come newest first, page by page, also those of one moment', async () => {
  const made = await nineOrders()
  const of = ['--from', '2030-01-01', '--to', '2030-01-02']
  const minutes = [1, 2, 2, 2, 3, 4, 4, 5, 5]
  for (const [i, { cellNo, id }] of made.entries())
    await cells.rows(
      cellNo,
      `update orders set created_at = '2030-01-01'::timestamptz + $2::int * interval '1 minute' where order_id = $1`,
      [id, minutes[i]],
    )
  const wanted = made
    .map(({ id }, i) => ({ id, at: minutes[i]! }))
    .sort((a, b) => b.at - a.at || b.id - a.id)
    .map(({ id }) => id)
  for (const limit of [1, 2, 4, 9]) {
    const args = ['order', 'find', ...of, '--limit', String(limit)]
    const pages = await allPages(args, ({ orders }: Found) => orders.map((one) => one.order_id))
    assert.deepEqual(pages.flat(), wanted, `pages of ${limit}`)
    assert.ok(pages.every(({ length }) => length <= limit))
  }
  const own = await json<Found>('order', 'find', ...of, '--merchant', 'shop-2')
  assert.deepEqual(
    own.orders.map((one) => one.merchant),
    ['shop-2', 'shop-2', 'shop-2'],
  )
})

test('an export covers all pages and cells, and the trail has the user before it and the count after', async () => {
  const all: number[] = []
  for (const cellNo of [1, 2]) {
    const { orderid } = await cells.paid(cellNo)
    all.push(...(await copyOrder(cells, cellNo, Number(orderid), 800, '2032-01-01')))
  }
  const of = ['--from', '2032-01-01', '--to', '2032-01-02']
  const csv = await tell(['order', 'export', ...of])
  const ids = csv
    .trimEnd()
    .split('\r\n')
    .slice(1)
    .map((line) => Number(line.split(',')[0]))
  assert.deepEqual(
    ids,
    [...all].sort((a, b) => b - a),
  )
  const pages = await allPages(['order', 'find', ...of, '--limit', '900'], ({ orders }: Found) => orders)
  const ndjson = await tell(['order', 'export', ...of, '--as', 'ndjson'])
  assert.deepEqual(
    ndjson
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as Line),
    pages.flat(),
  )
  const { entries } = await json<{ entries: { details: object }[] }>('audit', 'list', '--about', 'order export')
  const by = ['from', 'to']
  const ended = { by, found: 1_600, newest: String(ids[0]), oldest: String(ids.at(-1)) }
  assert.deepEqual(
    entries.map(({ details }) => details),
    [ended, { by }, ended, { by }],
  )

  const gone = Object.assign(new Error('no process reads'), { code: 'EPIPE' })
  const stdout = new Writable({ write: (_chunk, _encoding, done) => done(gone) })
  const shell = { env: { TOLLGATE_DIR: cells.world.directory }, stdout, stderr: new PassThrough() }
  const stdin = () => Readable.from([])
  const code = await runTollgate(['order', 'export', ...of], { ...shell, stdin, clock: systemClock, random: systemRandom })
  const [last] = (await json<{ entries: { details: { found: number } }[] }>('audit', 'list', '--about', 'order export')).entries
  assert.deepEqual([code, last!.details.found], [0, 1_000], 'the page that was on its way')
})

test('an order is shown from whichever cell it is in, and taken up again there with a line in the audit trail', async () => {
  for (const { login, cellNo } of cells.shops) {
    const { orderid } = await cells.paid(cellNo)
    const shown = await json<{ merchant: string; status: string }>('order', 'show', orderid)
    assert.deepEqual([shown.merchant, shown.status], [login, 'approved'])
    await cells.rows(cellNo, `update orders set alarm = 'the test parked it' where order_id = $1`, [orderid])
    const parked = await json<Found>('order', 'find', '--parked')
    assert.deepEqual(
      parked.orders.map((one) => one.order_id),
      [Number(orderid)],
    )
    await tell(['order', 'resume', orderid])
    assert.match(await refuse(1, 'order', 'resume', orderid), /Nothing of order \d+ is parked/)
    const { entries } = await json<{ entries: { action: string; details: { cell?: number } }[] }>(
      'audit',
      'list',
      '--about',
      `order resume order ${orderid}`,
    )
    assert.deepEqual(
      entries.map(({ action, details }) => [action, details.cell]),
      [['order resume', cellNo === 0 ? undefined : cellNo]],
    )
  }
  assert.match(await refuse(1, 'order', 'show', '5'), /no order 5/)
})

interface Delivered {
  deliveries: { order_id: number; delivery: number; state: string }[]
  next: string | null
}

test('callbacks of three cells are listed page by page, and sent again from their cells', async () => {
  const made = await nineOrders({ server_callback_url: 'http://127.0.0.1:1/nobody' })
  for (const { cellNo, id } of made)
    await cells.rows(
      cellNo,
      `update delivery set created_at = '2031-01-01', state = 'given up', due_at = null, lease = null where order_id = $1`,
      [id],
    )
  const wanted = made.map(({ id }) => id).sort((a, b) => b - a)
  const lists = ['delivery', 'list', '--from', '2031-01-01']
  for (const limit of [2, 9]) {
    const args = [...lists, '--limit', String(limit)]
    const pages = await allPages(args, ({ deliveries }: Delivered) => deliveries.map((one) => one.order_id))
    assert.deepEqual(pages.flat(), wanted, `pages of ${limit}`)
  }
  const exported = await tell(['delivery', 'export', '--from', '2031-01-01', '--as', 'ndjson'])
  const lines = exported.trimEnd().split('\n')
  assert.deepEqual(
    lines.map((line) => (JSON.parse(line) as { order_id: number }).order_id),
    wanted,
  )
  const [, one] = made
  const own = await json<Delivered>('delivery', 'list', '--order', String(one!.id))
  assert.deepEqual(
    own.deliveries.map(({ order_id: id, state }) => [id, state]),
    [[one!.id, 'given-up']],
  )
  const again = await json<{ resent: number }>('delivery', 'resend', '--from', '2031-01-01', '--state', 'given-up', '--yes')
  assert.equal(again.resent, made.length)
  const left = await json<Delivered>(...lists, '--state', 'given-up')
  assert.deepEqual(left.deliveries, [])
})

const parkedId = '7c7e4a0a-4f9e-4b0e-9d0a-0f4f2a0f9b11'
/** As the gateway parks an invoice; its secrets would not open, and nothing opens them. */
const park = (cellNo: number, at: string) =>
  cells.rows(
    cellNo,
    `insert into mobile_invoice (merchant_id, invoice_id, endpoint_id, kind, nonce, session_token, order_id, digest, request,
      secrets_sealed, secrets_key, state, due_at, tries, created_at, alarm)
    values ((select merchant_id from public.merchant where login = $1), $2, 1, 'sale', $1, '', 1, '', '{}', '', 1, 'checking',
      'infinity', 8, $3, 'the test parked it')`,
    [`shop-${cellNo}`, parkedId, at],
  )

test('parked invoices of all cells are listed newest first, and one is taken up in the cell of its merchant', async () => {
  await park(1, '2030-01-01')
  await park(2, '2030-01-02')
  try {
    const found = await json<{ invoices: { merchant: string }[] }>('invoice', 'find')
    assert.deepEqual(
      found.invoices.map(({ merchant }) => merchant),
      ['shop-2', 'shop-1'],
    )
    assert.match(await refuse(1, 'invoice', 'resume', parkedId), /Several merchants .*: shop-1, shop-2\. Add --merchant/)
    assert.match(await refuse(1, 'invoice', 'resume', parkedId, '--merchant', 'shop-0'), /No invoice .* is parked/)
    assert.match(await tell(['invoice', 'resume', parkedId, '--merchant', 'shop-2']), /of shop-2 taken up again/)
    assert.equal((await json<{ invoices: object[] }>('invoice', 'find')).invoices.length, 1)
  } finally {
    for (const cellNo of [1, 2]) await cells.rows(cellNo, 'delete from mobile_invoice')
  }
})

test('an action that needs a cell that is away fails and names it; other actions work', async () => {
  const [, { orderid }] = [await cells.paid(0), await cells.paid(1)]
  await cells.withoutCell2(async () => {
    for (const args of [
      ['order', 'find'],
      ['order', 'find', '--merchant', 'shop-2'],
      ['order', 'show', '5'],
      ['order', 'resume', '5'],
      ['delivery', 'list'],
      ['delivery', 'resend', '--state', 'given-up', '--yes'],
      ['invoice', 'find'],
      ['invoice', 'resume', parkedId],
      ['cards', 'forget'],
      ['subject', 'find', '--order', '5'],
      ['subject', 'erase', '--order', '5', '--yes'],
    ])
      assert.match(await refuse(1, ...args), /^Cell 2 cannot be reached: .*cell list/, args.join(' '))
    await tell(['order', 'find', '--merchant', 'shop-1'])
    await tell(['order', 'show', orderid])
    await tell(['delivery', 'list', '--merchant', 'shop-0'])
    await tell(['delivery', 'list', '--order', orderid])
    await tell(['invoice', 'find', '--merchant', 'shop-1'])
    await tell(['subject', 'find', '--order', orderid, '--merchant', 'shop-1'])
  })
})

test('card numbers are erased in every cell', async () => {
  const made: { cellNo: number; id: string }[] = []
  for (const cellNo of [0, 1, 2]) made.push({ cellNo, id: (await cells.paid(cellNo)).orderid })
  for (const { cellNo, id } of made)
    await cells.rows(cellNo, `update orders set created_at = '2020-01-01', final_at = '2020-01-01' where order_id = $1`, [id])
  const sealed = async () => {
    const all = made.map(({ cellNo, id }) =>
      cells.rows(cellNo, 'select from order_facts where order_id = $1 and pan_sealed is not null', [id]),
    )
    return (await Promise.all(all)).map(({ length }) => length)
  }
  assert.deepEqual(await sealed(), [1, 1, 1])
  assert.ok((await json<{ cards: number }>('cards', 'forget')).cards >= 3)
  assert.deepEqual(await sealed(), [0, 0, 0])
})

interface Person {
  orders: { order_id: number; merchant: string }[]
  next: number | null
}

test('data of a person is found page by page, exported and erased in every cell', async () => {
  const email = 'eve@cells.example'
  const made = await nineOrders({ email })
  const wanted = [0, 1, 2].flatMap((no) => made.filter(({ cellNo }) => cellNo === no).map(({ id }) => id))
  const person = 'subject find --email -'.split(' ')
  for (const limit of [2, 4, 9]) {
    const found: number[] = []
    for (let last: number | null | undefined; last !== null;) {
      const args = [...person, '--limit', String(limit), '--json', ...(last === undefined ? [] : ['--after', String(last)])]
      const page: Person = JSON.parse(await tell(args, email))
      found.push(...page.orders.map((one) => one.order_id))
      last = page.next
    }
    assert.deepEqual(found, wanted, `pages of ${limit}`)
  }
  const exported: Person = JSON.parse(await tell(['subject', 'export', '--email', '-'], email))
  assert.deepEqual(
    exported.orders.map((one) => one.order_id),
    wanted,
  )
  for (const { cellNo, id } of made)
    await cells.rows(cellNo, `update orders set created_at = '2020-01-01', final_at = '2020-01-01' where order_id = $1`, [id])
  for (const { cellNo, id } of made)
    await cells.rows(cellNo, `update transaction set final_at = '2020-01-01' where order_id = $1`, [id])
  const erased: { orders: number } = JSON.parse(await tell(['subject', 'erase', '--email', '-', '--yes', '--json'], email))
  assert.equal(erased.orders, made.length)
  assert.match(await tell(person, email), /Nothing is stored/)
})

test('the limits of a merchant are read and reset in its cell', async () => {
  const { login, endpoint } = cells.shops[1]
  await tell(['filter', 'add', 'velocity', '--merchant', login, '--limit', '1', '--per', 'email', '--within', '24h'])
  await configurationRead(cells.world)
  const email = 'often@cells.example'
  const card = ['--card', '4111111111111111', '--email', email]
  const asked = () => json<{ filtered: boolean }>('filter', 'test', '--endpoint', String(endpoint), ...card)
  assert.equal((await asked()).filtered, false)
  await cells.paid(1, { email })
  assert.equal((await asked()).filtered, true)
  const [limit] = await json<{ filter: number }[]>('filter', 'list', '--merchant', login)
  await tell(['filter', 'reset', login, String(limit!.filter), email])
  assert.equal((await asked()).filtered, false)
  const { entries } = await json<{ entries: { details: object }[] }>('audit', 'list', '--about', 'filter reset')
  assert.deepEqual(entries[0]!.details, { per: 'email', freed: { orders: 1 }, cell: 1 })
})

test('a return by an operator is added in the cell of its order, sent from there, and its line names the cell', async () => {
  for (const cellNo of [0, 1]) {
    const { orderid } = await cells.paid(cellNo)
    await tell(['endpoint', 'set', String(cells.shops[cellNo]!.endpoint), '--operations', 'return=on'])
    const { amount } = await json<{ amount: string }>('order', 'return', orderid, '--amount', '0.40', '--reason', 'as agreed')
    assert.equal(amount, '0.40')
    await until(
      () => cells.rows<{ state: string }>(cellNo, 'select state from transaction where order_id = $1', [orderid]),
      ([one]) => one?.state === 'approved',
    )
    const [line] = await cells.rows<{ cell: string | null; reason: string }>(
      0,
      `select details->>'cell' as cell, details->>'reason' as reason from audit where action = 'order return' and subject = $1`,
      [`order ${orderid}`],
    )
    assert.deepEqual(line, { cell: cellNo === 0 ? null : String(cellNo), reason: 'as agreed' })
  }
})
