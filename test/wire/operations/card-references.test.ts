import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemClock } from '../../../src/base/clock.ts'
import { openLog } from '../../../src/base/log.ts'
import { systemRandom, type Random } from '../../../src/base/random.ts'
import { secret } from '../../../src/base/secret.ts'
import { binOf, lastFourOf } from '../../../src/card/number.ts'
import {
  openReference,
  sealForReference,
  type CardReference,
  type NewReference,
  type ReferenceIds,
} from '../../../src/card/reference.ts'
import { findReferences, registerCards } from '../../../src/card/reference-rows.ts'
import { hashIdOf, numberIdOf, openCard, sealCard } from '../../../src/card/vault.ts'
import { bytea, openPool, statement, type Pool } from '../../../src/storage/pool.ts'
import { fixedKek } from '../../../src/keys/encryption.ts'
import { addKey, newKey, openKeyRing } from '../../../src/keys/ring.ts'
import { openMigrated } from '../../harness/postgres/migrated.ts'
import { closing } from '../../harness/world/opening.ts'

const log = openLog({ level: 'fatal', destination: process.stderr })
const kek = secret(Buffer.alloc(32, 9))
const plain = <Row>(text: string) => statement<Row>(text)
const at = Date.parse('2026-02-03T04:05:06.789Z')

const { url, pool } = await openMigrated('oltp', 8)
/** Two processes have one each. */
const pools = [pool, closing(openPool({ url, connections: 8, use: 'oltp', log }))]
const keys = await openKeyRing(pool, fixedKek(kek, systemRandom), systemClock, systemRandom)
let orders = 1_000_000n
let cards = 0

/** A number that no other test uses. */
const newPan = () => `492942${String(++cards).padStart(10, '0')}`

function payment(pan: string, merchantId = 1n, expiryYear = 2031, ring = keys): NewReference {
  const orderKey = { merchantId, orderId: ++orders }
  const sealed = sealCard({ pan: secret(pan) }, orderKey, ring, systemRandom)
  return {
    orderKey,
    sealed,
    card: {
      bin: binOf(pan),
      lastFour: lastFourOf(pan),
      network: 'VISA',
      expiryMonth: 1,
      expiryYear,
      printedName: 'ЖАННА Ö. D’ARC',
      hashId: hashIdOf(numberIdOf(secret(pan), merchantId, ring), ring),
    },
    first: {
      networkReference: '012345678901234',
      authentication: { verified: 'AUTHENTICATED', method: 'challenge', version: '2.2.0', eci: '05', dsTransId: 'd5' },
      payer: { email: 'jeanne@example.com', firstName: 'Jeanne', lastName: 'd"Arc\\', country: 'FR', phone: '+33123456789' },
    },
    at,
  }
}

async function register(
  fresh: NewReference,
  random: Random = systemRandom,
  on: Pool = pool,
  ring = keys,
): Promise<CardReference> {
  const [made] = await registerCards(on, [fresh], ring, random)
  assert.ok(made && !(made instanceof Error))
  return made
}
const find = async (cardRefId: bigint, merchantId = 1n) => (await findReferences(pool, [{ merchantId, cardRefId }]))[0]

const numberIdIn = ({ orderKey, sealed }: NewReference, ring = keys): Buffer =>
  numberIdOf(openCard(sealed!, orderKey, ring).pan, orderKey.merchantId, ring)

async function counts(fresh: NewReference): Promise<{ references: number; numbers: number }> {
  const { merchantId } = fresh.orderKey
  const [row] = await pool.run(
    plain<{ references: bigint; numbers: bigint }>(`
      select (select count(*) from card_reference where merchant_id = $1 and number_id = $2) as references,
        (select count(*) from card_number_ref where merchant_id = $1 and number_id = $2) as numbers`),
    [merchantId, bytea(numberIdIn(fresh))],
  )
  return { references: Number(row!.references), numbers: Number(row!.numbers) }
}

test('a reference is read back unchanged', async () => {
  const pan = newPan()
  const fresh = payment(pan)
  const made = await register(fresh)
  assert.deepEqual(made.orderKey, fresh.orderKey)
  assert.deepEqual(made.card, fresh.card)
  assert.deepEqual(made.first, fresh.first)
  assert.equal(made.createdAt, at)
  assert.deepEqual(await find(made.ids.cardRefId), made)
  assert.equal(openReference(made, keys).pan.reveal(), pan)
})

