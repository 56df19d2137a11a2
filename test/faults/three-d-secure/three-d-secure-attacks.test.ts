import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { describe, test } from 'node:test'
import { accepted } from '../../conformance/requests/client.ts'
import { until } from '../../harness/clock/until.ts'
import { begin } from '../../conformance/operations/operations.ts'
import { openFaultDesk } from '../../harness/world/fault-desk.ts'
import { openReceiver } from '../../harness/world/receiver.ts'
import { openStage } from '../../harness/three-d-secure/three-d-secure.ts'
import type { Sold } from '../../harness/three-d-secure/three-d-secure-merchant.ts'
import type { Challenged } from '../../harness/three-d-secure/three-d-secure-network.ts'
import { newCard, receipt, refusal, said, type Json } from '../../harness/three-d-secure/three-d-secure-wire.ts'
import { closing, openWorld } from '../../harness/world/opening.ts'

/** Lies about sender, payment or result, and text meant as a page. Nothing is authorised for it. */

const merchant = closing(await openReceiver(() => 200))
const world = await openWorld()
const desk = closing(await openFaultDesk(world))
const stage = openStage(world, desk, merchant)

const uploaded = async (sold: Sold) => assert.equal((await stage.uploadMethod(sold)).type, 'async-response')
/** Does something that must leave the order as it was. */
async function unmoved<T>({ orderid }: Sold, act: () => Promise<T>): Promise<T> {
  const [was, events] = [await stage.stored(orderid), await stage.events({ orderid } as Sold)]
  const answer = await act()
  const is = await stage.stored(orderid)
  assert.deepEqual({ ...is, dueInMs: 0 }, { ...was, dueInMs: 0 })
  assert.deepEqual(await stage.events({ orderid } as Sold), events)
  return answer
}

describe('results that are not the directory server’s', { concurrency: 4 }, () => {
  for (const certificate of ['stranger', 'acs', 'gateway', 'gateway-results', undefined])
    test(`a good RReq with the certificate of ${certificate ?? 'nobody'} is rejected`, async () => {
      const one = await stage.atChallenge()
      const { httpStatus, message } = await unmoved(one, () => stage.result(stage.rreq(one), certificate))
      assert.ok(httpStatus === 0 || httpStatus === 403, `HTTP ${httpStatus}`)
      assert.deepEqual(message, {})
      assert.deepEqual(said(await stage.result(stage.rreq(one), 'directory-server')), receipt)
      await stage.isApproved(one)
    })

  // The rules of the message are rows of tables/three-d-secure, its ids of the test of the port.
  // oxfmt-ignore
  const lies: [string, (one: Challenged, other: Challenged) => Json, code: string][] = [
    ['the ids of another order’s issuer',   (_, { acsTransId, dsTransId }) => ({ acsTransID: acsTransId, dsTransID: dsTransId }), '301'],
    ['another version',                     () => ({ messageVersion: '2.1.0' }),                 '301'],
    ['no proof',                            () => ({ authenticationValue: undefined }),          '201'],
  ]
  for (const [what, lie, code] of lies)
    test(`RReq with ${what} is answered Erro ${code}, and the true one still counts`, async () => {
      const [one, other] = [await stage.atChallenge(), await stage.atChallenge()]
      const told = await unmoved(one, () => stage.result(stage.rreq(one, lie(one, other)), 'directory-server'))
      assert.deepEqual(said(told), [200, 'Erro', code])
      assert.deepEqual(said(await stage.result(stage.rreq(one), 'directory-server')), receipt)
      await stage.isApproved(one)
    })

  for (const transStatus of ['Y', undefined])
    test(`an RReq of a card check, with status ${transStatus ?? 'missing'}, is no result of a payment`, async () => {
      const one = await stage.atChallenge()
      const lie = { messageCategory: '02', transStatus, authenticationValue: undefined, authenticationType: '02' }
      const told = await unmoved(one, () => stage.result(stage.rreq(one, lie), 'directory-server'))
      assert.deepEqual([told.httpStatus, told.message.messageType], [200, 'Erro'])
    })

  test('RReq of an account verification may lack the status: the issuer could not decide', async () => {
    const card = newCard()
    const fields = { credit_card_number: card, cvv2: '321', redirect_url: 'https://shop.example/back' }
    const made = accepted(await begin(world, 'account-verification', fields, { path: world.endpoints.secure }))
    const framed = await until(
      () => stage.status(made),
      (seen) => seen['tds-status'] === 'MethodUrlFrame',
    )
    const transId = framed['tds-method-url-frame-3ds-server-trans-id'] ?? ''
    const one = await stage.atChallenge({ ...made, card, amountMinor: '0', transId, page: '' })
    const left = { messageCategory: '02', transStatus: undefined, authenticationValue: undefined, authenticationType: undefined }
    assert.deepEqual(said(await stage.result(stage.rreq(one, left), 'directory-server')), receipt)
    await stage.isRefused(one, 'declined', '2005')
  })

  test('RReq for an order that still waits for its method is answered Erro 301', async () => {
    await stage.atChallenge()
    const sold = await stage.atMethod()
    const early: Challenged = {
      ...sold,
      acsUrl: '',
      creq: '',
      acsTransId: randomUUID(),
      dsTransId: randomUUID(),
      version: '2.2.0',
    }
    assert.deepEqual(said(await unmoved(sold, () => stage.result(stage.rreq(early), 'directory-server'))), refusal)
  })

  test('a proof of another amount is refused by the acquirer', async () => {
    const one = await stage.atChallenge(await stage.atMethod({ amount: '90.00' }))
    const forged = stage.rreq({ ...one, amountMinor: '100' })
    assert.deepEqual(said(await stage.result(forged, 'directory-server')), receipt)
    await stage.isRefused(one, 'declined', '122', 'declined')
  })

  test('a refusal that comes with a proof leaves no proof behind', async () => {
    const one = await stage.atChallenge()
    const told = await stage.result(stage.rreq(one, { transStatus: 'N', transStatusReason: '01', eci: '07' }), 'directory-server')
    if (said(told).join() !== receipt.join()) assert.equal(said(told)[1], 'Erro')
    else await stage.isRefused(one, 'declined', '2001')
    assert.equal((await stage.stored(one.orderid)).authentication?.authenticationValue, undefined)
  })
})

