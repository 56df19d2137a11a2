import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { test } from 'node:test'
import { deflateRawSync, deflateSync } from 'node:zlib'
import { verifyPares, type ExpectedPares, type ParesVerdict } from '../../../src/three-d-secure/legacy/pares.ts'
import {
  answered,
  asked,
  c14n,
  documentOf,
  dsig,
  makeNetwork,
  pack,
  paresXml,
  refusedBy,
  signatureOf,
  textsOf,
  type ParesValues,
  type SignatureParts,
} from '../../harness/three-d-secure/pares.ts'

const network = await makeNetwork('Tern')
const { root, intermediate, issuer } = network
const certificates = textsOf(issuer, intermediate, root)
const signer: SignatureParts = { key: issuer.key, certificates }
const expected: ExpectedPares = { ...asked, roots: [root.pem] }

const judge = (xml: string, other: Partial<ExpectedPares> = {}): ParesVerdict => verifyPares(pack(xml), { ...expected, ...other })
/** A document of these values, rightly signed. */
const signed = (values: Partial<ParesValues> = {}, parts: Partial<SignatureParts> = {}): string => {
  const xml = paresXml(values)
  return documentOf(xml + signatureOf(xml, { ...signer, ...parts }))
}
const why = (verdict: ParesVerdict): string => (verdict.is === 'refused' ? verdict.why : `verified ${verdict.status}`)
const refuses = (because: string, xml: string, other: Partial<ExpectedPares> = {}) =>
  assert.equal(why(judge(xml, other)), because, xml.slice(0, 3000))

const good = paresXml()
const evil = paresXml({ ...refusedBy('N'), status: 'Y', cavv: 'ZZZZZZZZZZZZZZZZZZZZZZZZZZZ=' }, '', 'evil')
const document = signed()
const signature = signatureOf(good, signer)

test('the result is the signed content, in both hashes', () => {
  const { cavv, eci, cavvAlgorithm, time } = answered
  for (const hash of ['sha1', 'sha256'] as const) {
    for (const status of ['Y', 'A'] as const)
      assert.deepEqual(judge(signed({ status }, { hash })), {
        is: 'verified',
        status,
        cavv,
        eci,
        cavvAlgorithm,
        time,
        paresId: 'PARes-9',
      })
    for (const status of ['N', 'U'] as const)
      assert.deepEqual(judge(signed(refusedBy(status), { hash })), { is: 'verified', status, time, paresId: 'PARes-9' })
  }
  const bare = judge(signed({ eci: undefined, cavvAlgorithm: undefined }))
  assert.deepEqual(bare, { is: 'verified', status: 'Y', cavv, time, paresId: 'PARes-9' })
  // A proof of nothing is not handed on.
  assert.deepEqual(judge(signed({ status: 'N' })), { is: 'verified', status: 'N', time, paresId: 'PARes-9' })
})

test('variants of real issuers are read: blanks, prefixes, line ends, transforms, order of certificates', () => {
  const pretty = good.replaceAll('><', '>\n  <')
  const orders = [
    [0, 1, 2],
    [2, 1, 0],
    [1, 2, 0],
    [1, 0, 2],
    [0, 1],
    [1, 0],
  ].map((order) => order.map((i) => certificates[i]!))
  const accepted = [
    ...orders.map((order) => signed({}, { certificates: order })),
    signed({}, { certificates: [...certificates, ...certificates] }),
    signed({}, { lineEnd: '\n' }),
    signed({}, { lineEnd: '\r\n' }),
    signed({}, { lineEnd: '&#13;\n' }),
    signed({}, { prefix: 'ds:' }),
    signed({}, { transforms: `<Transforms><Transform Algorithm="${c14n}"></Transform></Transforms>` }),
    documentOf(`\n  ${pretty}\n  ${signatureOf(pretty, signer)}\n`),
    documentOf(`${pretty.replaceAll('\n', '\r\n')}${signatureOf(pretty, signer)}`),
    document.replace('<SignedInfo>', `<SignedInfo xmlns="${dsig}">`),
    document.replace('<KeyInfo>', '<KeyInfo><KeyName>a name</KeyName>'),
    document.replaceAll('"', "'"),
    document.replace('></CanonicalizationMethod>', '/>'),
    document.replace('<?xml version="1.0" encoding="UTF-8"?>', ''),
    document.replace('UTF-8', 'iso-8859-1'),
    `\ufeff${document}`,
    documentOf(good.replace('SHOP-77', '&#83;HOP-&#x37;7') + signature),
  ]
  for (const xml of accepted) assert.equal(why(judge(xml)), 'verified Y', xml)
  const extended = paresXml({}, '<Extension critical="false" id="x"><a>1</a></Extension>')
  assert.equal(why(judge(documentOf(extended + signatureOf(extended, signer)))), 'verified Y')
})

