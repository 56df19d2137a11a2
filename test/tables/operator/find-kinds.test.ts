import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { Unreadable } from '../../../src/entity/kinds.ts'
import { findActions } from '../../../src/operator/orders/find-actions.ts'
import { findKinds, kindsOf } from '../../../src/operator/orders/find-kinds.ts'
import { triedOf } from '../../../src/operator/orders/find-rows.ts'

// What a text could name, before anything is looked for.

const serial = '5a6ea4cc-802d-4ff8-a6b7-c9addebf7d68'
const receipt = '01a2b3c4-d5e6-8f01-9234-56789abcdef0'

// oxfmt-ignore
const texts: readonly [text: string, kinds: string][] = [
  ['1000001',                'order-id invoice-id client-orderid phone'],
  ['0',                      'invoice-id client-orderid'],
  ['1000001/2',              'callback client-orderid'],
  ['1000001/0',              'client-orderid'],
  [serial,                   'serial-number invoice-id client-orderid'],
  [serial.toUpperCase(),     'serial-number invoice-id client-orderid'],
  [receipt,                  'serial-number receipt-id invoice-id client-orderid'],
  ['000000000042',           'invoice-id client-orderid rrn'],
  ['A1B2C3D4E5F6',           'invoice-id client-orderid rrn'],
  ['000042',                 'invoice-id client-orderid stan approval-code'],
  ['A1B2C3',                 'invoice-id client-orderid approval-code'],
  ['4111111111111111',       'order-id invoice-id client-orderid card'],
  ['4111 1111 1111 1111',    'client-orderid card'],
  ['4111111111111112',       'order-id invoice-id client-orderid'],
  ['411111…1111',            'client-orderid card-digits'],
  ['411111******1111',       'client-orderid card-digits'],
  ['4111 11** **** 1111',    'client-orderid card-digits'],
  ['41111…1111',             'client-orderid'],
  ['eve@example.com',        'client-orderid email'],
  ['Eve <eve@example.com>',  'client-orderid'],
  ['+44 20 7946 0000',       'client-orderid phone'],
  ['020 7946 0000',          'client-orderid phone'],
  ['invoice 17',             'client-orderid'],
  ['Ünïcode №17',            'client-orderid'],
  ['x'.repeat(128),          'invoice-id client-orderid'],
  ['x'.repeat(129),          ''],
  ['',                       ''],
  [`${'e'.repeat(120)}@shop.example`, ''],
  ['eve\0@shop.example',      ''],
  ['two\nlines',             ''],
  ['a\0b',                   ''],
]

test('a text is looked for as each kind of name that it could be', () => {
  for (const [text, kinds] of texts) assert.equal(kindsOf(text).join(' '), kinds, text)
})

const { what } = findActions.find!.takes

test('a text that can be no name is refused with what it must be, and is not repeated', () => {
  const strange = fc.oneof(
    fc
      .tuple(fc.string({ unit: 'binary' }), fc.constantFrom('\0', '\n', '\u0007', '\u0085'))
      .map(([text, mark]) => `x${text}${mark}y`),
    fc.string({ unit: 'grapheme', minLength: 129 }).filter((text) => Array.from(text.trim()).length > 128),
    fc.constantFrom('', ' ', '\t\n'),
  )
  fc.assert(
    fc.property(strange, (text) => {
      const read = what!.is.read(text)
      assert.ok(read instanceof Unreadable, JSON.stringify(text))
      assert.equal(read.must, 'a text of one line, of 1 to 128 characters')
    }),
  )
})

test('every order is read for one kind at most, and not if the text is a name of some order', () => {
  const digits = fc.string({ unit: fc.constantFrom(...Array.from('0123456789+-. ()*…/@aF')), maxLength: 40 })
  fc.assert(
    fc.property(fc.oneof(digits, fc.uuid(), fc.emailAddress()), (text) => {
      assert.ok(kindsOf(text).filter((name) => !findKinds[name].at).length <= 1, text)
    }),
  )
  assert.deepEqual(triedOf({ what: '1000001' }, []).left, [])
  assert.deepEqual(triedOf({ what: '1000001' }, [{ by: ['order-id'] }]).left, ['phone'])
  assert.deepEqual(triedOf({ what: '1000001', as: ['phone', 'order-id'] }, [{ by: ['order-id'] }]), {
    tried: ['order-id', 'phone'],
    left: [],
  })
  assert.deepEqual(triedOf({ what: 'eve@example.com' }, [{ by: ['email'] }]).tried, ['client-orderid', 'email'])
})
