import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { order, settled, type Order } from '../conformance/client.ts'
import { openArchiving } from '../harness/backup.ts'
import { query } from '../harness/embedded.ts'
import { openFaultDesk } from '../harness/fault-desk.ts'
import { closing, openWorld } from '../harness/opening.ts'
import { holds } from '../harness/until.ts'
import { run } from '../wire/cli-run.ts'

/** A backup taken under load, restored to a moment in the middle of it. */

const archiving = await openArchiving()
closing(archiving.server)
const world = await openWorld({ databaseUrl: archiving.server.url })
const desk = closing(await openFaultDesk(world))

let moment: 'before' | 'after' = 'before'

/** Sells until it is stopped, from several places at once. */
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
await load.more(20)
const backup = await archiving.backUp()
await load.more(20)
const before = load.ended.map(({ orderid }) => orderid)
await archiving.mark('the middle')
moment = 'after'
await load.more(20)
await load.stop()
const restored = closing(await archiving.restore(backup, 'the middle'))

const env = { DATABASE_URL: restored.url, TOLLGATE_KEY_FILE: join(world.directory, 'keys', 'master.key') }
const rows = async (sql: string) => (await query(restored.url, sql)).map(({ text }) => String(text))
const known = new Set(await rows(`select order_id::text as text from orders where status = 'approved'`))

test('a backup taken under load restores to a moment in the middle of it, and the copy is whole', async () => {
  const { code, out, err } = await run(env, ['backup', 'check', '--all'])
  assert.equal(code, 0, out + err)
  assert.match(out, /The copy is whole/)
  const missing = before.filter((orderid) => !known.has(orderid))
  assert.deepEqual(missing, [], 'what ended before that moment is there')
})

test('what the restore lost, the acquirer knows', async () => {
  const approved = (await desk.entries()).filter(({ state }) => state === 'approved').map(({ orderId }) => orderId)
  const lost = new Set(approved.filter((orderid) => !known.has(orderid)))
  const after = load.ended.filter(({ begun }) => begun === 'after').map(({ orderid }) => orderid)
  assert.ok(after.length >= 10, `${after.length} were begun after that moment`)
  // Those that were under way at that moment may be on either side.
  const missing = after.filter((orderid) => !lost.has(orderid))
  assert.deepEqual(missing, [])
})