test('repeated registration of a payment returns the same reference, and draws no new id', async () => {
  const fresh = payment(newPan())
  const made = await register(fresh)
  const nothing: Random = { bytes: () => assert.fail('something was drawn') }
  assert.deepEqual(await register(fresh, nothing), made)
  assert.deepEqual(await register({ ...fresh, first: { payer: { email: 'other@example.com' } }, at: at + 1 }, nothing), made)
})

test('thirty simultaneous calls for one payment, in two processes, make one reference and all return it', async () => {
  for (let round = 0; round < 5; round++) {
    const fresh = payment(newPan())
    const all = await Promise.all(Array.from({ length: 30 }, (_, i) => register(fresh, systemRandom, pools[i % 2])))
    for (const one of all) assert.deepEqual(one, all[0])
    assert.deepEqual(await counts(fresh), { references: 1, numbers: 1 })
  }
})

test('thirty simultaneous payments with one card get thirty references and one unq-card-ref-id', async () => {
  const pan = newPan()
  const payments = Array.from({ length: 30 }, () => payment(pan))
  const all = await Promise.all(payments.map((fresh, i) => register(fresh, systemRandom, pools[i % 2])))
  assert.equal(new Set(all.flatMap(({ ids }) => Object.values(ids))).size, 120)
  assert.equal(new Set(all.map((one) => one.uniqueReference)).size, 1)
  assert.deepEqual(await counts(payments[0]!), { references: 30, numbers: 1 })
})

test('two merchants may have payments of the same id, and each gets a reference of its own', async () => {
  const mine = await register(payment(newPan()))
  orders--
  const theirs = await register(payment(newPan(), 2n))
  assert.equal(theirs.orderKey.orderId, mine.orderKey.orderId)
  assert.notEqual(theirs.ids.cardRefId, mine.ids.cardRefId)
})

test('a reference is found by its card-ref-id alone, and only by its merchant', async () => {
  const { ids, uniqueReference } = await register(payment(newPan()))
  assert.ok(await find(ids.cardRefId))
  assert.equal(await find(ids.cardRefId, 2n), undefined)
  const others = [
    ids.recurringPaymentId,
    ids.dstCardRefId,
    ids.dstRecurringPaymentId,
    BigInt(uniqueReference),
    ids.cardRefId + 4n,
  ]
  for (const id of [...others, 0n, 2n ** 63n - 1n, 2n ** 63n, 10n ** 20n - 1n])
    assert.equal(await find(id), undefined, String(id))
})

test('ids of 19 digits, which were given out before, stay valid and exact', async () => {
  const pan = newPan()
  const fresh = payment(pan)
  await register(fresh)
  const first = 4_611_686_018_427_387_904n
  const ids = { cardRefId: first, recurringPaymentId: first + 1n, dstCardRefId: first + 2n, dstRecurringPaymentId: first + 3n }
  const { panSealed } = sealForReference(fresh, ids, keys, systemRandom)
  await pool.run(
    plain(`update card_reference set card_ref_id = $1, recurring_payment_id = $2, dst_card_ref_id = $3,
        dst_recurring_payment_id = $4, pan_sealed = $5
      where merchant_id = $6 and order_id = $7`),
    [...Object.values(ids), bytea(panSealed), fresh.orderKey.merchantId, fresh.orderKey.orderId],
  )
  const found = await find(ids.cardRefId)
  assert.deepEqual(found?.ids, ids)
  assert.equal(openReference(found, keys).pan.reveal(), pan)
})

/** Draws that give these ids and this number; then chance takes over. */
function drawing(ids: ReferenceIds, unique?: number): Random {
  const kinds = [ids.cardRefId, ids.recurringPaymentId - 1n, ids.dstCardRefId - 2n, ids.dstRecurringPaymentId - 3n]
  const draws = kinds.map((id) => (id - 10n ** 15n) / 4n)
  if (unique !== undefined) draws.push(BigInt(unique) - 10n ** 15n)
  return {
    bytes(length) {
      const next = length === 16 ? draws.shift() : undefined
      return next === undefined ? systemRandom.bytes(length) : Buffer.from(next.toString(16).padStart(32, '0'), 'hex')
    },
  }
}

