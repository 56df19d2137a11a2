import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { accepted, ledger, newOrderId, order, sale, settled, statusOf, type Order } from '../../conformance/requests/client.ts'
import { begin, initiate, openMobile, perform, refused, rested, statusOf as stateOf } from '../../conformance/mobile/mobile.ts'
import { approved, follow, times } from '../../conformance/operations/operations.ts'
import { atPares, throughHtml } from '../../conformance/three-d-secure/pares.ts'
import { approvedOnce, load, submit } from '../../conformance/three-d-secure/shopper.ts'
import { openStage } from '../../harness/three-d-secure/three-d-secure.ts'
import { receipt, said } from '../../harness/three-d-secure/three-d-secure-wire.ts'
import { openFaultDesk, type FaultDesk } from '../../harness/world/fault-desk.ts'
import { openReceiver } from '../../harness/world/receiver.ts'
import { closing } from '../../harness/world/opening.ts'
import { startServe } from '../../harness/world/serve.ts'
import { until } from '../../harness/clock/until.ts'
import { startWorld } from '../../harness/sandbox/start.ts'
import type { World } from '../../harness/world/world.ts'
import { movesOf } from '../operations/moves.ts'

/** What a merchant, its customers and late processes meet while it moves. */

let world: World
let desk: FaultDesk
const { move, moveArguments, refuse, rowsIn, inPause, addCell } = movesOf(() => world)

before(async () => {
  world = await startWorld({ own: true })
  desk = await openFaultDesk(world)
  await desk.gate({ answerTimeoutMs: 60_000 })
  await addCell()
  await move(1)
})
after(async () => {
  await desk?.close()
  await world?.stop()
})

const codeOf = (reply: Record<string, string>) => reply['error-code']
const authorisedOnce = (orderId: string) =>
  until(
    () => ledger(world, orderId),
    (entries) => entries.length === 1,
  )

test('in the pause what is under way is waited for, new requests get code 20, and status is answered', async () => {
  const other = closing(await startServe(world))
  const unscript = await desk.script({}, { hold: true })
  const sold = await times(12, () => order(world))
  for (const { orderid } of sold) await authorisedOnce(orderid)
  const moving = move(0)
  await inPause(moving)
  for (const at of [world, other.world]) {
    await until(
      () => sale(at, { client_orderid: newOrderId() }),
      (reply) => codeOf(reply) === '20',
    )
    for (const made of sold) assert.equal((await statusOf(at, made)).status, 'processing')
  }
  await unscript()
  assert.equal((await moving).from, 1)
  for (const made of sold) {
    assert.equal((await settled(world, made)).status, 'approved')
    assert.deepEqual(
      (await ledger(world, made.orderid)).map(({ state }) => state),
      ['approved'],
    )
    assert.deepEqual(await desk.attempts(made.orderid), ['1 sale approved 000'])
  }
  await other.stop()
  assert.deepEqual(await rowsIn(1, 'select from orders'), [])
})

/** Does something in the pause of a move, which lasts as long as a payment that is under way. */
async function inPauseOf(to: number, act: () => Promise<void>): Promise<void> {
  const unscript = await desk.script({}, { hold: true })
  await authorisedOnce((await order(world)).orderid)
  const moving = move(to)
  try {
    await inPause(moving)
    await until(
      () => sale(world, { client_orderid: newOrderId() }),
      (reply) => codeOf(reply) === '20',
    )
    await act()
  } finally {
    await unscript()
    await moving
  }
}

test('in the pause a page answers immediately and asks again, and the result of a challenge gets HTTP 503', async () => {
  const receiver = await openReceiver(() => 200)
  try {
    const stage = openStage(world, desk, receiver)
    const [challenged, legacy] = [await stage.atChallenge(), await atPares(world)]
    const form = await throughHtml(legacy.seen)
    let again = form
    await inPauseOf(1, async () => {
      assert.deepEqual(await stage.result(stage.rreq(challenged), 'directory-server'), { httpStatus: 503, message: {} })
      const page = await submit(form)
      assert.deepEqual([page.httpStatus, page.forms.length], [503, 1])
      assert.match(page.body, /One moment/)
      again = page.forms[0]!
      assert.deepEqual([again.action, again.fields], [form.action, form.fields])
      assert.equal((await load(challenged.page)).httpStatus, 200)
    })
    assert.deepEqual(said(await stage.result(stage.rreq(challenged), 'directory-server')), receipt)
    await stage.isApproved(challenged)
    assert.equal((await submit(again)).httpStatus, 200)
    await approvedOnce(world, legacy.made)
  } finally {
    await receiver.close()
  }
})

