import { TLSSocket } from 'node:tls'
import { failureOf, lineAddress, openTransport } from '../../../acquirer/iso8583/transport.ts'
import type { Clock } from '../../../base/clock.ts'
import { reachOf } from '../../../http/client-address.ts'
import type { Gate } from '../../../merchant/merchant.ts'
import { certificateFacts, dayOf } from '../../../operator/configuration/gate-tls.ts'
import { spanText } from '../../../base/moments.ts'
import { ok, problem, warning, type WordedFinding } from './doctor-words.ts'

/** How long a connection may take. */
const reachMs = 3_000
/** How long an acquirer with TLS 1.3 may take to refuse our certificate. */
const refusalMs = 500
const expiresSoonMs = 30 * 86_400_000

/** Opens a line like the gateway's and sends nothing over it. */
export async function gateFindings(gate: Gate, clock: Clock): Promise<WordedFinding[]> {
  const { gateId, name, settings } = gate
  const where = `gate ${gateId} (${name}) at ${settings.host}:${settings.port}`
  const began = clock.monotonic()
  const tried = await reach(gate, clock)
  return [
    'failed' in tried
      ? problem(
          'gates',
          `${where} cannot be reached: ${tried.failed}`,
          `check network, address and certificates, or switch it off: npx tollgate gate disable ${gateId}`,
        )
      : ok('gates', `${where} takes connections${settings.tls ? ' by TLS' : ''}, ${spanText(clock.monotonic() - began)}`),
    ...(!settings.tls && !isLoopback('address' in tried ? tried.address : settings.host) ? [inClear(where, gateId)] : []),
    ...expiring(gate, where, clock.now()),
  ]
}

const isLoopback = (host: string): boolean => host === 'localhost' || reachOf(host) === 'loopback'

const inClear = (where: string, gateId: bigint): WordedFinding =>
  warning(
    'gates',
    `the line of ${where} is in clear: whoever is on the way reads card numbers and can turn declines into approvals`,
    `use TLS, or a VPN that ends on this machine: npx tollgate gate set ${gateId} --tls on --tls-ca <file>`,
  )

function expiring({ gateId, settings: { tls } }: Gate, where: string, now: number): WordedFinding[] {
  const certificates = tls ? [...certificateFacts(tls.ca), ...certificateFacts(tls.certificate ?? '')] : []
  return certificates
    .filter(({ until }) => until - now < expiresSoonMs)
    .map(({ subject, until }) =>
      (until <= now ? problem : warning)(
        'gates',
        `a certificate of ${where} ${until <= now ? 'has expired' : 'expires'} on ${dayOf(until)}: ${subject}`,
        `give it the next one: npx tollgate gate set ${gateId} --tls-ca <file>, or --tls-cert <file> --tls-key <file>`,
      ),
    )
}

function reach({ settings, secrets }: Gate, clock: Clock): Promise<{ address: string } | { failed: string }> {
  return new Promise((resolve) => {
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
      cancel = clock.after(refusalMs, reached)
    })
  })
}
