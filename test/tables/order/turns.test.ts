import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { parseObject } from '../../../src/base/json.ts'
import { flood, openTurns, turnBudget, type InPieces, type Piece } from '../../../src/base/turn.ts'
import { readFields } from '../../../src/spec/field.ts'
import { formReader, readForm } from '../../../src/spec/form.ts'
import { saleRequest } from '../../../src/spec/gateway/sale.ts'

/** Turns that end when the test says so. */
function openByHand() {
  const ends: (() => void)[] = []
  return { turns: openTurns((fn) => void ends.push(fn)), ends }
}

const settle = () => new Promise((resolve) => setImmediate(resolve))

function* work(pieces: readonly Piece[], done: Piece[]): InPieces<number> {
  for (const piece of pieces) {
    yield piece
    done.push(piece)
  }
  return done.length
}

test('a turn takes as much as its budget, and the rest waits for its end, in the order in which it came', async () => {
  const { turns, ends } = openByHand()
  const done: Piece[] = []
  const four = Array.from({ length: 4 }, (): Piece => ['signatures', 3])
  const first = turns.run(work(four, done))
  const second = turns.run(
    work(
      [
        ['signatures', 2],
        ['signatures', 8],
      ],
      done,
    ),
  )
  await settle()
  assert.deepEqual(
    done.map(([, count]) => count),
    [3, 3, 2],
  )
  const seen = []
  while (ends.length > 0) {
    ends.shift()!()
    await settle()
    seen.push(done.map(([, count]) => count).slice(3))
  }
  assert.deepEqual(seen, [
    [3, 3],
    [3, 3, 8],
    [3, 3, 8],
  ])
  await Promise.all([first, second])
  assert.deepEqual(turns.counts().signatures, { total: 22, most: 8 })
})

test('work that fits the turn is done without waiting', () => {
  const { turns } = openByHand()
  assert.equal(turns.run(work([['pairs', 1_100]], [])), 1)
  assert.ok(turns.run(work([['pairs', 1]], [])) instanceof Promise)
})

test('units do not stand in each other’s way, and what fits one turn never waits', async () => {
  const { turns, ends } = openByHand()
  const all: Piece[] = [
    ['bytes', turnBudget.bytes],
    ['pairs', turnBudget.pairs],
    ['nodes', turnBudget.nodes],
    ['signatures', turnBudget.signatures],
  ]
  assert.equal(await turns.run(work(all, [])), 4)
  assert.equal(ends.length, 1)
})

test('a turn begins as many requests as its budget; the others follow in their order', async () => {
  const { turns, ends } = openByHand()
  const begun: number[] = []
  const ask = async (from: number, to: number) => {
    for (let i = from; i < to; i++) void Promise.resolve(turns.begin()).then(() => begun.push(i))
    await settle()
  }
  assert.equal(turns.rush(), undefined)
  await ask(0, 20)
  assert.equal(begun.length, turnBudget.requests)
  // These come when the turn is over, and before those that wait were let in.
  ends.shift()!()
  await ask(20, 22)
  assert.equal(begun.length, 2 * turnBudget.requests)
  assert.ok(turns.rush() instanceof Promise)
  ends.shift()!()
  await settle()
  assert.deepEqual(
    begun,
    Array.from({ length: 22 }, (_, i) => i),
  )
  assert.equal(turns.rush(), undefined, 'no request waits any more')
  assert.deepEqual(turns.counts().requests, { total: 22, most: turnBudget.requests })
})

test('half of a flood of requests begins in the next turn, and a request that finds too many waiting is refused', async () => {
  const { turns, ends } = openByHand()
  const begun: number[] = []
  for (let i = 0; i < flood + 2; i++) void Promise.resolve(turns.begin()).then(() => begun.push(i))
  await settle()
  assert.equal(begun.length, turnBudget.requests)
  const waiting = flood + 2 - turnBudget.requests
  assert.equal(turns.begin(waiting), 'full')
  assert.ok(turns.begin(waiting + 1) instanceof Promise)
  ends.shift()!()
  await settle()
  assert.equal(begun.length, turnBudget.requests + (flood + 4) / 2)
  ends.shift()!()
  await settle()
  assert.equal(begun.length, turnBudget.requests + (flood + 4) / 2 + turnBudget.requests, 'the flood is over')
})

const piecesOf = (reader: InPieces<unknown>): Piece[] => [...reader]

test('no piece of a form is more than a turn takes, in any shape', () => {
  const word = fc.oneof(
    fc.string({ unit: 'grapheme', maxLength: 20 }),
    fc
      .constantFrom('%41', '%E2%82%AC', 'é', '+', '%', '%C3', '€', '\u{1f600}')
      .chain((one) => fc.nat({ max: 120_000 }).map((times) => one.repeat(times / one.length))),
  )
  fc.assert(
    fc.property(fc.array(fc.tuple(word, word), { maxLength: 6 }), (pairs) => {
      const body = Buffer.from(pairs.map(([name, value]) => `${name}=${value}`).join('&'))
      for (const [unit, count] of piecesOf(formReader(body))) assert.ok(count <= turnBudget[unit], `${count} ${unit}`)
    }),
    { numRuns: 60 },
  )
})

