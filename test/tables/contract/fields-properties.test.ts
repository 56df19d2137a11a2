import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { inspect } from 'node:util'
import * as fc from 'fast-check'
import { currencyOf, decimalToMinor, minorToDecimal } from '../../../src/base/money.ts'
import { Secret } from '../../../src/base/secret.ts'
import { readFields, type Field, type Pairs, type Table } from '../../../src/spec/field.ts'
import { readForm, writeForm } from '../../../src/spec/form.ts'
import { saleRequest } from '../../../src/spec/gateway/sale.ts'
import { statusRequest } from '../../../src/spec/gateway/status.ts'
import { refusals } from '../../../src/spec/refusals.ts'
import { anySign } from './any-sign.ts'

const tables: Readonly<Record<string, Table>> = { sale: saleRequest, status: statusRequest }

/** A form that fits, by name; what is not here is absent. */
// oxfmt-ignore
const good: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  sale: {
    client_orderid: 'c-1', order_desc: 'Two tickets', amount: '10.50', currency: 'USD', control: 'x', ipaddress: '2001:db8::1', first_name: 'Ada',
    last_name: 'L', email: 'a@b.example', phone: '+1 2', cell_phone: '3', country: 'US', state: 'NY', city: 'N', zip_code: '1', address1: 'x',
    credit_card_number: '4111111111111111', card_printed_name: 'ADA', expire_month: '7', expire_year: '39', cvv2: '0739', birthday: '19700101',
    ssn: '1', redirect_url: 'https://a.example/', redirect_success_url: 'https://a.example/', redirect_fail_url: 'https://a.example/',
    server_callback_url: 'https://a.example/', notify_url: 'https://a.example/', site_url: 's', purpose: 'p', comment: 'c', merchant_data: ' d ',
    recurrent_expiry: '20391231', recurrent_frequency: '30', customer_browser_info: 'true', customer_browser_screen_width: '1', customer_browser_screen_height: '1', customer_browser_color_depth: '24',
    customer_browser_time_zone: '-60', customer_browser_javascript_enabled: 'true', customer_browser_java_enabled: 'FALSE',
    customer_user_agent: 'u', customer_accept: 'a', customer_accept_language: 'l',
  },
  status: { login: 'shop', client_orderid: 'c-1', orderid: '1000001', 'by-request-sn': '0739d5aa-1111-4222-8333-0123456789ab', control: 'x' },
}

const awkward = [
  '',
  ' ',
  '0',
  '-0',
  '+1',
  '1e5',
  '0x10',
  '1..',
  '00000000.1',
  '٣',
  '１２',
  '\0',
  '\r\n',
  '\ud800',
  '__proto__',
  'true',
  'NaN',
  '9'.repeat(200),
  '😀',
  "'",
]
const anyText = fc.oneof(fc.constantFrom(...awkward), fc.string({ unit: anySign, maxLength: 60 }), fc.string({ maxLength: 300 }))
const strangeName = fc.constantFrom('__proto__', 'constructor', 'toString', 'hasOwnProperty', 'unknown', '', 'when')

const read = (fields: Table, pairs: Pairs) => readFields(fields, pairs)
const pairsOf = (form: Readonly<Record<string, string>>): [string, string][] => Object.entries(form)
const spellingsOf = (fields: Table): string[] =>
  Object.entries(fields).flatMap(([name, { alias }]) => (alias === undefined ? [name] : [name, alias]))

/** Fields whose fitness another one decides. */
const governed: Readonly<Record<string, (field: Field, name: string) => boolean>> = {
  currency: (_, name) => name === 'amount',
  country: (_, name) => name === 'state',
  customer_browser_info: (_, name) => name.startsWith('customer_'),
  customer_browser_javascript_enabled: (_, name) => name.startsWith('customer_browser_'),
}

