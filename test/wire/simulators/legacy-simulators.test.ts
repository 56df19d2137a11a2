import assert from 'node:assert/strict'
import { createHash, createHmac, verify, X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { deflateSync, inflateSync } from 'node:zlib'
import { openHandClock } from '../../harness/clock/hand-clock.ts'
import { admin, browse, startWorld, type Json, type Page } from '../three-d-secure/three-d-secure-peers.ts'
import { closing } from '../../harness/world/opening.ts'

/** The simulators' 3-D Secure 1.0.2, written and read by hand, without code of theirs. */

const card = {
  password: '4000000000009003',
  attempt: '4000000000009011',
  denied: '4000000000009029',
  unavailable: '4000000000009045',
}
const mastercard = '5200000000009008'
const termUrl = 'http://127.0.0.1:8081/term?a=1&b="2"'
const xid = Buffer.from('purchase 0000000001.').toString('base64')

const clock = openHandClock(Date.now())
const world = closing(await startWorld({ acs: { clock } }))

const valueIn = (xml: string, name: string): string | undefined => new RegExp(`<${name}>([^<]*)</${name}>`).exec(xml)?.[1]
const vereqOf = (pan: string, merID = 'merchant-1') =>
  `<?xml version="1.0" encoding="UTF-8"?><ThreeDSecure><Message id="m.1"><VEReq><version>1.0.2</version><pan>${pan}</pan>` +
  `<Merchant><acqBIN>400000</acqBIN><merID>${merID}</merID></Merchant></VEReq></Message></ThreeDSecure>`
async function enrolmentOf(pan: string): Promise<Record<'enrolled' | 'acctID' | 'url', string | undefined>> {
  const told = await world.post(`${world.ds.url}/vereq`, vereqOf(pan), 'gateway', 'application/xml; charset=utf-8')
  assert.deepEqual(
    [told.status, told.type, /<Message id="([^"]*)">/.exec(told.text)?.[1]],
    [200, 'application/xml; charset=utf-8', 'm.1'],
  )
  return { enrolled: valueIn(told.text, 'enrolled'), acctID: valueIn(told.text, 'acctID'), url: valueIn(told.text, 'url') }
}

async function pareqOf(pan: string, changes: Record<string, string> = {}): Promise<string> {
  const { acctID } = await enrolmentOf(pan)
  const v = { acctID: acctID ?? '', xid, purchAmount: '1050', currency: '978', ...changes }
  return deflateSync(
    `<?xml version="1.0" encoding="UTF-8"?><ThreeDSecure><Message id="m.2"><PAReq><version>1.0.2</version>` +
      `<Merchant><acqBIN>400000</acqBIN><merID>merchant-1</merID>` +
      `<name>Shop &amp; Sons</name><country>826</country><url>https://shop.example</url></Merchant>` +
      `<Purchase><xid>${v.xid}</xid><date>20261121 10:00:00</date><amount>1 EUR</amount>` +
      `<purchAmount>${v.purchAmount}</purchAmount>` +
      `<currency>${v.currency}</currency><exponent>2</exponent></Purchase><CH><acctID>${v.acctID}</acctID><expiry>3012</expiry></CH>` +
      `</PAReq></Message></ThreeDSecure>`,
  ).toString('base64')
}

let asked = 0
/** The browser at the issuer, with a purchase of its own. */
async function visit(pan: string, changes: Record<string, string> = {}, form: Record<string, string> = {}): Promise<Page> {
  const PaReq = await pareqOf(pan, {
    xid: Buffer.from(`purchase ${String(++asked).padStart(11, '0')}`).toString('base64'),
    ...changes,
  })
  return browse(`${world.acs.browserUrl}/pareq-page`, { PaReq, TermUrl: termUrl, MD: 'md-1', ...form })
}
const answer = (page: Page, more: Record<string, string>) =>
  browse(world.acs.browserUrl + page.action, { ...page.fields, ...more })
async function fault(pares: string): Promise<void> {
  const { status } = await admin(`${world.acs.browserUrl}/admin/faults`, 'POST', { pares, times: 1 })
  assert.equal(status, 201)
}

