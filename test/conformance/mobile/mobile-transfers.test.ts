import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { openReceiver } from '../../harness/world/receiver.ts'
import { closing, openWorld } from '../../harness/world/opening.ts'
import { cliOf } from '../../wire/operator/cli-run.ts'
import { callbackControl, statusOf as orderStatus, notEmpty } from '../requests/client.ts'
import { until } from '../../harness/clock/until.ts'
import { booksOf, booksSay, entriesOf, fault, legsOf, masked, newCard } from './mobile-books.ts'
import { walk } from './mobile-consumer.ts'
import { at, textAt, type Json } from './mobile-merchant.ts'
import { accepted, begin, ends, initiate, openMobile, orderOf, perform, rested, statusOf, type Accepted } from './mobile.ts'
import { cardOf } from '../three-d-secure/shopper.ts'

/**
 * The source is debited amountCentis + commissionCentis and the destination is credited
 * amountCentis; the debit depends on how the credit ends. Choices.md section 8. The gate takes 0.30
 * and 1.5 %.
 */

const shop = closing(await openReceiver(() => 200))
const world = await openWorld()
const { tell } = cliOf(() => world)
await tell(['gate', 'set', 'sandbox acquirer', '--commission-fixed', '30', '--commission-basis-points', '150'])
await tell(['endpoint', 'set', String(world.endpoints.plain), '--callback-url', `${shop.origin}/own`])
const mobile = await openMobile(world, [world.endpoints.plain, world.endpoints.mobile])
closing(mobile.shop)
await until(
  async () => (await ends(mobile, 'APPROVED', 'transfer')).told,
  (told) => at(told, 'transaction.commissionCentis') !== 0 && shop.calls('/own').length > 0,
  60_000,
)

interface Cards {
  source: string
  destination: string
}
/** A transfer of 10.00 from a new card to another new card. */
function fresh(more: Json = {}): Cards & { changes: Json } {
  const cards = { source: newCard('411111'), destination: newCard('555555') }
  const changes = {
    'transaction.amountCentis': 1000,
    'sourceOfFunds.card.number': cards.source,
    'destinationOfFunds.card.number': cards.destination,
    ...more,
  }
  return { ...cards, changes }
}
const debit = (card: string, state: string): string => `debit ${masked(card)} 1045 ${state}`
const credit = (card: string, state: string): string => `credit ${masked(card)} 1000 ${state}`

describe('a transfer', { concurrency: 4 }, () => {
  it('debits amount and commission, and credits the amount', async () => {
    const { changes, source, destination } = fresh()
    const { told } = await ends(mobile, 'APPROVED', 'transfer', changes)
    assert.deepEqual(await legsOf(world, told), [debit(source, 'approved'), credit(destination, 'approved')])
  })
  it('its status has amount, commission and the fields of a final answer', async () => {
    const { made, told } = await ends(mobile, 'APPROVED', 'transfer', fresh().changes)
    const { transaction, orderId, ...rest } = told
    const { orderCreatedDate, transactionCreatedDate, ...sums } = transaction as Json
    assert.deepEqual(sums, { amountCentis: 1000, commissionCentis: 45, currency: 'USD' })
    for (const date of [orderCreatedDate, transactionCreatedDate])
      assert.match(String(date), /^\d{4}-\d{2}-\d{2} \d{2}:\d{2}:\d{2}\.\d{3}[+-]\d{4}$/)
    const { invoiceId, session } = made
    assert.deepEqual(rest, {
      invoiceId,
      session: { token: session.token },
      state: 'APPROVED',
      bankOrderId: `SIM-${orderOf(told)}`,
    })
    assert.equal(typeof orderId, 'string')
  })
  it('the gateway API calls it transfer, of the amount without the commission', async () => {
    const { told } = await ends(mobile, 'APPROVED', 'transfer', fresh().changes)
    const seen = await orderStatus(world, { orderid: orderOf(told), client_orderid: textAt(told, 'invoiceId'), serial: '' })
    assert.deepEqual(
      [seen.status, seen['transaction-type'], seen['initial-amount'], seen['order-stage']],
      ['approved', 'transfer', '10.00', 'transfer_approved'],
    )
  })
  it('the endpoint’s callback is sent, of type transfer', async () => {
    const { told } = await ends(mobile, 'APPROVED', 'transfer', fresh().changes)
    const orderid = orderOf(told)
    const [call] = await until(() => shop.calls('/own').filter(({ query }) => query.get('orderid') === orderid), notEmpty)
    const { status = '', type, client_orderid = '', control } = Object.fromEntries(call?.query ?? [])
    assert.deepEqual([status, type], ['approved', 'transfer'])
    assert.equal(control, callbackControl(status, orderid, client_orderid, world.merchant.controlKey))
  })
  it('ten simultaneous repeats and one after the end move money once', async () => {
    const { changes, source, destination } = fresh()
    const made = initiate(mobile, 'transfer', changes)
    const all = await Promise.all(Array.from({ length: 10 }, () => perform(mobile, made)))
    const [token, ...others] = new Set(all.map((one) => accepted(one, made)))
    assert.deepEqual(others, [])
    const begun: Accepted = { ...made, session: { accessToken: at(made.body, 'session.accessToken'), token } }
    assert.equal((await rested(mobile, begun)).state, 'APPROVED')
    assert.equal(accepted(await perform(mobile, made), made), token)
    assert.deepEqual(await booksOf(world, source), [debit(source, 'approved')])
    assert.deepEqual(await booksOf(world, destination), [credit(destination, 'approved')])
  })
  for (const amount of [1, 99, 1_000_00]) {
    it(`${amount} centis: the debit is the credit plus commissionCentis`, async () => {
      const { changes, source, destination } = fresh({ 'transaction.amountCentis': amount })
      const { told } = await ends(mobile, 'APPROVED', 'transfer', changes)
      const [out, into] = [await entriesOf(world, source), await entriesOf(world, destination)]
      const commission = Number(at(told, 'transaction.commissionCentis'))
      assert.ok(Number.isInteger(commission) && commission >= 30, String(commission))
      assert.deepEqual([Number(out[0]?.amountMinor), Number(into[0]?.amountMinor)], [amount + commission, amount])
    })
  }
})

