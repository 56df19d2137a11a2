import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { closing, openWorld } from '../../harness/world/opening.ts'
import { fieldsOf, refusalCases } from './mobile-fields.ts'
import type { Json, Kind } from './mobile-merchant.ts'
import { about, accepted, begin, cardAt, initiate, openMobile, perform, refused, rested } from './mobile.ts'

/** The fields of the mobile API's perform requests, one by one: choices.md section 8. */

const world = await openWorld()
const mobile = await openMobile(world)
closing(mobile.shop)

const kinds: Kind[] = ['verification', 'sale', 'transfer']

describe('a value that does not fit is refused, and the message names its field', { concurrency: 8 }, () => {
  for (const kind of kinds) refusalCases(() => mobile, kind)
})

describe('a value that fits is accepted', { concurrency: 8 }, () => {
  for (const kind of kinds) {
    for (const { path, takes } of fieldsOf(kind)) {
      for (const [index, value] of takes.entries()) {
        it(`${kind}: ${path} at its end ${index}`, async () => {
          await begin(mobile, kind, { [path]: typeof value === 'function' ? value() : value })
        })
      }
    }
  }
})

describe('the holder of the card', { concurrency: 4 }, () => {
  for (const kind of kinds) {
    const holder = `${cardAt(kind)}.holder`
    const good: [string, Json][] = [
      ['first and last name', { firstName: 'Ada', lastName: 'Lovelace' }],
      ['first and last name of a letter', { firstName: 'A', lastName: 'L' }],
      ['first and last name of 50 letters', { firstName: 'a'.repeat(50), lastName: 'b'.repeat(50) }],
      ['a printed name', { printedName: 'A' }],
      ['all three', { firstName: 'Ada', lastName: 'Lovelace', printedName: 'A LOVELACE' }],
    ]
    for (const [what, names] of good) {
      it(`${kind}: ${what} will do`, async () => {
        await begin(mobile, kind, { [holder]: names })
      })
    }
    const bad: [string, unknown][] = [
      ['no name at all', {}],
      ['no holder', undefined],
      ['null', null],
      ['a first name alone', { firstName: 'Ada' }],
      ['a last name alone', { lastName: 'Lovelace' }],
      ['names that are empty', { firstName: '', lastName: '', printedName: '' }],
      ['a first name of 51 letters', { firstName: 'a'.repeat(51), lastName: 'Lovelace' }],
      ['a last name of 51 letters', { firstName: 'Ada', lastName: 'b'.repeat(51) }],
      ['a last name that is a number', { firstName: 'Ada', lastName: 7 }],
    ]
    for (const [what, names] of bad) {
      it(`${kind}: ${what} is refused`, async () => {
        const made = initiate(mobile, kind, { [holder]: names })
        refused(await perform(mobile, made), 'INVALID_REQUEST', about(holder), made.invoiceId)
      })
    }
  }
})

describe('the source of funds of a sale', { concurrency: 4 }, () => {
  const reference = { clientCardId: 'card-1' }
  // oxfmt-ignore
  const good: [string, Json][] = [
    ['a reference with a clientCardId of one letter',     { 'sourceOfFunds.reference': { clientCardId: 'c' } }],
    ['a reference with a clientCardId of 128 letters',    { 'sourceOfFunds.reference': { clientCardId: 'c'.repeat(128) } }],
    ['a reference with a security code of three digits',  { 'sourceOfFunds.reference': { ...reference, securityCode: '123' } }],
    ['a reference with a security code of four digits',   { 'sourceOfFunds.reference': { ...reference, securityCode: '1234' } }],
  ]
  for (const [what, changes] of good) {
    it(`${what} is accepted`, async () => {
      await begin(mobile, 'sale', { 'sourceOfFunds.card': undefined, ...changes })
    })
  }
  // oxfmt-ignore
  const bad: [string, Json, string][] = [
    ['neither card nor reference',            { 'sourceOfFunds.card': undefined },                                     'sourceOfFunds'],
    ['no sourceOfFunds',                      { sourceOfFunds: undefined },                                            'sourceOfFunds'],
    ['sourceOfFunds null',                    { sourceOfFunds: null },                                                 'sourceOfFunds'],
    ['a text instead of sourceOfFunds',       { sourceOfFunds: 'card' },                                               'sourceOfFunds'],
    ['card and reference together',           { 'sourceOfFunds.reference': reference },                                'sourceOfFunds'],
    ['a reference without a clientCardId',    { sourceOfFunds: { reference: { securityCode: '123' } } },               'sourceOfFunds.reference.clientCardId'],
    ['an empty clientCardId',                 { sourceOfFunds: { reference: { clientCardId: '' } } },                  'sourceOfFunds.reference.clientCardId'],
    ['a clientCardId of 129 letters',         { sourceOfFunds: { reference: { clientCardId: 'c'.repeat(129) } } },     'sourceOfFunds.reference.clientCardId'],
    ['a clientCardId that is a number',       { sourceOfFunds: { reference: { clientCardId: 7 } } },                   'sourceOfFunds.reference.clientCardId'],
    ['a security code of two digits',         { sourceOfFunds: { reference: { ...reference, securityCode: '12' } } },  'sourceOfFunds.reference.securityCode'],
    ['a security code of five digits',        { sourceOfFunds: { reference: { ...reference, securityCode: '12345' } } }, 'sourceOfFunds.reference.securityCode'],
    ['a security code that is a number',      { sourceOfFunds: { reference: { ...reference, securityCode: 123 } } },   'sourceOfFunds.reference.securityCode'],
    ['a reference that is a list',            { sourceOfFunds: { reference: [reference] } },                           'sourceOfFunds.reference'],
  ]
  for (const [what, changes, path] of bad) {
    it(`${what}: refused`, async () => {
      const made = initiate(mobile, 'sale', changes)
      refused(await perform(mobile, made), 'INVALID_REQUEST', about(path), made.invoiceId)
    })
  }
})

