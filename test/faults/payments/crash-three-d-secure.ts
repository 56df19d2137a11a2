import assert from 'node:assert/strict'
import { isDeepStrictEqual } from 'node:util'
import { notEmpty } from '../../conformance/requests/client.ts'
import { until } from '../../harness/clock/until.ts'
import type { Sold } from '../../harness/three-d-secure/three-d-secure-merchant.ts'
import type { Challenged } from '../../harness/three-d-secure/three-d-secure-network.ts'
import { receipt, refusal, said } from '../../harness/three-d-secure/three-d-secure-wire.ts'
import { desk, resting, stage, whenDead, world, type UnderWay } from './crash-scene.ts'

/** Payments with 3-D Secure that the kill finds. The issuer and the directory server forget. */

const result = (one: Challenged) => stage.result(stage.rreq(one), 'directory-server')
/** After a start the directory server learns with the next AReq where results go now. */
let known: Promise<void> | undefined
const reconnected = () => (known ??= reconnect())
async function reconnect(): Promise<void> {
  const sold = await stage.atMethod({ cvv2: '123' })
  await stage.uploadMethod(sold)
  await stage.isApproved(sold)
}
/** Insists that what an order waits for, and until when, is as it was. */
async function rests(...waiting: Sold[]): Promise<() => Promise<void>> {
  const rest = () =>
    desk.rows<object>(
      `select order_id, state, step, due_at, authentication from all_transactions
       where order_id = any ($1) and transaction_no = 1 order by order_id`,
      [waiting.map(({ orderid }) => orderid)],
    )
  const was = await rest()
  whenDead(async () => void (known = undefined))
  return async () => assert.deepEqual(await rest(), was)
}

const atMethod = resting(
  'orders that wait for their method: the deadline stays, and the CVV2 sealed with the key of the hour',
  async () => {
    const [one, other] = [await stage.atMethod(), await stage.atMethod({ cvv2: '123' })]
    const shown = await stage.status(one)
    const stays = await rests(one, other)
    return async () => {
      await stays()
      const { cvv2, keyHour, dueInMs } = await stage.stored(one.orderid)
      assert.ok(cvv2 && cvv2.length >= 3 + 16 && !cvv2.includes('321'), 'the CVV2 is sealed')
      const hour = Math.floor(Date.now() / 3_600_000)
      assert.ok(keyHour !== null && [0, 1].includes(hour - keyHour), `it is sealed in hour ${keyHour}`)
      assert.ok(dueInMs! > 20 * 60_000 && dueInMs! <= 30 * 60_000)
      const transId = 'tds-method-url-frame-3ds-server-trans-id'
      assert.equal((await stage.status(one))[transId], shown[transId])
      await stage.pass(await stage.atChallenge(one))
      await stage.isApproved(one)
      await stage.hurry(other)
      await stage.isRefused(other, 'declined', '2009')
    }
  },
)

const atChallenge = resting('orders that wait for a challenge: results and time limits count as before', async () => {
  const [passed, back, unheard] = [await stage.atChallenge(), await stage.atChallenge(), await stage.atChallenge()]
  await stage.issuer({ card: back.card, rreq_missing: true })
  await stage.uploadCres(back, await stage.pass(back))
  // A start may take longer than the 15 s.
  await desk.rows(`update orders set due_at = due_at + interval '5 minutes' where order_id = $1`, [back.orderid])
  const stays = await rests(passed, back, unheard)
  return async () => {
    await stays()
    await reconnected()
    assert.equal((await stage.status(passed))['tds-creq-form-creq'], passed.creq)
    assert.deepEqual(said(await result(passed)), receipt)
    assert.deepEqual(said(await result(passed)), refusal)
    await stage.isApproved(passed)
    await stage.hurry(back)
    await stage.isRefused(back, 'error', '2010')
    await stage.hurry(unheard)
    await stage.isRefused(unheard, 'declined', '2009')
  }
})

