import assert from 'node:assert/strict'
import { test } from 'node:test'
import { newOrderId, order, settled, statusOf, type Order } from '../../conformance/requests/client.ts'
import { until } from '../../harness/clock/until.ts'
import { connectOwn } from '../../harness/postgres/own-rows.ts'
import { cliOf, run, words } from './cli-run.ts'
import { openHttp, openWorld } from '../../harness/world/opening.ts'

// Orders, callbacks, faults and the doctor by the command line, on a sandbox that pays.

/** client_orderid of every callback that came, in order. */
const callbacks: string[] = []
const { origin } = await openHttp((request, response) => {
  callbacks.push(new URL(request.url!, 'http://merchant').searchParams.get('client_orderid') ?? '')
  response.end('OK')
})
const callbackUrl = `${origin}/paid`
const world = await openWorld({ own: true })

const { tell, json, refuse } = cliOf(() => world)

interface Line {
  order_id: number
  client_orderid: string
  amount: string
  status: string
  card: { hash_id: string }
}
interface Found {
  orders: Line[]
  next: number | null
}
interface Shown {
  status: string
  card: { masked: string }
  attempts: { stan: string; rrn: string; outcome: string; action_code: string }[]
  transactions: { kind: string; alarm: string | null }[]
  deliveries: { state: string; tries: { http_status: number | null }[] }[]
  life: { what: string; says: string }[]
}
interface Delivered {
  deliveries: { order_id: number; delivery: number; state: string; url: string }[]
  next: string | null
}

const find = (...args: string[]) => json<Found>('order', 'find', ...args)
const ids = (found: Found) => found.orders.map((o) => String(o.order_id))
const called = (clientOrderid: string) => callbacks.filter((name) => name === clientOrderid).length

/** A final sale with a callback to the merchant of this test. */
async function paid(changes: Record<string, string> = {}): Promise<Order> {
  const made = await order(world, { server_callback_url: callbackUrl, ...changes })
  await settled(world, made)
  await until(
    () => called(made.client_orderid),
    (n) => n > 0,
  )
  return made
}

test('order show has request, states, attempt with STAN and RRN, callback with its try, and the card masked', async () => {
  const made = await paid({ amount: '12.34' })
  await until(
    () => json<Shown>('order', 'show', made.orderid),
    (shown) => shown.deliveries[0]?.state === 'delivered',
  )
  const told = await tell(['order', 'show', made.orderid])
  for (const part of [
    /approved/,
    /12\.34 USD/,
    /411111\*{6}1111/,
    new RegExp(`sale asked for, serial ${made.serial}`),
    /authorising → approved/,
    /attempt 1 to gate 1 \(sandbox acquirer\): terminal TOLLGT01, STAN \d{6}, RRN \d{12}/,
    /attempt 1 approved with action code 000 after /,
    /callback 1, try 1: answered 200/,
  ])
    assert.match(told, part)
  const all = told + JSON.stringify(await json<Shown>('order', 'show', made.orderid))
  assert.ok(!all.includes('4111111111111111'))
  assert.ok(!all.includes('\u001b'), 'no colour without a terminal')
})

test('orders are found by name, card, status, amount, merchant and time, and everything given must hold', async () => {
  const name = newOrderId()
  const one = await paid({ client_orderid: name, amount: '77.01', credit_card_number: '5555555555554444' })
  const poor = await paid({ amount: '77.02', cvv2: '116', credit_card_number: '5555555555554444' })
  const [line] = (await find('--client-orderid', name)).orders
  assert.deepEqual([String(line?.order_id), line?.amount, line?.status], [one.orderid, '77.01', 'approved'])
  for (const [args, expected] of [
    [
      ['--card-hash-id', line!.card.hash_id],
      [poor.orderid, one.orderid],
    ],
    [['--card-hash-id', line!.card.hash_id, '--status', 'declined'], [poor.orderid]],
    [['--amount', '77.01'], [one.orderid]],
    [['--amount', '77.01', '--currency', 'EUR'], []],
    [['--amount', '77.02', '--status', 'declined,error', '--merchant', world.merchant.login, '--from', '10min'], [poor.orderid]],
    [['--client-orderid', name, '--merchant', 'other-merchant'], []],
    [['--client-orderid', name, '--to', '10min'], []],
    [['--client-orderid', `${name}x`], []],
  ] as const)
    assert.deepEqual(ids(await find(...args)), expected, args.join(' '))
  assert.match(await tell(['order', 'find', '--client-orderid', `${name}x`]), /No order fits/)
  assert.match(await refuse(1, 'order', 'show', '5'), /no order 5/)
  assert.match(await refuse(2, 'order', 'find', '--status', 'paid'), /--status must be approved, .* or unknown/)
  const vast = ['--amount', '92233720368547758.08', '--currency', 'USD']
  assert.match(await refuse(2, 'order', 'find', ...vast), /--amount must be an amount in USD/)
})

