/** TLS of a gate's line: valid certificates and keys, and the settings after a wish. */
import { createPrivateKey, X509Certificate, type KeyObject } from 'node:crypto'
import { defined } from '../../base/defined.ts'
import type { Secret } from '../../base/secret.ts'
import { reachOf } from '../../http/client-address.ts'
import type { GateRow, GateTls } from '../../merchant/fields/gate.ts'
import { unfit, type Misfit } from '../refused.ts'
import { certificatesOf, dayOf, readCertificate } from '../certificates.ts'
import type { LineWish } from './gate-line.ts'

/** The settings of TLS after a wish; undefined for a line in clear. */
export function tlsAfter(before: GateTls | undefined, wish: LineWish, now: number): GateTls | Misfit | undefined {
  const { tls, tlsCa, tlsCert, tlsKey, tlsName } = wish
  const others = { tlsCa, tlsCert, tlsKey, tlsName }
  const named = (['tlsCa', 'tlsCert', 'tlsKey', 'tlsName'] as const).find((field) => others[field] !== undefined)
  if (tls === false) return named && unfit(named, 'left out where TLS is off')
  if (!before && !tls)
    return named && { what: 'missing', field: 'tls', means: 'on, because the line of this gate is not encrypted' }
  if (tlsCa === undefined && !before) return { what: 'missing', field: 'tlsCa', means: "a file with the acquirer's authority" }
  if (tlsCert !== undefined && !tlsKey) return { what: 'missing', field: 'tlsKey', means: 'the private key of the certificate' }
  if (tlsCert === undefined && tlsKey) return { what: 'missing', field: 'tlsCert', means: 'the certificate of the private key' }
  const misfit =
    (tlsCa === undefined ? undefined : certificateMisfit('tlsCa', tlsCa, now)) ??
    (tlsCert === undefined || !tlsKey ? undefined : (certificateMisfit('tlsCert', tlsCert, now) ?? keyMisfit(tlsCert, tlsKey)))
  if (misfit) return misfit
  return {
    ...before,
    ca: tlsCa === undefined ? before!.ca : certificatesOf(tlsCa).join('\n'),
    ...defined({ certificate: tlsCert && certificatesOf(tlsCert).join('\n'), name: tlsName }),
  }
}

export function certificateMisfit(field: 'tlsCa' | 'tlsCert', pem: string, now: number): Misfit | undefined {
  const found = certificatesOf(pem)
  if (found.length === 0) return unfit(field, 'a file of certificates in PEM')
  for (const one of found) {
    const read = readCertificate(one)
    if (!read) return unfit(field, 'a file of certificates in PEM, and one of them cannot be read')
    const { subject, from, until } = read
    if (until <= now) return unfit(field, `a valid certificate: that of ${subject} expired on ${dayOf(until)}`)
    if (from > now) return unfit(field, `a valid certificate: that of ${subject} is not valid before ${dayOf(from)}`)
  }
  return undefined
}

function keyMisfit(certificate: string, key: Secret<string>): Misfit | undefined {
  let read: KeyObject
  try {
    read = createPrivateKey(key.reveal())
  } catch {
    return /ENCRYPTED/.test(key.reveal())
      ? unfit('tlsKey', 'without a passphrase: decrypt it first (openssl pkey -in … -out …); it is sealed when it is stored')
      : unfit('tlsKey', 'a private key in PEM')
  }
  const [leaf] = certificatesOf(certificate)
  if (new X509Certificate(leaf!).checkPrivateKey(read)) return undefined
  return unfit('tlsKey', 'the key of our first certificate; this is a different key')
}

/** Refuses a line in clear to a public address, unless it is allowed. */
export const lineMisfit = ({ host, tls, plainLine }: GateRow): Misfit | undefined =>
  !tls && !plainLine && reachOf(host) === 'public'
    ? unfit(
        'host',
        `a private address (10.0.0.0/8, 172.16.0.0/12, 192.168.0.0/16, fc00::/7) while its line is unencrypted, because others ` +
          'could read card numbers: use TLS, or allow an unencrypted line if something else encrypts it',
      )
    : undefined