describe('a debit that is declined credits nothing', { concurrency: 4 }, () => {
  for (const [securityCode, errorCode] of [
    ['116', 116],
    ['209', 209],
    ['999', 100],
  ] as const) {
    it(`security code ${securityCode}`, async () => {
      const { changes, source, destination } = fresh({ 'sourceOfFunds.card.securityCode': securityCode })
      const { told } = await ends(mobile, 'DECLINED', 'transfer', changes)
      assert.equal(told.errorCode, errorCode)
      assert.deepEqual(await booksOf(world, destination), [])
      assert.deepEqual(await booksOf(world, source), [debit(source, 'declined')])
    })
  }
  it('one whose outcome is unknown is PROCESSING, and credits nothing', async () => {
    const { changes, destination } = fresh({ 'sourceOfFunds.card.securityCode': '217' })
    const made = await begin(mobile, 'transfer', changes)
    const seen = await until(
      () => orderStatus(world, { orderid: '', client_orderid: made.invoiceId, serial: '' }),
      ({ status }) => status === 'unknown',
    )
    assert.equal(seen.status, 'unknown')
    assert.equal((await statusOf(mobile, made)).state, 'PROCESSING')
    assert.deepEqual(await booksOf(world, destination), [])
  })
})

/** The transfer waits for the answer to its credit. On a very slow machine the wait may be over. */
async function processing(made: Accepted, destination: string, waitsMs: number): Promise<void> {
  const [credited] = await booksSay(world, destination, ({ length }) => length > 0)
  assert.ok(credited?.startsWith('credit '), `the credit is booked: ${credited}`)
  const { state } = await statusOf(mobile, made)
  const askedBy = Date.now()
  const [entry] = await entriesOf(world, destination)
  if (askedBy < Date.parse(entry?.receivedAt ?? '') + waitsMs) assert.equal(state, 'PROCESSING')
}

async function lostCredit(effect: string): Promise<void> {
  const { changes, source, destination } = fresh()
  await fault(world, destination, { [effect]: true })
  const made = await begin(mobile, 'transfer', changes)
  await processing(made, destination, 4_000)
  const told = await rested(mobile, made, [], 90_000)
  const [out] = await entriesOf(world, source)
  const [into] = await entriesOf(world, destination)
  const stands = into?.state === 'approved'
  assert.deepEqual([told.state, out?.state], stands ? ['APPROVED', 'approved'] : ['DECLINED', 'reversed'], JSON.stringify(told))
  if (!stands) {
    assert.equal(into?.state, 'reversed')
    assert.ok(Date.parse(into.reversedAt ?? '') <= Date.parse(out?.reversedAt ?? ''), 'the credit before the debit')
  }
}

