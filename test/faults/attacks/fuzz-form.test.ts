import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import { Secret } from '../../../src/base/secret.ts'
import { readFields, type Table } from '../../../src/spec/field.ts'
import { readForm, writeForm } from '../../../src/spec/form.ts'
import { saleRequest } from '../../../src/spec/gateway/sale.ts'
import { statusRequest } from '../../../src/spec/gateway/status.ts'
import { refusals } from '../../../src/spec/refusals.ts'
import { mutator, seeded } from '../../harness/world/mutate.ts'

/** For longer: `FUZZ_SECONDS=600 FUZZ_SEED=7`. A failure prints the seed that repeats it. */
const seconds = Number(process.env['FUZZ_SECONDS'] ?? 2)
const seed = Number(process.env['FUZZ_SEED'] ?? Date.now() % 2 ** 31)

const number = '4111111111111111'
// oxfmt-ignore
const seeds = [
  `client_orderid=c-1&order_desc=Two+tickets&amount=10.50&currency=USD&control=00&ipaddress=203.0.113.7&email=a%40b.example&credit_card_number=${number}` +
    '&card_printed_name=ADA&expire_month=12&expire_year=2039&cvv2=0739',
  `client-order-id=%E2%82%AC&order_desc=%F0%9F%98%80&amount=1&currency=JPY&control=x&ipaddress=::1&email=a@b&cardNumber=${number}&card_printed_name=A` +
    '&expire_month=1&expire_year=39&cvv2=123&country=US&state=NY&merchant_data=%20x&redirect_url=https%3A%2F%2Fa.example%2F%3Fb%3Dc&customer_browser_info=false',
  'login=shop&client_orderid=c-1&orderid=1000001&by-request-sn=0739d5aa-1111-4222-8333-0123456789ab&control=da39a3ee5e6b4b0d3255bfef95601890afd80709',
  '&&=&a&b=&=c&%00=%00&__proto__=1&constructor=2&a=1&a=2',
]
const tables: readonly Table[] = [saleRequest, statusRequest]

test(`${seconds} s of damaged forms make the readers neither throw nor hang nor quote a card (FUZZ_SEED=${seed})`, () => {
  const mutate = mutator(seed)
  const below = seeded(seed + 1)
  const corpus: Buffer[] = seeds.map((form) => Buffer.from(form))
  const ends = performance.now() + seconds * 1000
  const seen = { forms: 0, undecodable: 0, refused: 0, read: 0, slowestMs: 0 }
  let kept = 0
  while (performance.now() < ends) {
    const began = performance.now()
    for (let i = 0; i < 100; i++) {
      const body = mutate(corpus[below(corpus.length)]!)
      seen.forms++
      const pairs = readForm(body)
      if (!pairs) {
        seen.undecodable++
        continue
      }
      assert.ok(isDeepStrictEqual(readForm(Buffer.from(writeForm(pairs))), pairs), `not stable: ${body.toString('hex')}`)
      for (const table of tables)
        if (judge(table, pairs, body)) seen.read++
        else seen.refused++
      if (body.length < 2_000) corpus[seeds.length + (kept++ % 200)] = body
    }
    seen.slowestMs = Math.max(seen.slowestMs, performance.now() - began)
  }
  assert.ok(seen.forms > 50 * seconds, `only ${seen.forms} forms`)
  assert.ok(seen.undecodable > 0 && seen.refused > 0 && seen.read > 0, JSON.stringify(seen))
  assert.ok(seen.slowestMs < 20_000, `a hundred forms took ${seen.slowestMs} ms`)
})

/**
 * Whether the form was read. A refusal names a field of the table and quotes no long number; a card
 * number is only ever a Secret.
 */
function judge(table: Table, pairs: readonly (readonly [string, string])[], body: Buffer): boolean {
  const result = readFields(table, pairs)
  if ('refused' in result) {
    const said = refusals[result.refused].text(result.detail)
    assert.ok(Object.hasOwn(table, result.detail.split(' ')[0]!), `${said}: ${body.toString('hex')}`)
    assert.doesNotMatch(said, /[0-9]{6}|[^\x20-\x7e]/, body.toString('hex'))
    return false
  }
  for (const [name, { guard }] of Object.entries(table)) {
    const value = (result.values as Record<string, unknown>)[name]
    if (guard === 'secret' || name === 'credit_card_number') assert.ok(value === undefined || value instanceof Secret, name)
  }
  return true
}