test('pages of a search follow each other, newest first, without a gap or a double', async () => {
  for (let i = 0; i < 3; i++) await paid()
  const whole = ids(await find('--limit', '4'))
  const first = await find('--limit', '2')
  const second = await find('--limit', '2', '--after', String(first.next))
  assert.deepEqual([...ids(first), ...ids(second)], whole)
  assert.equal(whole.length, 4)
  assert.equal((await find('--limit', '1000')).next, null)
  assert.match(await tell(['order', 'find', '--limit', '2']), /more: add --after \d+/)
})

test('amounts of a table stand on their decimal points', async () => {
  await paid({ amount: '1234.5' })
  const yen = await order(world, { amount: '900', currency: 'JPY' }, { path: world.endpoints.yen })
  await settled(world, yen)
  const [head, ...rows] = (await tell(['order', 'find', '--limit', '4'])).split('\n').filter((line) => /^ *(ORDER|\d)/.test(line))
  const points = rows
    .flatMap((row) => /^ *\d.*? (\d+(?:\.\d+)?) +[A-Z]{3}  /.exec(row)?.[1] ?? [])
    .map((amount, i) => {
      const start = rows[i]!.lastIndexOf(` ${amount} `) + 1
      return amount.includes('.') ? start + amount.indexOf('.') : start + amount.length
    })
  assert.ok(head && points.length >= 3)
  assert.equal(new Set(points).size, 1, rows.join('\n'))
})

test('one callback is sent again by its number, many by a filter and only with --yes; earlier tries are kept', async () => {
  const since = new Date().toISOString()
  const made = [await paid(), await paid(), await paid()]
  const [one] = made
  await until(
    () => json<Delivered>('delivery', 'list', '--from', since, '--state', 'delivered'),
    (seen) => seen.deliveries.length === 3,
  )
  await tell(['delivery', 'resend', one!.orderid, '1'])
  await until(
    () => called(one!.client_orderid),
    (n) => n === 2,
  )
  assert.equal(called(one!.client_orderid), 2)
  const shown = await until(
    () => json<Shown>('order', 'show', one!.orderid),
    (s) => s.deliveries[0]?.state === 'delivered',
  )
  assert.equal(shown.deliveries[0]?.tries.length, 2)
  assert.match(await refuse(2, 'delivery', 'resend', '--from', since), /That is 3 callbacks.*--yes/)
  assert.deepEqual(await json('delivery', 'resend', '--from', since, '--to', '0', '--yes'), { resent: 3, in_hand: 0, erased: 0 })
  await until(
    () => made.map((o) => called(o.client_orderid)),
    (n) => n.join() === '3,2,2',
  )
  assert.deepEqual(
    made.map((o) => called(o.client_orderid)),
    [3, 2, 2],
  )
  const again = await until(
    () => json<Shown>('order', 'show', one!.orderid),
    (s) => s.deliveries[0]?.state === 'delivered',
  )
  assert.equal(again.deliveries[0]?.tries.length, 3)
  assert.match(await refuse(1, 'delivery', 'resend', one!.orderid, '7'), /No callback fits/)
  assert.match(await refuse(2, 'delivery', 'resend'), /Name the callbacks/)
})

test('pages of callbacks follow each other', async () => {
  const whole = await json<Delivered>('delivery', 'list', '--limit', '4')
  const first = await json<Delivered>('delivery', 'list', '--limit', '2')
  const second = await json<Delivered>('delivery', 'list', '--limit', '2', '--after', first.next!)
  const places = (page: Delivered) => page.deliveries.map((d) => `${d.order_id}/${d.delivery}`)
  assert.deepEqual([...places(first), ...places(second)], places(whole))
  assert.equal(whole.deliveries.length, 4)
})