describe('text that contains markup', { concurrency: 4 }, () => {
  /** Every page the order has to offer now. */
  async function pages(sold: Sold): Promise<string> {
    const { html = '' } = await stage.status(sold)
    return html + (await (await fetch(sold.page)).text())
  }
  // oxfmt-ignore
  const urls: [string, string][] = [
    ['a script',               'javascript:alert(1)//evil'],
    ['markup',                 'https://evil.example/"><script>alert(1)</script>'],
  ]
  for (const [what, acs_url] of urls)
    test(`an acsURL with ${what} ends the payment, and is on no page`, async () => {
      const sold = await stage.atMethod()
      await stage.issuer({ card: sold.card, acs_url })
      await uploaded(sold)
      await until(
        async () => {
          const seen = await stage.status(sold)
          assert.ok(!JSON.stringify(seen).includes('evil'), JSON.stringify(seen))
          assert.ok(!(await pages(sold)).includes('evil'))
          return seen
        },
        ({ status }) => status !== 'processing',
      )
      await stage.isRefused(sold, 'declined', '2008')
    })

  const script = `"'><script>alert(1)</script>`
  const raw = /<script>alert|"'>|'><|"><script>alert/
  test('names and data of the sale are text on every page', async () => {
    const sold = await stage.atMethod({
      card_printed_name: script,
      merchant_data: script,
      order_desc: script,
      first_name: script,
    })
    const seen = [await pages(sold)]
    const one = await stage.atChallenge(sold)
    seen.push(await pages(one))
    await stage.pass(one)
    await stage.isApproved(one)
    seen.push(await pages(one))
    for (const page of seen) assert.doesNotMatch(page, raw)
    assert.match(seen[2]!, /&#60;script&#62;alert|&lt;script&gt;alert/, 'the shop gets its data back')
  })
  test("the issuer's words to the cardholder are text on every page", async () => {
    const sold = await stage.atMethod({ cvv2: '123' })
    await stage.issuer({ card: sold.card, trans_status: 'R' })
    await stage.issuer({ card: sold.card, cardholder_info: script })
    await uploaded(sold)
    await stage.isRefused(sold, 'declined', '2004')
    assert.doesNotMatch(await pages(sold), raw)
  })
})

describe('answers of the directory server that cannot be used', { concurrency: 8 }, () => {
  // oxfmt-ignore
  const answers: [string, by: 'directory' | 'issuer', Json, erro?: string][] = [
    ['with the ids of another transaction', 'directory', { wrong_ids: true },              '301'],
    ['Erro',                                'directory', { erro: '403' }],
    ['HTTP 500',                            'directory', { http_status: 500 }],
    ['later than ten seconds',              'directory', { delay_ms: 11_500 }],
  ]
  for (const [what, by, fault, erro] of answers)
    test(`ARes ${what}: declined 2008, Erro ${erro ?? 'never sent'}; not asked again, nor by an older version`, async () => {
      const sold = await stage.atMethod({ cvv2: '123' })
      await stage[by]({ card: sold.card, ...fault })
      await uploaded(sold)
      await stage.isRefused(sold, 'declined', '2008')
      const sent = async () =>
        (await stage.directoryLog(sold.transId)).filter(({ direction, peer }) => direction === 'in' && peer === '3ds-server')
      const expected = ['AReq', ...(erro === undefined ? [] : [`Erro ${erro}`])]
      const told = await until(sent, ({ length }) => length >= expected.length)
      assert.deepEqual(
        told.map(({ type, message }) => (type === 'Erro' ? `Erro ${String(message.errorCode)}` : type)),
        expected,
      )
    })
})

test('the directory server is down: declined 2008', async () => {
  const sold = await stage.atMethod({ cvv2: '123' })
  await stage.directory({ down: true })
  try {
    await uploaded(sold)
    await stage.isRefused(sold, 'declined', '2008')
  } finally {
    await fetch(`${world.directoryServerUrl}/faults`, { method: 'DELETE' })
  }
})

test('an attempt that the merchant does not take is declined, and its proof is not kept', async () => {
  const policy = JSON.stringify({ authenticationPolicy: { attempted: 'decline' } })
  await desk.rows('update endpoint set settings = settings || $1::jsonb where endpoint_id = $2', [policy, world.endpoints.secure])
  await desk.rows('update config_version set version = version + 1')
  const last = await until(
    async () => {
      const sold = await stage.atMethod({ credit_card_number: '5200000000002110', cvv2: '123' })
      await uploaded(sold)
      return { sold, seen: await stage.ended(sold) }
    },
    ({ seen }) => seen.status === 'declined',
  )
  await stage.isRefused(last.sold, 'declined', '2007')
  assert.equal((await stage.stored(last.sold.orderid)).authentication?.authenticationValue, undefined)
})

test('in the end the books are equal, no secret is left, and each outcome had one callback', async () => {
  assert.deepEqual(await stage.complaints(), [])
})