test('a long value that is read in pieces is what it would be in one', () => {
  for (const one of ['%41', '%e2%82%ac', 'é', '+', '€', '\u{1f600}', '%F0%9F%98%80', 'a%20', '%2B+'])
    for (const shift of [0, 1, 2, 3, 4, 5]) {
      const value = 'x'.repeat(shift) + one.repeat(150_000 / one.length)
      assert.deepEqual(readForm(Buffer.from(`a=1&name=${value}&b=2`)), [
        ['a', '1'],
        ['name', decodeURIComponent(value.replaceAll('+', ' '))],
        ['b', '2'],
      ])
      assert.deepEqual(readForm(Buffer.from(`${value}=1`))?.length, 1)
      for (const broken of ['%', '%4', '%zz', '%C3', '%80', '%ED%A0%80'])
        assert.equal(readForm(Buffer.from(`name=${value}${broken}`)), undefined, `${one} ${broken}`)
    }
})

test('a body of a thousand pairs is a form and one of a thousand and one is not, in one piece or in many', () => {
  for (const length of [1, 100, 3_000])
    for (const [count, is] of [
      [1_000, true],
      [1_001, false],
    ] as const)
      assert.equal(readForm(Buffer.from(Array.from({ length: count }, () => 'x'.repeat(length)).join('&'))) !== undefined, is)
})

test('a known field may have a KiB of blanks around its longest text; beyond that it is neither trimmed nor hashed', () => {
  const name = '\u{1f600}'.repeat(128)
  const blanks = (count: number) => ' '.repeat(count)
  const read = (value: string) => readFields(saleRequest, [['client_orderid', value]], new Set())
  // The next mandatory field is missing: this one was there.
  for (const value of [name, blanks(1_024) + name, blanks(512) + name + blanks(512)])
    assert.deepEqual(read(value), { refused: 'field is required', detail: 'order_desc' })
  const all = (value: string): readonly (readonly [string, string])[] =>
    Object.keys(saleRequest).map((field) => [field, field === 'client_orderid' ? value : 'x'])
  for (const value of [`${name}${blanks(1_025)}`, blanks(100_000), `a${blanks(2_000)}b`])
    assert.deepEqual(readFields(saleRequest, all(value)), {
      refused: 'field is invalid',
      detail: 'client_orderid is invalid: it is longer than 128 characters',
    })
})

const limits = { length: 200_000, depth: 3, nodes: 10 }
//                       text                                    what becomes of it
// oxfmt-ignore
const texts: readonly (readonly [string, string])[] = [
  ['{}',                                                         'object'],
  ['{"a":[{}]}',                                                 'object'],
  ['{"a":[{"b":[]}]}',                                           'too deep'],
  ['[[[[',                                                       'too deep'],
  ['['.repeat(200_000),                                          'too deep'],
  ['{"a":[1,2,3,4,5,6,7]}',                                      'object'],
  ['{"a":[1,2,3,4,5,6,7,8]}',                                    'of too many parts'],
  ['{"a":1,"b":2,"c":3,"d":true,"e":null}',                      'of too many parts'],
  ['{"a":1,"b":2,"c":3,"d":true}',                               'object'],
  ['{"a":"[[[[[[[[,,,,,,::::::{{{{{"}',                          'object'],
  ['{"a":"\\"[[[[[[[[1,2,3,4,5,6,7,8,9"}',                       'object'],
  ['{"a":"\\\\"}',                                               'object'],
  ['{"a":"\\',                                                   'not an object'],
  ['{"a":"',                                                     'not an object'],
  ['{"a',                                                        'not an object'],
  ['"a":1',                                                      'not an object'],
  ['"\\x":1',                                                    'not an object'],
  ['{"\\x":1}',                                                  'not an object'],
  [']]]]]]',                                                     'not an object'],
  ['[1]',                                                        'not an object'],
  ['',                                                           'not an object'],
  [',:,:'.repeat(10_000),                                        'not an object'],
  ['{"a":1,"\\u0061":2}',                                        'doubtful'],
  ['\ufeff\r\n{"a":1}\r\n',                                       'object'],
  ['\ufeff\ufeff{}',                                             'not an object'],
  ['{}\ufeff',                                                   'not an object'],
  ['{"__proto__":1}',                                            'doubtful'],
  ['{"a":1}'.padEnd(200_001),                                    'too long'],
]

test('JSON is refused by its depth, its parts and its length before it is parsed', () => {
  for (const [text, becomes] of texts) {
    const read = parseObject(text, limits)
    assert.equal(read.is === 'refused' ? read.why : read.is, becomes, text.slice(0, 60))
  }
})

test('any JSON within its limits is read as JSON.parse reads it', () => {
  const generous = { length: 1_000_000, depth: 100, nodes: 100_000 }
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue()), fc.nat({ max: 3 }), (value, indent) => {
      const text = JSON.stringify(value, undefined, indent)
      const read = parseObject(text, generous)
      assert.ok(read.is !== 'refused', text)
      assert.deepEqual(read.fields, JSON.parse(text))
    }),
    { numRuns: 300 },
  )
  fc.assert(
    fc.property(
      fc.string({ unit: fc.constantFrom('{', '}', '[', ']', '"', ',', ':', '\\', 'u', '0', '1', '9', 'a', 'e', ' ', 't', 'n') }),
      (text) => {
        parseObject(text, generous)
      },
    ),
    { numRuns: 2_000 },
  )
})
