import assert from 'node:assert/strict'
import { sign } from 'node:crypto'
import { test } from 'node:test'
import type { Piece } from '../../../src/base/turn.ts'
import { paresVerifier, verifyPares } from '../../../src/three-d-secure/legacy/pares.ts'
import {
  asked,
  documentOf,
  makeNetwork,
  makeParty,
  pack,
  paresXml,
  publicKeyOf,
  purchasedAt,
  signatureOf,
  textsOf,
  type Party,
} from '../../harness/three-d-secure/pares.ts'

const [network, other] = await Promise.all([makeNetwork('Tern'), makeNetwork('Heron')])
const { root, intermediate, issuer } = network
const xml = paresXml()

/**
 * What becomes of a PARes that `by` signed, with these certificates, for a card of the network of
 * these roots.
 */
function heard(by: Party, certificates: readonly string[], roots: readonly Party[] = [root]): string {
  const signed = documentOf(xml + signatureOf(xml, { key: by.key, certificates }))
  const verdict = verifyPares(pack(signed), { ...asked, roots: roots.map((one) => one.pem) })
  return verdict.is === 'refused' ? verdict.why : 'verified'
}

const at = (days: number): Date => new Date(purchasedAt + days * 86_400_000)
const notOne = "not one certificate that may be the issuer's"
const noPath = 'no path to a root of the network'

test('the path leads to a root of the network of the card, and to no other', () => {
  const bag = textsOf(issuer, intermediate, root)
  assert.equal(heard(issuer, bag), 'verified')
  assert.equal(heard(issuer, textsOf(issuer, intermediate)), 'verified')
  assert.equal(heard(issuer, bag, [other.root, root]), 'verified')
  assert.equal(heard(issuer, textsOf(issuer), [intermediate]), 'verified', 'a trusted authority need not be self-signed')
  assert.equal(heard(issuer, bag, [other.root]), noPath)
  assert.equal(heard(other.issuer, textsOf(other.issuer, other.intermediate, other.root)), noPath)
  assert.equal(heard(issuer, bag, []), noPath)
  assert.equal(heard(issuer, textsOf(issuer, root)), noPath)
  assert.equal(heard(issuer, textsOf(other.root, issuer, intermediate, other.intermediate)), 'verified')
  assert.equal(heard(issuer, []), 'no certificate')
})

test('the signature is by the one certificate that is no authority', async () => {
  const twin = await makeParty('Tern issuer', { issuer: intermediate })
  assert.equal(heard(twin, textsOf(issuer, intermediate, root)), 'the signature does not hold')
  assert.equal(heard(issuer, textsOf(issuer, twin, intermediate, root)), notOne)
  assert.equal(heard(other.issuer, textsOf(issuer, intermediate, root, other.issuer)), notOne)
  assert.equal(heard(intermediate, textsOf(intermediate, root)), notOne)
  assert.equal(heard(root, textsOf(root)), notOne)
  assert.equal(heard(issuer, textsOf(issuer, intermediate, root), [root, issuer]), 'the signature is of a root')
})

test('a certificate that stands for itself, or for a name only, is not trusted', async () => {
  const alone = await makeParty('Tern issuer')
  assert.equal(heard(alone, textsOf(alone)), noPath)
  const copy = await makeParty('Tern root', { isAuthority: true })
  const below = await makeParty('Tern issuer', { issuer: copy })
  assert.equal(heard(below, textsOf(below, copy)), noPath)
  assert.equal(heard(below, textsOf(below, root)), noPath)
  assert.equal(heard(below, textsOf(below, copy, root)), noPath)
})

test('only authorities issue: a merchant or issuer with a good certificate makes none for others', async () => {
  const merchant = await makeParty('merchant', { issuer: intermediate, keyUsage: false })
  const forged = await makeParty('forged', { issuer: merchant, keyUsage: false })
  assert.equal(heard(merchant, textsOf(merchant, intermediate, root)), 'verified', 'as an end of the path it is good')
  assert.equal(heard(forged, textsOf(forged, merchant, intermediate, root)), noPath)
  assert.equal(heard(forged, textsOf(forged), [merchant, root]), noPath)
  assert.equal(heard(forged, textsOf(forged, intermediate, root)), noPath)
  // Where a certificate says what its key is for, OpenSSL does not even see an issuer in it.
  const disowned = await makeParty('disowned', { issuer })
  assert.equal(heard(disowned, textsOf(disowned, issuer, intermediate, root)), notOne)
  const plain = await makeParty('plain root')
  const below = await makeParty('below plain', { issuer: plain })
  assert.equal(heard(below, textsOf(below), [plain]), noPath)
})

test('every certificate must have been valid at the time of the purchase', async () => {
  const times = [
    [at(-10), at(-1), 'the certificate was not valid at the time of the purchase', noPath],
    [at(1), at(10), 'the certificate was not valid at the time of the purchase', noPath],
    [at(-1), at(0), 'verified', 'verified'],
    [at(0), at(1), 'verified', 'verified'],
  ] as const
  for (const [notBefore, notAfter, ofLeaf, ofIssuer] of times) {
    const leaf = await makeParty('leaf', { issuer: intermediate, notBefore, notAfter })
    assert.equal(heard(leaf, textsOf(leaf, intermediate)), ofLeaf)
    const middle = await makeParty('middle', { issuer: root, isAuthority: true, notBefore, notAfter })
    const below = await makeParty('below', { issuer: middle })
    assert.equal(heard(below, textsOf(below, middle)), ofIssuer)
    const top = await makeParty('top', { isAuthority: true, notBefore, notAfter })
    const under = await makeParty('under', { issuer: top })
    assert.equal(heard(under, textsOf(under), [top]), ofIssuer)
  }
})

