import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { statusOf, type Order } from '../../conformance/requests/client.ts'
import { askApi, tokensOf } from '../../harness/operators/api.ts'
import { cliOf, run } from '../operator/cli-run.ts'
import { copyForOthers, startCells, type CellsWorld } from './cells-world.ts'

// One payment by whatever names it, over three cells.

let cells: CellsWorld
before(async () => {
  cells = await startCells()
})
after(async () => {
  await cells?.stop()
})

const { tell, json, refuse } = cliOf(() => cells.world)

interface Found {
  orders: { order_id: number; merchant: string; found_by: string[] }[]
  looked_by: string[]
  not_looked_by: string[]
  filters_ignored: boolean
  cells_not_searched: number[]
}

/** By standard input, as what must not stay in the history of a shell. */
const find = async (text: string, ...args: string[]): Promise<Found> =>
  JSON.parse(await tell(['find', ...args, '--json'], `${text}\n`)) as Found
/** Whatever the command ends with. */
const findAt = (args: string[], text: string) => run({ TOLLGATE_DIR: cells.world.directory }, ['find', ...args], text)
const ids = ({ orders }: Found) => orders.map((one) => one.order_id)

const payer = { email: 'Eve.Finder@cells.example', phone: '+442079460123', first_name: 'Eve', last_name: 'Finder' }
const number = '5555555555554444'

/** What others say of a payment. */
async function namesOf(cellNo: number, made: Order): Promise<[kind: string, text: string][]> {
  const { endpoint: path, ...as } = cells.shops[cellNo]!
  const status = await statusOf(cells.world, made, { path, as })
  const { attempts } = await json<{ attempts: { stan: string; rrn: string }[] }>('order', 'show', made.orderid)
  return [
    ['rrn', attempts[0]!.rrn],
    ['stan', attempts[0]!.stan],
    ['approval-code', status['approval-code']!],
    ['receipt-id', status['receipt-id']!],
    ['email', payer.email.toLowerCase()],
    ['phone', '0044 20 7946 0123'],
    ['card-digits', '555555…4444'],
    ['client-orderid', made.client_orderid],
    ['serial-number', made.serial],
    ['order-id', made.orderid],
    ['callback', `${made.orderid}/1`],
    ['card', '5555 5555 5555 4444'],
    ['invoice-id', `invoice-of-${made.orderid}`],
  ]
}

const invoiceOf = (cellNo: number, made: Order) =>
  cells.rows(
    cellNo,
    `insert into mobile_invoice (merchant_id, invoice_id, endpoint_id, kind, nonce, session_token, order_id, digest, request,
      state, tries, created_at, ended_at)
    values ((select merchant_id from public.merchant where login = $1), $2, 1, 'sale', $2, '', $3, '', '{}', 'ordered', 0,
      now(), now())`,
    [`shop-${cellNo}`, `invoice-of-${made.orderid}`, made.orderid],
  )

test('a payment is found by each of its names, in whichever cell it is, and by nothing else', async () => {
  const others = new Set([await cells.paid(0), await cells.paid(1), await cells.paid(2)].map(({ orderid }) => orderid))
  for (const [cellNo, kinds] of [
    [0, 4],
    [2, 13],
  ] as const) {
    const made = await cells.paid(cellNo, {
      ...payer,
      credit_card_number: number,
      server_callback_url: 'http://127.0.0.1:1/nobody',
    })
    await invoiceOf(cellNo, made)
    for (const [kind, text] of (await namesOf(cellNo, made)).slice(0, kinds)) {
      const found = await find(text)
      const one = found.orders.find((order) => order.order_id === Number(made.orderid))
      assert.ok(one, `${kind} ${text} finds ${made.orderid}: ${JSON.stringify(found)}`)
      assert.ok(one.found_by.includes(kind), `${kind}: ${one.found_by.join()}`)
      assert.equal(one.merchant, `shop-${cellNo}`)
      assert.deepEqual(
        ids(found)
          .map(String)
          .filter((id) => others.has(id)),
        [],
        `${kind} ${text}`,
      )
    }
  }
})