describe('the destination of funds of a transfer', { concurrency: 4 }, () => {
  for (const length of [1, 128]) {
    it(`a reference with a clientCardId of ${length}: accepted`, async () => {
      await begin(mobile, 'transfer', { destinationOfFunds: { reference: { clientCardId: 'c'.repeat(length) } } })
    })
  }
  const card = { number: '5555555555554444' }
  // oxfmt-ignore
  const bad: [string, unknown, string][] = [
    ['none',                               undefined,                                        'destinationOfFunds'],
    ['null',                               null,                                             'destinationOfFunds'],
    ['a text',                             'card',                                           'destinationOfFunds'],
    ['a list',                             [card],                                           'destinationOfFunds'],
    ['neither card nor reference',         {},                                               'destinationOfFunds'],
    ['card and reference together',        { card, reference: { clientCardId: 'c' } },       'destinationOfFunds'],
    ['a card without a number',            { card: {} },                                     'destinationOfFunds.card.number'],
    ['a card that is a text',              { card: '5555555555554444' },                     'destinationOfFunds.card'],
    ['a reference without a clientCardId', { reference: {} },                                'destinationOfFunds.reference.clientCardId'],
    ['an empty clientCardId',              { reference: { clientCardId: '' } },              'destinationOfFunds.reference.clientCardId'],
    ['a clientCardId of 129 letters',      { reference: { clientCardId: 'c'.repeat(129) } }, 'destinationOfFunds.reference.clientCardId'],
    ['a clientCardId that is a number',    { reference: { clientCardId: 7 } },               'destinationOfFunds.reference.clientCardId'],
  ]
  for (const [what, destinationOfFunds, path] of bad) {
    it(`${what}: refused`, async () => {
      const made = initiate(mobile, 'transfer', { destinationOfFunds })
      refused(await perform(mobile, made), 'INVALID_REQUEST', about(path), made.invoiceId)
    })
  }
})

describe('members that the tables do not name', { concurrency: 4 }, () => {
  for (const kind of kinds) {
    it(`${kind}: are ignored, wherever they stand`, async () => {
      const changes = {
        extra: { a: [1, { b: null }] },
        'consumer.extra': 'x',
        'consumer.device.model': 7,
        'session.checkSignature': 'x',
        'session.token': 'x',
        'transaction.randomSumCentis': 5,
        'transaction.commissionCentis': 'none',
        'billing.extra': true,
        [`${cardAt(kind)}.track2`]: ';4111=',
      }
      const made = await begin(mobile, kind, changes)
      const told = await rested(mobile, made)
      assert.equal(told.state, 'APPROVED', JSON.stringify(told))
    })
  }
  it('null in an optional field counts as absent', async () => {
    const changes = { location: null, billing: null, order: null, 'consumer.birthDay': null, 'consumer.ipAddresses': null }
    await begin(mobile, 'verification', changes)
  })
  it('a sale by card needs no e-mail address', async () => {
    const made = initiate(mobile, 'sale', { 'consumer.email': undefined })
    accepted(await perform(mobile, made), made)
  })
})

describe('when all of this is over', () => {
  it('the merchant’s server was asked about nothing that it did not initiate', () => {
    assert.deepEqual(mobile.shop.strays, [])
  })
})
