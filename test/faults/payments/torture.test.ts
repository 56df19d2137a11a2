import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { Book } from '../../torture/book.ts'
import { planOf } from '../../torture/plan.ts'
import { judge, type Run } from '../../torture/promises.ts'

const main = fileURLToPath(new URL('../../torture/main.js', import.meta.url))

test(
  'under load, kills and cuts at random lose no order, charge none twice and leave the books equal',
  { timeout: 1_000_000 },
  async (t) => {
    const child = spawn(process.execPath, [main, '--minutes', '0.3', '--seed', '48'], { stdio: ['ignore', 'pipe', 'pipe'] })
    t.after(() => child.kill('SIGTERM'))
    let output = ''
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (output += chunk.toString()))
    const late = setTimeout(() => child.kill('SIGTERM'), 900_000)
    const code = await new Promise((resolve) => child.once('close', resolve))
    clearTimeout(late)
    assert.equal(code, 0, output)
    assert.match(output, /gateway killed/)
    assert.match(output, /database killed/)
  },
)

test('the seed decides the schedule, and each minute has kills of the gateway and of PostgreSQL, and a pause', () => {
  assert.deepEqual(planOf(7, 60_000), planOf(7, 60_000))
  assert.notDeepEqual(planOf(7, 60_000), planOf(8, 60_000))
  for (let seed = 0; seed < 200; seed++) {
    const kinds = new Set(planOf(seed, 60_000).map(({ trouble }) => trouble.is))
    for (const kind of ['gateway killed', 'gateway paused', 'database killed', 'fault', 'line cut'] as const)
      assert.ok(kinds.has(kind), `seed ${seed} has no ${kind}`)
  }
})

/** Two sales of one moment: 1 is approved, 2 lost its answer and was reversed. */
function kept(): Run {
  const book = new Book()
  for (const [orderid, status] of [
    ['1', 'approved'],
    ['2', 'error'],
  ] as const) {
    book.acknowledged(orderid, `t${orderid}`)
    book.status(orderid, `t${orderid}`, status, performance.now())
    book.callback(orderid, status, `t${orderid}`, true, true)
  }
  const order = { currency: 'USD', amount_minor: 1_042n, created_at: 1_000, accepted_at: 1_000, final_at: 2_000 }
  const rest = { step: null, due_at: null, lease: null, alarm: null }
  const delivered = { transaction_no: 1, state: 'delivered', due_at: null, lease: null, tries: 1, taken: true }
  const entry = { terminal: 'T', amountMinor: '1042', currency: '840', actionCode: '000' }
  return {
    book,
    hostileAnswered: 1,
    endedByItself: [],
    longestStopMs: 1_000,
    state: {
      now: 100_000,
      alive: new Set([7n]),
      cvv2s: [],
      miscounts: [],
      orders: [
        { ...order, order_id: 1n, client_orderid: 't1', status: 'approved' },
        { ...order, order_id: 2n, client_orderid: 't2', status: 'error' },
      ],
      transactions: [
        { ...rest, order_id: 1n, transaction_no: 1, kind: 'sale', state: 'approved' },
        { ...rest, order_id: 2n, transaction_no: 1, kind: 'sale', state: 'error' },
        { ...rest, order_id: 2n, transaction_no: 2, kind: 'reversal', state: 'approved' },
      ],
      attempts: [
        { order_id: 1n, transaction_no: 1, terminal_id: 'T', stan: '1', rrn: 'a', outcome: 'approved' },
        { order_id: 2n, transaction_no: 1, terminal_id: 'T', stan: '2', rrn: 'b', outcome: 'unknown' },
        { order_id: 2n, transaction_no: 2, terminal_id: 'T', stan: '3', rrn: 'b', outcome: 'approved' },
      ],
      deliveries: [
        { ...delivered, order_id: 1n },
        { ...delivered, order_id: 2n },
      ],
      ledger: [
        { ...entry, orderId: '1', stan: '1', rrn: 'a', state: 'approved' },
        { ...entry, orderId: '2', stan: '2', rrn: 'b', state: 'reversed' },
      ],
      charged: [{ currency: '840', charged_minor: '1042' }],
    },
  }
}