test('an exact id ignores all filters and says so; another name keeps to them', async () => {
  const made = await cells.paid(1)
  const contrary = ['--merchant', 'shop-2', '--from', '2031-01-01', '--to', '2031-01-02', '--limit', '1']
  for (const text of [made.orderid, made.serial]) {
    const found = await find(text, ...contrary)
    assert.deepEqual([ids(found), found.filters_ignored], [[Number(made.orderid)], true])
    assert.match(await tell(['find', text, ...contrary]), /An exact id names one payment: merchant and times were ignored for it/)
  }
  assert.deepEqual(ids(await find(made.client_orderid, '--merchant', 'shop-2')), [])
  assert.deepEqual(ids(await find(made.client_orderid, '--to', '1h')), [])
  const found = await find(made.client_orderid, '--merchant', 'shop-1', '--from', '1h')
  assert.deepEqual([ids(found), found.filters_ignored], [[Number(made.orderid)], false])
  assert.doesNotMatch(await tell(['find', made.client_orderid, '--merchant', 'shop-1']), /ignored/)
})

test('orders are read for an address back in time, newest first over all cells, page by page and each once', async () => {
  const email = 'often@cells.example'
  const made: number[] = []
  for (const cellNo of [0, 1, 2, 0, 1, 2]) made.push(Number((await cells.paid(cellNo, { email })).orderid))
  const wanted = made.toReversed()
  assert.deepEqual(ids(await find(email)), wanted)
  assert.deepEqual(ids(await find(email, '--limit', '4')), wanted.slice(0, 4))
  assert.deepEqual(ids(await find(email, '--merchant', 'shop-1')), [made[4], made[1]])
  // Two pages of other orders come between the first one and the rest.
  await copyForOthers(cells, 1, made[1]!, 11_000)
  for (const [i, cellNo] of [0, 1, 2].entries())
    await cells.rows(
      cellNo,
      `update orders set created_at = '2020-01-01'::timestamptz + $2 * interval '1 s' where order_id = $1`,
      [made[i], i],
    )
  assert.deepEqual(ids(await find(email)), wanted)
  assert.deepEqual(ids(await find(email, '--to', '2020-01-01T00:00:02')), [made[1], made[0]])
  const shown = await tell(['find'], email)
  assert.deepEqual(
    shown.split('\n').flatMap((line) => /^(\d+)  .*\(e-mail address\)$/.exec(line)?.[1] ?? []),
    wanted.map(String),
  )
  assert.match(shown, /6 orders, found by: e-mail address\./)
})

test('the trail has by which kinds was looked and what was found, and never the text', async () => {
  const made = await cells.paid(2, { ...payer, email: 'trail@cells.example', credit_card_number: '4000000000000002' })
  const told: [kind: string, text: string][] = [
    ['email', 'trail@cells.example'],
    ['phone', payer.phone],
    ['card', '4000000000000002'],
    ['card-digits', '400000******0002'],
    ['client-orderid', made.client_orderid],
  ]
  interface Entry {
    action: string
    subject: string
    details: { by: string[]; found: string[] }
  }
  const newest = async () => (await json<{ entries: Entry[] }>('audit', 'list', '--limit', '1')).entries[0]!
  for (const [kind, text] of told) {
    await tell(['find'], text)
    const { action, subject, details } = await newest()
    assert.deepEqual([action, subject], ['find', 'orders'])
    assert.ok(details.by.includes(kind), `${kind}: ${details.by.join()}`)
    assert.ok(details.found.includes(made.orderid), kind)
  }
  await tell(['find', 'nobody@cells.example'])
  assert.deepEqual((await newest()).details, { by: ['client-orderid', 'email'], found: [] })
  assert.match(
    await refuse(2, 'find', 'refused@cells.example', '--as', 'stan,rrn'),
    /--as must be one of what the text can be: client-orderid, email/,
  )
  assert.match(await refuse(2, 'find', ''), /<what> must be a text of one line, of 1 to 128 characters/)
  const trail = await cells.rows<{ text: string }>(0, 'select audit::text as text from audit')
  const whole = trail.map(({ text }) => text).join('\n')
  for (const text of [...told.map(([, one]) => one), 'nobody@', 'refused@', 'Finder', '…0002', '**0002'])
    assert.ok(!whole.includes(text), `the trail has ${text}`)
})

