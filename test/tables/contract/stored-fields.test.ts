import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import type { Field } from '../../../src/spec/field.ts'
import { rebillRequest, storedRebill } from '../../../src/spec/gateway/rebill.ts'
import { payerOf, saleRequest, storedRequest } from '../../../src/spec/gateway/sale.ts'

/** Every field of a payment is stored as its row says, and nothing else is. */

type Row = Field & { as: string | null; later?: true }
type Members = Record<string, unknown>

// oxfmt-ignore
const tables: [operation: string, rows: Record<string, Row>, store: (values: never) => Members][] = [
  ['sale',             saleRequest,   storedRequest],
  ['make-rebill-sale', rebillRequest, storedRebill],
]

const folder = join(import.meta.dirname, '../../../../test/conformance')
const cases = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.ts'))
  .map((name) => readFileSync(join(folder, name), 'utf8'))

/** `browser.accept` is a member of a member. */
const valueAt = (stored: Members, name: string): unknown =>
  name.split('.').reduce<unknown>((within, part) => (within as Members | undefined)?.[part], stored)

for (const [operation, rows, store] of tables) {
  const names = Object.keys(rows)
  const storeOnly = (...some: string[]) => store(Object.fromEntries(some.map((name) => [name, `of ${name}`])) as never)

  describe(operation, () => {
    for (const [name, { as }] of Object.entries(rows))
      test(`${name} is ${as === null ? 'not stored as a member' : `stored as ${as}`}`, () => {
        const alone = storeOnly(name)
        if (as === null) assert.deepEqual(alone, {})
        else assert.equal(valueAt(alone, as), `of ${name}`)
        assert.equal(Object.keys(alone).length, as === null ? 0 : 1)
      })

    test('no two fields are stored under the same name', () => {
      const stored = Object.values(rows).flatMap(({ as }) => as ?? [])
      assert.equal(new Set(stored).size, stored.length)
      const whole = storeOnly(...names)
      assert.deepEqual(
        stored.map((as) => valueAt(whole, as)),
        names.filter((name) => rows[name]!.as !== null).map((name) => `of ${name}`),
      )
    })

    test('every field has a case in test/conformance', () => {
      const without = names.filter((name) => !cases.some((text) => new RegExp(`\\b${name}\\b`).test(text)))
      assert.deepEqual(without, [])
    })
  })
}

test('later payments take from the first the payer, and nothing else', () => {
  const whole = storedRequest(Object.fromEntries(Object.keys(saleRequest).map((name) => [name, name])) as never)
  assert.deepEqual(payerOf(whole), {
    firstName: 'first_name',
    lastName: 'last_name',
    email: 'email',
    phone: 'phone',
    cellPhone: 'cell_phone',
    country: 'country',
    state: 'state',
    city: 'city',
    zipCode: 'zip_code',
    address1: 'address1',
  })
})