test('the way through a browser may add line breaks, lose pluses and padding, and the compression may have no header', () => {
  // One whose text has a plus to lose, and one that ends in a plus. What it ends in is the sum of
  // its bytes: a tab more (9) gives each of the 64 digits in turn, a blank more (32) only two.
  const spelledSo = (wanted: RegExp): string => {
    for (let tabs = 0; ; tabs++) {
      const spelled = pack(documentOf(good + signature, 'msg-1').replace('?>', `?>${'\t'.repeat(tabs)}`))
      if (wanted.test(spelled)) return spelled
    }
  }
  const param = spelledSo(/\+/)
  const ways = [
    param,
    param.replaceAll('+', ' '),
    param.replace(/.{1,76}/g, '$&\r\n'),
    param.replaceAll('+', ' ').replace(/.{1,64}/g, '$&\n'),
    `  ${param.replace(/.{1,76}/g, '$&\n  ')}`,
    param.replace(/=+$/, ''),
    deflateRawSync(document).toString('base64'),
    deflateSync(document, { level: 0 }).toString('base64'),
  ]
  for (const way of ways) assert.equal(why(verifyPares(way, expected)), 'verified Y', way)
  const endsInPlus = spelledSo(/\+$/).replaceAll('+', ' ').trim()
  assert.equal(why(verifyPares(endsInPlus, expected)), 'verified Y', endsInPlus)
  const damaged = [
    '',
    ' ',
    '=',
    'A',
    '%',
    param.slice(1),
    param.slice(0, -40),
    param.replace(/^..../, ''),
    `${param}.`,
    `data:${param}`,
    document,
  ]
  for (const way of damaged) assert.equal(verifyPares(way, expected).is, 'refused', way)
  // Not at the very end: bits of the padding say nothing, and what stands behind the checksum is
  // not read.
  for (let at = 10; at < param.length - 12; at += 97) {
    const other = param[at] === 'A' ? 'B' : 'A'
    assert.equal(verifyPares(param.slice(0, at) + other + param.slice(at + 1), expected).is, 'refused', String(at))
  }
})

test('a text that would unpack to more than a message is never unpacked', () => {
  const zeros = (megabytes: number) => Buffer.alloc(megabytes * 1024 * 1024)
  assert.match(why(verifyPares(pack(zeros(50)), expected)), /^longer than/)
  for (const bomb of [deflateSync(zeros(5)), deflateRawSync(zeros(5)), deflateSync(Buffer.alloc(300 * 1024, document))])
    assert.match(why(verifyPares(bomb.toString('base64'), expected)), /^inflates to more than/)
  refuses('too many elements', documentOf('<a></a>'.repeat(500)))
  refuses('too deep', documentOf('<a>'.repeat(100) + '</a>'.repeat(100)))
  refuses(
    'too many attributes',
    document.replace('<Message ', `<Message ${Array.from({ length: 9 }, (_, i) => `a${i}=""`).join(' ')} `),
  )
})

