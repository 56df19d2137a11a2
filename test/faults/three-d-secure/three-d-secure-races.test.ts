import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { describe, test } from 'node:test'
import { Client } from 'pg'
import { type Fields } from '../../conformance/requests/client.ts'
import { until } from '../../harness/clock/until.ts'
import { openFaultDesk } from '../../harness/world/fault-desk.ts'
import { metricsOf } from '../../harness/world/metrics.ts'
import { openReceiver } from '../../harness/world/receiver.ts'
import { openStage } from '../../harness/three-d-secure/three-d-secure.ts'
import type { Sold } from '../../harness/three-d-secure/three-d-secure-merchant.ts'
import type { Challenged } from '../../harness/three-d-secure/three-d-secure-network.ts'
import { encoded, receipt, refusal, said } from '../../harness/three-d-secure/three-d-secure-wire.ts'
import { closing, openWorld } from '../../harness/world/opening.ts'

/** All parties of a payment together, in every order, and late: it is made once or not at all. */

const merchant = closing(await openReceiver(() => 200))
const world = await openWorld()
const desk = closing(await openFaultDesk(world))
const stage = openStage(world, desk, merchant)

const acknowledged = (...replies: Fields[]) => {
  for (const reply of replies) assert.equal(reply.type, 'async-response', JSON.stringify(reply))
}
const cresOf = ({ transId, acsTransId, version }: Challenged, transStatus = 'Y') =>
  encoded({ messageType: 'CRes', messageVersion: version, threeDSServerTransID: transId, acsTransID: acsTransId, transStatus })

describe('the result (RReq) and the browser (CRes)', { concurrency: 4 }, () => {
  test('RReq before CRes: the payment is over before the merchant uploads, and the upload changes nothing', async () => {
    const one = await stage.atChallenge()
    const cres = await stage.pass(one)
    await stage.isApproved(one)
    acknowledged(await stage.uploadCres(one, cres))
    await stage.isApproved(one)
    assert.deepEqual((await stage.events(one)).slice(1, 5), [
      'authentication begun',
      'method uploaded',
      'challenge required',
      'authenticated',
    ])
  })

  test('CRes before RReq: the payment waits for the result, and for 15 s only', async () => {
    const sold = await stage.atMethod()
    await stage.issuer({ card: sold.card, rreq_late_ms: 8_000 })
    const one = await stage.atChallenge(sold)
    acknowledged(await stage.uploadCres(one, await stage.pass(one)))
    const { state, dueInMs } = await stage.stored(one.orderid)
    assert.equal(state, 'awaiting challenge')
    assert.ok(dueInMs! > 0 && dueInMs! <= 15_000, `it waits ${dueInMs} ms`)
    await stage.isApproved(one)
    const events = await stage.events(one)
    assert.ok(events.indexOf('challenge returned') < events.indexOf('authenticated'))
  })

  test('RReq twice, by the issuer: the second is answered Erro 301, and the payment is made once', async () => {
    const sold = await stage.atMethod()
    await stage.issuer({ card: sold.card, rreq_twice: true })
    const one = await stage.atChallenge(sold)
    await stage.pass(one)
    await stage.isApproved(one)
    const heard = async () =>
      (await stage.directoryLog(one.transId)).filter(
        ({ direction, peer, type }) => direction === 'in' && peer === '3ds-server' && type !== 'AReq',
      )
    const answers = await until(heard, ({ length }) => length > 1)
    assert.deepEqual(
      answers.map(({ type, message }) => [type, message.errorCode]),
      [
        ['RRes', undefined],
        ['Erro', '301'],
      ],
    )
  })

  test('RReq twice, one after the other and contradicting: the first counts', async () => {
    const one = await stage.atChallenge()
    const refusing = { transStatus: 'N', transStatusReason: '01', authenticationValue: undefined, eci: '07' }
    assert.deepEqual(said(await stage.result(stage.rreq(one, refusing), 'directory-server')), receipt)
    assert.deepEqual(said(await stage.result(stage.rreq(one), 'directory-server')), refusal)
    await stage.isRefused(one, 'declined', '2001')
  })

  test('of eight simultaneous RReq one is accepted, the others are answered Erro 301', async () => {
    const one = await stage.atChallenge()
    const told = await Promise.all(Array.from({ length: 8 }, () => stage.result(stage.rreq(one), 'directory-server')))
    const kinds = told.map((each) => said(each).join(' ')).sort()
    assert.deepEqual(kinds, [...Array.from({ length: 7 }, () => refusal.join(' ')), receipt.join(' ')])
    await stage.isApproved(one)
    assert.equal((await stage.events(one)).filter((event) => event === 'authenticated').length, 1)
  })

  test('RReq after the gateway gave up: Erro 301, and nothing changes', async () => {
    const one = await stage.atChallenge()
    await stage.hurry(one)
    await stage.isRefused(one, 'declined', '2009')
    const was = await stage.stored(one.orderid)
    assert.deepEqual(said(await stage.result(stage.rreq(one), 'directory-server')), refusal)
    acknowledged(await stage.uploadCres(one, cresOf(one)))
    assert.deepEqual(await stage.stored(one.orderid), was)
    await stage.isRefused(one, 'declined', '2009')
  })

  test('RReq missing although the browser came back with Y: error 2010, and no money moves', async () => {
    const sold = await stage.atMethod()
    await stage.issuer({ card: sold.card, rreq_missing: true })
    const one = await stage.atChallenge(sold)
    acknowledged(await stage.uploadCres(one, await stage.pass(one)))
    assert.equal((await stage.status(one)).status, 'processing')
    await stage.hurry(one)
    await stage.isRefused(one, 'error', '2010')
  })

  test('a repeated CRes does not put the end of the wait off', async () => {
    const one = await stage.atChallenge()
    acknowledged(await stage.uploadCres(one, cresOf(one)))
    const { version } = await stage.stored(one.orderid)
    acknowledged(await stage.uploadCres(one, cresOf(one)), await stage.uploadCres(one, cresOf(one, 'N')))
    assert.equal((await stage.stored(one.orderid)).version, version)
    await stage.hurry(one)
    await stage.isRefused(one, 'error', '2010')
  })

  test('no browser comes back from the method: declined 2009, and a late upload changes nothing', async () => {
    const waits = await stage.atMethod()
    await stage.hurry(waits)
    await stage.isRefused(waits, 'declined', '2009')
    assert.equal((await stage.uploadMethod(waits)).type, 'async-response')
    await stage.isRefused(waits, 'declined', '2009')
  })

  for (const [what, password, ...end] of [
    ['CRes says Y and RReq says N', 'hint', 'declined', '2001'],
    ['CRes says N and RReq says Y', 'wrong', 'approved', ''],
  ] as const)
    test(`${what}: RReq decides`, async () => {
      const sold = await stage.atMethod()
      await stage.issuer({ card: sold.card, rreq_contradicts: true })
      const one = await stage.atChallenge(sold)
      acknowledged(await stage.uploadCres(one, await stage.pass(one, password)))
      if (end[0] === 'approved') await stage.isApproved(one)
      else await stage.isRefused(one, ...end)
    })
})

