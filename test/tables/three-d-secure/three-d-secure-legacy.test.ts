import assert from 'node:assert/strict'
import { test } from 'node:test'
import { inflateSync } from 'node:zlib'
import { assert as check, property, string } from 'fast-check'
import * as issuer from '../../../simulators/three-d-secure/legacy.ts'
import { legacyMoment, readLegacyMoment } from '../../../src/spec/three-d-secure/legacy.ts'
import {
  encodePareq,
  isMd,
  makeMd,
  makeXid,
  readVeres,
  writePareq,
  writeVereq,
} from '../../../src/three-d-secure/legacy/legacy.ts'
import { escapeXml, readXml } from '../../../src/three-d-secure/legacy/xml.ts'
import { verifyPares } from '../../../src/three-d-secure/legacy/pares.ts'
import { systemRandom } from '../../../src/base/random.ts'
import { asked, makeNetwork } from '../../harness/three-d-secure/pares.ts'
import { anySign } from '../contract/any-sign.ts'

const question = { pan: '4000000000009001', 'Merchant/acqBIN': '412345', 'Merchant/merID': 'SHOP-77' }
const purchase = {
  'Merchant/acqBIN': asked.acqBIN,
  'Merchant/merID': asked.merID,
  'Merchant/name': 'Fish & Chips <Ltd>',
  'Merchant/country': '826',
  'Merchant/url': 'https://shop.test/?a=1&b=2',
  'Purchase/xid': asked.xid,
  'Purchase/date': asked.purchaseDate,
  'Purchase/amount': '1234.56 EUR',
  'Purchase/purchAmount': asked.purchAmount,
  'Purchase/currency': asked.currency,
  'Purchase/exponent': asked.exponent,
  'CH/acctID': 'alias-1',
  'CH/expiry': '2712',
}

test('VEReq and PAReq are written in the order of their tables, with what is absent left out', () => {
  const head = '<?xml version="1.0" encoding="UTF-8"?><ThreeDSecure><Message id="m1">'
  const browser = { 'Browser/deviceCategory': '0', 'Browser/accept': '*/*', 'Browser/userAgent': undefined }
  assert.equal(
    writeVereq('m1', { ...question, ...browser }),
    `${head}<VEReq><version>1.0.2</version><pan>4000000000009001</pan><Merchant><acqBIN>412345</acqBIN><merID>SHOP-77</merID></Merchant>` +
      `<Browser><deviceCategory>0</deviceCategory><accept>*/*</accept></Browser></VEReq></Message></ThreeDSecure>`,
  )
  assert.equal(
    writePareq('m1', purchase),
    `${head}<PAReq><version>1.0.2</version><Merchant><acqBIN>412345</acqBIN><merID>SHOP-77</merID>` +
      `<name>Fish &amp; Chips &lt;Ltd&gt;</name><country>826</country><url>https://shop.test/?a=1&amp;b=2</url></Merchant>` +
      `<Purchase><xid>${asked.xid}</xid><date>20240517 12:00:00</date>` +
      `<amount>1234.56 EUR</amount><purchAmount>123456</purchAmount><currency>978</currency><exponent>2</exponent></Purchase>` +
      `<CH><acctID>alias-1</acctID><expiry>2712</expiry></CH></PAReq></Message></ThreeDSecure>`,
  )
  const param = encodePareq(writePareq('m1', purchase))
  assert.match(param, /^eJ[A-Za-z0-9+/]+=*$/, 'zlib, in base64')
  assert.equal(inflateSync(Buffer.from(param, 'base64')).toString(), writePareq('m1', purchase))
})

test('a message of ours that breaks its table is a defect, named without its values', () => {
  const broken: [Partial<Record<keyof typeof purchase, string>>, RegExp][] = [
    [{ 'Merchant/acqBIN': '123456789012' }, /PAReq does not allow Merchant\/acqBIN$/],
    [{ 'Merchant/merID': 'x'.repeat(25) }, /Merchant\/merID$/],
    [{ 'Merchant/name': 'x'.repeat(26) }, /Merchant\/name$/],
    [{ 'Merchant/name': 'Café' }, /Merchant\/name$/],
    [{ 'Merchant/country': 'GB' }, /Merchant\/country$/],
    [{ 'Merchant/url': 'javascript:alert(1)' }, /Merchant\/url$/],
    [{ 'Purchase/xid': 'short' }, /Purchase\/xid$/],
    [{ 'Purchase/date': '20240230 12:00:00' }, /Purchase\/date$/],
    [{ 'Purchase/purchAmount': '1234.56' }, /Purchase\/purchAmount$/],
    [{ 'Purchase/purchAmount': '1234567890123' }, /Purchase\/purchAmount$/],
    [{ 'CH/expiry': '2713' }, /CH\/expiry$/],
    [{ 'CH/acctID': '', 'CH/expiry': '' }, /CH\/acctID, CH\/expiry$/],
  ]
  for (const [values, names] of broken) assert.throws(() => writePareq('m1', { ...purchase, ...values }), { message: names })
  assert.throws(() => writeVereq('m"1', question), /VEReq does not allow Message\/@id$/)
  assert.throws(() => writeVereq('m1', { ...question, pan: '4000' }), /VEReq does not allow pan$/)
})