test('a fault is scripted, met and forgotten; a parked order is found, explained, and ends once it is resumed', async () => {
  await tell(['acquirer', 'fault', 'add', '--card', '1111', '--no-answer', '--times', '1'])
  await tell(['acquirer', 'fault', 'add', '--message', 'reversal', '--no-answer'])
  assert.match(await tell(['acquirer', 'fault', 'list']), /no answer +0 of 1 +authorisations, card 1111/)
  assert.match(await refuse(2, 'acquirer', 'fault', 'add', '--card', '1111'), /exactly one effect/)
  const made = await order(world)
  await until(
    () => statusOf(world, made),
    (seen) => seen.status === 'unknown',
  )
  await until(
    () => park(made.orderid),
    (parked) => parked,
    60_000,
  )
  assert.deepEqual(ids(await find('--parked')), [made.orderid])
  const told = await tell(['order', 'show', made.orderid])
  assert.match(told, /parked before the step "reverse": the test parked it/)
  assert.match(told, new RegExp(`order resume ${made.orderid}`))
  const ill = await run({ TOLLGATE_DIR: world.directory }, ['doctor'])
  assert.equal(ill.code, 1)
  assert.match(ill.out, new RegExp(`problem +transactions +parked for an operator: ${made.orderid}`))
  assert.deepEqual(await json('acquirer', 'fault', 'clear'), { removed: 2 })
  const resumed = await json<{ resumed: { step: string; alarm: string }[] }>('order', 'resume', made.orderid)
  assert.deepEqual(resumed.resumed, [{ transaction: 2, step: 'reverse', alarm: 'the test parked it' }])
  assert.equal(
    (
      await until(
        () => statusOf(world, made),
        (seen) => seen.status === 'error',
      )
    ).status,
    'error',
  )
  assert.match(await refuse(1, 'order', 'resume', made.orderid), /Nothing of order \d+ is parked/)
  const { entries } = await json<{ entries: { action: string }[] }>('audit', 'list', '--about', `order ${made.orderid}`)
  assert.deepEqual(
    entries.map((e) => e.action),
    ['order resume', 'order show'],
  )
})

/**
 * Parks the reversal as the gateway does when a step fails again and again. It takes a moment when
 * no process owns the reversal; before its first attempt is recorded there is none.
 */
async function park(orderid: string): Promise<boolean> {
  const client = await connectOwn(world)
  try {
    const sql = `update transaction set alarm = 'the test parked it' where order_id = $1 and step = 'reverse' and lease is null`
    return (await client.query(sql, [orderid])).rowCount === 1
  } finally {
    await client.end()
  }
}

test('the line to the acquirer is disturbed and repaired', async () => {
  assert.deepEqual(await json('acquirer', 'fault', 'line', '--latency', '120ms'), {
    ...(await json<object>('acquirer', 'fault', 'line')),
    closed: 0,
  })
  assert.match(await tell(['acquirer', 'fault', 'line']), /120 ms/)
  await tell(['acquirer', 'fault', 'line', '--latency', '0'])
  assert.match(await refuse(1, 'acquirer', 'fault', 'clear', '99'), /no fault with this id/)
})

test('the doctor finds a healthy installation healthy, and says what to do about a sick one', async () => {
  // A busy machine may be ill for a moment, as by a heartbeat that is late.
  const well = await until(
    async () => {
      const { out } = await run({ TOLLGATE_DIR: world.directory }, ['doctor', '--json'])
      return JSON.parse(out) as { healthy: boolean; checks: { is: string; what: string; says: string }[] }
    },
    ({ healthy }) => healthy,
  )
  assert.deepEqual(
    well.checks.filter((check) => check.is === 'problem'),
    [],
  )
  assert.ok(well.healthy)
  for (const what of [
    'installation',
    'database',
    'clocks',
    'migrations',
    'keys',
    'gateways',
    'transactions',
    'callbacks',
    'partitions',
    'gates',
  ])
    assert.ok(
      well.checks.some((check) => check.what === what),
      what,
    )
  const wrong = {
    DATABASE_URL: world.databaseUrl,
    TOLLGATE_KEY: Buffer.from(Array.from({ length: 32 }, (_, i) => i)).toString('base64'),
  }
  const unlocked = await run(wrong, ['doctor'])
  assert.equal(unlocked.code, 1)
  assert.match(unlocked.out, /problem +keys +the key-encryption key does not open/)
  const gone = await run({ DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none' }, ['doctor'])
  assert.equal(gone.code, 1)
  assert.match(gone.out, /problem +database +The database cannot be reached/)
})

test('the doctor names a gate that cannot be reached', async () => {
  await tell(words`
    gate add --name nowhere --host 127.0.0.1 --port 1 --terminal-id T1 --card-acceptor-id A --card-acceptor-name A
    --acquirer-id 4 --mcc 5999 --descriptor D`)
  const ill = await run({ TOLLGATE_DIR: world.directory }, ['doctor'])
  assert.equal(ill.code, 1)
  assert.match(ill.out, /problem +gates +gate \d+ \(nowhere\) at 127\.0\.0\.1:1 cannot be reached/)
  await tell(['gate', 'disable', 'nowhere'])
})
