import assert from 'node:assert/strict'
import { test } from 'node:test'
import { until } from '../../harness/clock/until.ts'
import { metricsOf } from '../../harness/world/metrics.ts'
import { connectOwn } from '../../harness/postgres/own-rows.ts'
import { closing, openWorld } from '../../harness/world/opening.ts'
import { cliOf, run } from '../../wire/operator/cli-run.ts'
import { openApp, type Begun } from '../../wire/mobile/mobile-app.ts'

/**
 * Invoices that fail by themselves, for what is stored of them or for what the database refuses.
 */

const world = await openWorld()
const database = closing(await connectOwn(world))
const app = await openApp(world)
closing(app.merchant)
const { tell, json, refuse: refused } = cliOf(() => world)

interface Row {
  state: string
  tries: number
  alarm: string | null
}
const rowOf = async ({ invoiceId }: Begun): Promise<Row> =>
  (await database.query<Row>('select state, tries, alarm from mobile_invoice where invoice_id = $1', [invoiceId])).rows[0]!
const forbid = (one: Begun, name: string) =>
  database.query(
    `alter table public.mobile_invoice add constraint ${name} check (invoice_id <> '${one.invoiceId}' or state = 'checking')`,
  )
const allow = (name: string) => database.query(`alter table public.mobile_invoice drop constraint ${name}`)
/** The pauses before the first seven tries are left out: together they take more than a minute. */
const nextTryIsTheEighth = ({ invoiceId }: Begun) =>
  database.query(
    `update mobile_invoice set tries = 7, due_at = now() where invoice_id = $1 and lease is null and alarm is null`,
    [invoiceId],
  )
const parked = (one: Begun) =>
  until(
    async () => {
      await nextTryIsTheEighth(one)
      return rowOf(one)
    },
    ({ alarm }) => alarm !== null,
    120_000,
  )

test('an invoice that failed eight times is parked with an alarm, others go on, and it goes on when resumed', async () => {
  const poisoned = app.begin('sale')
  const neighbour = app.begin('sale')
  await forbid(poisoned, 'refused')
  await forbid(neighbour, 'refused_too')
  const token = await app.accepted(poisoned)
  const neighbourToken = await app.accepted(neighbour)
  for (const one of [poisoned, neighbour])
    await until(
      () => rowOf(one),
      ({ tries }) => tries > 0,
      120_000,
    )
  const { rows } = await database.query<{ secrets_sealed: Buffer }>(
    `update mobile_invoice i set secrets_sealed = $2 from mobile_invoice was
     where i.invoice_id = $1 and was.merchant_id = i.merchant_id and was.invoice_id = i.invoice_id returning was.secrets_sealed`,
    [poisoned.invoiceId, Buffer.alloc(200, 7)],
  )
  const { tries, alarm } = await parked(poisoned)
  assert.ok(tries >= 8, `${tries} tries`)
  assert.match(alarm ?? 'none', /^checking: (?!.*refused)./)

  // A sweep takes the neighbour up although what is stored of the other cannot be opened.
  await allow('refused_too')
  assert.equal((await app.ended(neighbour, neighbourToken)).state, 'APPROVED')
  assert.equal((await app.ended(app.begin('sale'))).state, 'APPROVED')
  assert.equal((await metricsOf(world))('tollgate_parked_total{what="invoice"}'), 1)

  const listed = await json<{ invoices: object[] }>('invoice', 'find')
  const { created_at: _made, ...line } = listed.invoices[0] as { created_at: string }
  assert.equal(listed.invoices.length, 1)
  const { invoiceId: invoice_id } = poisoned
  assert.deepEqual(line, { invoice_id, merchant: world.merchant.login, kind: 'sale', state: 'checking', tries, alarm })
  assert.match(await tell(['invoice', 'find']), new RegExp(`${poisoned.invoiceId} .*checking \\(parked\\)`))
  const ill = await run({ TOLLGATE_DIR: world.directory }, ['doctor'])
  assert.equal(ill.code, 1)
  assert.match(ill.out, new RegExp(`problem +invoices +parked for an operator: ${poisoned.invoiceId}`))

  await database.query('update mobile_invoice set secrets_sealed = $2 where invoice_id = $1', [
    poisoned.invoiceId,
    rows[0]!.secrets_sealed,
  ])
  await allow('refused')
  assert.match(await tell(['invoice', 'resume', poisoned.invoiceId]), /taken up again, in state checking/)
  assert.equal((await app.ended(poisoned, token)).state, 'APPROVED')
  assert.deepEqual(await rowOf(poisoned), { state: 'ordered', tries: 0, alarm: null })
  assert.match(await refused(1, 'invoice', 'resume', poisoned.invoiceId), /No invoice .* is parked/)
  assert.equal(await tell(['invoice', 'find']), 'Nothing is parked.\n')
  assert.match(await tell(['audit', 'list', '--limit', '1']), /invoice resume/)
})

test('an invoice that the database refuses is parked with that error, and found by the login of its merchant too', async () => {
  const one = app.begin('sale')
  await forbid(one, 'refused')
  const token = await app.accepted(one)
  const { alarm } = await parked(one)
  assert.match(alarm ?? 'none', /^checking: .*refused/)
  await allow('refused')
  await tell(['invoice', 'resume', one.invoiceId, '--merchant', world.merchant.login])
  assert.equal((await app.ended(one, token)).state, 'APPROVED')
})
