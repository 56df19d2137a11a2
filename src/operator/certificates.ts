/** Certificates in PEM, and what is shown of one. */
import { X509Certificate } from 'node:crypto'

export interface CertificateFact {
  subject: string
  from: number
  until: number
  /** SHA-256, in hexadecimal digits. */
  fingerprint: string
}

export function readCertificate(pem: string): CertificateFact | undefined {
  try {
    const { subject, validFrom, validTo, fingerprint256 } = new X509Certificate(pem)
    const fingerprint = fingerprint256.replaceAll(':', '').toLowerCase()
    return { subject: subject.replaceAll('\n', ', '), from: Date.parse(validFrom), until: Date.parse(validTo), fingerprint }
  } catch {
    return undefined
  }
}

/** Subjects and dates of the certificates of a setting. */
export const certificateFacts = (pem: string): CertificateFact[] =>
  certificatesOf(pem).flatMap((one) => readCertificate(one) ?? [])

export const dayOf = (at: number): string => new Date(at).toISOString().slice(0, 10)

/** The certificates of a PEM file, without the text around them, which may be a private key. */
export const certificatesOf = (pem: string): string[] =>
  pem.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g)?.map((one) => `${one}\n`) ?? []
