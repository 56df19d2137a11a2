import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { pageFields } from '../../../src/merchant/fields/page.ts'
import { judgeLogo, mostLogoBytes } from '../../../src/merchant/logo.ts'
import { name, Unreadable } from '../../../src/entity/kinds.ts'
import { brandStyle, contrast, leastContrast, lookOf, papers, readable } from '../../../src/pages/brand.ts'
import { actionCodes, declineReason } from '../../../src/spec/action-codes.ts'
import type { Status } from '../../../src/spec/words.ts'
import { image } from '../../harness/browser/images.ts'

/** What hosted pages show of a merchant, and what they say of an outcome. */

const steps = [0, 51, 102, 128, 153, 204, 255].map((part) => part.toString(16).padStart(2, '0'))
const colours = steps.flatMap((r) => steps.flatMap((g) => steps.map((b) => `#${r}${g}${b}`)))

test('contrast is that of WCAG', () => {
  // oxfmt-ignore
  const cases = [
    ['#000000', '#ffffff', 21],
    ['#ffffff', '#ffffff', 1],
    ['#777777', '#ffffff', 4.48],
    ['#0a7d55', '#ffffff', 5.15],
    ['#ffff00', '#ffffff', 1.07],
  ] as const
  for (const [one, other, ratio] of cases) {
    assert.ok(Math.abs(contrast(one, other) - ratio) < 0.01, `${one} ${contrast(one, other)}`)
    assert.equal(contrast(one, other), contrast(other, one))
  }
})

const styleShape = /--brand:(.{7});--on-brand:(.{7})}:root{--accent:(.{7})}[^]*--accent:(.{7})/

test('text on any colour and links of it can be read, in the light and in the dark theme', () => {
  for (const colour of colours) {
    const [, brand, on, light, dark] = styleShape.exec(brandStyle(colour))!
    assert.equal(brand, colour)
    assert.ok(contrast(on!, colour) >= leastContrast, `${on} on ${colour}`)
    assert.ok(contrast(light!, papers.light) >= leastContrast, `${light} of ${colour}`)
    assert.ok(contrast(dark!, papers.dark) >= leastContrast, `${dark} of ${colour}`)
  }
  assert.equal(readable('#0a7d55', papers.light), '#0a7d55')
  assert.equal(brandStyle(undefined), '')
})

test('the papers are those of the style', () => {
  const style = readFileSync(new URL('../../../src/look/look.css', import.meta.url), 'utf8')
  const [light, dark] = [...style.matchAll(/--card: (#\w+);/g)].map(([, paper]) =>
    paper!.replace(/^#(.)(.)(.)$/, '#$1$1$2$2$3$3'),
  )
  assert.deepEqual({ light, dark }, papers)
})

test('a colour is red, green and blue in hexadecimal digits, and nothing else', () => {
  for (const good of ['#0a7d55', '#0A7D55', '0a7d55']) assert.equal(pageFields.table.colour.is.read(good), '#0a7d55', good)
  for (const bad of ['', 'red', '#fff', '#0a7d55ff', '#0a7d5g', 'url(x)', '#0a7d55;}*{', '#0a7d55\n', ' #0a7d55', '##0a7d55'])
    assert.ok(pageFields.table.colour.is.read(bad) instanceof Unreadable, JSON.stringify(bad))
})

test('a name is on one line and turns no text around', () => {
  for (const good of ['The Shop', 'Łódź & Söhne <3', 'متجر', '店', 'x'.repeat(64)]) assert.equal(name.read(good), good)
  const marks = [
    '\n',
    '\u0000',
    '\u0085',
    '\u2028',
    '\u2029',
    '\u202a',
    '\u202e',
    '\u2066',
    '\u2069',
    '\u200e',
    '\u200f',
    '\u061c',
  ]
  for (const mark of marks) assert.ok(name.read(`The${mark}Shop`) instanceof Unreadable, JSON.stringify(mark))
  for (const bad of ['', ' x', 'x ', 'x'.repeat(65)]) assert.ok(name.read(bad) instanceof Unreadable)
})

test('a logo is what it says from its first byte to its last, small, and never a drawing with script', () => {
  for (const type of ['png', 'jpeg', 'webp', 'webp lossless', 'webp extended'] as const) {
    const judged = judgeLogo(image(type, 320, 80))
    assert.ok(!(judged instanceof Unreadable), type)
    const { facts } = judged
    assert.deepEqual([facts.type, facts.width, facts.height], [type.split(' ')[0], 320, 80])
    const refused = (bytes: Buffer, why: string) => assert.ok(judgeLogo(bytes) instanceof Unreadable, `${type}: ${why}`)
    refused(Buffer.concat([image(type, 320, 80), Buffer.from('<script>')]), 'something behind it')
    refused(Buffer.concat([Buffer.from('<svg>'), image(type, 320, 80)]), 'something before it')
    refused(image(type, 1_025, 80), 'too wide')
    refused(image(type, 320, 1_025), 'too high')
    refused(image(type, 15, 80), 'too narrow')
    refused(image(type, 320, 80, mostLogoBytes), 'too large')
    for (let cut = 0; cut < image(type, 320, 80).length; cut++) refused(image(type, 320, 80).subarray(0, cut), `cut at ${cut}`)
  }
  const others = [
    '<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>',
    '<?xml version="1.0"?><svg/>',
    'GIF89a',
    '',
  ]
  for (const other of others) assert.ok(judgeLogo(Buffer.from(other)) instanceof Unreadable, other)
})

test('a logo that cannot be read is left out, and a merchant without a logo causes no query', async () => {
  const merchant = { merchantId: 1n, page: { logo: { type: 'png', width: 16, height: 16, bytes: 1, sha256: '' } } } as const
  const request = { headers: { 'accept-language': 'fr' } }
  const broken = { logo: () => Promise.reject(new Error('no database')) }
  assert.equal((await lookOf(broken, request, { merchant })).logo, undefined)
  assert.equal((await lookOf(broken, request, { merchant: { merchantId: 1n } })).texts.lang, 'fr')
  const read = { logo: () => Promise.resolve(Buffer.from('<x>')) }
  const look = await lookOf(read, request, { merchant, languages: 'es' })
  assert.deepEqual([look.logo, look.texts.lang], ['data:image/png;base64,PHg+', 'es'])
})

test('the reason for people says no more than the cardholder may know', () => {
  // oxfmt-ignore
  const cases: [Status, string | undefined, string][] = [
    ['declined', '116', 'funds'],          ['declined', '121', 'funds'],         ['declined', '101', 'expired'],
    ['declined', '165', 'authentication'], ['declined', '2001', 'authentication'], ['declined', '2003', 'timedOut'],
    ['declined', '2009', 'timedOut'],      ['declined', '2002', 'cancelled'],    ['declined', '909', 'technical'],
    ['declined', '2004', 'issuer'],        ['declined', 'Z9', 'issuer'],         ['declined', undefined, 'issuer'],
    ['filtered', '3001', 'refused'],       ['filtered', '116', 'refused'],
    ['error', '911', 'technical'],         ['error', '2010', 'technical'],       ['error', undefined, 'technical'],
    ...['102', '104', '106', '107', '122', '129', '200', '208', '209'].map((code): [Status, string, string] => ['declined', code, 'issuer']),
  ]
  for (const [status, code, reason] of cases) assert.equal(declineReason(status, code), reason, `${status} ${code}`)
  for (const code of actionCodes.keys()) assert.ok(declineReason('declined', code))
})
