import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openFixedKeys } from '../../harness/world/fixed-keys.ts'
import { systemClock } from '../../../src/base/clock.ts'
import { systemRandom } from '../../../src/base/random.ts'
import { secret } from '../../../src/base/secret.ts'
import type { Fee, Invoice, InvoiceSecrets } from '../../../src/mobile-api/invoice/invoice.ts'
import { openInvoices } from '../../../src/mobile-api/invoice/invoices.ts'
import { openInvoiceStore, type InvoiceChange } from '../../../src/mobile-api/invoice/store.ts'
import { statement, type Pool } from '../../../src/storage/pool.ts'
import { log, openDoorGround } from '../../harness/world/door.ts'
import { invoiceNo } from '../../harness/world/invoice.ts'
import { closing } from '../../harness/world/opening.ts'

/** Invoices that are written and read at the same time share their statements, and nothing else. */

let statements = 0
const { pool, processId } = await openDoorGround()
const counted: Pool = { ...pool, run: (sql, values) => (statements++, pool.run(sql, values)) }
const store = openInvoiceStore(counted, openFixedKeys(systemRandom), systemRandom)
const invoices = closing(openInvoices({ store, processId, clock: systemClock, log }))

let made = 0
const now = systemClock.now()
const secrets: InvoiceSecrets = { accessToken: secret('a token'), signature: secret('a signature') }

const newInvoice = (over: Partial<Invoice> = {}): Invoice => invoiceNo(++made, over)

const fees: Fee[] = ['plain', 'other'].map((assignedId) => ({ assignedId, gateId: '1', commissionMinor: '30' }))
const choosing: InvoiceChange = { state: 'choosing', restsUntil: now + 60_000, fees }
const chosen = (fee: Fee): InvoiceChange => ({ state: 'ordering', lease: 1n, fee })

async function waitingForChoice(): Promise<Invoice> {
  const invoice = newInvoice()
  await invoices.add(invoice, secrets)
  return (await invoices.change({ invoice, secrets }, choosing, now))!.invoice
}

test('simultaneous requests share a statement', async () => {
  const fresh = Array.from({ length: 50 }, () => newInvoice())
  const earlier = statements
  assert.ok((await Promise.all(fresh.map((one) => invoices.add(one, secrets)))).every(Boolean))
  const found = await Promise.all(fresh.map(({ merchantId, invoiceId }) => invoices.find(merchantId, invoiceId)))
  assert.deepEqual(
    found.map((one) => one?.invoice),
    fresh,
  )
  assert.equal(statements - earlier, 2)
})

test('of simultaneous invoices with one id or one nonce, the first is stored', async () => {
  const first = newInvoice()
  const others = [newInvoice({ invoiceId: first.invoiceId }), newInvoice({ nonce: first.nonce }), newInvoice()]
  const stored = await Promise.all([first, ...others].map((one) => invoices.add(one, secrets)))
  assert.deepEqual(stored, [true, false, false, true])
  assert.equal((await invoices.find(1n, first.invoiceId))?.invoice.orderId, first.orderId)
})

test('two fees that are chosen at the same time: one counts, and only its chooser hears so', async () => {
  const invoice = await waitingForChoice()
  const answers = await Promise.all(fees.map((fee) => invoices.change({ invoice, secrets }, chosen(fee), now)))
  assert.deepEqual(
    answers.map((one) => one?.invoice.fee?.assignedId),
    ['plain', undefined],
  )
})

test('a batch that is run again, because its answer was lost, has the same answers', async () => {
  const fresh = [newInvoice(), newInvoice()].map((invoice) => ({ invoice, secrets }))
  assert.deepEqual(await store.add(fresh, 1n), [true, true])
  assert.deepEqual(await store.add(fresh, 1n), [true, true])
  const moves = [await waitingForChoice(), await waitingForChoice()].map((invoice, i) => ({
    invoice,
    secrets,
    to: chosen(fees[i]!),
    now,
  }))
  const states = async () => (await store.change(moves, 1n)).map((one) => [one?.invoice.state, one?.invoice.fee?.assignedId])
  const ordering = fees.map(({ assignedId }) => ['ordering', assignedId])
  assert.deepEqual(await states(), ordering)
  assert.deepEqual(await states(), ordering)
})

test('an invoice that ends loses its card numbers in the same statement, and keeps its tokens', async () => {
  const cards = { pan: secret('4111111111111111'), toPan: secret('5555555555554444') }
  const open = { invoice: newInvoice(), secrets: { ...secrets, ...cards } }
  await invoices.add(open.invoice, open.secrets)
  const ordering = (await invoices.change(open, chosen(fees[0]!), now))!
  assert.equal(ordering.secrets.toPan?.reveal(), '5555555555554444')
  const moved = (await invoices.change(ordering, { state: 'ordered' }, now))!
  for (const one of [moved, (await invoices.find(1n, open.invoice.invoiceId))!]) {
    assert.deepEqual(Object.keys(one.secrets), ['accessToken', 'signature'])
    assert.deepEqual([one.invoice.state, one.secrets.accessToken.reveal()], ['ordered', 'a token'])
  }
})

test('an invoice whose secrets cannot be opened fails alone', async () => {
  const [broken, sound] = [newInvoice(), newInvoice()]
  await Promise.all([broken, sound].map((one) => invoices.add(one, secrets)))
  await pool.run(statement('update mobile_invoice set secrets_key = 77 where invoice_id = $1'), [broken.invoiceId])
  const found = invoices.find(1n, sound.invoiceId)
  await assert.rejects(invoices.find(1n, broken.invoiceId), /the vault has no key 77/)
  assert.equal((await found)?.invoice.invoiceId, sound.invoiceId)
})
