/**
 * Signing keys of the issuers of 3-D Secure 1.0.2, generated once per operating system process. No
 * trace and no decision depends on their values.
 */
import 'reflect-metadata'
import { BasicConstraintsExtension, KeyUsageFlags, KeyUsagesExtension, X509CertificateGenerator } from '@peculiar/x509'
import { KeyObject, webcrypto } from 'node:crypto'
import type { Issuer } from '../../simulators/acs/pares-faults.ts'
import type { LegacyDirectoryName } from '../model/configuration.ts'

export interface LegacyNetwork {
  /** PEM. */
  root: string
  issuer: Issuer
}

/** The shortest accepted key, because it signs fast. */
const rsa = { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256', modulusLength: 1024, publicExponent: new Uint8Array([1, 0, 1]) }
const times = { notBefore: new Date(Date.UTC(2020, 0)), notAfter: new Date(Date.UTC(2040, 0)) }

async function makeNetwork(name: string): Promise<LegacyNetwork> {
  const [rootKeys, issuerKeys] = await Promise.all([0, 1].map(() => webcrypto.subtle.generateKey(rsa, true, ['sign', 'verify'])))
  const root = await X509CertificateGenerator.createSelfSigned({
    ...times,
    serialNumber: '01',
    name: `CN=${name} root`,
    signingAlgorithm: rsa,
    keys: rootKeys!,
    extensions: [new BasicConstraintsExtension(true, undefined, true), new KeyUsagesExtension(KeyUsageFlags.keyCertSign, true)],
  })
  const issuer = await X509CertificateGenerator.create({
    ...times,
    serialNumber: '02',
    subject: `CN=${name} issuer`,
    issuer: root.subject,
    signingAlgorithm: rsa,
    publicKey: issuerKeys!.publicKey,
    signingKey: rootKeys!.privateKey,
    extensions: [
      new BasicConstraintsExtension(false, undefined, true),
      new KeyUsagesExtension(KeyUsageFlags.digitalSignature, true),
    ],
  })
  const certificates = [issuer, root].map((one) => one.toString('pem'))
  return { root: certificates[1]!, issuer: { key: KeyObject.from(issuerKeys!.privateKey), certificates } }
}

let made: Promise<Record<LegacyDirectoryName, LegacyNetwork>> | undefined

export const legacyNetworks = (): Promise<Record<LegacyDirectoryName, LegacyNetwork>> =>
  (made ??= Promise.all([makeNetwork('old-north'), makeNetwork('old-south')]).then(([north, south]) => ({
    'old-north': north,
    'old-south': south,
  })))
