import assert from 'node:assert/strict'
import { test } from 'node:test'
import { assert as check, constantFrom, integer, nat, oneof, property, string, tuple, uint8Array } from 'fast-check'
import { inflateRawSync, inflateSync } from 'node:zlib'
import { verifyPares, type ParesVerdict } from '../../../src/three-d-secure/legacy/pares.ts'
import { mutator } from '../../harness/world/mutate.ts'
import {
  asked,
  documentOf,
  makeNetwork,
  pack,
  paresXml,
  refusedBy,
  signatureOf,
  textsOf,
} from '../../harness/three-d-secure/pares.ts'

const network = await makeNetwork('Tern')
const expected = { ...asked, roots: [network.root.pem] }
const signer = { key: network.issuer.key, certificates: textsOf(network.issuer, network.intermediate, network.root) }
const signed = (xml: string): string => documentOf(xml + signatureOf(xml, signer))
const judge = (xml: string | Buffer): ParesVerdict => verifyPares(pack(xml), expected)

const refusal = paresXml({ ...refusedBy('N') })
const denied = signed(refusal)
const proven = signed(paresXml())

test('markup that readers disagree about is refused, so none can see another value than the signed one', () => {
  const head = '<?xml version="1.0" encoding="UTF-8"?>'
  const doctype = (content: string) => proven.replace(head, `${head}<!DOCTYPE ThreeDSecure ${content}>`)
  const billion = Array.from({ length: 9 }, (_, i) => `<!ENTITY l${i + 1} "${`&l${i};`.repeat(10)}">`).join('')
  const cases: [string, string][] = [
    ['a comment', denied.replace('<status>N', '<status><!--c-->N')],
    ['a comment', denied.replace('<status>N', '<status>Y<!--N-->')],
    ['a comment', proven.replace('<purchAmount>', '<purchAmount><!-- -->')],
    ['a comment', proven.replace('<Merchant>', '<!--c--><Merchant>')],
    ['a comment', proven.replace('<SignatureValue>', '<SignatureValue><!--c-->')],
    ['a comment', `${proven}<!--c-->`],
    ['CDATA', proven.replace('<status>Y', '<status><![CDATA[Y]]>')],
    ['CDATA', proven.replace('<status>Y', '<status>Y<![CDATA[]]>')],
    ['a processing instruction', proven.replace('<status>Y', '<status>Y<?x y?>')],
    ['a processing instruction', proven.replace('<ThreeDSecure>', '<?xml-stylesheet href="http://127.0.0.1:9/"?><ThreeDSecure>')],
    ['a document type or entity', doctype('SYSTEM "http://127.0.0.1:9/x.dtd"')],
    ['a document type or entity', doctype('[<!ENTITY x SYSTEM "file:///etc/passwd">]')],
    ['a document type or entity', doctype('[<!ATTLIST PARes id ID #IMPLIED>]')],
    ['a document type or entity', doctype(`[<!ENTITY l0 "lol">${billion}]`).replace('SHOP-77', '&l9;')],
    ['a document type or entity', proven.replace(head, '<!DOCTYPE ThreeDSecure>')],
    ['a document type or entity', proven.replace('<TX>', '<!ENTITY x "y"><TX>')],
    ['a reference to an unknown entity or character', proven.replace('SHOP-77', '&x;')],
    ['a reference to an unknown entity or character', proven.replace('SHOP-77', 'SHOP-77&#0;')],
    ['a reference to an unknown entity or character', proven.replace('SHOP-77', '&#xD800;SHOP-77')],
    ['a reference to an unknown entity or character', proven.replace('SHOP-77', '&#9999999;')],
    ['a character that XML does not have', proven.replace('SHOP-77', 'SHOP-77\0')],
    ['text between elements', proven.replace('<status>Y', '<status>Y<x/>')],
    ['text between elements', proven.replace('<TX>', '<TX>Y')],
    ['text between elements', proven.replace('</TX>', 'Y</TX>')],
    ['text outside the root element', `x${proven}`],
    ['text outside the root element', `${proven}x`],
    ['something after the root element', proven + proven.replace(head, '')],
    ['something after the root element', `${proven}<x/>`],
    ['tags that do not match', proven.replace('</TX>', '</tx>')],
    ['cut off, or no element at all', proven.slice(0, -'</ThreeDSecure>'.length)],
    ['cut off, or no element at all', ''],
    ['an encoding other than UTF-8', proven.replace('UTF-8', 'UTF-7')],
    ['an XML declaration that is none of version 1.0', proven.replace('"1.0"', '"1.1"')],
  ]
  for (const [because, xml] of cases) {
    const verdict = judge(xml)
    assert.equal(verdict.is === 'refused' && verdict.why, because, xml.slice(0, 600))
  }
  // Even where the issuer signed it so.
  const status = '<status>Y</status>'
  for (const odd of [
    `${status}<status>N</status>`,
    status + status,
    '<status>Y<x/></status>',
    '<status x="1">Y</status>',
    '<status></status>',
  ]) {
    const verdict = judge(signed(paresXml().replace(status, odd)))
    assert.equal(
      verdict.is === 'refused' && verdict.why.replace(/^the signed part: /, ''),
      /<x/.test(odd) ? 'text between elements' : 'does not fit: TX/status',
      odd,
    )
  }
  const critical = paresXml().replace('</PARes>', '<Extension critical="true" id="x"></Extension></PARes>')
  assert.deepEqual(judge(signed(critical)), { is: 'refused', why: 'does not fit: an extension that is critical' })
})