test('a value that differs from what was asked is refused although the issuer signed it', () => {
  const differing: [Partial<ParesValues>, string][] = [
    [{ acqBIN: '412346' }, 'Merchant/acqBIN is not what was asked'],
    [{ merID: 'SHOP-78' }, 'Merchant/merID is not what was asked'],
    [{ merID: 'shop-77' }, 'Merchant/merID is not what was asked'],
    [{ xid: Buffer.alloc(20, 'x').toString('base64') }, 'Purchase/xid is not what was asked'],
    [{ purchaseDate: '20240517 12:00:01' }, 'Purchase/date is not what was asked'],
    [{ purchAmount: '100' }, 'Purchase/purchAmount is not what was asked'],
    [{ purchAmount: '0123456' }, 'Purchase/purchAmount is not what was asked'],
    [{ currency: '840' }, 'Purchase/currency is not what was asked'],
    [{ exponent: '0' }, 'Purchase/exponent is not what was asked'],
    [{ pan: '0000000000001549' }, 'pan is of another card'],
    [{ pan: '1548' }, 'does not fit: pan'],
    [{ cavv: undefined }, 'TX/cavv is missing'],
    [{ status: 'A', cavv: undefined }, 'TX/cavv is missing'],
    [{ cavv: '' }, 'does not fit: TX/cavv'],
    [{ cavv: 'AAAA' }, 'does not fit: TX/cavv'],
    [{ cavv: 'kJMZRiDunhPsBwAU0hu9rrx0eWN6' }, 'does not fit: TX/cavv'],
    [{ status: 'C' }, 'does not fit: TX/status'],
    [{ status: 'y' }, 'does not fit: TX/status'],
    [{ status: ' Y' }, 'does not fit: TX/status'],
    [{ status: undefined }, 'does not fit: TX/status'],
    [{ eci: '5' }, 'does not fit: TX/eci'],
    [{ version: '1.0.1' }, 'does not fit: version'],
    [{ time: '20240515 11:59:59' }, 'TX/time is before the purchase or yet to come'],
    [{ time: '20240519 11:59:59' }, 'TX/time is before the purchase or yet to come'],
    [{ time: '20240231 11:59:59' }, 'does not fit: TX/time'],
  ]
  for (const [values, because] of differing) refuses(because, signed(values))
  refuses('Message/@id is not that of the PAReq', document, { messageId: 'msg-2' })
  refuses('pan is of another card', document, { lastFour: '' })
})

test('a value that was changed after the issuer signed is refused', () => {
  const changes: [string, string][] = [
    ['<status>N', '<status>Y'],
    ['<purchAmount>100<', '<purchAmount>123456<'],
    ['<merID>', '<merID> '],
    ['<TX>', '\n<TX>'],
    ['</TX>', '<eci>05</eci></TX>'],
    ['id="PARes-9"', 'id="PARes-9" critical="true"'],
  ]
  const original = signed({ ...refusedBy('N'), purchAmount: '100' })
  for (const [from, to] of changes) {
    assert.ok(original.includes(from))
    assert.equal(judge(original.replace(from, to)).is, 'refused', to)
  }
  refuses('the digest is of something else', signed(refusedBy('N')).replace('<status>N', '<status>Y'))
  refuses('the signature does not hold', document.replace(/<SignatureValue>..../, '<SignatureValue>AAAA'))
  const otherDigest = /<DigestValue>[^<]*/.exec(signed({ eci: '06' }))![0]
  refuses(
    'the signature does not hold',
    documentOf(paresXml({ eci: '06' }) + signature.replace(/<DigestValue>[^<]*/, otherDigest)),
  )
})

test('only the algorithms that issuers use, and nothing that can be computed without their key', () => {
  const mac = (canonical: string) => createHmac('sha1', issuer.pem).update(canonical).digest('base64')
  const more = 'http://www.w3.org/2001/04/xmldsig-more#'
  for (const signatureMethod of [
    `${dsig}hmac-sha1`,
    `${more}hmac-sha256`,
    `${more}rsa-md5`,
    `${dsig}dsa-sha1`,
    `${more}rsa-sha512`,
    'none',
    '',
  ])
    refuses('SignatureMethod', signed({}, { signatureMethod, mac }))
  refuses('SignatureMethod', signed().replace('rsa-sha1">', 'rsa-sha1"><HMACOutputLength>0</HMACOutputLength>'))
  for (const digestMethod of [`${more}md5`, 'http://www.w3.org/2001/04/xmlenc#sha512', 'none', ''])
    refuses('DigestMethod', signed({}, { digestMethod }))
  for (const canonicalization of [
    `${c14n}#WithComments`,
    'http://www.w3.org/2001/10/xml-exc-c14n#',
    'http://www.w3.org/TR/1999/REC-xslt-19991116',
    '',
  ])
    refuses('CanonicalizationMethod', signed({}, { canonicalization }))
  refuses('the signature does not hold', signed({}, { mac: () => '' }))
})