test('times are of GMT and exist', () => {
  assert.equal(legacyMoment(Date.UTC(2024, 1, 29, 23, 59, 58)), '20240229 23:59:58')
  assert.equal(readLegacyMoment('20240229 23:59:58'), Date.UTC(2024, 1, 29, 23, 59, 58))
  for (const none of ['20230229 00:00:00', '20240229 24:00:00', '20240229T00:00:00', '2024-02-29 00:00:00', '20240229 00:00', ''])
    assert.ok(Number.isNaN(readLegacyMoment(none)), none)
})

test('xid and MD are unguessable and fit', () => {
  assert.match(makeXid(systemRandom), /^[A-Za-z0-9+/]{27}=$/)
  const md = makeMd(systemRandom)
  assert.match(md, /^[0-9a-f]{32}$/)
  assert.notEqual(makeMd(systemRandom), md)
  assert.ok(isMd(`${md}\r\n`, md))
  assert.ok(
    !isMd(
      md.replace(/.$/, (last) => (last === '0' ? '1' : '0')),
      md,
    ),
  )
  assert.ok(!isMd('', md))
})

const veres = (content: string, id = 'm1'): string =>
  `<ThreeDSecure><Message id="${id}"><VERes>${content}</VERes></Message></ThreeDSecure>`
const enrolled = (url: string, acctId = '<acctID>a1</acctID>', protocol = '<protocol>ThreeDSecure</protocol>') =>
  veres(`<version>1.0.2</version><CH><enrolled>Y</enrolled>${acctId}</CH>${url === '' ? '' : `<url>${url}</url>`}${protocol}`)
const asking = { messageId: 'm1', loopbackHttp: true }
const answer = (text: string, wanted = asking): string => Object.values(readVeres(text, wanted)).join(' | ')

test('a VERes says whether the issuer can authenticate, and where', () => {
  // oxfmt-ignore
  const rows: [string, string][] = [
    [enrolled('https://acs.test/pareq?x=1&amp;y=2'), 'enrolled | a1 | https://acs.test/pareq?x=1&y=2'],
    [enrolled('http://localhost:8080/pareq'), 'enrolled | a1 | http://localhost:8080/pareq'],
    [enrolled('https://acs.test/', undefined, '<protocol>SET</protocol><protocol>ThreeDSecure</protocol>'), 'enrolled | a1 | https://acs.test/'],
    [enrolled('https://acs.test/', undefined, '<protocol>SET</protocol>'), 'unavailable | the issuer speaks another protocol'],
    [enrolled(''), 'unusable | 3 | url'],
    [enrolled('https://acs.test/', ''), 'unusable | 3 | CH/acctID'],
    [enrolled('javascript:alert(1)'), 'unusable | 5 | url'],
    [enrolled('http://acs.test/'), 'unusable | 5 | url'],
    [enrolled('https://a:b@acs.test/'), 'unusable | 5 | url'],
    [enrolled('https://acs.test/&quot;&gt;&lt;script&gt;'), 'unusable | 5 | url'],
    [enrolled(`https://acs.test/${'x'.repeat(2048)}`), 'unusable | 5 | url'],
    [veres('<version>1.0.2</version><CH><enrolled>N</enrolled></CH>'), 'not enrolled'],
    [veres('<version>1.0.2</version><CH><enrolled>U</enrolled></CH>'), 'unavailable | the issuer could not say'],
    [veres('<version>1.0.2</version><CH><enrolled>U</enrolled></CH><IReq><iReqCode>50</iReqCode></IReq>'), 'unavailable | VEReq was not accepted: 50'],
    [veres('<version>1.0.2</version><CH><enrolled>X</enrolled></CH>'), 'unusable | 5 | CH/enrolled'],
    [veres('<version>1.0.2</version><CH><enrolled>N</enrolled><enrolled>Y</enrolled></CH>'), 'unusable | 5 | CH/enrolled'],
    [veres('<version>1.0.2</version><CH></CH>'), 'unusable | 3 | CH/enrolled'],
    [veres('<version>2.0</version><CH><enrolled>N</enrolled></CH>'), 'unusable | 6 | version'],
    [veres('<version>1.0.2</version><CH><enrolled>N</enrolled></CH>', 'm2'), 'unusable | 5 | Message/@id is not that of the VEReq'],
    [veres('<version>1.0.2</version><CH><enrolled>N</enrolled></CH><Extension id="x" critical="true"/>'), 'unusable | 4 | an extension that is critical'],
    [veres('<version>1.0.2</version><CH><enrolled>N</enrolled></CH><Extension id="x" critical="false"/>'), 'not enrolled'],
    ['<ThreeDSecure><Message id="?"><VERes/></Message></ThreeDSecure>', 'unusable | 5 | Message/@id'],
    ['<ThreeDSecure><Message id="m1"><PARes/></Message></ThreeDSecure>', 'unusable | 2 | neither VERes nor Error'],
    ['<ThreeDSecure/>', 'unusable | 1 | not one Message'],
    ['<html/>', 'unusable | 1 | the root element is not ThreeDSecure'],
    ['<!DOCTYPE html>', 'unusable | 1 | a document type or entity'],
    ['', 'unusable | 1 | cut off, or no element at all'],
  ]
  for (const [text, says] of rows) assert.equal(answer(text), says, text)
  assert.equal(answer(enrolled('http://localhost:8080/pareq'), { ...asking, loopbackHttp: false }), 'unusable | 5 | url')
})

