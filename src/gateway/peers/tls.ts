/**
 * TLS between processes of an installation, by a key that both ends share instead of certificates.
 * It is derived from the key for digests, which only processes of the installation have, and from
 * the name of the process that is meant: no other process can answer in its place.
 *
 * *Rejected:* certificates for each process, which an operator would have to issue and renew.
 * TLS 1.3, where Node.js has no pre-shared keys.
 */
import { constants, hkdfSync } from 'node:crypto'
import type { Secret } from '../../base/secret.ts'
import type { KeyRing } from '../../keys/ring.ts'

const ofBothEnds = {
  minVersion: 'TLSv1.2',
  maxVersion: 'TLSv1.2',
  ciphers: 'ECDHE-PSK-CHACHA20-POLY1305',
  ecdhCurve: 'X25519',
  // A resumed session would outlive the version of the key that it began with.
  secureOptions: constants.SSL_OP_NO_TICKET | constants.SSL_OP_NO_RENEGOTIATION,
} as const

const sharedFor = (instance: string, key: Secret<Buffer>): Buffer =>
  Buffer.from(hkdfSync('sha256', key.reveal(), '', `tollgate peer tls 1 ${instance}`, 32))

/** How `instance` is reached. */
export const tlsTo = (instance: string, keys: Pick<KeyRing, 'versions'>) => ({
  ...ofBothEnds,
  pskCallback() {
    const [current] = keys.versions('digest')
    return current ? { psk: sharedFor(instance, current.key), identity: String(current.version) } : null
  },
  // There is no certificate. Without the key the handshake does not come so far.
  checkServerIdentity: () => undefined,
})

/** How `instance` serves the others, by each version of the key that it has. */
export const tlsOf = (instance: string, keys: Pick<KeyRing, 'version'>) => ({
  ...ofBothEnds,
  pskCallback(_socket: unknown, identity: string) {
    // An identity can be anything. Some versions of Node.js end when something is thrown here.
    const key = /^[0-9]{1,18}$/.test(identity) ? keys.version('digest', BigInt(identity)) : undefined
    return key ? sharedFor(instance, key) : null
  },
})