test('a text that is the name of an order is not read for as an address, unless that is asked for', async () => {
  const email = 'as-a-name@cells.example'
  const named = await cells.paid(0, { client_orderid: email })
  const paid = await cells.paid(1, { email })
  const found = await find(email)
  assert.deepEqual([ids(found), found.not_looked_by], [[Number(named.orderid)], ['email']])
  assert.match(await tell(['find'], email), /Not read for: e-mail address\. Every order is read for that with --as email\./)
  assert.deepEqual(ids(await find(email, '--as', 'email')), [Number(paid.orderid)])
})

test('a search names a cell that is away, so that missing results are not taken for none', async () => {
  const payerOf = { ...payer, email: 'half@cells.example' }
  const [here, there] = [await cells.paid(1, payerOf), await cells.paid(2, payerOf)]
  const api = JSON.parse(readFileSync(join(cells.world.directory, 'sandbox.json'), 'utf8'))['operator_api_url'] as string
  await cells.withoutCell2(async () => {
    for (const [text, wanted] of [
      [here.client_orderid, [here]],
      [here.orderid, [here]],
      [payerOf.email, [here]],
      [there.client_orderid, []],
      [there.orderid, []],
      [there.serial, []],
    ] as const) {
      const { code, out, err } = await findAt(['--json'], text)
      const found = JSON.parse(out) as Found
      assert.deepEqual([code, ids(found).map(String), found.cells_not_searched], [1, wanted.map((o) => o.orderid), [2]], text)
      assert.match(
        err,
        /^Cell 2 cannot be reached: .*\nNot searched: cell 2\. There may be a match in it\. See: npx tollgate cell list/,
      )
    }
    assert.match((await findAt([], payerOf.email)).out, new RegExp(`^${here.orderid}  .*\\(e-mail address\\)$`, 'm'))
    const none = await findAt(['--merchant', 'shop-2'], there.client_orderid)
    assert.match(none.out, /^Nothing is found where it could be searched by: invoice id, client_orderid\./m)
    const { token } = await tokensOf(tell)('support')
    const { status, json: problem } = await askApi(api, 'find', { what: payerOf.email }, { token })
    const done = problem['done'] as Found
    assert.deepEqual([status, problem['code'], done.cells_not_searched], [503, 'cells not searched', [2]])
    assert.deepEqual(ids(done).map(String), [here.orderid])
    // The cell of that merchant is there, and no other can have it.
    await tell(['find', 'invoice-17', '--as', 'client-orderid', '--merchant', 'shop-1'])
  })
  const again = await find(payerOf.email)
  assert.deepEqual([ids(again).map(String), again.cells_not_searched], [[there.orderid, here.orderid], []])
})

test('a cell that fails in the midst of a search is left out from then on', async () => {
  const email = 'midst@cells.example'
  const [here, there] = [await cells.paid(1, { email }), await cells.paid(2, { email })]
  // The names are found there; then the orders cannot be read.
  await cells.rows(2, 'alter table order_facts rename column card to card_gone')
  try {
    for (const text of [there.client_orderid, email]) {
      const { code, out } = await findAt(['--json'], text)
      const found = JSON.parse(out) as Found
      assert.deepEqual([code, found.cells_not_searched], [1, [2]], text)
      assert.deepEqual(ids(found).map(String), text === email ? [here.orderid] : [])
    }
  } finally {
    await cells.rows(2, 'alter table order_facts rename column card_gone to card')
  }
})

