import { constants, createPrivateKey, X509Certificate } from 'node:crypto'
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

/**
 * What every listener serves TLS with: forward secrecy only, and no renegotiation. `ciphers` names
 * those of TLS 1.3 by their own names.
 */
export const servedWith = ({ cert, key }: KeyPair) => ({
  cert,
  key: key.reveal(),
  minVersion: 'TLSv1.2' as const,
  ciphers: 'TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256:TLS_AES_128_GCM_SHA256:ECDHE+AESGCM:ECDHE+CHACHA20',
  secureOptions: constants.SSL_OP_NO_RENEGOTIATION,
})