const xmlIn = (page: Page): string => {
  assert.deepEqual([page.action, page.fields['MD']], [termUrl, 'md-1'])
  return inflateSync(Buffer.from(page.fields['PaRes'] ?? '', 'base64')).toString()
}
/** Who vouches for which PARes: digest and signature, and the path to a network's root. */
function witness(xml: string) {
  const pares = xml.match(/<PARes .*?<\/PARes>/gs) ?? []
  const info = /<SignedInfo>.*<\/SignedInfo>/s
    .exec(xml)?.[0]
    .replace('<SignedInfo>', '<SignedInfo xmlns="http://www.w3.org/2000/09/xmldsig#">')
  const chain = [...xml.matchAll(/<X509Certificate>([^<]*)</g)].map(
    ([, text]) => new X509Certificate(Buffer.from(text!, 'base64')),
  )
  const leaf = chain.find(({ ca }) => !ca)
  const middle = chain.find((one) => leaf?.checkIssued(one) && leaf.verify(one.publicKey))
  const roots = ['visa', 'mastercard'].filter((name) => {
    const root = new X509Certificate(readFileSync(join(world.directory, `pares-${name}-root.pem`)))
    return middle?.checkIssued(root) && middle.verify(root.publicKey)
  })
  const signature = Buffer.from(valueIn(xml, 'SignatureValue') ?? '', 'base64')
  return {
    count: pares.length,
    status: valueIn(pares[0] ?? '', 'status'),
    digest: pares.some((one) => createHash('sha1').update(one).digest('base64') === valueIn(xml, 'DigestValue')),
    signed: leaf !== undefined && verify('sha1', Buffer.from(info ?? ''), leaf.publicKey, signature),
    root: roots.join(),
  }
}
const good = { count: 1, status: 'Y', digest: true, signed: true, root: 'visa' }
const proofOf = (pan: string, of: string, status: string) =>
  createHmac('sha256', Buffer.from(readFileSync(join(world.directory, 'cavv.key'), 'utf8').trim(), 'hex'))
    .update(`${pan}|${of}|1050|978|${status}`)
    .digest()
    .subarray(0, 20)
    .toString('base64')

describe('the directory server', () => {
  test('says Y for cards of version 9, with a name that hides the number; U for their outcome 5; else N', async () => {
    const { enrolled, acctID, url } = await enrolmentOf(card.password)
    assert.deepEqual([enrolled, url], ['Y', `${world.acs.browserUrl}/pareq-page`])
    assert.match(acctID!, /^[\x20-\x7e]{1,28}$/)
    assert.doesNotMatch(Buffer.from(acctID!, 'base64url').toString('hex') + acctID, /40000000/)
    assert.equal((await enrolmentOf(card.password)).acctID, acctID)
    assert.notEqual((await enrolmentOf(mastercard)).acctID, acctID)
    const nothing = { acctID: undefined, url: undefined }
    assert.deepEqual(await enrolmentOf('4000000000009052'), { enrolled: 'U', ...nothing })
    for (const pan of ['4000000000002107', '4000000000000002', '4111111111111111', '6011000000000004'])
      assert.deepEqual(await enrolmentOf(pan), { enrolled: 'N', ...nothing }, pan)
  })

  test('answers an unreadable request, an invalid number and the card of outcome 9 with Error', async () => {
    const fine = vereqOf(card.password)
    const bad: [string, code: string][] = [
      ['', '1'],
      ['{"messageType":"AReq"}', '1'],
      [`<!DOCTYPE a>${fine}`, '1'],
      [fine.replaceAll('VEReq', 'CRReq'), '2'],
      [fine.replace(/<pan>.*<\/pan>/, ''), '3'],
      [vereqOf('4000000000009004'), '5'],
      [vereqOf('x'), '5'],
      [vereqOf(card.password, 'm'.repeat(25)), '5'],
      [vereqOf('4000000000009094'), '98'],
    ]
    for (const [text, code] of bad) {
      const told = await world.post(`${world.ds.url}/vereq`, text, 'gateway', 'text/xml')
      assert.deepEqual([told.status, valueIn(told.text, 'errorCode')], [200, code], text)
    }
  })

  test('takes VEReq from the 3DS Server alone, as XML', async () => {
    const at = `${world.ds.url}/vereq`
    for (const party of ['acs', 'stranger'] as const)
      assert.equal((await world.post(at, vereqOf(card.password), party, 'application/xml')).status, 403)
    await assert.rejects(world.post(at, vereqOf(card.password), 'none', 'application/xml'))
    const told = await world.post(at, vereqOf(card.password))
    assert.deepEqual([told.status, valueIn(told.text, 'errorCode')], [415, '99'])
  })

  test('scripts change VERes, and the log keeps no number', async () => {
    const faults: Json[] = [
      { enrolled: 'U' },
      { veres_url: 'javascript:alert(1)' },
      { legacy_error: '99' },
      { message: 'VEReq', http_status: 502 },
    ]
    for (const one of faults) assert.equal((await admin(`${world.ds.adminUrl}/faults`, 'POST', { times: 1, ...one })).status, 201)
    // Each script meets a message of its own: an answer that is none uses up what comes before it.
    const told = async () => await world.post(`${world.ds.url}/vereq`, vereqOf(card.password), 'gateway', 'application/xml')
    assert.equal(valueIn((await told()).text, 'errorCode'), '99')
    assert.equal((await told()).status, 502)
    assert.deepEqual(
      [valueIn((await told()).text, 'enrolled'), valueIn((await told()).text, 'url')],
      ['U', 'javascript:alert(1)'],
    )
    const log = JSON.stringify((await admin(`${world.ds.adminUrl}/log`)).body)
    assert.ok(log.includes('"VEReq"') && log.includes('"VERes"') && !log.includes(card.password))
  })
})

