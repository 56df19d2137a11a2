import assert from 'node:assert/strict'
import { deflateSync } from 'node:zlib'
import { readMessage, writeMessage, type MessageType } from '../../src/three-d-secure/codec.ts'
import { readXml } from '../../src/three-d-secure/legacy/xml.ts'
import { readVeres } from '../../src/three-d-secure/legacy/legacy.ts'
import { decodeParam, encodeParam } from '../../src/three-d-secure/param.ts'
import { verifyPares } from '../../src/three-d-secure/legacy/pares.ts'
import { asked, documentOf, makeNetwork, pack, paresXml, signatureOf, textsOf } from '../harness/three-d-secure/pares.ts'
import { good } from '../harness/three-d-secure/three-d-secure-messages.ts'
import type { Target } from './loop.ts'

const versions = ['2.1.0', '2.2.0'] as const

/** What issuers and directory servers send; a browser brings CRes. */
function messages(...types: MessageType[]): Target {
  const seeds = types.flatMap((type) => versions.map((version) => JSON.stringify(good(type, version))))
  return {
    seeds,
    words: [
      '"messageExtension":[{"name":"a","id":"b","criticalityIndicator":true,"data":{}}],',
      '"__proto__":1,',
      '\\u0000',
      '[',
      '{',
    ],
    run(input) {
      const read = readMessage(input.toString('utf8'), { types })
      if (read.is === 'unusable') return assert.match(read.errorCode, /^\d{3}$/)
      // Without entries that do not fit, a list may be too short to be sent.
      if (read.leftOut) return
      const again = readMessage(writeMessage(read.message), { types })
      assert.equal(again.is, 'message', 'it is unusable once it was written')
    },
  }
}

const network = await makeNetwork('Fuzz')
const certificates = textsOf(network.issuer, network.intermediate, network.root)
const signed = (['Y', 'N'] as const).map((status) => {
  const xml = paresXml({ status })
  return documentOf(xml + signatureOf(xml, { key: network.issuer.key, certificates }))
})
const xmlWords = [
  '<!DOCTYPE a>',
  '<![CDATA[',
  '<!--',
  '&#x0;',
  '&amp;',
  '<?x?>',
  ' id="',
  'xmlns:x="u"',
  '</',
  '/>',
  '\ufffe',
  '<a>',
]

const xml: Target = {
  seeds: [signed[0]!, '<?xml version="1.0" encoding="UTF-8"?>\n<a b="c&lt;">d<e/>&#65;</a>'],
  words: xmlWords,
  run(input) {
    const read = readXml(input.toString('utf8'))
    if (read.is === 'refused') assert.doesNotMatch(read.why, /\d{6}/)
  },
}

const veres: Target = {
  seeds: [
    '<ThreeDSecure><Message id="m1"><VERes><version>1.0.2</version><CH><enrolled>Y</enrolled><acctID>a1</acctID></CH>' +
      '<url>https://acs.example/p</url><protocol>ThreeDSecure</protocol></VERes></Message></ThreeDSecure>',
    '<ThreeDSecure><Message id="m1"><Error><version>1.0.2</version><errorCode>98</errorCode>' +
      '<errorMessage>m</errorMessage><errorDetail>d</errorDetail></Error></Message></ThreeDSecure>',
  ],
  words: xmlWords,
  run(input) {
    const read = readVeres(input.toString('utf8'), { messageId: 'm1', loopbackHttp: false })
    if (read.is === 'enrolled') assert.equal(new URL(read.url).protocol, 'https:')
  },
}

/** The XML, compressed as an issuer does it, so that damage reaches the reader. */
const pares: Target = {
  seeds: signed,
  words: [
    ...xmlWords,
    '<X509Certificate>',
    '<Reference URI="">',
    '<Transforms>',
    '<Signature xmlns="http://www.w3.org/2000/09/xmldsig#">',
  ],
  run(input) {
    const verdict = verifyPares(deflateSync(input, { level: 1 }).toString('base64'), { ...asked, roots: [network.root.pem] })
    // Only what the issuer signed can hold.
    if (verdict.is === 'verified') assert.match(`${verdict.paresId} ${verdict.status}`, /^PARes-9 [YN]$/)
  },
}

/** The form field itself. */
const paresField: Target = {
  seeds: [...signed.map((document) => pack(document)), deflateSync(Buffer.alloc(70_000)).toString('base64')],
  words: [' ', '+', '=', '\r\n', 'eJw'],
  run: (input) => void verifyPares(input.toString('latin1'), { ...asked, roots: [network.root.pem] }),
}

const param: Target = {
  seeds: [encodeParam('{"threeDSServerTransID":"0739d5aa-1111-4222-8333-0123456789ab"}'), 'e30', 'e 3\n0==', '-_+/'],
  words: ['=', ' ', '\n'],
  run(input) {
    const text = decodeParam(input.toString('latin1'))
    if (text !== undefined) assert.equal(decodeParam(encodeParam(text)), text)
  },
}

export const threeDSecureTargets: Readonly<Record<string, Target>> = {
  ares: messages('ARes', 'Erro'),
  rreq: messages('RReq'),
  cres: messages('CRes', 'Erro'),
  pres: messages('PRes', 'Erro'),
  xml,
  veres,
  pares,
  'pares-field': paresField,
  param,
}
