import { connect as connectTcp, isIP, Socket } from 'node:net'
import { checkServerIdentity, connect as connectTls } from 'node:tls'
import { reasonOf } from '../../base/log.ts'
import type { Secret } from '../../base/secret.ts'
import { reachOf } from '../../http/client-address.ts'
import type { GateSecrets } from '../../merchant/merchant.ts'
import type { GateRow, GateTls } from '../../merchant/fields/gate.ts'

/** Where a line leads, and what protects it. */
export interface LineAddress {
  host: string
  port: number
  /** The line is in clear without it. */
  tls?: LineTls
  /** A line in clear may leave the private network. */
  plainLine?: boolean
}

export interface LineTls extends GateTls {
  /** The private key of `certificate`. */
  key?: Secret<string>
}

type Lined = Pick<GateRow, 'host' | 'port' | 'tls' | 'plainLine'> & { secrets?: GateSecrets }

/** The settings of a gate that its transport needs. */
export const lineAddress = ({ host, port, tls, plainLine, secrets }: Lined): LineAddress => ({
  host,
  port,
  ...(tls && { tls: { ...tls, ...(secrets?.tlsKey && { key: secrets.tlsKey }) } }),
  ...(plainLine !== undefined && { plainLine }),
})

/**
 * Opens the transport of a line. Whatever prevents it, unusable certificates too, is an error of
 * the socket, so that a line has one way to be down.
 */
export function openTransport(to: LineAddress): Socket {
  try {
    return to.tls ? connectSecurely(to, to.tls) : connectInClear(to)
  } catch (thrown) {
    return new Socket().destroy(new Error(`TLS cannot begin: ${reasonOf(thrown)}`))
  }
}

/** The server must have a certificate of this authority for the expected name. */
function connectSecurely({ host, port }: LineAddress, { ca, name = host, certificate, key }: LineTls): Socket {
  const socket = connectTls({
    host,
    port,
    ca,
    ...(certificate !== undefined && key && { cert: certificate, key: key.reveal() }),
    minVersion: 'TLSv1.2',
    // Set explicitly, because the environment can change the default.
    rejectUnauthorized: true,
    // An address is no server name in TLS; the certificate is compared with it all the same.
    servername: isIP(name) === 0 ? name : '',
    checkServerIdentity: (_, presented) => checkServerIdentity(name, presented),
  })
  return socket.setNoDelay(true).setKeepAlive(true)
}

/**
 * A name is judged by the address that it led to, as soon as there is a connection and before
 * anything is written.
 */
function connectInClear({ host, port, plainLine = false }: LineAddress): Socket {
  if (!plainLine && reachOf(host) === 'public') return new Socket().destroy(new Error(tooOpen(host)))
  const socket = connectTcp({ host, port, noDelay: true, keepAlive: true })
  if (!plainLine)
    socket.once('connect', () => {
      const { remoteAddress = '' } = socket
      if (!isPrivateReach(remoteAddress)) socket.destroy(new Error(tooOpen(remoteAddress)))
    })
  return socket
}

const isPrivateReach = (address: string): boolean => ['loopback', 'private'].includes(reachOf(address) ?? '')
const tooOpen = (address: string): string => `an unencrypted line may not lead to ${address}, which is not a private address`

/** Why a transport failed. OpenSSL has a short reason beside a long message. */
export const failureOf = (thrown: unknown): string =>
  thrown instanceof Error && 'reason' in thrown && typeof thrown.reason === 'string' ? `TLS: ${thrown.reason}` : reasonOf(thrown)