for (const [operation, fields] of Object.entries(tables)) {
  const form = good[operation]!
  const names = Object.keys(fields)
  const anyPair = fc.tuple(fc.oneof(fc.constantFrom(...spellingsOf(fields)), strangeName, anyText), anyText)
  const nearlyGood = fc.array(anyPair, { maxLength: 6 }).map((more) => pairsOf(form).concat(more))

  describe(`the fields of ${operation}`, () => {
    test('the good form of this test has every field of the table', () => {
      assert.deepEqual(Object.keys(form), names)
    })

    test('a form that fits is read whole, in either spelling and with unknown fields beside', () => {
      fc.assert(
        fc.property(
          fc.shuffledSubarray(pairsOf(form), { minLength: names.length }),
          fc.boolean(),
          anyText,
          (pairs, other, text) => {
            const spelled = pairs.map(([name, value]): [string, string] => [(other && fields[name]!.alias) || name, value])
            const result = read(fields, [...spelled, ['__proto__', text], ['unknown', text], ['toString', text]])
            assert.ok('values' in result, inspect(result))
            assert.deepEqual(Object.keys(result.values), names)
            for (const [name, value] of pairs) assert.equal(result.raw(name), value)
            for (const name of ['__proto__', 'unknown', 'toString']) assert.equal(result.raw(name), undefined)
          },
        ),
      )
    })

    test('no form makes the reader throw; it returns values or one refusal of a field of the table', () => {
      fc.assert(
        fc.property(fc.oneof(fc.array(anyPair, { maxLength: 40 }), nearlyGood), (pairs) => {
          const result = read(fields, pairs)
          if ('values' in result) return
          const field = result.detail.split(' ')[0]!
          assert.ok(Object.hasOwn(fields, field), result.detail)
          assert.ok(result.refused === 'field is required' || result.refused === 'field is invalid')
        }),
        { numRuns: 500 },
      )
    })

    test('a changed field changes its value or its refusal, or those of a field that it governs', () => {
      fc.assert(
        fc.property(fc.constantFrom(...names), anyText, (name, text) => {
          const result = read(fields, pairsOf({ ...form, [name]: text }))
          if ('values' in result) return
          const refusedField = result.detail.split(' ')[0]!
          assert.ok(refusedField === name || governed[name]?.(fields[refusedField]!, refusedField), `${name}: ${result.detail}`)
        }),
        { numRuns: 1_000 },
      )
    })

    for (const name of names)
      test(`${name} left out is refused by name if it is mandatory, and else changes nothing`, () => {
        const { [name]: _gone, ...rest } = form
        const result = read(fields, pairsOf(rest))
        const need = fields[name]!.need
        const holds = typeof need === 'object' && need.holds((other) => rest[other])
        if (need === 'mandatory' || holds) assert.deepEqual(result, { refused: 'field is required', detail: name })
        else assert.ok('values' in result || governed[name], inspect(result))
      })

    test('a field given twice is refused by its name, even with the same value', () => {
      for (const name of names)
        assert.deepEqual(read(fields, [...pairsOf(form), [name, form[name]!]]), {
          refused: 'field is invalid',
          detail: `${name} is invalid: it is given twice`,
        })
    })

    test('the refusal does not depend on the order of the pairs', () => {
      fc.assert(
        fc.property(nearlyGood, fc.infiniteStream(fc.nat()), (pairs, keys) => {
          const shuffled = pairs
            .map((pair) => [keys.next().value, pair] as const)
            .toSorted(([a], [b]) => a - b)
            .map(([, pair]) => pair)
          const [one, other] = [read(fields, pairs), read(fields, shuffled)]
          assert.equal('values' in one, 'values' in other)
          if (!('values' in one)) assert.deepEqual(other, one)
        }),
      )
    })

    test('a refusal shows nothing of a card or secret value, which is read as a Secret or its masked part', () => {
      const guarded = names.filter((name) => fields[name]!.guard === 'card' || fields[name]!.guard === 'secret')
      if (guarded.length === 0) return
      const telling = fc.string({ unit: fc.constantFrom(...'0123456789ABCXYZ'.split('')), minLength: 5, maxLength: 30 })
      fc.assert(
        fc.property(fc.constantFrom(...guarded), telling, (name, text) => {
          for (const pairs of [pairsOf({ ...form, [name]: text }), [...pairsOf(form), [name, text] as [string, string]]]) {
            const result = read(fields, pairs)
            if ('refused' in result) assert.ok(!refusals[result.refused].text(result.detail).includes(text), result.detail)
            else if (text.length > 4) assert.ok((result.values as Record<string, unknown>)[name] instanceof Secret, name)
          }
        }),
      )
    })
  })
}

test('two fields of a table cannot share a spelling', () => {
  const { client_orderid: one, amount } = saleRequest
  assert.throws(() => read({ one, two: { ...amount, alias: 'one' } }, []), /two fields of a table are spelled one/)
})

