import { createPrivateKey, X509Certificate } from 'node:crypto'
import { secret, type Secret } from '../base/secret.ts'

/** A certificate with the chain to its authority, and its private key; both PEM. */
export interface KeyPair {
  cert: string
  key: Secret<string>
}

/** Reads the pair again from where it is kept. Throws with a reason if it cannot be used. */
export type ReadKeyPair = () => KeyPair

/** Throws with a reason that begins with a name, if the key is not the certificate's. */
export function keyPairOf(cert: string, key: string, names: { cert: string; key: string }): KeyPair {
  const certificate = read(() => new X509Certificate(cert), `${names.cert} has no certificate in PEM`)
  const encrypted = /ENCRYPTED/.test(key) ? `${names.key} has a passphrase: decrypt it (openssl pkey)` : undefined
  const privateKey = read(() => createPrivateKey(key), encrypted ?? `${names.key} has no private key in PEM`)
  if (!certificate.checkPrivateKey(privateKey)) throw new Error(`${names.key} is not the key of ${names.cert}`)
  return { cert, key: secret(key) }
}

function read<T>(reading: () => T, complaint: string): T {
  try {
    return reading()
  } catch (error) {
    throw new Error(complaint, { cause: error })
  }
}

/** Until when the certificate of the pair holds, in ms. */
export const endOf = ({ cert }: KeyPair): number => Date.parse(new X509Certificate(cert).validTo)
