import assert from 'node:assert/strict'
import { test } from 'node:test'
import { accepted, order, statusOf, untilStatus, type Order } from '../../conformance/requests/client.ts'
import { until } from '../../harness/clock/until.ts'
import { times } from '../../conformance/operations/operations.ts'
import { openFaultDesk } from '../../harness/world/fault-desk.ts'
import { bothBooks, ended, follow } from '../../harness/world/follow.ts'
import { startServe, type GatewayProcess } from '../../harness/world/serve.ts'
import { closing, openWorld } from '../../harness/world/opening.ts'

/**
 * The others leave the payments of a silent process alone, as long as their
 * answers may still come in time.
 */

const world = await openWorld()
const desk = closing(await openFaultDesk(world))
let silent: GatewayProcess
closing({
  async stop() {
    silent?.child.kill('SIGCONT')
    await silent?.stop()
  },
})

interface Happened {
  event: string
  ms: number
}
const happened = (made: Order, transactionNo = 1): Promise<Happened[]> =>
  desk.rows(
    `select event, extract(epoch from at)::float8 * 1000 as ms from all_events
     where order_id = $1 and transaction_no = $2 order by event_no`,
    [made.orderid, transactionNo],
  )
const events = async (made: Order, transactionNo?: number) => (await happened(made, transactionNo)).map(({ event }) => event)

const over = (made: Order) => untilStatus(world, made, ({ status }) => status !== 'processing' && status !== 'unknown')

test('a process is stopped, judged dead, and goes on before the deadline: answered payments are approved', async () => {
  await desk.gate({ answerTimeoutMs: 120_000 })
  silent = await startServe(world)
  const released = await order(silent.world)
  assert.equal((await over(released)).status, 'approved')
  await desk.script({ order_id: released.orderid, message: 'reversal', times: 1 }, { no_answer: true })
  const answer = await desk.script({ message: 'authorisation' }, { hold: true })
  const { serial } = accepted(await follow(silent.world, 'void', released))
  const sold = await times(10, () => order(silent.world))
  await until(desk.entries, (all) => all.length === 11 && all[0]!.state === 'reversed')
  silent.child.kill('SIGSTOP')
  // The void is not answered; the other process takes it up as soon as it judges this one dead.
  await until(
    () => events(released, 2),
    (seen) => seen.includes('taken up'),
  )
  assert.ok((await events(released, 2)).includes('taken up'), 'it was judged dead')
  assert.equal((await ended(world, released, serial)).status, 'approved')
  await answer()
  assert.equal(await until(desk.answers, (count) => count === 11), 11)
  for (const one of sold) assert.equal((await statusOf(world, one)).status, 'processing')
  silent.child.kill('SIGCONT')
  for (const one of sold) {
    assert.equal((await over(one)).status, 'approved')
    assert.deepEqual((await events(one)).slice(-2), ['attempt recorded', 'approved'])
    assert.deepEqual(await desk.attempts(one.orderid), ['1 sale approved 000'])
  }
  assert.deepEqual(await bothBooks(desk), [])
})

test('a process is killed and none starts in its place: its payments are taken back, none before its deadline', async () => {
  await desk.gate({ answerTimeoutMs: 6_000 })
  const killed = await startServe(world)
  await desk.script({ amount_minor: '2101' }, { no_answer: true })
  const sold = await times(5, () => order(killed.world, { amount: '21.01' }))
  await until(
    () => desk.entries(),
    (all) => sold.every(({ orderid }) => all.some((entry) => entry.orderId === orderid)),
  )
  killed.child.kill('SIGKILL')
  for (const one of sold) {
    const seen = await over(one)
    assert.deepEqual([seen.status, seen['error-code']], ['error', '911'])
    const [attempt] = await desk.rows<{ deadline: number }>(
      `select extract(epoch from deadline_at)::float8 * 1000 as deadline from all_attempts
       where order_id = $1 and attempt_no = 1`,
      [one.orderid],
    )
    const lost = (await happened(one)).find(({ event }) => event === 'lease lost')
    assert.ok(lost && lost.ms >= attempt!.deadline, `given up ${attempt!.deadline - lost!.ms} ms before the deadline`)
  }
  assert.deepEqual(await bothBooks(desk), [])
})