describe('forms', () => {
  const wellFormed = fc.string({ unit: 'grapheme', maxLength: 40 })
  test('any written text is read back, with all characters', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.oneof(wellFormed, fc.constantFrom('a', '&', '=', '%', '+ ')), wellFormed)), (pairs) => {
        assert.deepEqual(readForm(Buffer.from(writeForm(pairs))), pairs)
      }),
    )
  })

  test('half a surrogate pair is written as the replacement character, and never makes the writer throw', () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.string({ unit: anySign }), fc.constantFrom('\ud800', 'a\udfffb', '\udc00\ud800'))),
        (pairs) => {
          const back = readForm(Buffer.from(writeForm(pairs)))
          assert.deepEqual(
            back,
            pairs.map((pair) => pair.map((text) => text.replace(/\p{Surrogate}/gu, '\ufffd'))),
          )
        },
      ),
    )
  })

  test('a written form has no byte outside the plain ones, so nothing in it can end a line, a header or an attribute', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(anyText, anyText)), (pairs) => {
        assert.match(writeForm(pairs), /^[A-Za-z0-9._*+%=&-]*$/)
      }),
    )
  })
})

const shift = (units: string, fraction: string, exponent: number): bigint =>
  BigInt(units) * 10n ** BigInt(exponent) + BigInt(fraction.slice(0, exponent).padEnd(exponent, '0') || '0')
const digitsOf = (min: number, max: number) =>
  fc.string({ unit: fc.constantFrom(...'0123456789'.split('')), minLength: min, maxLength: max })

describe('amounts', () => {
  test('a decimal text becomes minor units by shifting digits, and nothing is rounded away', () => {
    fc.assert(
      fc.property(digitsOf(1, 12), digitsOf(0, 6), fc.nat({ max: 4 }), (units, fraction, exponent) => {
        const text = fraction === '' ? units : `${units}.${fraction}`
        const expected = /[1-9]/.test(fraction.slice(exponent)) ? undefined : shift(units, fraction, exponent)
        assert.equal(decimalToMinor(text, exponent), expected)
      }),
      { numRuns: 1_000 },
    )
  })

  test('minor units spelled out are read as the same', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: 10n ** 18n }), fc.nat({ max: 4 }), (minor, exponent) => {
        assert.equal(decimalToMinor(minorToDecimal(minor, exponent), exponent), minor)
      }),
    )
  })

  for (const text of [
    '',
    '.',
    '1.',
    '.5',
    '1..2',
    '1.2.3',
    '-1',
    '+1',
    '-0',
    '1e5',
    '0x10',
    ' 1',
    '1 ',
    '1,5',
    '٣',
    '１',
    'Infinity',
    '1_000',
    '1\n',
    '²',
  ])
    test(`${JSON.stringify(text)} is no amount`, () => {
      assert.equal(decimalToMinor(text, 2), undefined)
      assert.ok(!('values' in read(saleRequest, pairsOf({ ...good['sale']!, amount: text === '' ? '0' : `${text}x` }))))
    })

  test('an amount that the currency cannot express is refused, and any other keeps its spelling', () => {
    // oxfmt-ignore
    const cases: readonly (readonly [amount: string, currency: string, minor: bigint | undefined])[] = [
      ['100.00', 'JPY', 100n], ['100.01', 'JPY', undefined], ['1.234', 'KWD', 1234n], ['1.2345', 'KWD', undefined], ['0.57', 'USD', 57n],
      ['0.00', 'USD', undefined], ['0', 'USD', undefined], ['00000000.1', 'USD', 10n], ['9999999999', 'USD', 999999999900n], ['99999999999', 'USD', undefined],
    ]
    for (const [amount, currency, minor] of cases) {
      const result = read(saleRequest, pairsOf({ ...good['sale']!, amount, currency }))
      if (minor === undefined)
        assert.match('detail' in result ? result.detail : '', /^amount is invalid: /, `${amount} ${currency}`)
      else
        assert.deepEqual(
          'values' in result && (result.values as Record<string, unknown>)['amount'],
          { text: amount, minor },
          `${amount} ${currency}`,
        )
    }
    assert.equal(currencyOf('constructor'), undefined)
  })
})
