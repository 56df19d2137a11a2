import assert from 'node:assert/strict'
import { test } from 'node:test'
import { notEmpty } from '../conformance/client.ts'
import { until } from '../harness/until.ts'
import { openFaultDesk } from '../harness/fault-desk.ts'
import { openReceiver } from '../harness/receiver.ts'
import { openStage } from '../harness/three-d-secure.ts'
import type { Sold } from '../harness/three-d-secure-merchant.ts'
import type { Challenged } from '../harness/three-d-secure-network.ts'
import { receipt, refusal, said } from '../harness/three-d-secure-wire.ts'
import { closing, openWorld } from '../harness/opening.ts'

/** kill -9 at every rest and step of 3-D Secure. The issuer and the directory server forget. */

const merchant = closing(await openReceiver(() => 200))
const world = await openWorld()
const desk = closing(await openFaultDesk(world))
const stage = openStage(world, desk, merchant)
await desk.gate({ answerTimeoutMs: 8_000 })

const result = (one: Challenged) => stage.result(stage.rreq(one), 'directory-server')

/** After a start the directory server learns with the next AReq where results go now. */
async function reconnect(): Promise<void> {
  const sold = await stage.atMethod({ cvv2: '123' })
  await stage.uploadMethod(sold)
  await stage.isApproved(sold)
}
/** Insists that what an order waits for, and until when, is as it was. */
async function crashAtRest(...waiting: Sold[]): Promise<void> {
  const rest = () =>
    desk.rows<object>(
      `select order_id, state, step, due_at, authentication from all_transactions
       where order_id = any ($1) and transaction_no = 1 order by order_id`,
      [waiting.map(({ orderid }) => orderid)],
    )
  const was = await rest()
  await world.crash()
  assert.deepEqual(await rest(), was)
}

test('killed while orders wait for their method: the deadline stays, and the CVV2 sealed with the key of the hour', async () => {
  const [one, other] = [await stage.atMethod(), await stage.atMethod({ cvv2: '123' })]
  const shown = await stage.status(one)
  await crashAtRest(one, other)
  const { cvv2, keyHour, dueInMs } = await stage.stored(one.orderid)
  assert.ok(cvv2 && cvv2.length >= 3 + 16 && !cvv2.includes('321'), 'the CVV2 is sealed')
  assert.ok(keyHour !== null && [0, 1].includes(Math.floor(Date.now() / 3_600_000) - keyHour), `it is sealed in hour ${keyHour}`)
  assert.ok(dueInMs! > 20 * 60_000 && dueInMs! <= 30 * 60_000)
  const transId = 'tds-method-url-frame-3ds-server-trans-id'
  assert.equal((await stage.status(one))[transId], shown[transId])
  const challenged = await stage.atChallenge(one)
  await stage.pass(challenged)
  await stage.isApproved(one)
  await stage.hurry(other)
  await stage.isRefused(other, 'declined', '2009')
})

test('killed between the upload and the answer of the issuer: declined 2008, and the issuer is not asked again', async () => {
  const sold = await stage.atMethod({ cvv2: '123' })
  await stage.directory({ card: sold.card, delay_ms: 9_000 })
  assert.equal((await stage.uploadMethod(sold)).type, 'async-response')
  const asked = () => stage.directoryLog(sold.transId)
  assert.equal((await until(asked, (log) => log.length > 0)).length, 1)
  await world.crash()
  await stage.isRefused(sold, 'declined', '2008')
  assert.deepEqual(await asked(), [])
  assert.equal((await stage.uploadMethod(sold)).type, 'async-response')
  await stage.isRefused(sold, 'declined', '2008')
})

