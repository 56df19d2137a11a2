import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { textOf } from '../../../src/base/csv.ts'
import { binTableOf, readBins, type BinRange } from '../../../src/card/bins.ts'

const read = (csv: string): BinRange[] => {
  const ranges = readBins(csv)
  assert.ok(typeof ranges !== 'string')
  return ranges
}

test('a table is read in any order of its columns, with quotes, three-letter countries and unknown columns', () => {
  const ranges = read('\uFEFFBank,country,first,last,note\n"First, Bank",usa,400000,400099,x\n,,52000000,,\n\nB,DE,4001,4001,\n')
  assert.deepEqual(ranges, [
    { first: 40000000000, last: 40009999999, country: 'US', bank: 'First, Bank' },
    { first: 40010000000, last: 40019999999, country: 'DE', bank: 'B' },
    { first: 52000000000, last: 52000000999 },
  ])
})

describe('an invalid table is refused with the line of its fault', () => {
  // oxfmt-ignore
  const rows: readonly (readonly [string, RegExp])[] = [
    ['', /no ranges/], ['first,last\n', /no ranges/], ['first\n12', /line 2.*"12"/], ['first\n400000\n4000000000001', /line 3/],
    ['first,last\n400000,39', /line 2/], ['first,last\n400001,400000', /line 2.*before/], ['first,country\n400000,XX', /"XX"/],
    ['first,bank\n400000,"open', /not CSV/], [`first,bank\n400000,${'x'.repeat(101)}`, /longer/],
    ['first,last\n4000,4001\n400100,400300', /^line 3: its range and that of line 2 overlap, and neither contains/],
    ['first,last\n400100,400300\n4000,4001', /^line 3: its range and that of line 2 overlap/],
    ['first,bank\n4000,A\n40,B\n4000,B',       /^line 3: "40"/],
    ['first,bank\n4000,A\n5000,B\n4000,B',     /^line 4: its range and that of line 2 are equal, with different contents$/],
    ['iin_start,country\n400000,US',            /^line 1: the column first is missing; there are iin_start, country$/],
    ['first,First\n400000,400001',               /^line 1: the column first appears twice$/],
    ['last;bank\n400000;A',                     /^line 1: the column first is missing; there are last, bank$/],
    ['first,country\n\n400000,US\n400001,XX',  /^line 4: "XX"/],
  ]
  for (const [csv, why] of rows)
    test(JSON.stringify(csv.slice(0, 40)), () => {
      const complaint = readBins(csv)
      assert.ok(typeof complaint === 'string')
      assert.match(complaint, why)
    })
})

/** A small table: a bank, a range of it in another country, and one card of that. */
const nested = [
  ['FIRST', 'Last', 'country', 'BANK'],
  ['4000', '4009', 'US', 'A'],
  ['400100', '', 'DE', 'B'],
  ['40010077', '', 'FR', ''],
  ['4000', '4009', 'US', 'A'],
  ['4009', '', 'GB', 'Cr\xe9dit'],
]
const nestedRanges = [
  { first: 40000000000, last: 40009999999, country: 'US', bank: 'A' },
  { first: 40010000000, last: 40010076999, country: 'DE', bank: 'B' },
  { first: 40010077000, last: 40010077999, country: 'FR' },
  { first: 40010078000, last: 40010099999, country: 'DE', bank: 'B' },
]
const saved = (by: string, end: string): string => nested.map((row) => row.join(by) + end).join('')
const utf16 = (text: string, isBig: boolean): Buffer => {
  const bytes = Buffer.from(`\uFEFF${text}`, 'utf16le')
  return isBig ? bytes.swap16() : bytes
}

describe('ranges within ranges and equal rows are one table, in which the narrowest counts, however it was saved', () => {
  // oxfmt-ignore
  const files: readonly (readonly [how: string, file: Buffer])[] = [
    ['commas',                              Buffer.from(saved(',', '\n'))],
    ['semicolons, CR LF',                   Buffer.from(saved(';', '\r\n'))],
    ['tabs',                                Buffer.from(saved('\t', '\n'))],
    ['a byte order mark',                   Buffer.from(`\uFEFF${saved(';', '\n')}`)],
    ['blank lines in front',                Buffer.from(`\r\n\r\n${saved(',', '\r\n')}`)],
    ['UTF-16 of Windows, with tabs',        utf16(saved('\t', '\r\n'), false)],
    ['UTF-16, the other way round',         utf16(saved(',', '\n'), true)],
    ['Windows-1252',                        Buffer.from(saved(';', '\r\n'), 'latin1')],
  ]
  for (const [how, file] of files)
    test(how, () => {
      const ranges = read(textOf(file))
      assert.deepEqual(ranges.slice(1, 4), nestedRanges.slice(1))
      const find = binTableOf(ranges)
      const found = ['4000', '40010000', '40010077', '40010078', '4002', '40091', '4010'].map(
        (bin) => find(bin)?.bank ?? find(bin)?.country,
      )
      assert.deepEqual(found, ['A', 'B', 'FR', 'B', 'A', 'Cr\xe9dit', undefined])
    })
})

test('the narrowest range around a card counts, in any nesting', () => {
  const prefix = fc
    .integer({ min: 4000, max: 4099 })
    .chain((n) => fc.constantFrom(String(n), `${n}5`, `${n}50`, `${n}505`, `${n}5050`))
  fc.assert(
    fc.property(fc.uniqueArray(prefix, { minLength: 1, maxLength: 40 }), prefix, (prefixes, asked) => {
      const find = binTableOf(read(['first,bank', ...prefixes.map((one) => `${one},${one}`)].join('\n')))
      const pan = asked.padEnd(16, '5')
      const narrowest = prefixes.filter((one) => pan.startsWith(one)).sort((a, b) => b.length - a.length)[0]
      assert.equal(find(pan)?.bank, narrowest)
    }),
  )
})

test('a card is found in its range, on both ends of it, and nowhere else', () => {
  fc.assert(
    fc.property(
      fc.uniqueArray(fc.integer({ min: 100, max: 900 }), { minLength: 2, maxLength: 30 }),
      fc.integer({ min: 100, max: 999 }),
      (cuts, bin) => {
        const sorted = cuts.toSorted((a, b) => a - b)
        const ranges = sorted.flatMap((cut, i) =>
          i % 2 === 1 ? [{ first: sorted[i - 1]! * 1e8, last: cut * 1e8 - 1, bank: String(i) }] : [],
        )
        const expected = ranges.find(({ first, last }) => bin * 1e8 >= first && bin * 1e8 <= last)
        assert.equal(binTableOf(ranges)(`${bin}0000000000000`)?.bank, expected?.bank)
      },
    ),
  )
})
