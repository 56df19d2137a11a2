/**
 * The throw-away authority of the sandbox: created at the first start, used between this machine's
 * own programs and trusted by no other.
 */
import 'reflect-metadata'
import * as x509 from '@peculiar/x509'
import { webcrypto, type webcrypto as Crypto } from 'node:crypto'
import { mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Random } from '../base/random.ts'

interface Party {
  /** Name of the files, and the common name by which the others know it. */
  file: string
  commonName: string
  uses: readonly string[]
}

const server = x509.ExtendedKeyUsage.serverAuth
const client = x509.ExtendedKeyUsage.clientAuth

/**
 * The parties of mutual TLS. `stranger` has the same authority but no permissions, to test the
 * refusals.
 */
const parties: readonly Party[] = [
  { file: 'gateway', commonName: '3ds-server', uses: [client] },
  { file: 'gateway-results', commonName: '3ds-server-results', uses: [server] },
  { file: 'directory-server', commonName: 'directory-server', uses: [server, client] },
  { file: 'acs', commonName: 'acs', uses: [server, client] },
  { file: 'acquirer', commonName: 'acquirer', uses: [server] },
  { file: 'gateway-line', commonName: 'tollgate-line', uses: [client] },
  { file: 'stranger', commonName: 'stranger', uses: [client] },
]

/** EMVCo requires 2048 bits or P-256; the latter takes no time to create. */
const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const
const yearMs = 365 * 86_400_000

/**
 * Creates `<directory>/ds-ca.pem`, a certificate and key for each party, `cavv.key` for the
 * issuer's proofs and `line-mac.key` for messages to the acquirer; replaces what is there. Built
 * aside and moved into place whole, so that a killed start leaves no half authority.
 */
export async function createAuthority(directory: string, random: Random, now: number): Promise<void> {
  rmSync(directory, { recursive: true, force: true })
  const aside = `${directory}.new`
  rmSync(aside, { recursive: true, force: true })
  mkdirSync(aside, { recursive: true, mode: 0o700 })
  const times = { notBefore: new Date(now - 86_400_000), notAfter: new Date(now + 10 * yearMs) }
  const authorityKeys = await makeKeys()
  const authority = await x509.X509CertificateGenerator.createSelfSigned({
    serialNumber: serialOf(random),
    name: 'CN=Tollgate sandbox directory authority',
    ...times,
    signingAlgorithm: algorithm,
    keys: authorityKeys,
    extensions: [
      new x509.BasicConstraintsExtension(true, 0, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign, true),
      await x509.SubjectKeyIdentifierExtension.create(authorityKeys.publicKey),
    ],
  })
  write(aside, 'ds-ca.pem', authority.toString('pem'))
  for (const party of parties) {
    const keys = await makeKeys()
    const certificate = await x509.X509CertificateGenerator.create({
      serialNumber: serialOf(random),
      subject: `CN=${party.commonName}`,
      issuer: authority.subject,
      ...times,
      signingAlgorithm: algorithm,
      publicKey: keys.publicKey,
      signingKey: authorityKeys.privateKey,
      extensions: await extensionsOf(party, keys, authority),
    })
    write(aside, `${party.file}.pem`, certificate.toString('pem'))
    write(aside, `${party.file}.key`, await keyText(keys.privateKey))
  }
  await Promise.all(paresNetworks.map((network) => makeParesChain(aside, network, { random, times })))
  for (const key of ['cavv.key', 'line-mac.key']) write(aside, key, `${random.bytes(32).toString('hex')}\n`)
  renameSync(aside, directory)
}

/** Networks that still have issuers of 3-D Secure 1.0.2 here, each with its own root. */
const paresNetworks = ['visa', 'mastercard'] as const
const rsa = { name: 'RSASSA-PKCS1-v1_5', modulusLength: 2048, publicExponent: new Uint8Array([1, 0, 1]), hash: 'SHA-256' }

/**
 * Root, intermediate and leaf as with real issuers: `pares-<network>-root.pem`, the chain from the
 * leaf on in `pares-<network>.pem`, and the leaf's key.
 */
async function makeParesChain(
  directory: string,
  network: string,
  { random, times }: { random: Random; times: { notBefore: Date; notAfter: Date } },
): Promise<void> {
  const makeRsa = () => webcrypto.subtle.generateKey(rsa, true, ['sign', 'verify'])
  const [rootKeys, middleKeys, leafKeys] = await Promise.all([makeRsa(), makeRsa(), makeRsa()])
  const common = { ...times, signingAlgorithm: rsa }
  const mayIssue = [
    new x509.BasicConstraintsExtension(true, undefined, true),
    new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign, true),
  ]
  const root = await x509.X509CertificateGenerator.createSelfSigned({
    ...common,
    serialNumber: serialOf(random),
    name: `CN=Tollgate sandbox ${network} root`,
    keys: rootKeys,
    extensions: mayIssue,
  })
  const middle = await x509.X509CertificateGenerator.create({
    ...common,
    serialNumber: serialOf(random),
    subject: `CN=Tollgate sandbox ${network} issuers`,
    issuer: root.subject,
    publicKey: middleKeys.publicKey,
    signingKey: rootKeys.privateKey,
    extensions: mayIssue,
  })
  const leaf = await x509.X509CertificateGenerator.create({
    ...common,
    serialNumber: serialOf(random),
    subject: 'CN=Harbour Bank',
    issuer: middle.subject,
    publicKey: leafKeys.publicKey,
    signingKey: middleKeys.privateKey,
    extensions: [
      new x509.BasicConstraintsExtension(false, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
    ],
  })
  write(directory, `pares-${network}-root.pem`, root.toString('pem'))
  write(directory, `pares-${network}.pem`, [leaf, middle, root].map((one) => one.toString('pem')).join('\n'))
  write(directory, `pares-${network}.key`, await keyText(leafKeys.privateKey))
}

async function extensionsOf(
  party: Party,
  keys: Crypto.CryptoKeyPair,
  authority: x509.X509Certificate,
): Promise<x509.Extension[]> {
  return [
    new x509.BasicConstraintsExtension(false, undefined, true),
    new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
    new x509.ExtendedKeyUsageExtension([...party.uses]),
    await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
    await x509.AuthorityKeyIdentifierExtension.create(authority),
    ...(party.uses.includes(server)
      ? [
          new x509.SubjectAlternativeNameExtension([
            { type: 'dns', value: 'localhost' },
            { type: 'ip', value: '127.0.0.1' },
          ]),
        ]
      : []),
  ]
}

const makeKeys = (): Promise<Crypto.CryptoKeyPair> => webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify'])

/** Positive, as RFC 5280 requires. */
function serialOf(random: Random): string {
  const bytes = random.bytes(16)
  bytes[0] = (bytes[0]! & 0x7f) | 0x40
  return bytes.toString('hex')
}

async function keyText(key: Crypto.CryptoKey): Promise<string> {
  const text = Buffer.from(await webcrypto.subtle.exportKey('pkcs8', key)).toString('base64')
  return `-----BEGIN PRIVATE KEY-----\n${text.replace(/.{1,64}/g, '$&\n')}-----END PRIVATE KEY-----\n`
}

function write(directory: string, name: string, text: string): void {
  writeFileSync(join(directory, name), text, { mode: 0o600 })
}
