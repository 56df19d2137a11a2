import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import { ledger } from '../conformance/client.ts'
import { until } from '../harness/until.ts'
import { openFaultDesk } from '../harness/fault-desk.ts'
import { closing, openWorld } from '../harness/opening.ts'
import { openApp, type Json } from '../wire/mobile-app.ts'

/**
 * kill -9 at every step of a transfer: all its money moves or none, each leg is sent once at most.
 */

const world = await openWorld()
const desk = closing(await openFaultDesk(world))
const app = await openApp(world)
closing(app.merchant)
await desk.gate({ answerTimeoutMs: 6_000, commissionFixedMinor: 35 })

/** Each transfer has its own amount, by which the acquirer's scripts tell its legs apart. */
let transfers = 0
const next = () => {
  const amount = 20_000 + 100 * ++transfers
  return { amount, debit: { amount_minor: String(amount + 35) }, credit: { amount_minor: String(amount) } }
}

async function began(amountCentis: number): Promise<{ orderId: string; ended: () => Promise<Json> }> {
  const one = app.begin('transfer', { amountCentis })
  const token = await app.accepted(one)
  const row = async () =>
    (
      await desk.rows<{ id: string }>(`select order_id::text as id from mobile_invoice where invoice_id = $1`, [one.invoiceId])
    )[0]!
  return { orderId: (await row()).id, ended: () => app.ended(one, token) }
}

const books = async (orderId: string): Promise<string[]> =>
  (await ledger(world, orderId)).map(({ kind, state, amountMinor }) => `${kind} ${state} ${amountMinor}`).sort()

async function booked(orderId: string, ...entries: string[]): Promise<void> {
  const seen = await until(
    () => books(orderId),
    (all) => entries.every((one) => all.includes(one)),
  )
  assert.ok(
    entries.every((one) => seen.includes(one)),
    `${entries.join()} in ${seen.join()}`,
  )
}

const outcomeOf = ({ state, errorCode }: Json) => [state, errorCode]
const approved = ['APPROVED', undefined]
const lost = ['DECLINED', 911]

/** All of it or nothing, and no leg twice, by both books. */
async function settled(orderId: string, amount: number, seen: Json): Promise<void> {
  const done = seen.state === 'APPROVED'
  const entries = await books(orderId)
  const standing = entries.filter((one) => one.includes(' approved '))
  assert.deepEqual(standing, done ? [`credit approved ${amount}`, `debit approved ${amount + 35}`] : [], JSON.stringify(seen))
  for (const leg of ['debit', 'credit'])
    assert.ok(entries.filter((one) => one.startsWith(leg)).length <= 1, `${leg} in ${entries.join()}`)
  const legs = await desk.rows<{ kind: string; n: number }>(
    `select t.kind, count(*)::int as n from all_attempts a join all_transactions t using (merchant_id, order_id, transaction_no)
     where order_id = $1 and t.kind <> 'reversal' group by t.kind`,
    [orderId],
  )
  for (const { kind, n } of legs) assert.equal(n, 1, `${kind} was tried ${n} times`)
  const [open] = await desk.rows<{ n: number }>(
    `select count(*)::int as n from all_transactions where order_id = $1 and (due_at is not null or lease is not null)`,
    [orderId],
  )
  assert.equal(open!.n, 0, 'nothing of it is owed any more')
}

test("killed while the merchant's server is asked: it is asked again, and the money moves once", async () => {
  const { amount } = next()
  const hanging = { now: true }
  const asked = () => app.merchant.calls.filter(({ path }) => path.endsWith('/check')).length
  const earlier = asked()
  app.merchant.lie = (path) => (path.startsWith('/transfer/') && hanging.now ? { hang: true } : {})
  const { orderId, ended } = await began(amount)
  await until(asked, (calls) => calls > earlier)
  await world.crash(async () => void (hanging.now = false))
  const seen = await ended()
  assert.deepEqual(outcomeOf(seen), approved)
  await settled(orderId, amount, seen)
})

test('killed while the debit is under way: it is taken back, and nothing is credited', async () => {
  const { amount, debit } = next()
  await desk.script(debit, { delay_ms: 5_900 })
  const { orderId, ended } = await began(amount)
  await booked(orderId, `debit approved ${amount + 35}`)
  await world.crash()
  const seen = await ended()
  assert.deepEqual(outcomeOf(seen), lost)
  await settled(orderId, amount, seen)
  assert.deepEqual(await books(orderId), [`debit reversed ${amount + 35}`])
})

test('killed while the credit is under way: first it is taken back, then the debit', async () => {
  const { amount, credit } = next()
  await desk.script(credit, { delay_ms: 5_900 })
  const { orderId, ended } = await began(amount)
  await booked(orderId, `debit approved ${amount + 35}`, `credit approved ${amount}`)
  await world.crash()
  const seen = await ended()
  assert.deepEqual(outcomeOf(seen), lost)
  await settled(orderId, amount, seen)
  assert.deepEqual(await desk.attempts(orderId), [
    '1 transfer approved 000',
    '2 credit unknown',
    '3 reversal approved 400',
    '4 reversal approved 400',
  ])
})

test('killed while a lost credit is reversed: the debit stays until the acquirer acknowledges the reversal', async () => {
  const { amount, credit } = next()
  await desk.script(credit, { no_answer: true })
  await desk.script({ ...credit, message: 'reversal' }, { no_answer: true })
  const { orderId, ended } = await began(amount)
  await booked(orderId, `credit reversed ${amount}`, `debit approved ${amount + 35}`)
  await world.crash()
  const seen = await ended()
  assert.deepEqual(outcomeOf(seen), lost)
  await settled(orderId, amount, seen)
})

test('killed while the debit of a refused credit is reversed: it is reversed, and the transfer declined', async () => {
  const { amount, debit, credit } = next()
  await desk.script(credit, { decline: '119' })
  await desk.script({ ...debit, message: 'reversal' }, { no_answer: true })
  const { orderId, ended } = await began(amount)
  await booked(orderId, `debit reversed ${amount + 35}`, `credit declined ${amount}`)
  await world.crash()
  const seen = await ended()
  assert.deepEqual(outcomeOf(seen), ['DECLINED', 119])
  await settled(orderId, amount, seen)
})

test('killed under load, at no step in particular: every transfer ends, and the books are equal', async () => {
  const all = await Promise.all(Array.from({ length: 40 }, () => began(next().amount)))
  await until(
    async () => (await desk.entries()).length,
    (entries) => entries > 20,
  )
  await world.crash()
  const ends = await Promise.all(all.map(({ ended }) => ended()))
  for (const seen of ends)
    assert.ok(
      [approved, lost].some((end) => isDeepStrictEqual(end, outcomeOf(seen))),
      JSON.stringify(seen),
    )
})

test('after all that the books are equal, and no transfer is open', async () => {
  const open = () => desk.rows(`select order_id from orders where kind = 'transfer' and status in ('processing', 'unknown')`)
  assert.deepEqual(await until(open, (rows) => rows.length === 0, 60_000), [])
  assert.deepEqual((await desk.books()).differences, [])
})