test('keys and hashes that anybody can break prove nothing', async () => {
  const unsound = 'a certificate that cannot be read, or is not RSA of 1024 to 8192 bits'
  const weak = await makeParty('weak', { issuer: intermediate, bits: 768 })
  assert.equal(heard(weak, textsOf(weak, intermediate)), unsound)
  const relabelled = relabel(issuer, intermediate, '0b', '0b', 'sha256')
  assert.equal(heard(issuer, [relabelled, intermediate.text]), 'verified', 'the relabelling itself makes a certificate')
  assert.equal(heard(issuer, [relabel(issuer, intermediate, '0b', '05', 'sha1'), intermediate.text]), 'verified')
  assert.equal(heard(issuer, [relabel(issuer, intermediate, '0b', '04', 'md5'), intermediate.text]), unsound)
  assert.equal(heard(issuer, [relabel(issuer, intermediate, '0b', '0d', 'sha256'), intermediate.text]), noPath)
  for (const garbage of ['', 'AAAA', '%', issuer.pem, issuer.text.slice(0, -8), `A${issuer.text}`])
    assert.equal(heard(issuer, [garbage, intermediate.text]), unsound, garbage)
  assert.equal(
    heard(
      issuer,
      Array.from({ length: 9 }, () => issuer.text),
    ),
    'too many certificates',
  )
})

/** How many RSA signatures are checked before the verdict. */
function checksOf(by: Party, certificates: readonly string[], roots: readonly Party[] = [root]): number {
  const signed = documentOf(xml + signatureOf(xml, { key: by.key, certificates }))
  const pieces: Piece[] = [...paresVerifier(pack(signed), { ...asked, roots: roots.map((one) => one.pem) })]
  return pieces.reduce((sum, [unit, count]) => sum + (unit === 'signatures' ? count : 0), 0)
}

test('each certificate is checked once, by whatever path, and no PARes costs more than seventeen signature checks', async () => {
  assert.equal(checksOf(issuer, textsOf(issuer, intermediate, root)), 3)
  // Seven of one name and one key, each of which may have issued each other: 8,659 ways.
  const ring = await makeParty('ring', { isAuthority: true })
  const twins = Array.from({ length: 6 }, (_, i) => ({ ...ring, text: renumbered(ring, i) }))
  const below = await makeParty('below ring', { issuer: ring })
  assert.equal(heard(below, textsOf(below, ring, ...twins)), noPath)
  assert.equal(checksOf(below, textsOf(below, ring, ...twins)), 7)
  // A chain of seven of one name, each of which may be the issuer of each other: 28 checks.
  const chain = [await makeParty('link', { isAuthority: true })]
  while (chain.length < 7) chain.push(await makeParty('link', { isAuthority: true, issuer: chain.at(-1)! }))
  const end = await makeParty('end', { issuer: chain.at(-1)! })
  assert.equal(heard(end, textsOf(end, ...chain)), 'too many signatures to check')
  assert.equal(checksOf(end, textsOf(end, ...chain)), 16)
})

test('a key of more bits than any issuer has is not even tried', async () => {
  const large = await makeParty('large', { issuer: intermediate, publicKey: await publicKeyOf(8_200) })
  assert.equal(checksOf(large, textsOf(large, intermediate)), 0)
})

/** A self-signed certificate under another serial number. */
function renumbered(party: Party, number: number): string {
  const hex = Buffer.from(party.text, 'base64').toString('hex')
  const changed = hex.replace(/(a0030201020202)..../, `$1${(0x2000 + number).toString(16)}`)
  assert.notEqual(changed, hex)
  return resigned(changed, party, 'sha256')
}

/**
 * The certificate with another signature algorithm (last byte of its PKCS #1 identifier), signed
 * again by its issuer.
 */
function relabel(party: Party, by: Party, from: string, to: string, hash: string): string {
  const identifier = (last: string) => `2a864886f70d0101${last}`
  const hex = Buffer.from(party.text, 'base64').toString('hex').replaceAll(identifier(from), identifier(to))
  return resigned(hex, by, hash)
}

/** The same certificate, whose signature was that of something else, signed again. */
function resigned(hex: string, by: Party, hash: string): string {
  const der = Buffer.from(hex, 'hex')
  // SEQUENCE { tbsCertificate SEQUENCE, … BIT STRING }: both lengths take two bytes, and the
  // signature is at the end.
  const tbs = der.subarray(4, 8 + der.readUInt16BE(6))
  const signature = sign(`RSA-${hash}`, tbs, by.key)
  signature.copy(der, der.length - signature.length)
  return der.toString('base64')
}

test('certificates that issue each other in a circle come to an end', async () => {
  const one = await makeParty('one', { isAuthority: true })
  const two = await makeParty('two', { isAuthority: true, issuer: one })
  const crossed = await makeParty('one', { isAuthority: true, issuer: two })
  const leaf = await makeParty('leaf', { issuer: two })
  assert.equal(heard(leaf, textsOf(leaf, two, one, crossed)), noPath)
})
