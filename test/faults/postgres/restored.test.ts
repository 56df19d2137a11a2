import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { order, settled, type Order } from '../../conformance/requests/client.ts'
import { approved, followed, part } from '../../conformance/operations/operations.ts'
import { openArchiving } from '../../harness/postgres/backup.ts'
import { query } from '../../harness/postgres/embedded.ts'
import { openFaultDesk } from '../../harness/world/fault-desk.ts'
import { openReceiver } from '../../harness/world/receiver.ts'
import { openStage } from '../../harness/three-d-secure/three-d-secure.ts'
import { closing, openWorld } from '../../harness/world/opening.ts'
import { startServe } from '../../harness/world/serve.ts'
import { holds } from '../../harness/clock/until.ts'
import { run } from '../../wire/operator/cli-run.ts'

/** A backup taken under load, restored to a moment in the middle of it. */

const archiving = await openArchiving()
closing(archiving.server)
const world = await openWorld({ databaseUrl: archiving.server.url })
const desk = closing(await openFaultDesk(world))

let moment: 'before' | 'after' = 'before'

/** Sells until it is stopped, from several places in parallel. */
function startLoad(places: number) {
  const ended: (Order & { begun: typeof moment })[] = []
  const stopped = new AbortController()
  const sellOn = async () => {
    while (!stopped.signal.aborted) {
      const begun = moment
      const made = await order(world)
      await settled(world, made)
      ended.push({ ...made, begun })
    }
  }
  const selling = Array.from({ length: places }, sellOn)
  return {
    ended,
    more: (count: number) => {
      const wanted = ended.length + count
      return holds(() => ended.length >= wanted, `${count} more sales`)
    },
    async stop() {
      stopped.abort()
      await Promise.all(selling)
    },
  }
}

const load = startLoad(4)
const stage = openStage(world, desk, closing(await openReceiver(() => 200)))
const [returned, captured] = [await approved(world, 'sale'), await approved(world, 'preauth')]
await load.more(20)
const backup = await archiving.backUp()
await load.more(20)
const before = load.ended.map(({ orderid }) => orderid)
const waiting = await stage.atMethod({ cvv2: '123' })
await archiving.mark('the middle')
moment = 'after'
const both = await approved(world, 'preauth')
await Promise.all([
  load.more(20),
  followed(world, 'return', returned, part('4.00')),
  followed(world, 'capture', captured, part('4.00')),
  followed(world, 'capture', both, part('4.00')),
  stage.uploadMethod(waiting).then(() => stage.isApproved(waiting)),
])
await load.stop()
const restored = closing(await archiving.restore(backup, 'the middle'))

const env = { DATABASE_URL: restored.url, TOLLGATE_KEY_FILE: join(world.directory, 'keys', 'master.key') }
const rows = async (sql: string) => (await query(restored.url, sql)).map(({ text }) => String(text))
const approvedOrders = `select order_id::text as text from orders where status = 'approved'`
const known = new Set(await rows(approvedOrders))

const standing = async () => (await desk.entries()).filter(({ state }) => state === 'approved').map(({ orderId }) => orderId)

test('a backup taken under load restores to a moment in the middle of it, and the copy is whole', async () => {
  const { code, out, err } = await run(env, ['backup', 'check', '--all'])
  assert.equal(code, 0, out + err)
  assert.match(out, /The copy is whole/)
  const missing = before.filter((orderid) => !known.has(orderid))
  assert.deepEqual(missing, [], 'what ended before that moment is there')
})

test('the acquirer knows the payments that the restore lost', async () => {
  const lost = new Set((await standing()).filter((orderid) => !known.has(orderid)))
  const after = load.ended.filter(({ begun }) => begun === 'after').map(({ orderid }) => orderid)
  assert.ok(after.length >= 10, `${after.length} were begun after that moment`)
  // Those that were under way at that moment may be on either side.
  const missing = after.filter((orderid) => !lost.has(orderid))
  assert.deepEqual(missing, [])
})

interface Reconciled {
  operations: number
  agree: number
  open: number
  differences: { differs: string; kind: string; acquirer: { order_id: number } }[]
  settled: { kind: string; order_id: number }[]
  left: { kind: string; order_id: number; why: string }[]
}