test('killed while orders wait for a challenge: results and time limits count as before', async () => {
  const [passed, back, unheard] = [await stage.atChallenge(), await stage.atChallenge(), await stage.atChallenge()]
  await stage.issuer({ card: back.card, rreq_missing: true })
  await stage.uploadCres(back, await stage.pass(back))
  // A start may take longer than the 15 s.
  await desk.rows(`update orders set due_at = due_at + interval '5 minutes' where order_id = $1`, [back.orderid])
  await crashAtRest(passed, back, unheard)
  await reconnect()
  const { 'tds-creq-form-creq': creq } = await stage.status(passed)
  assert.equal(creq, passed.creq)
  assert.deepEqual(said(await result(passed)), receipt)
  assert.deepEqual(said(await result(passed)), refusal)
  await stage.isApproved(passed)
  await stage.hurry(back)
  await stage.isRefused(back, 'error', '2010')
  await stage.hurry(unheard)
  await stage.isRefused(unheard, 'declined', '2009')
})

test('killed right after a result was accepted: it is not taken twice, and the payment is made once or taken back', async () => {
  await desk.script({ amount_minor: '3001' }, { delay_ms: 7_900 })
  const slow = await stage.atChallenge(await stage.atMethod({ amount: '30.01' }))
  const quick = await stage.atChallenge()
  assert.deepEqual(said(await result(slow)), receipt)
  await until(() => stage.states(slow), notEmpty)
  assert.deepEqual(said(await result(quick)), receipt)
  await world.crash()
  const seen = await stage.ended(slow)
  assert.deepEqual([seen.status, seen['error-code'], ...(await stage.states(slow))], ['error', '911', 'reversed'])
  const { status } = await stage.ended(quick)
  const found = await stage.states(quick)
  assert.ok(
    status === 'approved' ? found.join() === 'approved' : status === 'error' && /^(reversed)?$/.test(found.join()),
    status,
  )
  await reconnect()
  for (const one of [slow, quick]) assert.deepEqual(said(await result(one)), refusal)
})

test('killed while results come in: the directory server tries again, and each payment is made once at the most', async () => {
  const many = await Promise.all(Array.from({ length: 6 }, () => stage.atChallenge()))
  // Who has not begun when it is killed finds nobody to ask where results go.
  const nobody = { httpStatus: 0, message: {} }
  const told = Promise.all(many.map((one) => result(one).catch(() => nobody)))
  await until(
    async () => Promise.all(many.map((one) => stage.events(one))),
    (all) => all.some((events) => events.includes('authenticated')),
  )
  await world.crash()
  const first = await told
  await reconnect()
  for (const [at, one] of many.entries()) {
    const accepted = first[at]!.httpStatus === 200
    const again = said(await result(one))
    if (accepted) assert.deepEqual(again, refusal)
    else
      assert.ok(
        [receipt, refusal].some((each) => each.join() === again.join()),
        again.join(),
      )
    const { status } = await stage.ended(one)
    assert.ok(status === 'approved' || status === 'error', status)
    assert.equal((await stage.states(one)).filter((state) => state === 'approved').length, status === 'approved' ? 1 : 0)
  }
})

test('killed while a challenge that the acquirer demanded is open: the payment is made then, with its CVV2', async () => {
  const sold = await stage.atMethod({ cvv2: '165' })
  await stage.uploadMethod(sold)
  const second = await stage.challengeOf(sold)
  assert.notEqual(second.transId, sold.transId)
  await crashAtRest(sold)
  await reconnect()
  assert.deepEqual(said(await result(second)), receipt)
  const { status } = await stage.ended(sold)
  assert.deepEqual([status, ...(await stage.states(sold))], ['approved', 'declined', 'approved'])
  const { messages } = (await (await fetch(`${world.acquirerAdminUrl}/messages?limit=100`)).json()) as {
    messages: { direction: string; type: string; fields: Record<string, string> }[]
  }
  const sent = messages.filter(({ direction, fields }) => direction === 'in' && fields[48]?.includes(`OI=${sold.orderid}`))
  assert.deepEqual(
    sent.map(({ fields }) => / ?92=\S+/.test(fields[48]!)),
    [true],
    'with the CVV2',
  )
})

test('after all that the books are equal, no secret is left, and each outcome is one callback', async () => {
  assert.deepEqual(await stage.complaints('killed'), [])
})