const brokenBy = (damage: (run: Run) => void): string[] => {
  const run = kept()
  damage(run)
  return judge(run)
    .filter(({ broken }) => broken.length > 0)
    .map(({ promise }) => promise)
}

// oxfmt-ignore
const damages: readonly (readonly [what: string, promise: string, damage: (run: Run) => void])[] = [
  ['an acknowledged order that is gone',  'acknowledged orders exist', ({ state }) => void state.orders.splice(1, 1)],
  ['an order that rests at unknown',      'every order is final',      ({ state }) => void (state.orders[1]!.status = 'unknown')],
  ['a reversal that is still owed',       'every order is final',      ({ state }) => void (state.transactions[2]!.state = 'owed')],
  ['a final status that changed',         'one final status',          ({ book }) => void book.status('1', 't1', 'declined', 0)],
  ['a final order that is unknown again', 'one final status',          ({ book }) => void book.status('1', 't1', 'unknown', performance.now() + 1)],
  ['a callback of another status',        'one final status',          ({ book }) => book.callback('1', 'declined', 't1', true, true)],
  ['a charge that was not reversed',      'books are equal',           ({ state }) => void (state.ledger[1]!.state = 'approved')],
  ['an approval the acquirer lacks',      'books are equal',           ({ state }) => void (state.ledger[0]!.state = 'declined')],
  ['another amount in the ledger',        'books are equal',           ({ state }) => void (state.ledger[0]!.amountMinor = '1')],
  ['sums that differ',                    'books are equal',           ({ state }) => void (state.charged[0]!.charged_minor = '2084')],
  ['a ledger entry of no order',          'books are equal',           ({ state }) => void state.ledger.push({ ...state.ledger[0]!, orderId: '9', stan: '9' })],
  ['a count that was lost',               'counts equal the books', ({ state }) => void state.miscounts.push({ counted: 'order', counts: 0n, stored: 1n })],
  ['an attempt booked twice',             'one entry per attempt',     ({ state }) => void state.ledger.push({ ...state.ledger[1]! })],
  ['a second charge of an order',         'no order is charged twice', ({ state }) => void state.ledger.push({ ...state.ledger[0]!, stan: '9' })],
  ['two orders for one request',          'repeated requests',         ({ state }) => void (state.orders[1]!.client_orderid = 't1')],
  ['a callback that no merchant took',    'callbacks',                 ({ book }) => void (book.orders.get('1')!.taken = 0)],
  ['a callback never tried',              'callbacks',                 ({ state }) => void Object.assign(state.deliveries[0]!, { state: 'due', tries: 0 })],
  ['a callback with a wrong control',     'callbacks',                 ({ book }) => book.callback('1', 'approved', 't1', false, true)],
  ['an outcome without a callback',       'callbacks',                 ({ state }) => void state.deliveries.pop()],
  ['a CVV2 that was kept',                'no CVV2 is kept',           ({ state }) => void state.cvv2s.push(1n)],
  ['a lease of a dead process',           'nothing is forgotten',      ({ state }) => void Object.assign(state.deliveries[0]!, { lease: 6n })],
  ['a row that is due for long',          'nothing is forgotten',      ({ state }) => void Object.assign(state.transactions[0]!, { due_at: 1 })],
  ['a parked step',                       'nothing is forgotten',      ({ state }) => void Object.assign(state.transactions[0]!, { alarm: 'why' })],
  ['a gateway that ended by itself',      'nothing ends by itself',    (run) => void Object.assign(run, { endedByItself: ['it did'] })],
  ['a stop of 21 seconds',                'nothing ends by itself',    (run) => void Object.assign(run, { longestStopMs: 21_000 })],
]

test('the torture distinguishes broken promises from kept ones', () => {
  assert.deepEqual(
    brokenBy(() => {}),
    [],
  )
  for (const [what, promise, damage] of damages) assert.ok(brokenBy(damage).includes(promise), `${what} was not seen`)
})