test('a message that was cut anywhere is refused', () => {
  for (let length = 0; length < proven.length; length += 41) assert.equal(judge(proven.slice(0, length)).is, 'refused')
})

const signs = [' ', '\n', '\r', '<', '>', '&', '"', ';', '/', '&#89;', '&amp;', '\ufeff', '\u0085', '\u2028', '\0']
const markup = [
  '<!--',
  '-->',
  '<![CDATA[',
  ']]>',
  '<!DOCTYPE x>',
  '<?x?>',
  'xmlns=""',
  ' id="PARes-9"',
  ' xml:space="preserve"',
  '#PARes-9',
]
const elements = ['<status>Y</status>', '<status/>', '<PARes id="PARes-9"/>', paresXml()]
const pieces = [...new Set(proven.match(/<[^>]+>/g)), ...signs, ...markup, ...elements]

/** Whatever happened to the text: refused, or with exactly the values that were signed. */
function holdsTo(original: ParesVerdict, verdict: ParesVerdict) {
  if (verdict.is === 'verified') assert.deepEqual(verdict, original)
}

test('no change of bytes makes another result, and none makes it throw', () => {
  for (const xml of [denied, proven]) {
    const original = judge(xml)
    assert.equal(original.is, 'verified')
    const bytes = Buffer.from(xml)
    check(
      property(integer(), (seed) => holdsTo(original, judge(mutator(seed)(bytes)))),
      { numRuns: 400 },
    )
  }
})

test('no tag that is put in, taken out or moved makes another result', () => {
  const place = nat(proven.length)
  const cut = tuple(place, oneof(integer({ min: 0, max: 40 }), constantFrom(0, 0, 0)), constantFrom(...pieces))
  for (const xml of [denied, proven]) {
    const original = judge(xml)
    const change = (text: string, [at, length, piece]: [number, number, string]) => {
      // On the edge of a tag more often than not: elsewhere most changes are no XML at all.
      const edge = text.indexOf('<', at)
      const from = edge < 0 || length % 3 === 2 ? at : edge
      return text.slice(0, from) + piece + text.slice(from + length)
    }
    check(
      property(cut, cut, constantFrom(1, 2), (one, two, count) =>
        holdsTo(original, judge(count === 1 ? change(xml, one) : change(change(xml, one), two))),
      ),
      { numRuns: 600 },
    )
  }
})

test('no change of the form field makes another result, and no text at all makes it throw', () => {
  const param = pack(proven)
  const original = judge(proven)
  check(
    property(nat(param.length - 1), string({ maxLength: 4 }), nat(4), (at, piece, length) =>
      holdsTo(original, verifyPares(param.slice(0, at) + piece + param.slice(at + length), expected)),
    ),
    { numRuns: 400 },
  )
  check(
    property(
      oneof(
        string({ maxLength: 200 }),
        uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes).toString('base64')),
      ),
      (text) => {
        assert.equal(verifyPares(text, expected).is, 'refused')
      },
    ),
    { numRuns: 300 },
  )
  // The two compressions differ by their content, never by luck.
  assert.throws(() => inflateRawSync(Buffer.from(param, 'base64')))
  assert.equal(inflateSync(Buffer.from(param, 'base64')).toString(), proven)
})