test('an Error is understood whatever it is about, and shows no card number', () => {
  const error = issuer.writeLegacyError('0', '5', 'Format of pan', '4111111111111111 & more')
  assert.deepEqual(readVeres(error, asking), { is: 'error', errorCode: '5', why: 'Format of pan: 411111******1111 & more' })
})

test('the simulators read what the gateway writes, and the gateway what they answer', async () => {
  const seen = issuer.readVereq(writeVereq('m1', question))
  assert.deepEqual(seen, { messageId: 'm1', pan: '4000000000009001', acqBIN: '412345', merID: 'SHOP-77' })
  const url = 'http://127.0.0.1:1/pareq?a=1&b=2'
  assert.equal(
    answer(issuer.writeVeres({ messageId: 'm1', enrolled: 'Y', acctID: 'alias-1', url })),
    `enrolled | alias-1 | ${url}`,
  )
  assert.equal(answer(issuer.writeVeres({ messageId: 'm1', enrolled: 'N' })), 'not enrolled')
  assert.equal(answer(issuer.writeVeres({ messageId: 'm1', enrolled: 'U' })), 'unavailable | the issuer could not say')

  const param = encodePareq(writePareq(asked.messageId!, { ...purchase, 'Purchase/desc': '2 × cod'.replace('×', 'x') }))
  const pareq = issuer.readPareq(param.replace(/.{76}/g, '$&\r\n'))!
  assert.equal(pareq.name, 'Fish & Chips <Ltd>')
  assert.equal(pareq.desc, '2 x cod')
  assert.equal(pareq.acctID, 'alias-1')
  for (const none of ['', 'AAAA', encodePareq('<!DOCTYPE x><ThreeDSecure/>'), encodePareq(writeVereq('m1', question))])
    assert.equal(issuer.readPareq(none), undefined, none)

  const { root, intermediate, issuer: end } = await makeNetwork('Tern')
  const certificates = [root, end, intermediate].map((party) => party.pem)
  const proof = { cavv: 'AAABBBCCCDDDEEEFFFGGGHHHIII=', eci: '05', cavvAlgorithm: '2' }
  const base = { pareq, paresId: 'p-1', lastFour: '1548', time: '20240517 12:01:00' }
  const heard = (pares: issuer.Pares, signer: Partial<issuer.ParesSigner> = {}) =>
    verifyPares(issuer.writePares(pares, { key: end.key, certificates, hash: 'sha1', ...signer }), {
      ...asked,
      roots: [root.pem],
    })
  const told = { is: 'verified', time: base.time, paresId: 'p-1' }
  for (const hash of ['sha1', 'sha256'] as const) {
    for (const status of ['Y', 'A'] as const)
      assert.deepEqual(heard({ ...base, ...proof, status }, { hash }), { ...told, ...proof, status })
    for (const status of ['N', 'U'] as const) assert.deepEqual(heard({ ...base, status }, { hash }), { ...told, status })
  }
  for (const fault of ['wrong digest', 'wrong signature', 'no signature'] as const)
    assert.equal(heard({ ...base, ...proof, status: 'Y' }, { fault }).is, 'refused', fault)
  const cheaper = { ...base, ...proof, status: 'Y', pareq: { ...pareq, purchAmount: '1' } } as const
  assert.deepEqual(heard(cheaper), { is: 'refused', why: 'Purchase/purchAmount is not what was asked' })
})

test('all that is written can be read, and a text that is no XML is refused without an exception', () => {
  check(
    property(string({ unit: 'grapheme', maxLength: 60 }), (value) => {
      // XML has no other control characters, and takes every line end for a line feed.
      const plain = value.replace(/[\p{Cc}\p{Cs}\ufffe\uffff]/gu, '')
      const read = readXml(`<a b="${escapeXml(plain)}">${escapeXml(plain)}</a>`)
      assert.ok(read.is === 'read')
      assert.equal(read.root.text, plain)
      assert.equal(read.root.attributes.get('b'), plain)
    }),
  )
  check(property(string({ unit: anySign, maxLength: 60 }), (text) => assert.ok(['read', 'refused'].includes(readXml(text).is))))
  for (const text of [
    `<${'a'.repeat(250_000)}`,
    `<a ${' '.repeat(250_000)}`,
    `<a ${'b=" '.repeat(60_000)}`,
    `<a${' b=""'.repeat(50_000)}`,
    '&'.repeat(250_000),
  ])
    assert.equal(readXml(text).is, 'refused')
  assert.deepEqual(readXml('x'.repeat(300_000)), { is: 'refused', why: 'too long' })
})