describe('a credit that does not go well', { concurrency: 8 }, () => {
  for (const code of ['100', '116', '119']) {
    it(`refused with ${code}: the debit is returned, and the transfer DECLINED`, async () => {
      const { changes, source, destination } = fresh()
      await fault(world, destination, { decline: code })
      const { told } = await ends(mobile, 'DECLINED', 'transfer', changes)
      assert.equal(told.errorCode, Number(code))
      assert.deepEqual(await booksOf(world, source), [debit(source, 'reversed')])
      assert.deepEqual(await booksOf(world, destination), [credit(destination, 'declined')])
    })
  }
  it('answered late: PROCESSING until then', async () => {
    const { changes, source, destination } = fresh()
    await fault(world, destination, { delay_ms: 2_000 })
    const made = await begin(mobile, 'transfer', changes)
    await processing(made, destination, 1_900)
    assert.equal((await rested(mobile, made)).state, 'APPROVED')
    assert.deepEqual(await booksOf(world, source), [debit(source, 'approved')])
    assert.deepEqual(await booksOf(world, destination), [credit(destination, 'approved')])
  })
  it('answered twice: credited once', async () => {
    const { changes, source, destination } = fresh()
    await fault(world, destination, { duplicate: true })
    await ends(mobile, 'APPROVED', 'transfer', changes)
    assert.deepEqual(await booksOf(world, source), [debit(source, 'approved')])
    assert.deepEqual(await booksOf(world, destination), [credit(destination, 'approved')])
  })
  for (const effect of ['no_answer', 'answer_after_reversal', 'wrong_stan'])
    it(`unknown, ${effect}: the debit is returned only when the credit is known not to stand`, () => lostCredit(effect))
  it('unknown, and its reversal unanswered too: PROCESSING, the debit kept, until the acquirer answers', async () => {
    const { changes, source, destination } = fresh()
    await fault(world, destination, { no_answer: true })
    await fault(world, destination, { no_answer: true }, { message: 'reversal' })
    const made = await begin(mobile, 'transfer', changes)
    await booksSay(world, destination, ([one]) => one === credit(destination, 'reversed'))
    const told = await rested(mobile, made, [], 120_000)
    assert.equal(told.state, 'DECLINED', JSON.stringify(told))
    const [out] = await entriesOf(world, source)
    const [into] = await entriesOf(world, destination)
    assert.deepEqual([out?.state, into?.state], ['reversed', 'reversed'])
  })
})

describe('3-D Secure is about the total', { concurrency: 2 }, () => {
  it('the issuer is asked about amount and commission', async () => {
    const { changes, destination } = fresh({
      'transaction.amountCentis': 4321,
      'sourceOfFunds.card.number': await cardOf(world, 'frictionless'),
    })
    const made = await begin(mobile, 'transfer', changes, { endpoint: world.endpoints.mobile })
    const told = await rested(mobile, made)
    assert.equal(told.state, 'REDIRECT_REQUEST', JSON.stringify(told))
    assert.deepEqual(await booksOf(world, destination), [])
    await walk(told)
    const final = await statusOf(mobile, made)
    assert.deepEqual([final.state, final.secure3DAuthStatus], ['APPROVED', 'AUTHENTICATED'], JSON.stringify(final))
    assert.deepEqual(
      (await legsOf(world, final)).map((one) => one.split(' ')[2]),
      ['4416', '4321'],
    )
    const log = await (await fetch(`${world.directoryServerUrl}/log`)).text()
    assert.match(log, /"purchaseAmount":\s*\\?"4416\\?"/)
    assert.doesNotMatch(log, /"purchaseAmount":\s*\\?"4321\\?"/)
  })
  it('denied: nothing is debited', async () => {
    const { changes, destination } = fresh({ 'sourceOfFunds.card.number': await cardOf(world, 'frictionless-denied') })
    const made = await begin(mobile, 'transfer', changes, { endpoint: world.endpoints.mobile })
    await walk(await rested(mobile, made))
    const final = await statusOf(mobile, made)
    assert.deepEqual([final.state, final.secure3DAuthStatus], ['DECLINED', 'NOT_AUTHENTICATED'], JSON.stringify(final))
    assert.deepEqual([await legsOf(world, final), await booksOf(world, destination)], [[], []])
  })
})
