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
  isDestination,
  openReference,
  sealForReference,
  type CardReference,
  type NewReference,
} from '../../../src/card/reference.ts'
import { openCard, sealCard, withCvv2, type SealedFor } from '../../../src/card/vault.ts'
import { readFields, type Pairs, type Table } from '../../../src/spec/field.ts'
import {
  cardInfoReply,
  createCardRefReply,
  createCardRefRequest,
  createCardRefV4Reply,
  createCardRefV4Request,
  getCardInfoRequest,
} from '../../../src/spec/gateway/card.ts'
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

test('an id tells nothing of the others: every bit is drawn by itself', () => {
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

test('the two ids of dst are destinations, the other two are not, whoever has them', () => {
  fc.assert(
    fc.property(fc.integer(), (seed) => {
      const ids = drawIds(seeded(seed))
      assert.deepEqual(
        Object.entries(ids).map(([name, id]) => [name, isDestination(id)]),
        [
          ['cardRefId', false],
          ['recurringPaymentId', false],
          ['dstCardRefId', true],
          ['dstRecurringPaymentId', true],
        ],
      )
    }),
    { numRuns: 100 },
  )
})

test('a reference opens to its number, and never to a CVV2', () => {
  assert.ok(openCard(sealedCard, orderKey, keys).cvv2, 'the order still has one')
  const opened = openReference(made(), keys)
  assert.equal(opened.pan.reveal(), pan)
  assert.equal(opened.cvv2, undefined)
})

test('what is kept has the number in no spelling, and is sealed differently every time', () => {
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

const v2 = [
  ['login', 'shop'],
  ['client_orderid', 'A-1'],
  ['orderid', '1000042'],
  ['control', 'c0ffee'],
] as const
const v4 = [
  ['client_orderid', 'A-1'],
  ['orderid', '1000042'],
] as const
const info = [
  ['login', 'shop'],
  ['cardrefid', '1234567890123456788'],
  ['control', 'c0ffee'],
] as const

const without = (pairs: Pairs, name: string): Pairs => pairs.filter(([n]) => n !== name)
const having = (pairs: Pairs, name: string, value: string): Pairs => [...without(pairs, name), [name, value]]
const longId = '9'.repeat(20)

// oxfmt-ignore
const readings: readonly (readonly [says: string, fields: Table, pairs: Pairs, outcome: string | Record<string, unknown>])[] = [
  ['v2 as specified',                createCardRefRequest,   v2,                                  { login: 'shop', client_orderid: 'A-1', orderid: 1000042n, control: 'c0ffee' }],
  ['v2 with the other spelling',     createCardRefRequest,   [...without(v2, 'client_orderid'), ['client-order-id', 'A-1']], { login: 'shop', client_orderid: 'A-1', orderid: 1000042n, control: 'c0ffee' }],
  ['v2 without anything',            createCardRefRequest,   [],                                  'login'],
  ['v2 without client_orderid',      createCardRefRequest,   without(v2, 'client_orderid'),       'client_orderid'],
  ['v2 without orderid',             createCardRefRequest,   without(v2, 'orderid'),              'orderid'],
  ['v2 with an empty orderid',       createCardRefRequest,   having(v2, 'orderid', ' '),          'orderid'],
  ['v2 without control',             createCardRefRequest,   without(v2, 'control'),              'control'],
  ['v2, orderid of letters',         createCardRefRequest,   having(v2, 'orderid', 'A-1'),        'orderid is invalid: it is not an id'],
  ['v2, login of 21',                createCardRefRequest,   having(v2, 'login', 'x'.repeat(21)), 'login is invalid: it is longer than 20 characters'],
  ['v2, client_orderid of 129',      createCardRefRequest,   having(v2, 'client_orderid', 'x'.repeat(129)), 'client_orderid is invalid: it is longer than 128 characters'],
  ['v4 as specified',                createCardRefV4Request, v4,                                  { client_orderid: 'A-1', orderid: 1000042n }],
  ['v4 knows no login and control',  createCardRefV4Request, v2,                                  { client_orderid: 'A-1', orderid: 1000042n }],
  ['v4 without orderid',             createCardRefV4Request, without(v4, 'orderid'),              'orderid'],
  ['info as specified',              getCardInfoRequest,     info,                                { login: 'shop', cardrefid: 1234567890123456788n, control: 'c0ffee' }],
  ['info of 20 digits',              getCardInfoRequest,     having(info, 'cardrefid', longId),   { login: 'shop', cardrefid: BigInt(longId), control: 'c0ffee' }],
  ['info of 21 digits',              getCardInfoRequest,     having(info, 'cardrefid', `${longId}9`), 'cardrefid is invalid: it is longer than 20 characters'],
  ['info of letters',                getCardInfoRequest,     having(info, 'cardrefid', '0x12'),   'cardrefid is invalid: it is not an id'],
  ['info without cardrefid',         getCardInfoRequest,     without(info, 'cardrefid'),          'cardrefid'],
]

for (const [says, fields, pairs, outcome] of readings)
  test(`reading ${says}`, () => {
    const read = readFields(fields, pairs)
    if (typeof outcome === 'string') assert.equal('refused' in read && read.detail, outcome)
    else assert.deepEqual('values' in read && read.values, outcome)
  })

test('v2 answers unq-card-ref-id and v4 the ids of its other interfaces, never the other way round', () => {
  const only = (a: object, b: object) => Object.keys(a).filter((name) => !(name in b))
  assert.deepEqual(only(createCardRefReply, createCardRefV4Reply), ['unq-card-ref-id'])
  assert.deepEqual(only(createCardRefV4Reply, createCardRefReply), [
    'recurring-payment-id',
    'dst-card-ref-id',
    'dst-recurring-payment-id',
  ])
})

test('the reply of get-card-info has no more of the number than its first six and last four digits', () => {
  assert.deepEqual(Object.keys(cardInfoReply), [
    'type',
    'serial-number',
    'card-printed-name',
    'expire-year',
    'expire-month',
    'bin',
    'last-four-digits',
  ])
})