async function reconcile(code: number, ...args: string[]): Promise<Reconciled> {
  const record = await (await fetch(`${world.acquirerAdminUrl}/ledger/record.csv`)).text()
  const all = ['reconcile', '-', '--gate', 'sandbox acquirer', '--endpoint', String(world.endpoints.plain), ...args, '--json']
  const ran = await run(env, all, record)
  assert.equal(ran.code, code, ran.out + ran.err)
  return JSON.parse(ran.out) as Reconciled
}
const callbackUrl = 'https://shop.invalid/restored'
const drawn = { left: [both.orderid, both.orderid], kinds: ['capture', 'preauth'] }

test('reconcile lists the lost payments, and the lost captures and returns of known payments', async () => {
  const { differences, operations } = await reconcile(1)
  assert.ok(operations > differences.length)
  assert.deepEqual([...new Set(differences.map(({ differs }) => differs))], ['only_there'])
  const lost = new Set(differences.map(({ acquirer }) => String(acquirer.order_id)))
  const after = load.ended.filter(({ begun }) => begun === 'after').map(({ orderid }) => orderid)
  const others = [returned, captured, both, waiting].map(({ orderid }) => orderid)
  assert.deepEqual(
    [...after, ...others].filter((orderid) => !lost.has(orderid)),
    [],
  )
})

test('--reverse reverses lost payments and no known ones, and leaves those that money was drawn on since', async () => {
  const set = await run(env, ['endpoint', 'set', String(world.endpoints.plain), '--callback-url', callbackUrl])
  assert.equal(set.code, 0, set.err)
  const { differences, settled: reversed, left } = await reconcile(1, '--reverse')
  assert.deepEqual(
    left.map(({ order_id: id }) => String(id)),
    drawn.left,
  )
  assert.deepEqual(left.map(({ kind }) => kind).toSorted(), drawn.kinds)
  assert.equal(reversed.length, differences.length - left.length)
  // Its order waits for the cardholder again, and goes on without the payment that is taken back.
  assert.deepEqual(await rows(`select step as text from orders where order_id = ${waiting.orderid}`), ['await method'])
  // The second time there is nothing to do: the gateway owes these reversals.
  const again = await reconcile(1, '--reverse')
  assert.deepEqual([again.settled.length, again.left.length], [0, 2])
  assert.ok(again.open >= reversed.length)
  assert.equal((await run(env, ['backup', 'check'])).code, 0)
})

test('--import takes over the rest, and a running gateway sends the reversals: the books agree', async () => {
  const { settled: imported, left } = await reconcile(0, '--import')
  assert.deepEqual([imported.map(({ kind }) => kind).toSorted(), left], [drawn.kinds, []])
  await query(restored.url, `update orders set due_at = now() where step = 'await method'`)
  const second = closing(await startServe({ ...world, databaseUrl: restored.url }))
  const open = `select order_id::text as text from all_transactions where due_at is not null`
  await holds(async () => (await rows(open)).length === 0, 'nothing is open in the copy')
  const agreed = await reconcile(0)
  assert.deepEqual([agreed.differences, agreed.open], [[], 0])
  const settledHere = `select order_id::text as text from order_facts where request->>'orderDesc' like 'restored%' order by text`
  const called = `select distinct order_id::text as text from delivery where url = '${callbackUrl}' order by text`
  assert.deepEqual(await rows(called), await rows(settledHere), 'the endpoint has a callback of each payment that was lost')
  assert.deepEqual([...new Set(await standing())].toSorted(), (await rows(approvedOrders)).toSorted())
  const taken = (await desk.entries(returned.orderid)).find(({ state }) => state === 'reversed')
  assert.equal(taken?.amountMinor, '400', 'the return was taken back, and the sale was not')

  // Money that was taken over can be returned.
  const sold = { ...both, client_orderid: `restored-${both.orderid}` }
  const { seen } = await followed(second.world, 'return', sold, part('1.00'))
  assert.equal(seen.status, 'approved')
  assert.equal((await run(env, ['backup', 'check', '--all'])).code, 0)
  assert.deepEqual((await reconcile(0)).differences, [])
})