test('an id that another reference has already is drawn again, whichever of the four it is', async () => {
  const taken = await register(payment(newPan()))
  const spare = await register(payment(newPan(), 3n))
  for (const name of Object.keys(taken.ids) as (keyof ReferenceIds)[]) {
    const pan = newPan()
    const fresh = payment(pan)
    const made = await register(fresh, drawing({ ...spare.ids, [name]: taken.ids[name] }))
    assert.equal(new Set([...Object.values(made.ids), ...Object.values(taken.ids), ...Object.values(spare.ids)]).size, 12, name)
    assert.equal(openReference(made, keys).pan.reveal(), pan, 'it was sealed anew for the ids that hold')
    assert.deepEqual(await find(taken.ids.cardRefId), taken)
    assert.deepEqual(await counts(fresh), { references: 1, numbers: 1 })
  }
  const same = await register(payment(newPan()), drawing(spare.ids))
  assert.deepEqual(same.ids, spare.ids, 'the draws of this test do give these ids, which are free for this merchant')
})

test('a number that another card has already as its unq-card-ref-id is drawn again', async () => {
  const taken = await register(payment(newPan()))
  const spare = await register(payment(newPan(), 3n))
  const made = await register(payment(newPan()), drawing(spare.ids, taken.uniqueReference))
  assert.notEqual(made.uniqueReference, taken.uniqueReference)
  const elsewhere = await register(payment(newPan(), 4n), drawing(spare.ids, taken.uniqueReference))
  assert.equal(elsewhere.uniqueReference, taken.uniqueReference, 'it is free for another merchant')
})

test('randomness that repeats its ids is a reported defect, and nothing is kept', async () => {
  const pan = newPan()
  const taken = await register(payment(pan))
  const fresh = payment(pan)
  const { bytes } = drawing(taken.ids, taken.uniqueReference)
  const tape = Array.from({ length: 5 }, () => bytes(16))
  let drawn = 0
  const stuck: Random = { bytes: (length) => (length === 16 ? tape[drawn++ % 5]! : systemRandom.bytes(length)) }
  await assert.rejects(register(fresh, stuck), new RegExp(`no free id was found .* order ${fresh.orderKey.orderId}$`))
  assert.equal((await counts(fresh)).references, 1)
  assert.deepEqual(await find(taken.ids.cardRefId), taken)
})

test('a registration that broke off half way is taken up by the next, with the number it had got', async () => {
  const fresh = payment(newPan())
  const breaking: Pool = {
    ...pool,
    run: (sql, values) =>
      sql.text.includes('insert into card_reference') ? Promise.reject(new Error('the line is cut')) : pool.run(sql, values),
  }
  await assert.rejects(register(fresh, systemRandom, breaking), /the line is cut/)
  assert.deepEqual(await counts(fresh), { references: 0, numbers: 1 })
  const [kept] = await pool.run(
    plain<{ unique_reference: bigint }>('select unique_reference from card_number_ref where merchant_id = 1 and number_id = $1'),
    [bytea(numberIdIn(fresh))],
  )
  const made = await register(fresh)
  assert.equal(BigInt(made.uniqueReference), kept!.unique_reference)
})

test('the database refuses an id of one kind in the place of another, and a number of JSON that is not exact', async () => {
  const { orderKey, ids } = await register(payment(newPan()))
  const key = [orderKey.merchantId, ids.cardRefId]
  const where = 'where merchant_id = $1 and card_ref_id = $2'
  for (const change of ['card_ref_id = dst_card_ref_id', 'dst_card_ref_id = card_ref_id', 'recurring_payment_id = card_ref_id'])
    await assert.rejects(pool.run(plain(`update card_reference set ${change} ${where}`), key), /check constraint/)
  await assert.rejects(
    pool.run(plain('update card_number_ref set unique_reference = 9007199254740992 where merchant_id = $1'), [1n]),
    /check constraint/,
  )
})

/** Last of all: every later card of this database would be sealed under the new key. */
test('after a new key came, old references open under the old one and new ones under the new', async () => {
  const old = await register(payment(newPan()))
  assert.equal(old.sealed.panKey, 1n)
  assert.ok(await addKey(pool, await newKey(fixedKek(kek, systemRandom), systemRandom, 'pan', 2n), { at, activeAt: at }))
  const ring = await openKeyRing(pool, fixedKek(kek, systemRandom), systemClock, systemRandom)
  const pan = newPan()
  // Its order was sealed by a process that did not know of the new key yet.
  const made = await register(payment(pan), systemRandom, pool, ring)
  assert.equal(made.sealed.panKey, 2n)
  assert.equal(openReference(made, ring).pan.reveal(), pan)
  assert.match(openReference(old, ring).pan.reveal(), /^492942/)
  assert.throws(() => openReference(made, keys), /the vault has no key 2 .* order [0-9]+$/)
  await keys.refresh()
  assert.equal(openReference(made, keys).pan.reveal(), pan)
})