describe('simultaneous uploads', { concurrency: 4 }, () => {
  const asked = async ({ transId }: Sold) =>
    (await stage.directoryLog(transId)).filter(({ direction, type }) => direction === 'in' && type === 'AReq').length
  const times = (events: string[], event: string) => events.filter((one) => one === event).length

  test('the same CRes ten times, and the result among them: each is acknowledged, and the payment is made once', async () => {
    const one = await stage.atChallenge()
    const uploads = Array.from({ length: 10 }, () => stage.uploadCres(one, cresOf(one)))
    const [told, ...replies] = await Promise.all([stage.result(stage.rreq(one), 'directory-server'), ...uploads])
    assert.deepEqual(said(told), receipt)
    acknowledged(...replies)
    await stage.isApproved(one)
    assert.ok(times(await stage.events(one), 'challenge returned') <= 1)
  })

  test('the method result and a CRes that comes too early: the CRes is refused or ignored, and the payment goes on', async () => {
    const sold = await stage.atMethod()
    const early = cresOf({ ...sold, acsTransId: randomUUID(), version: '2.2.0' } as Challenged)
    const [method, cres] = await Promise.all([stage.uploadMethod(sold), stage.uploadCres(sold, early)])
    acknowledged(method)
    assert.ok(cres.type === 'async-response' || cres['error-code'] === '9', JSON.stringify(cres))
    const one = await stage.challengeOf(sold)
    assert.equal(times(await stage.events(one), 'challenge returned'), 0)
    await stage.pass(one)
    await stage.isApproved(one)
  })

  test('the method result again and the CRes: both are acknowledged, and the CRes counts', async () => {
    const one = await stage.atChallenge()
    acknowledged(...(await Promise.all([stage.uploadMethod(one), stage.uploadCres(one, cresOf(one))])))
    assert.deepEqual([await asked(one), times(await stage.events(one), 'challenge returned')], [1, 1])
    assert.deepEqual(said(await stage.result(stage.rreq(one), 'directory-server')), receipt)
    await stage.isApproved(one)
  })

  test('the gateway’s own page and the merchant: the issuer is asked once', async () => {
    const sold = await stage.atMethod({ cvv2: '123' })
    // oxfmt-ignore
    const fields = {
      javascriptEnabled: 'true', javaEnabled: 'false', language: 'en', colorDepth: '24',
      screenHeight: '900', screenWidth: '1400', timeZone: '0',
    }
    const page = () => fetch(`${sold.page}/browser`, { method: 'POST', body: new URLSearchParams(fields), redirect: 'manual' })
    const [first, second, reply] = await Promise.all([page(), page(), stage.uploadMethod(sold)])
    assert.deepEqual([first.status, second.status], [303, 303])
    acknowledged(reply)
    await stage.isApproved(sold)
    assert.deepEqual([await asked(sold), times(await stage.events(sold), 'method uploaded')], [1, 1])
  })

  test('the same CRes by the browser and by the merchant: it counts once', async () => {
    const one = await stage.atChallenge()
    const page = () =>
      fetch(`${one.page}/challenge`, { method: 'POST', body: new URLSearchParams({ cres: cresOf(one) }), redirect: 'manual' })
    const [first, second, reply] = await Promise.all([page(), page(), stage.uploadCres(one, cresOf(one))])
    assert.deepEqual([first.status, second.status], [303, 303])
    acknowledged(reply)
    assert.equal(times(await stage.events(one), 'challenge returned'), 1)
    assert.deepEqual(said(await stage.result(stage.rreq(one), 'directory-server')), receipt)
    await stage.isApproved(one)
  })
})