test('only the PARes itself may be signed', () => {
  for (const uri of [
    '',
    '#',
    'PARes-9',
    '#PARes-8',
    '#msg-1',
    '#xpointer(/)',
    "#xpointer(id('PARes-9'))",
    'http://127.0.0.1:9/x',
    'file:///etc/passwd',
  ])
    refuses('Reference is not to the PARes', signed({}, { uri }))
  refuses('Reference is not to the PARes', document.replace(' URI="#PARes-9"', ''))
  const second = /<Reference .*<\/Reference>/.exec(document)![0]
  refuses('not one Reference', signed({}, { secondReference: second }))
  const transform = (algorithm: string, content = '') =>
    `<Transforms><Transform Algorithm="${algorithm}">${content}</Transform></Transforms>`
  const xslt = 'http://www.w3.org/TR/1999/REC-xslt-19991116'
  const xpath = 'http://www.w3.org/TR/1999/REC-xpath-19991116'
  const transforms = [
    transform(xslt, '<stylesheet></stylesheet>'),
    transform(xpath, '<XPath>not(ancestor-or-self::status)</XPath>'),
    transform('http://www.w3.org/2002/06/xmldsig-filter2'),
    transform(`${dsig}enveloped-signature`),
    transform(`${dsig}base64`),
    transform('http://www.w3.org/2001/10/xml-exc-c14n#'),
    transform(c14n).replace('</Transform>', '</Transform><Transform Algorithm=""></Transform>'),
    '<Transforms></Transforms>',
  ]
  for (const one of transforms) refuses('Transforms', signed({}, { transforms: one }))
})

test('an unsigned PARes is ignored, beside or around a signed one', () => {
  refuses('not one PARes and one Signature', documentOf(good))
  refuses('not one PARes and one Signature', documentOf(signature))
  refuses('not one PARes and one Signature', documentOf(''))
  refuses('not one PARes and one Signature', documentOf(good + signature + signature))
  refuses('not one PARes and one Signature', documentOf(evil + good + signature))
  refuses('not one PARes and one Signature', documentOf(good + evil + signature))
  refuses('not one PARes and one Signature', documentOf(good + signature + evil))
  refuses('not one PARes and one Signature', documentOf(signature + good))
  refuses('an Error instead of a PARes', documentOf('<Error><version>1.0.2</version></Error>'))
  const holding = (inner: string) => `${evil.slice(0, -'</PARes>'.length)}<Extension id="x">${inner}</Extension></PARes>`
  refuses('not one PARes', documentOf(holding(good) + signature))
  refuses('the second element is not a Signature', documentOf(evil + good))
  refuses('not one Signature', documentOf(holding(signature.replaceAll(' xmlns=', ' was=')) + signature))
  refuses('names of a namespace that has no place there', documentOf(holding(signature) + signature))
  refuses('Reference is not to the PARes', documentOf(evil + signature))
  refuses('the shape of Signature', documentOf(good + signature.replace('</Signature>', '<Object></Object></Signature>')))
  refuses('not one PARes', documentOf(evil + signature.replace('</Signature>', `<Object>${good}</Object></Signature>`)))
  refuses('not one PARes', documentOf(evil + signature.replace('<KeyInfo>', `<KeyInfo><KeyName>${good}</KeyName>`)))
  refuses('not one SignedInfo', documentOf(good + signature.replace('<KeyInfo>', '<KeyInfo><SignedInfo></SignedInfo>')))
  refuses('not one Message', document.replace('</Message>', `</Message><Message id="m">${evil}</Message>`))
  refuses('the root element is not ThreeDSecure', document.replaceAll('ThreeDSecure', 'Wrapper'))
  refuses('Message/@id', document.replace('<Message ', '<Message xmlns:e="urn:e" '))
})

test('ids say nothing by themselves: not of Message, not twice, not of another kind', () => {
  refuses('the signature does not hold', documentOf(good + signature, 'PARes-9'), { messageId: 'PARes-9' })
  const { messageId: _, ...withoutId } = expected
  assert.equal(why(verifyPares(pack(documentOf(good + signature, 'anything')), withoutId)), 'verified Y')
  const twin = good.replace('</PARes>', '<Extension id="PARes-9"></Extension></PARes>')
  refuses('the signature does not hold', documentOf(twin + signatureOf(twin, signer)))
  refuses('PARes/@id', document.replace('<PARes id=', '<PARes Id='))
  refuses('PARes/@id', document.replace('<PARes id="PARes-9"', `<PARes id="'] | //*['"`))
  refuses('an attribute twice', document.replace('<PARes id=', '<PARes id="evil" id='))
  refuses('PARes/@id', document.replace('<PARes id=', '<PARes ID="evil" id='))
  refuses('names of a namespace that has no place there', document.replace('<KeyInfo>', '<KeyInfo e:id="PARes-9">'))
})