describe('the issuer', () => {
  test('signs Y with a proof of this purchase; a refresh takes the same along, a cancellation is N', async () => {
    const page = await visit(card.password, { xid })
    const xml = xmlIn(await answer(page, { action: 'submit', password: ' hint ' }))
    assert.deepEqual(witness(xml), good)
    assert.match(xml, /<X509Certificate>.*<X509Certificate>.*<X509Certificate>/)
    // oxfmt-ignore
    const expected = {
      acqBIN: '400000', merID: 'merchant-1', xid, date: '20261121 10:00:00', purchAmount: '1050', currency: '978',
      exponent: '2', pan: '0000000000009003', cavv: proofOf(card.password, xid, 'Y'), eci: '05',
    }
    for (const [name, value] of Object.entries(expected)) assert.equal(valueIn(xml, name), value, name)
    assert.equal(valueIn(xml, 'time'), new Date(clock.now()).toISOString().replace(/-(..)-(..)T(.{8}).*/, '$1$2 $3'))
    assert.equal(xmlIn(await answer(page, { action: 'submit', password: 'wrong' })), xml)
    assert.equal(xmlIn(await visit(card.password, { xid })), xml)
    const cancelled = xmlIn(await answer(await visit(card.password), { action: 'cancel' }))
    assert.deepEqual([witness(cancelled).status, valueIn(cancelled, 'cavv')], ['N', undefined])
  })

  test('a card whose password never helps is N', async () => {
    const page = await visit('4000000000009078')
    assert.equal(witness(xmlIn(await answer(page, { action: 'submit', password: 'hint' }))).status, 'N')
  })

  test('ten minutes without an answer are N', async () => {
    const page = await visit(card.password)
    const state = /url=(\/pareq-page\/state\?id=[0-9a-f]+)/.exec(page.text)?.[1] ?? ''
    assert.match((await browse(world.acs.browserUrl + state)).text, /One-time password/)
    clock.pass(600_000)
    assert.equal(witness(xmlIn(await browse(world.acs.browserUrl + state))).status, 'N')
  })

  // Each PARes is wrong in this one way.
  // oxfmt-ignore
  const faults: [string, Partial<typeof good>, RegExp][] = [
    ['wrong root',      { root: 'mastercard' },           /<status>Y</],
    ['foreign key',     { signed: false },                /<status>Y</],
    ['wrong digest',    { digest: false },                /<status>Y</],
    ['wrong signature', { signed: false },                /<status>Y</],
    ['no signature',    { signed: false, digest: false, root: '' }, /<\/PARes><\/Message>/],
    ['altered amount',  {},                               /<purchAmount>10500</],
    ['other currency',  {},                               /<currency>392</],
    ['other purchase',  {},                               /<xid>YW5vdGhlc/],
    ['other card',      {},                               /<pan>0000000000000000</],
    ['tampered',        { digest: false },                /<purchAmount>10500</],
    ['no proof',        {},                               /<TX><time>[^<]*<\/time><status>Y<\/status><\/TX>/],
    ['proof of N',      { status: 'N' },                  /<cavv>/],
    ['unsigned first',  { count: 2 },                     /<status>Y<.*<status>N</],
    ['unsigned last',   { count: 2, status: 'N' },        /<status>N<.*<status>Y</],
    ['comment',         { digest: false, status: undefined as never }, /<status><!-- -->Y</],
    ['doctype',         {},                               /<!DOCTYPE/],
    ['hmac',            { signed: false },                /hmac-sha1/],
    ['exclusive c14n',  {},                               /exc-c14n/],
    ['transform',       {},                               /enveloped-signature/],
    ['bomb',            {},                               / {2000000}/],
    ['leaf last',       {},                               /<status>Y</],
  ]
  for (const [name, changes, shows] of faults)
    test(`scripted: ${name}`, async () => {
      await fault(name)
      const page = await answer(await visit(card.password), { action: 'submit', password: 'hint' })
      assert.ok(page.fields['PaRes']!.length <= 10_240, 'an upload can carry it')
      const xml = xmlIn(page)
      assert.match(xml, shows)
      assert.deepEqual(witness(xml), { ...good, ...changes })
    })

  test('scripted: replay, the last good PARes of the network', async () => {
    const earlier = xmlIn(await visit(card.attempt))
    await fault('replay')
    assert.equal(xmlIn(await answer(await visit(card.password), { action: 'submit', password: 'hint' })), earlier)
    const known = (await admin(`${world.acs.browserUrl}/admin/faults`, 'POST', { pares: 'nonsense' })).status
    assert.equal(known, 400)
  })

  test('the log shows no proof', async () => {
    const log = JSON.stringify((await admin(`${world.acs.browserUrl}/admin/log`)).body)
    assert.ok(log.includes('"PAReq"') && log.includes('"TX/cavv":"***"') && !log.includes(proofOf(card.password, xid, 'Y')))
  })
})