describe('an upload and the result in one commit', () => {
  const waiting = async (): Promise<number> => (await metricsOf(world))('tollgate_orders_waiting') ?? NaN
  /** Delays the current commit, so that what comes meanwhile shares the next one, in this order. */
  async function inOneCommit<T>(...acts: (() => Promise<T>)[]): Promise<T[]> {
    const other = await stage.atMethod({ cvv2: '123' })
    const blocker = new Client({ connectionString: world.databaseUrl })
    await blocker.connect()
    const done: Promise<T>[] = []
    try {
      await blocker.query('begin')
      await blocker.query('select from orders where order_id = $1 for update', [other.orderid])
      const held = stage.uploadMethod(other)
      const { rows: own } = await blocker.query<{ pid: number }>('select pg_backend_pid() as pid')
      const blocked = () => desk.rows('select from pg_stat_activity where $1::int = any(pg_blocking_pids(pid))', [own[0]!.pid])
      assert.equal((await until(blocked, (rows) => rows.length > 0)).length, 1, 'the commit under way is held back')
      for (const act of acts) {
        const was = await waiting()
        done.push(act())
        assert.ok((await until(waiting, (count) => count > was)) > was, 'it waits for the commit')
      }
      await blocker.query('commit')
      acknowledged(await held)
      await stage.isApproved(other)
      return await Promise.all(done)
    } finally {
      await blocker.end()
    }
  }
  const browserBack = (one: Challenged) => async () => acknowledged(await stage.uploadCres(one, cresOf(one)))
  const result = (one: Challenged) => async () =>
    assert.deepEqual(said(await stage.result(stage.rreq(one), 'directory-server')), receipt)

  test('the result, then the CRes: the payment is made', { timeout: 300_000 }, async () => {
    const one = await stage.atChallenge()
    await inOneCommit(result(one), browserBack(one))
    await stage.isApproved(one)
  })
  test('the CRes, then the result: the payment is made', { timeout: 300_000 }, async () => {
    const one = await stage.atChallenge()
    await inOneCommit(browserBack(one), result(one))
    await stage.isApproved(one)
  })
  test('an upload without effect, then the result: the payment is made', { timeout: 300_000 }, async () => {
    const one = await stage.atChallenge()
    await inOneCommit(async () => acknowledged(await stage.uploadMethod(one)), result(one))
    await stage.isApproved(one)
  })
})

test('in the end the books are equal, no secret is left, and each outcome had one callback', async () => {
  assert.deepEqual(await stage.complaints(), [])
})
