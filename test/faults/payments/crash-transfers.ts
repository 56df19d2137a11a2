import assert from 'node:assert/strict'
import { ledger } from '../../conformance/requests/client.ts'
import { until } from '../../harness/clock/until.ts'
import type { Begun, Json } from '../../wire/mobile/mobile-app.ts'
import { app, desk, resting, whenDead, world, type Holds, type UnderWay } from './crash-scene.ts'

/** Transfers that the kill finds under way: all the money of each moves or none. */

const outcomeOf = ({ state, errorCode }: Json) => `${String(state)} ${String(errorCode)}`
const approved = 'APPROVED undefined'
const lost = 'DECLINED 911'

const books = async (orderId: string): Promise<string[]> =>
  (await ledger(world, orderId)).map(({ kind, state, amountMinor }) => `${kind} ${state} ${amountMinor}`).sort()
const orderOf = async ({ invoiceId }: Begun) =>
  (await desk.rows<{ id: string }>(`select order_id::text as id from mobile_invoice where invoice_id = $1`, [invoiceId]))[0]!.id

/** Each transfer has its own amount, by which the acquirer's scripts tell its legs apart. */
let amounts = 0
function next(wish: object = {}) {
  const amount = 200_000 + 100 * ++amounts
  const one = app.begin('transfer', { amountCentis: amount, ...wish })
  return { one, amount, debit: { amount_minor: String(amount + 35) }, credit: { amount_minor: String(amount) } }
}
type Transfer = ReturnType<typeof next>

/** It ends so: all of it or nothing, no leg twice by both books, and nothing is owed any more. */
const endsAs =
  ({ one, amount }: Transfer, token: string, ...outcomes: string[]): Holds =>
  async () => {
    const seen = await app.ended(one, token)
    assert.ok(outcomes.includes(outcomeOf(seen)), JSON.stringify(seen))
    const orderId = await orderOf(one)
    const entries = await books(orderId)
    const standing = entries.filter((entry) => entry.includes(' approved '))
    const whole = [`credit approved ${amount}`, `debit approved ${amount + 35}`]
    assert.deepEqual(standing, seen.state === 'APPROVED' ? whole : [], JSON.stringify(seen))
    for (const leg of ['debit', 'credit'])
      assert.ok(entries.filter((entry) => entry.startsWith(leg)).length <= 1, `${leg} in ${entries.join()}`)
    const legs = await desk.rows<{ kind: string; n: number }>(
      `select t.kind, count(*)::int as n from all_attempts a join all_transactions t using (merchant_id, order_id, transaction_no)
       where order_id = $1 and t.kind <> 'reversal' group by t.kind`,
      [orderId],
    )
    for (const { kind, n } of legs) assert.equal(n, 1, `${kind} was tried ${n} times`)
    const open = await desk.rows(
      `select from all_transactions where order_id = $1 and (due_at is not null or lease is not null)`,
      [orderId],
    )
    assert.equal(open.length, 0, 'nothing of it is owed any more')
  }

/** A transfer with these scripts for its legs, which has come so far once these are booked. */
const leg = (
  what: string,
  scripts: (transfer: Transfer) => Promise<unknown>,
  booked: (transfer: Transfer) => string[],
  outcome: string,
  attempts?: readonly string[],
): UnderWay => ({
  what,
  begins: async () => async () => {
    const transfer = next()
    await scripts(transfer)
    const token = await app.accepted(transfer.one)
    const orderId = await orderOf(transfer.one)
    const isThere = (entries: string[]) => booked(transfer).every((entry) => entries.includes(entry))
    await until(() => books(orderId), isThere)
    return async () => {
      await endsAs(transfer, token, outcome)()
      if (attempts) assert.deepEqual(await desk.attempts(orderId), attempts)
    }
  },
})
const silent = { no_answer: true } as const

export const transfers = {
  resting: [
    resting("a transfer whose merchant's server is asked: it is asked again, and the money moves once", async () => {
      const transfer = next()
      const hanging = { now: true }
      const path = `/transfer/${transfer.one.invoiceId}/check`
      app.merchant.lie = (asked) => (asked === path && hanging.now ? { hang: true } : {})
      const token = await app.accepted(transfer.one)
      await until(
        () => app.merchant.calls.some((call) => call.path === path),
        (asked) => asked,
      )
      whenDead(async () => void (hanging.now = false))
      return endsAs(transfer, token, approved)
    }),
    resting('a transfer whose consumer chooses a fee: the list is still there, and the choice counts', async () => {
      const { one } = next({ endpoint: world.endpoints.mobile_fee, amountCentis: 1_000 })
      const token = await app.accepted(one)
      const { transferFeeList } = await app.ended(one, token)
      return async () => {
        assert.deepEqual((await app.ended(one, token)).transferFeeList, transferFeeList)
        await app.complete(one, token, 'economy')
        const seen = await until(
          () => app.status(one, token),
          ({ body }) => body.state === 'APPROVED' || body.state === 'DECLINED',
        )
        const { amountCentis, commissionCentis } = seen.body.transaction as Json
        assert.deepEqual([outcomeOf(seen.body), amountCentis, commissionCentis], [approved, 1_000, 60])
      }
    }),
  ],
  atAcquirer: [
    leg(
      'the debit of a transfer: it is taken back, and nothing is credited',
      ({ debit }) => desk.script(debit, { hold: true }),
      ({ amount }) => [`debit approved ${amount + 35}`],
      lost,
      ['1 transfer unknown', '2 reversal approved 400'],
    ),
    leg(
      'the credit of a transfer: first it is taken back, then the debit',
      ({ credit }) => desk.script(credit, { hold: true }),
      ({ amount }) => [`debit approved ${amount + 35}`, `credit approved ${amount}`],
      lost,
      ['1 transfer approved 000', '2 credit unknown', '3 reversal approved 400', '4 reversal approved 400'],
    ),
  ],
  beingReversed: [
    leg(
      'the reversal of a lost credit: the debit stays until the acquirer acknowledges it',
      async ({ credit }) => {
        await desk.script(credit, silent)
        await desk.script({ ...credit, message: 'reversal' }, silent)
      },
      ({ amount }) => [`credit reversed ${amount}`, `debit approved ${amount + 35}`],
      lost,
    ),
    leg(
      'the reversal of the debit after a refused credit: it is sent again, and the transfer is declined',
      async ({ debit, credit }) => {
        await desk.script(credit, { decline: '119' })
        await desk.script({ ...debit, message: 'reversal' }, silent)
      },
      ({ amount }) => [`debit reversed ${amount + 35}`, `credit declined ${amount}`],
      'DECLINED 119',
    ),
  ],
  justAccepted: [
    {
      what: '40 transfers, at no step in particular: each ends',
      begins: async () => async () => {
        const all = await Promise.all(
          Array.from({ length: 40 }, async () => {
            const transfer = next()
            return endsAs(transfer, await app.accepted(transfer.one), approved, lost)
          }),
        )
        return async () => void (await Promise.all(all.map((holds) => holds())))
      },
    } satisfies UnderWay,
  ],
}
