import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { hmacSha256 } from '../../../src/base/digest.ts'
import { checkDigitHolds } from '../../../src/base/luhn.ts'
import { systemRandom, type Random } from '../../../src/base/random.ts'
import { secret } from '../../../src/base/secret.ts'
import {
  drawIds,
  drawUnique,
  openReference,
  sealForReference,
  type CardReference,
  type NewReference,
} from '../../../src/card/reference.ts'
import { openCard, sealCard, withCvv2, type SealedFor } from '../../../src/card/vault.ts'
import type { KeyRing } from '../../../src/keys/ring.ts'

/** Bytes that follow from a seed. */
function seeded(seed: number): Random {
  let drawn = 0
  return {
    bytes(length) {
      const out = Buffer.alloc(length)
      for (let i = 0; i < length; i++) out[i] = hmacSha256(secret(Buffer.from([1])), `${seed}:${drawn++}`)[0]!
      return out
    },
  }
}

const keys: KeyRing = {
  current: (purpose) => ({ version: 1n, key: secret(Buffer.alloc(32, purpose)) }),
  version: (purpose, version) => (version === 1n ? secret(Buffer.alloc(32, purpose)) : undefined),
  versions: () => [],
  refresh: async () => undefined,
  turn: async () => undefined,
}

const pan = '4929421234600821'
const orderKey: SealedFor = { merchantId: 7n, orderId: 1_000_042n }
const card = { bin: '492942', lastFour: '0821', expiryMonth: 12, expiryYear: 2031, printedName: 'ANNA MAAS', hashId: 'aa' }
const sealedCard = withCvv2(
  sealCard({ pan: secret(pan), cvv2: secret('123') }, orderKey, keys, systemRandom),
  { pan: secret(pan), cvv2: secret('123') },
  orderKey,
  keys,
  systemRandom,
)
const fresh: NewReference = { orderKey, sealed: sealedCard, card, first: { payer: { email: 'anna@example.com' } }, at: 0 }

function made(from: NewReference = fresh): CardReference {
  const ids = drawIds(systemRandom)
  const { first, at: createdAt } = from
  const sealed = sealForReference(from, ids, keys, systemRandom)
  return { orderKey: from.orderKey, ids, uniqueReference: drawUnique(systemRandom), sealed, card: from.card, first, createdAt }
}

test('the four ids of a reference differ, have 16 digits, are exact as JSON numbers, and are no card numbers', () => {
  fc.assert(
    fc.property(fc.integer(), (seed) => {
      const ids = Object.values(drawIds(seeded(seed)))
      assert.equal(new Set(ids).size, 4)
      for (const id of ids) {
        assert.match(String(id), /^[0-9]{16}$/)
        assert.equal(String(JSON.parse(String(id))), String(id))
        assert.ok(id < 2n ** 53n)
        assert.ok(!checkDigitHolds(String(id)), `${id} has the check digit of a card number`)
      }
    }),
    { numRuns: 300 },
  )
})

test('unq-card-ref-id is a whole number below 2^53 that JSON carries exactly, and no card number either', () => {
  fc.assert(
    fc.property(fc.integer(), (seed) => {
      const unique = drawUnique(seeded(seed))
      assert.ok(Number.isSafeInteger(unique) && unique > 0)
      assert.equal(String(JSON.parse(JSON.stringify(unique))), String(unique))
      assert.ok(!checkDigitHolds(String(unique)), `${unique} has the check digit of a card number`)
    }),
    { numRuns: 300 },
  )
})

test('an id reveals nothing about the others: every bit is random', () => {
  const draws = 4_000
  const half = (what: string, values: readonly bigint[]) => {
    for (let bit = 2n; bit < 47n; bit++) {
      const set = values.filter((value) => (value >> bit) & 1n).length
      // Ten standard deviations.
      assert.ok(Math.abs(set - draws / 2) < 320, `bit ${bit} of ${what} is set ${set} times in ${draws}`)
    }
  }
  const all = Array.from({ length: draws }, () => drawIds(systemRandom))
  const names = ['cardRefId', 'recurringPaymentId', 'dstCardRefId', 'dstRecurringPaymentId'] as const
  assert.equal(new Set(all.flatMap((ids) => Object.values(ids))).size, draws * 4)
  for (const [i, name] of names.entries()) {
    half(
      name,
      all.map((ids) => ids[name]),
    )
    for (const other of names.slice(i + 1))
      half(
        `${name} beside ${other}`,
        all.map((ids) => ids[name] ^ ids[other]),
      )
  }
  half(
    'one cardRefId beside the next',
    all.map((ids, i) => ids.cardRefId ^ (all[i + 1] ?? all[0]!).cardRefId),
  )
  const uniques = Array.from({ length: draws }, () => BigInt(drawUnique(systemRandom)))
  assert.equal(new Set(uniques).size, draws)
})

test('a reference opens to its number, and never to a CVV2', () => {
  assert.ok(openCard(sealedCard, orderKey, keys).cvv2, 'the order still has one')
  const opened = openReference(made(), keys)
  assert.equal(opened.pan.reveal(), pan)
  assert.equal(opened.cvv2, undefined)
})

test('the stored form contains the number in no spelling, and is different every time', () => {
  const [one, other] = [made(), made()]
  assert.notDeepEqual(one.sealed.panSealed, other.sealed.panSealed)
  assert.notDeepEqual(one.sealed.panSealed, sealedCard.panSealed)
  const bytes = Buffer.concat([one.sealed.panSealed, one.sealed.numberId])
  for (const spelled of [Buffer.from(pan), Buffer.from(pan, 'hex'), Buffer.from(pan.slice(6, 12)), Buffer.from('123')])
    assert.equal(bytes.indexOf(spelled), -1)
  assert.deepEqual(Object.keys(one.sealed).sort(), ['numberId', 'panKey', 'panSealed'])
})

test('sealed for one reference, a number opens for no other reference, merchant or order', () => {
  const reference = made()
  const { cardRefId } = reference.ids
  assert.throws(() => openReference({ ...reference, ids: made().ids }, keys))
  assert.throws(() => openReference({ ...reference, orderKey: { ...orderKey, merchantId: 8n } }, keys))
  assert.throws(() => openCard(reference.sealed, orderKey, keys))
  assert.throws(() => openCard(reference.sealed, { ...orderKey, orderId: cardRefId }, keys))
  assert.throws(() => openReference({ ...reference, sealed: { ...reference.sealed, panSealed: sealedCard.panSealed } }, keys))
  const changed = Buffer.from(reference.sealed.panSealed)
  changed[changed.length - 1]! ^= 1
  assert.throws(() => openReference({ ...reference, sealed: { ...reference.sealed, panSealed: changed } }, keys))
})

test("no reference is made of a card that is another order's, or whose key is gone", () => {
  assert.throws(() => made({ ...fresh, orderKey: { ...orderKey, orderId: 1_000_043n } }))
  assert.throws(() => made({ ...fresh, orderKey: { ...orderKey, merchantId: 8n } }))
  assert.throws(() => made({ ...fresh, sealed: { ...sealedCard, panKey: 2n } }), /no key 2 .* order 1000042/)
  const reference = made()
  const lost = { ...reference, sealed: { ...reference.sealed, panKey: 3n } }
  assert.throws(() => openReference(lost, keys), /no key 3 .* order 1000042/)
})
