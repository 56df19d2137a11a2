import { TLSSocket } from 'node:tls'
import { failureOf, lineAddress, openTransport } from '../../acquirer/iso8583/transport.ts'
import type { Clock } from '../../base/clock.ts'
import { reachOf } from '../../http/client-address.ts'
import type { Gate } from '../../merchant/merchant.ts'
import { certificateFacts, dayOf } from '../certificates.ts'
import { spanText } from '../../base/moments.ts'
import type { Finding } from '../../entity/show.ts'
import { ok, problem, warning } from './finding.ts'

const reachMs = 3_000
/**
 * How long an acquirer with TLS 1.3 may take to refuse our certificate: thrice as long as the
 * handshake took, within these.
 */
const refusalMs = { least: 100, most: 500 }
const expiresSoonMs = 30 * 86_400_000

/** Opens a line like the gateway's and sends nothing over it. */
export async function gateFindings(own: Gate, clock: Clock): Promise<Finding[]> {
  const { gateId, name, settings } = own
  const { host, port, tls } = settings
  const gate = `gate ${gateId} (${name}) at ${host}:${port}`
  const began = clock.monotonic()
  const reached = await reach(own, clock)
  const took = spanText(clock.monotonic() - began)
  const cannot = `check network, address and certificates, or switch it off: {gate disable ${gateId}}`
  const inClear = `the line of ${gate} is not encrypted: anybody between can read card numbers and turn declines into approvals`
  const useTls = `use TLS, or a VPN that ends on this machine: {gate set ${gateId} --tls on --tls-ca <file>}`
  const isSafe = tls !== undefined || isLoopback('address' in reached ? reached.address : host)
  return [
    'failed' in reached
      ? problem('gates', `${gate} cannot be reached: ${reached.failed}`, cannot)
      : ok('gates', `${gate} takes connections${tls ? ' by TLS' : ''}, ${took}`),
    ...(isSafe ? [] : [warning('gates', inClear, useTls)]),
    ...[tls?.ca, tls?.certificate].flatMap((pem) => certificateFindings(gate, gateId, pem, clock.now())),
  ]
}

function certificateFindings(gate: string, gateId: bigint, pem: string | undefined, now: number): Finding[] {
  const next = `replace it: {gate set ${gateId} --tls-ca <file>}, or --tls-cert <file> --tls-key <file>`
  return certificateFacts(pem ?? '')
    .filter(({ until }) => until - now < expiresSoonMs)
    .map(({ subject, until }) => {
      const [make, ends] = until <= now ? [problem, 'has expired'] : [warning, 'expires']
      return make('gates', `a certificate of ${gate} ${ends} on ${dayOf(until)}: ${subject}`, next)
    })
}

const isLoopback = (host: string): boolean => host === 'localhost' || reachOf(host) === 'loopback'

function reach({ settings, secrets }: Gate, clock: Clock): Promise<{ address: string } | { failed: string }> {
  return new Promise((resolve) => {
    const began = clock.monotonic()
    const socket = openTransport(lineAddress({ ...settings, ...(secrets && { secrets }) }))
    let cancel = clock.after(reachMs, () => end({ failed: `no connection within ${spanText(reachMs)}` }))
    const end = (result: { address: string } | { failed: string }) => {
      cancel()
      socket.destroy()
      resolve(result)
    }
    const reached = () => end({ address: socket.remoteAddress ?? settings.host })
    socket.once('error', (error: NodeJS.ErrnoException) =>
      end({ failed: error.code === 'ECONNREFUSED' ? error.code : failureOf(error) }),
    )
    socket.once('close', () => end({ failed: 'the acquirer closed the connection' }))
    if (!(socket instanceof TLSSocket)) return void socket.once('connect', () => !socket.destroyed && reached())
    // In TLS 1.3 our side is done before the acquirer has seen our certificate. Only that the
    // connection stays open shows that it was accepted.
    socket.once('secureConnect', () => {
      cancel()
      const longMs = 3 * (clock.monotonic() - began)
      cancel = clock.after(Math.min(refusalMs.most, Math.max(refusalMs.least, longMs)), reached)
    })
  })
}
