import assert from 'node:assert/strict'
import { test } from 'node:test'
import { languages, minutesText, moneyMarkup, moneyText, numberText, textsFor, timeText } from '../../../src/pages/languages.ts'

/** The language of the hosted pages, and what is said in it. */

test('a page speaks the language that the browser prefers of ours, else English', () => {
  // oxfmt-ignore
  const cases = [
    // of the order                       of the request          speaks
    [undefined,                           undefined,              'en'],
    ['',                                  '',                     'en'],
    ['de',                                undefined,              'de'],
    ['de-AT',                             'fr',                   'de'],
    ['DE_de',                             'fr',                   'fr'],
    ['ES-419,es;q=0.9',                   undefined,              'es'],
    ['fr-CA, fr;q=0.9, en;q=0.8',         undefined,              'fr'],
    ['en;q=0.5, ru;q=0.9',                undefined,              'ru'],
    ['en;q=0.5,ru ; q=0.500, de;q=0.4',   undefined,              'en'],
    ['pl, de;q=0.3',                      undefined,              'de'],
    ['pl',                                'es',                   'es'],
    ['pl',                                'ja',                   'en'],
    ['de;q=0',                            undefined,              'en'],
    ['de;q=0, fr;q=0.001',                undefined,              'fr'],
    ['*',                                 'de',                   'en'],
    ['en;q=0, *',                         undefined,              'de'],
    ['en;q=0, de;q=0.2, *;q=0.3',         undefined,              'fr'],
    ['*;q=0.1, ru;q=0.2',                 undefined,              'ru'],
    ['de;q=2, ru',                        undefined,              'ru'],
    ['de;q=abc',                          undefined,              'en'],
    ['<script>, de',                      undefined,              'de'],
    ['__proto__,constructor',             undefined,              'en'],
    [`${'x,'.repeat(5_000)}de`,           undefined,              'en'],
  ] as const
  for (const [order, request, speaks] of cases) assert.equal(textsFor(order, request).lang, speaks, String(order))
})

/** Every text of a language by its place. Those with values in them get values that show. */
const textsIn = (said: object, at = ''): [string, string][] =>
  Object.entries(said).flatMap(([name, value]: [string, unknown]): [string, string][] => {
    const place = `${at}.${name}`
    if (typeof value === 'function')
      return [1, 3].map((n) => [`${place} ${n}`, (value as (one: number, other: string) => string)(n, 'other')])
    return typeof value === 'string' ? [[place, value]] : textsIn(value as object, place)
  })

test('every language has its own words for every text', () => {
  const [english, ...others] = languages.map((texts) => new Map(textsIn(texts)))
  // Words that a language shares with English.
  const shared = /^\.(?:dir|receipt\.date|sum\.card)/
  assert.ok(english!.size > 70)
  for (const said of others) {
    assert.deepEqual([...said.keys()], [...english!.keys()])
    for (const [place, text] of said) {
      assert.match(text, /\S/)
      assert.ok(shared.test(place) || text !== english!.get(place), `${said.get('.lang')}${place}: ${text}`)
      assert.doesNotMatch(text, /undefined|  |[<>]/)
      // Where English has the value, so has the other one.
      if (/ \d$/.test(place)) assert.match(text, /[13]/, place)
    }
  }
})

test('amounts, numbers, spans and times are written as the language writes them', () => {
  // oxfmt-ignore
  const cases = [
    ['en', 'USD 1,234,567.50', '9.99', '21 minutes', 'November 14, 2023 at 10:13:20 PM UTC'],
    ['de', '1.234.567,50 USD', '9,99', '21 Minuten', '14. November 2023 um 22:13:20 UTC'],
    ['fr', '1 234 567,50 USD', '9,99', '21 minutes', '14 novembre 2023 à 22:13:20 UTC'],
    ['es', '1.234.567,50 USD', '9,99', '21 minutos', '14 de noviembre de 2023, 22:13:20 UTC'],
    ['ru', '1 234 567,50 USD', '9,99', '21 минута', '14 ноября 2023 г. в 22:13:20 UTC'],
  ] as const
  const plain = (text: string | undefined) => text?.replaceAll(/\s/gu, ' ').replace(' a las ', ', ')
  for (const [lang, money, number, minutes, time] of cases) {
    const texts = textsFor(lang)
    assert.equal(plain(moneyText(texts, '1234567.5', 'USD')), money)
    assert.equal(numberText(texts, '9.99'), number)
    assert.equal(plain(minutesText(texts, 21)), minutes)
    assert.equal(plain(timeText(texts, 1_700_000_000_000)), time)
  }
})

test('an amount keeps all its digits, as many decimals as its currency has, and is never a guess', () => {
  const texts = textsFor('en')
  const written = (decimal: string, currency: string) => moneyText(texts, decimal, currency).replaceAll(/\s/gu, ' ')
  assert.equal(written('9007199254740993.01', 'USD'), 'USD 9,007,199,254,740,993.01')
  assert.equal(written('1000', 'JPY'), 'JPY 1,000')
  assert.equal(written('1.5', 'KWD'), 'KWD 1.500')
  assert.equal(written('7', 'AFN'), 'AFN 7.00')
  for (const strange of ['1e3', '-5', 'NaN', '0x10', '', '1.', '<b>'])
    assert.equal(moneyText(texts, strange, 'USD'), `${strange} USD`)
  assert.equal(moneyText(texts, '5', '<i>'), '5 <i>')
  const markup = [moneyMarkup(texts, '<b>', '<i>')].flat().map(({ text }) => text)
  assert.deepEqual(markup, ['&#60;b&#62; <small>&#60;i&#62;</small>'])
})
