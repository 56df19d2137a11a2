import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { test } from 'node:test'
import { Client } from 'pg'
import { accepted, refused, type Fields, type Order } from '../../conformance/requests/client.ts'
import { until } from '../../harness/clock/until.ts'
import { booksAgree, ended, follow, sumsOf } from '../../harness/world/follow.ts'
import { mainFile, run, type Ran } from './cli-run.ts'
import { openOperator, why } from './follow-ups-operator.ts'

/** Captures, returns and voids of an operator beside those of the merchant and of others. */

const { world, desk, name, env, command, ask, paid, transactions, refuses } = await openOperator()
// What is held is answered within the time, however busy this machine is.
await desk.gate({ answerTimeoutMs: 120_000 })

/** Holds the row of an order, so that whoever changes it has to wait. */
async function holding({ orderid }: Order) {
  const lock = new Client({ connectionString: world.databaseUrl })
  await lock.connect()
  await lock.query('begin')
  await lock.query('select from orders where order_id = $1 for update', [orderid])
  const sql = `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
  return {
    waiting: (many: number) =>
      until(
        () => desk.rows(sql),
        ({ length }) => length === many,
      ),
    async release() {
      await lock.query('commit')
      await lock.end()
    },
  }
}

test('an operation equal to one in progress is refused, from operators and merchants; another amount is not', async () => {
  const made = await paid()
  const answer = await desk.script({ order_id: made.orderid }, { hold: true })
  const first = accepted(await follow(world, 'return', made, { amount: '2.00' }))
  await refuses(
    1,
    /#2 of order \d+ asked for the same, 2\.00 USD, and is processing/,
    'asked already',
    made,
    'return',
    '--amount',
    '2',
    ...why,
  )
  const second = await ask('return', made, '--amount', '3.00')
  const repeat = accepted(await follow(world, 'return', made, { amount: '3.00' }))
  refused(await follow(world, 'return', made, { amount: '5.51' }), 10, 'Amount exceeds 5.50')
  await refuses(1, /has 5\.50 USD left to return/, 'more than left', made, 'return', '--amount', '5.51', ...why)
  await answer()
  for (const serial of [first.serial, second.serial_number, repeat.serial])
    assert.equal((await ended(world, made, serial)).status, 'approved')
  assert.deepEqual(await sumsOf(desk, made), ['1050', '500'])
})

test('a gateway that has the order in memory does not overwrite what an operator added', async () => {
  for (let round = 0; round < 5; round++) {
    const made = await paid('preauth')
    const answer = await desk.script({ order_id: made.orderid }, { hold: true })
    const first = accepted(await follow(world, 'capture', made, { amount: '4.00' }))
    await until(
      () => desk.attempts(made.orderid),
      ({ length }) => length > 1,
    )
    const second = await ask('capture', made, '--amount', '6.50')
    await answer()
    assert.equal((await ended(world, made, first.serial)).status, 'approved')
    assert.equal((await ended(world, made, second.serial_number)).status, 'approved')
    assert.deepEqual(await sumsOf(desk, made), ['1050', '0'])
  }
})

test('20 rounds: of six simultaneous returns of 3.00 by operators and merchant, three fit into 10.50', async () => {
  for (let round = 0; round < 20; round++) {
    const made = await paid()
    const byOperator = async (at: number) => {
      // No two are equal: they differ by minor units.
      const ran = await command('return', made.orderid, '--amount', `3.0${at}`, ...why)
      if (ran.code !== 0) assert.match(ran.err, /USD left to return/)
      return ran.code === 0
    }
    const byMerchant = async (at: number) => {
      const reply = await follow(world, 'return', made, { amount: `3.0${at}`, comment: `${at}` })
      if (reply.type !== 'async-response') assert.equal(reply['error-code'], '10')
      return reply.type === 'async-response'
    }
    const both = [byOperator(1), byMerchant(2), byOperator(3), byMerchant(4), byOperator(5), byMerchant(6)]
    const taken = (await Promise.all(round % 2 === 0 ? both : both.toReversed())).filter(Boolean)
    assert.equal(taken.length, 3, JSON.stringify(await transactions(made)))
    const [, returned] = await sumsOf(desk, made)
    const sums = (await transactions(made)).map(({ amount }) => Number(amount))
    assert.equal(sums.length, 3)
    assert.equal(
      Number(returned),
      sums.reduce((a, b) => a + b),
    )
  }
})

test('5 rounds: in four simultaneous returns, single operators return no more than the four-eyes rule allows', async () => {
  const rule = async (amount: string) => {
    const ran = await run(env, ['proposal', 'set-rules', '--returns', amount])
    assert.equal(ran.code, 0, ran.err)
  }
  await rule('6.05 USD')
  try {
    for (let round = 0; round < 5; round++) {
      const made = await paid()
      const all = await Promise.all(
        [1, 2, 3, 4].map((at) => command('return', made.orderid, '--amount', `3.0${at}`, '--reason', 'broken')),
      )
      for (const { code, err } of all) if (code !== 0) assert.match(err, /This change needs two users/)
      const taken = await transactions(made)
      assert.equal(taken.length, all.filter(({ code }) => code === 0).length)
      assert.ok(taken.length >= 1 && taken.reduce((sum, { amount }) => sum + Number(amount), 0) <= 605, JSON.stringify(taken))
    }
  } finally {
    await rule('none')
  }
})

for (const [first, left] of [
  ['operator', '4.50'],
  ['merchant', '4.49'],
] as const)
  test(`of two returns that wait for the order, the ${first} is first, and the other sees the remaining amount`, async () => {
    const made = await paid()
    const locked = await holding(made)
    const byOperator = () => command('return', made.orderid, '--amount', '6.00', ...why)
    const byMerchant = () => follow(world, 'return', made, { amount: '6.01' })
    const [one, other] = first === 'operator' ? [byOperator, byMerchant] : [byMerchant, byOperator]
    const results: Promise<Ran | Fields>[] = [one()]
    await locked.waiting(1)
    results.push(other())
    await locked.waiting(2)
    await locked.release()
    const [won, lost] = await Promise.all(results)
    if (first === 'operator') {
      assert.equal(won!.code, 0)
      refused(lost as Fields, 10, `Amount exceeds ${left}`)
    } else {
      accepted(won as Fields)
      assert.match((lost as Ran).err, new RegExp(`${left} USD left to return`))
    }
    assert.equal((await transactions(made)).length, 1)
  })

test('10 rounds: simultaneous equal voids by two operators and the merchant are one', async () => {
  for (let round = 0; round < 10; round++) {
    const made = await paid()
    const operators = [1, 2].map(() => command('void', made.orderid, ...why))
    const reply = await follow(world, 'void', made)
    const codes = (await Promise.all(operators)).map(({ code }) => code)
    assert.equal(reply.type, 'async-response')
    assert.ok(codes.filter((code) => code === 0).length <= 1, String(codes))
    assert.equal((await transactions(made)).length, 1)
  }
})

test('while no gateway runs it is recorded and waits; the next gateway sends it', async () => {
  const made = await paid()
  await world.kill()
  const { serial_number: serial } = await ask('return', made, '--amount', '0.50')
  assert.deepEqual(await transactions(made), [{ kind: 'return', amount: '50', state: 'ready' }])
  assert.match((await command('show', made.orderid)).out, /#2 return +0\.50 USD, ready; next: record attempt/)
  await world.start()
  assert.equal((await ended(world, made, serial)).status, 'approved')
  assert.deepEqual(await sumsOf(desk, made), ['1050', '50'])
})

test('a command that is killed before its commit leaves nothing, not even a line', async () => {
  const made = await paid()
  const [{ count: before }] = (await desk.rows<{ count: string }>('select count(*) from audit')) as [{ count: string }]
  const locked = await holding(made)
  const { PATH = '', HOME = '' } = process.env
  const child = spawn(process.execPath, [mainFile, 'order', 'return', made.orderid, ...why], { env: { PATH, HOME, ...env } })
  await locked.waiting(1)
  child.kill('SIGKILL')
  await new Promise((resolve) => child.once('exit', resolve))
  await locked.release()
  await until(
    () => desk.rows(`select from pg_stat_activity where usename = $1`, [name]),
    ({ length }) => length === 0,
  )
  assert.deepEqual(await transactions(made), [])
  assert.deepEqual(await desk.rows('select count(*) from audit'), [{ count: before }])
  assert.equal((await ask('return', made)).amount, '10.50')
})

test('in the end nothing is owed, and the books are equal both ways', async () => {
  await booksAgree(desk)
})