const demanded = resting('a challenge that the acquirer demanded: the payment is made then, with its CVV2', async () => {
  const sold = await stage.atMethod({ cvv2: '165' })
  await stage.uploadMethod(sold)
  const second = await stage.challengeOf(sold)
  assert.notEqual(second.transId, sold.transId)
  const stays = await rests(sold)
  return async () => {
    await stays()
    await reconnected()
    assert.deepEqual(said(await result(second)), receipt)
    const { status } = await stage.ended(sold)
    assert.deepEqual([status, ...(await stage.states(sold))], ['approved', 'declined', 'approved'])
    const asked = `${world.acquirerAdminUrl}/messages?limit=100&order_id=${sold.orderid}`
    const { messages } = (await (await fetch(asked)).json()) as {
      messages: { direction: string; fields: Record<string, string> }[]
    }
    const sent = messages.filter(({ direction }) => direction === 'in')
    assert.deepEqual(
      sent.map(({ fields }) => / ?92=\S+/.test(fields[48]!)),
      [true],
      'with the CVV2',
    )
  }
})

const uploaded: UnderWay = {
  what: 'a question to the issuer: declined 2008, and the issuer is not asked again',
  async begins() {
    const sold = await stage.atMethod({ cvv2: '123' })
    await stage.directory({ card: sold.card, delay_ms: 9_000 })
    return async () => {
      assert.equal((await stage.uploadMethod(sold)).type, 'async-response')
      const asked = () => stage.directoryLog(sold.transId)
      assert.equal((await until(asked, (log) => log.length > 0)).length, 1)
      return async () => {
        await stage.isRefused(sold, 'declined', '2008')
        assert.deepEqual(await asked(), [])
        assert.equal((await stage.uploadMethod(sold)).type, 'async-response')
        await stage.isRefused(sold, 'declined', '2008')
      }
    }
  },
}

const accepted: UnderWay = {
  what: 'a result that was just accepted: it is not taken twice, and the payment is made once or taken back',
  async begins() {
    await desk.script({ amount_minor: '3001' }, { hold: true })
    const slow = await stage.atChallenge(await stage.atMethod({ amount: '30.01' }))
    const quick = await stage.atChallenge()
    await rests()
    return async () => {
      assert.deepEqual(said(await result(slow)), receipt)
      await until(() => stage.states(slow), notEmpty)
      assert.deepEqual(said(await result(quick)), receipt)
      return async () => {
        const seen = await stage.ended(slow)
        assert.deepEqual([seen.status, seen['error-code'], ...(await stage.states(slow))], ['error', '911', 'reversed'])
        const { status } = await stage.ended(quick)
        const found = (await stage.states(quick)).join()
        assert.ok(status === 'approved' ? found === 'approved' : status === 'error' && /^(reversed)?$/.test(found), status)
        await reconnected()
        for (const one of [slow, quick]) assert.deepEqual(said(await result(one)), refusal)
      }
    }
  },
}

const coming: UnderWay = {
  what: 'results that come in: the directory server tries again, and each payment is made once at the most',
  async begins() {
    const many = await Promise.all(Array.from({ length: 6 }, () => stage.atChallenge()))
    await rests()
    return async () => {
      // A sale that has not begun when it is killed finds no process at the port for results.
      const nobody = { httpStatus: 0, message: {} }
      const told = Promise.all(many.map((one) => result(one).catch(() => nobody)))
      await until(
        async () => Promise.all(many.map((one) => stage.events(one))),
        (all) => all.some((events) => events.includes('authenticated')),
      )
      return async () => {
        const first = await told
        await reconnected()
        for (const [at, one] of many.entries()) {
          const again = said(await result(one))
          const fitting = first[at]!.httpStatus === 200 ? [refusal] : [receipt, refusal]
          assert.ok(
            fitting.some((each) => isDeepStrictEqual(each, again)),
            again.join(),
          )
          const { status } = await stage.ended(one)
          assert.ok(status === 'approved' || status === 'error', status)
          const stand = (await stage.states(one)).filter((state) => state === 'approved')
          assert.equal(stand.length, status === 'approved' ? 1 : 0)
        }
      }
    }
  },
}

export const secure = { resting: [atMethod, atChallenge, demanded], atAcquirer: [uploaded, accepted], justAccepted: [coming] }