test('in the pause apps and follow-ups are refused as if the gateway were overloaded, and states are shown', async () => {
  const mobile = await openMobile(world)
  try {
    const [held, known, made] = [await approved(world, 'preauth'), await begin(mobile, 'sale'), initiate(mobile, 'sale')]
    const { state } = await rested(mobile, known)
    await inPauseOf(0, async () => {
      assert.equal(codeOf(await follow(world, 'capture', held)), '20')
      refused(await perform(mobile, made), 'PROCESSING_FAILED', 'too many requests now; try again')
      assert.equal((await stateOf(mobile, known)).state, state)
    })
    assert.equal((await perform(mobile, made)).httpStatus, 200)
  } finally {
    await mobile.shop.close()
  }
})

test('a process that stood still through the whole move writes nothing in the old cell, and finds the new one', async () => {
  const known = await approved(world, 'sale')
  const other = closing(await startServe(world))
  assert.equal((await statusOf(other.world, known)).status, 'approved')
  other.child.kill('SIGSTOP')
  const name = newOrderId()
  const late = sale(other.world, { client_orderid: name })
  const shown = statusOf(other.world, known)
  assert.equal((await move(1)).from, 0)
  other.child.kill('SIGCONT')
  const reply = await late
  // It was late, so it may have had no room at first; it never says that there is no such order.
  const first = await shown
  if (first.status !== 'approved') assert.equal(codeOf(first), '20', JSON.stringify(first))
  await until(
    () => statusOf(other.world, known),
    ({ status }) => status === 'approved',
  )
  const rows = await rowsIn<{ count: number }>(0, 'select count(*)::int as count from orders where client_orderid = $1', [name])
  assert.equal(rows[0]!.count, 0)
  // It is in the new cell, or it was refused; then the merchant sends it again.
  if (reply.type !== 'async-response') assert.equal(codeOf(reply), '20', `${JSON.stringify(reply)}\n${other.output()}`)
  await other.stop()
})

test('a callback that is under way is waited for, and not sent again', async () => {
  let answer = () => {}
  const held = new Promise<void>((resolve) => (answer = resolve))
  const receiver = await openReceiver(
    () => 200,
    () => held,
  )
  try {
    const made = await order(world, { server_callback_url: `${receiver.origin}/move` })
    await until(
      () => Promise.resolve(receiver.calls('/move').length),
      (count) => count === 1,
    )
    const moving = move(0)
    await inPause(moving)
    answer()
    await moving
    const states = await rowsIn<{ state: string; tries: number }>(0, 'select state, tries from delivery where order_id = $1', [
      made.orderid,
    ])
    assert.deepEqual(states, [{ state: 'delivered', tries: 1 }])
    assert.equal(receiver.calls('/move').length, 1)
  } finally {
    answer()
    await receiver.close()
  }
})

test('sales during the move get code 20 at worst, and are neither lost nor doubled', async () => {
  const made: Order[] = []
  const codes = new Set<string | undefined>()
  const over = new AbortController()
  const shop = async () => {
    while (!over.signal.aborted) {
      const client_orderid = newOrderId()
      const reply = await until(
        () => sale(world, { client_orderid }),
        (answer) => {
          if (answer.type !== 'async-response') codes.add(codeOf(answer))
          return answer.type === 'async-response' || over.signal.aborted
        },
      )
      if (reply.type === 'async-response') made.push(accepted(reply))
      // As fast as it can, a shop would sell thousands of times in a move.
      await pause(50)
    }
  }
  const shops = times(2, shop)
  for (const to of [1, 0] as const) assert.equal((await move(to)).to, to)
  over.abort()
  await shops
  assert.deepEqual([...codes], ['20'])
  assert.ok(made.length > 20, `only ${made.length} sales`)
  for (const one of made) {
    assert.equal((await settled(world, one)).status, 'approved')
    assert.deepEqual(
      (await ledger(world, one.orderid)).map(({ state }) => state),
      ['approved'],
    )
  }
  const [stored] = await rowsIn<{ count: number }>(0, 'select count(*)::int as count from orders where order_id = any ($1)', [
    made.map(({ orderid }) => orderid),
  ])
  assert.equal(stored!.count, made.length)
})

test('a pause that would be too long ends, and the merchant goes on', async () => {
  const unscript = await desk.script({}, { hold: true })
  const made = await order(world)
  await authorisedOnce(made.orderid)
  await refuse([...moveArguments(1), '--pause-at-most', '2s'], /pause of .* would be longer than 2 s: 1 step had not ended/)
  await unscript()
  assert.equal((await settled(world, made)).status, 'approved')
  await until(
    () => sale(world, { client_orderid: newOrderId() }),
    (reply) => reply.type === 'async-response',
  )
  assert.equal((await move(1)).from, 0)
})
