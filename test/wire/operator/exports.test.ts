/** Exports of orders, callbacks and the audit trail by the command line. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { parse } from 'csv-parse/sync'
import { newOrderId, order, settled } from '../../conformance/requests/client.ts'
import { openWorld } from '../../harness/world/opening.ts'
import { cliOf, mainFile } from './cli-run.ts'

const world = await openWorld()
const { tell, json, refuse } = cliOf(() => world)

type Row = Record<string, string>
const rowsOf = (csv: string): Row[] => parse(csv, { columns: true, record_delimiter: '\r\n' }) as unknown as Row[]
const linesOf = (ndjson: string): unknown[] =>
  ndjson
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as unknown)

async function paid(changes: Record<string, string> = {}) {
  const made = await order(world, changes)
  await settled(world, made)
  return made
}

interface Entry {
  action: string
  subject: string
  details: object
}
const trailOf = async (about: string) => (await json<{ entries: Entry[] }>('audit', 'list', '--about', about)).entries

test('an export of orders has the rows and columns of the search, with times in UTC and no formula', async () => {
  const name = `=HYPERLINK("${newOrderId()}";"x")`
  const made = await paid({ client_orderid: name, amount: '12.34' })
  const search = ['--client-orderid', name, '--merchant', world.merchant.login]
  const [row, ...others] = rowsOf(await tell(['order', 'export', ...search]))
  const [listed] = (await json<{ orders: { created_at: string }[] }>('order', 'find', ...search)).orders
  assert.deepEqual(
    [row, others],
    [
      {
        ORDER: made.orderid,
        MERCHANT: world.merchant.login,
        'CLIENT ORDERID': `'${name}`,
        AMOUNT: '12.34',
        CUR: 'USD',
        STATUS: 'approved',
        REASON: '',
        CARD: '411111…1111',
        'MADE (UTC)': listed!.created_at.slice(0, 19).replace('T', ' '),
      },
      [],
    ],
  )
  assert.deepEqual(linesOf(await tell(['order', 'export', ...search, '--as', 'ndjson'])), [listed])
  assert.equal(await tell(['order', 'export', ...search, '--to', '10min', '--as', 'ndjson']), '')
  assert.match(await refuse(2, 'order', 'export', '--as', 'xlsx'), /--as must be csv or ndjson/)
})

test('the trail has the user, the filters and the number of an export of orders, and no value', async () => {
  const made = await paid()
  await tell(['order', 'export', '--client-orderid', made.client_orderid])
  const [entry] = await trailOf('order export orders')
  const details = { by: ['clientOrderid'], found: 1, newest: made.orderid, oldest: made.orderid }
  assert.deepEqual([entry?.action, entry?.subject, entry?.details], ['order export', 'orders', details])
  await tell(['audit', 'verify'])
})

test('an export of callbacks, and one of the trail, has what the list has', async () => {
  const { orderid } = await paid({ server_callback_url: 'http://127.0.0.1:1/nobody' })
  const [callback, ...more] = rowsOf(await tell(['delivery', 'export', '--order', orderid]))
  const [listed] = (await json<{ deliveries: { due_at: string | null }[] }>('delivery', 'list', '--order', orderid)).deliveries
  assert.equal(Object.keys(callback!).join(), 'ORDER,NO,MERCHANT,STATE,TRIES,LAST TRY,NEXT (UTC),OWED (UTC),URL')
  assert.deepEqual([callback!['ORDER'], callback!['NO'], more], [orderid, '1', []])
  assert.equal(callback!['STATE'], (listed as { state?: string }).state)

  const login = `exported-${newOrderId().slice(-8)}`.slice(0, 20)
  await tell(['merchant', 'add', '--login', login, '--name', '=1+1'])
  await tell(['merchant', 'disable', login])
  const about = ['--about', `merchant ${login}`]
  const lines = linesOf(await tell(['audit', 'export', ...about, '--as', 'ndjson']))
  assert.deepEqual(lines, await trailOf(`merchant ${login}`))
  const rows = rowsOf(await tell(['audit', 'export', ...about]))
  assert.deepEqual(Object.keys(rows[0]!), ['TIME (UTC)', 'WHO', 'DATABASE USER', 'ACTION', 'SUBJECT', 'DETAILS'])
  assert.deepEqual(
    rows.map((row) => row['ACTION']),
    ['merchant disable', 'merchant add'],
  )
})

test('a reader of an export that goes away, such as head, is no failure', async () => {
  const { PATH = '', HOME = '' } = process.env
  const child = spawn(process.execPath, [mainFile, 'audit', 'export'], { env: { PATH, HOME, TOLLGATE_DIR: world.directory } })
  child.stdout.destroy()
  const [[code], err] = await Promise.all([once(child, 'exit'), text(child.stderr)])
  assert.deepEqual([code, err], [0, ''])
})