test('order find says why, and finds by the code of a reason', async () => {
  const since = new Date().toISOString()
  const [fine, poor, odd] = [await cells.paid(0), await cells.paid(1, { cvv2: '116' }), await cells.paid(2, { cvv2: '105' })]
  const reasons = (
    await json<{ orders: { order_id: number; error_code: string | null; error_message: string | null }[] }>(
      'order',
      'find',
      '--from',
      since,
    )
  ).orders
  const of = (made: Order) => reasons.find((one) => String(one.order_id) === made.orderid)!
  assert.deepEqual([of(fine).error_code, of(fine).error_message], [null, null])
  const coded = async (code: string) =>
    (await json<Found>('order', 'find', '--from', since, '--code', code)).orders.map((one) => String(one.order_id))
  assert.equal(of(poor).error_code, '116')
  const [head, ...rows] = (await tell(['order', 'find', '--from', since])).split('\n')
  assert.match(head!, /MADE +REASON$/)
  assert.ok(
    rows.some((row) => row.includes(poor.orderid) && row.endsWith(`116 ${of(poor).error_message}`)),
    rows.join('\n'),
  )
  assert.deepEqual(await coded('116'), [poor.orderid])
  assert.deepEqual(await coded(`116,${of(odd).error_code}`), [odd.orderid, poor.orderid])
  assert.deepEqual(await coded('999'), [])
})

test('order show has the payer only where that is asked for, and the trail has no word of it', async () => {
  const shownPayer = {
    first_name: 'Pay',
    last_name: 'Er',
    email: 'pay.er@shown.example',
    phone: '+442079460999',
    order_desc: 'Nine lamps',
  }
  const made = await cells.paid(2, { ...shownPayer, address1: '9 Lamp Street', city: 'Leeds', country: 'GB' })
  const shown = ['Pay Er', shownPayer.email, shownPayer.phone, '9 Lamp Street, Leeds', shownPayer.order_desc]
  const bare = await tell(['order', 'show', made.orderid])
  const told = await tell(['order', 'show', made.orderid, '--payer'])
  for (const text of shown) {
    assert.ok(told.includes(text), `${text} in ${told}`)
    assert.ok(!bare.includes(text), `${text} is not shown`)
  }
  const whole = await json<{ payer: object }>('order', 'show', made.orderid, '--payer')
  assert.deepEqual(
    { ...whole.payer, name_on_card: null, address: null },
    {
      name: 'Pay Er',
      name_on_card: null,
      email: shownPayer.email,
      phone: shownPayer.phone,
      address: null,
      description: shownPayer.order_desc,
    },
  )
  assert.ok(!('payer' in (await json<object>('order', 'show', made.orderid))))
  const { entries } = await json<{ entries: { details: object }[] }>('audit', 'list', '--about', `order ${made.orderid}`)
  assert.deepEqual(
    entries.map(({ details }) => details),
    [{}, { payer: true }, { payer: true }, {}],
  )
  const trail = JSON.stringify(await json<object>('audit', 'list', '--limit', '1000'))
  for (const text of shown) assert.ok(!trail.includes(text), text)
})

test('a forecast of a gate that is switched off counts the payments of all cells', async () => {
  for (const cellNo of [0, 1, 2]) await cells.paid(cellNo)
  const recent = `select count(*)::int as n from orders where status = 'approved' and created_at > now() - interval '7 days'
    and endpoint_id = $1`
  const counts = cells.shops.map(({ cellNo, endpoint }) => cells.rows<{ n: number }>(cellNo, recent, [endpoint]))
  const orders = (await Promise.all(counts)).reduce((sum, [row]) => sum + row!.n, 0)
  const { forecast } = await json<{ forecast: { changes: { before: string }[] } }>(
    'gate',
    'disable',
    'sandbox acquirer',
    '--dry-run',
  )
  const approved = forecast.changes.filter((one) => one.before === 'approved')
  assert.deepEqual(approved, [{ before: 'approved', after: 'refused', why: 'no gate is switched on', orders }])
  assert.ok(orders >= 3)
})
