import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { before, test } from 'node:test'
import { cardNumber, order, send, settled, statusOf } from '../conformance/requests/client.ts'
import { snapshotsInto, textsInHeap } from '../harness/world/heap.ts'
import { closing, openWorld, openDirectory } from '../harness/world/opening.ts'
import { startServe } from '../harness/world/serve.ts'
import { card, cvv2, pans } from './cards.ts'
import { refusedInEveryWay } from './refusals.ts'

/** The memory of a gateway that is done with its payments, after a forced collection of garbage. */

const directory = openDirectory('heap')

const world = await openWorld()
const keyFile = join(world.directory, 'keys', 'master.key')
const gateway = closing(
  await startServe(world, undefined, { ...snapshotsInto(directory), TOLLGATE_KEY: '', TOLLGATE_KEY_FILE: keyFile }),
)
/** The card of a payment that still waits for its acquirer. */
const waiting = cardNumber('401288880739042')
let texts: string
/** By itself, or named. */
const cvv2In = (code: string) => new RegExp(`\n${code}\n|cvv2["'=: ]+${code}`).exec(texts)?.[0]

before(async () => {
  const made = await Promise.all([
    order(gateway.world, card(pans.usual)),
    order(gateway.world, card(pans.longest, { cvv2: '1234' })),
    order(gateway.world, card(pans.usual, { cvv2: '1234', currency: 'EUR' }), { path: `group/${world.groups.multi}` }),
    order(gateway.world, card(pans.longest, { expire_year: '2020' })),
  ])
  await refusedInEveryWay(gateway.world)
  for (const one of made) await settled(gateway.world, one)
  for (const one of made) await statusOf(gateway.world, one)
  const slow = { match: { amount_minor: '7393' }, do: { delay_ms: 600_000 } }
  await send('POST', `${world.acquirerAdminUrl}/faults`, JSON.stringify(slow), { 'content-type': 'application/json' })
  const held = await order(gateway.world, card(waiting, { cvv2: '0738', amount: '73.93' }))
  texts = await textsInHeap(gateway.child, directory)
  // Asked to stop, it would wait for the acquirer.
  gateway.child.kill('SIGKILL')
  await send('DELETE', `${world.acquirerAdminUrl}/faults`)
  await settled(world, held)
  // The data of the payments that it keeps is there.
  for (const { client_orderid: name } of made) assert.ok(texts.includes(name))
})

for (const [which, pan] of Object.entries(pans))
  test(`the card number of ${which} cards is in no text of a gateway whose payments are done`, () => {
    const at = texts.indexOf(pan)
    assert.equal(at < 0 ? undefined : texts.slice(Math.max(0, at - 100), at + 100), undefined)
  })

test('neither a CVV2 nor the key-encryption key is in such a text', () => {
  assert.equal(cvv2In(cvv2), undefined)
  const key = readFileSync(keyFile, 'utf8').trim()
  for (const text of [key, Buffer.from(key, 'base64').toString('hex')]) assert.ok(!texts.includes(text))
})

test('the search finds card number and CVV2 of a payment that waits for its acquirer, and the keys of merchants', () => {
  assert.ok(texts.includes(waiting))
  assert.equal(cvv2In('0738'), '\n0738\n')
  assert.ok(texts.includes(world.merchant.controlKey))
})
