import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { openFaultDesk } from '../../harness/world/fault-desk.ts'
import { bytesOf, filesBelow } from '../../harness/world/files.ts'
import { closing, openWorld } from '../../harness/world/opening.ts'
import { openReceiver } from '../../harness/world/receiver.ts'
import { openStage } from '../../harness/three-d-secure/three-d-secure.ts'

/** The hourly keys of CVV2 values live in a directory of memory: past a kill, not past a reboot. */

const keys = mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'tollgate-test-'))
test.after(() => rmSync(keys, { recursive: true }))

const merchant = closing(await openReceiver(() => 200))
const world = await openWorld({ own: true, embedded: true, env: { CVV2_KEY_DIRECTORY: keys } })
const desk = closing(await openFaultDesk(world))
const stage = openStage(world, desk, merchant)

const keyFiles = () => readdirSync(keys).map((name) => join(keys, name))
/** The acquirer declines this one as stolen, which it cannot do without having seen it. */
const stolen = { cvv2: '209' }

async function authenticated(sold: Awaited<ReturnType<typeof stage.atMethod>>): Promise<void> {
  await stage.pass(await stage.atChallenge(sold))
}

test('killed while the only process has an order that waits for its cardholder: it goes on with its CVV2', async () => {
  const sold = await stage.atMethod(stolen)
  await world.crash()
  assert.equal((await stage.uploadMethod(sold)).type, 'async-response')
  await stage.isRefused(sold, 'declined', '209', 'declined')
})

test('after a reboot the payment ends as error 909: nothing is charged, and the merchant gets one callback', async () => {
  const [sold, challenged] = [await stage.atMethod({ cvv2: '123' }), await stage.atMethod({ cvv2: '321' })]
  await world.crash(async () => keyFiles().forEach((path) => rmSync(path)))
  assert.equal((await stage.uploadMethod(sold)).type, 'async-response')
  await stage.isRefused(sold, 'error', '909')
  await authenticated(challenged)
  await stage.isRefused(challenged, 'error', '909')
  const later = await stage.atMethod({ cvv2: '123' })
  await stage.uploadMethod(later)
  await stage.isApproved(later)
  assert.deepEqual(await stage.complaints('killed'), [])
})

test('neither a copy of the data directory nor its log of changes has a key that opens a CVV2', async () => {
  const sold = await stage.atMethod({ cvv2: '123' })
  const { cvv2 } = await stage.stored(sold.orderid)
  const rows = await desk.rows<{ purpose: string }>(`select distinct purpose from public.key_version order by 1`)
  assert.deepEqual(
    rows.map(({ purpose }) => purpose),
    ['audit', 'card-id', 'control', 'digest', 'fingerprint', 'pan', 'receipt'],
  )
  await desk.rows('checkpoint')
  const files = filesBelow(world.directory)
  const having = (bytes: Buffer) => files.filter((path) => bytesOf(path)?.includes(bytes))
  // The search would find a key: it finds what the key seals, in a table and in the log.
  const sealed = having(cvv2!)
  assert.ok(sealed.some((path) => path.includes('pg_wal')) && sealed.some((path) => path.includes('base')), sealed.join())
  assert.ok(keyFiles().length > 0)
  for (const path of keyFiles()) {
    const key = readFileSync(path)
    for (const bytes of [key, Buffer.from(key.toString('base64')), Buffer.from(key.toString('hex'))])
      assert.deepEqual(having(bytes), [], path)
  }
  await stage.uploadMethod(sold)
  await stage.isApproved(sold)
})
