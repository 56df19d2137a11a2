import { TLSSocket } from 'node:tls'
import { failureOf, lineAddress, openTransport } from '../../acquirer/iso8583/transport.ts'
import type { Clock } from '../../base/clock.ts'
import { reachOf } from '../../http/client-address.ts'
import type { Gate } from '../../merchant/merchant.ts'
import { certificateFacts } from '../configuration/gate-tls.ts'
import { spanText } from '../../base/moments.ts'
import type { Finding } from './doctor.ts'

/** How long a connection may take. */
const reachMs = 3_000
/** How long an acquirer with TLS 1.3 may take to refuse our certificate. */
const refusalMs = 500
const expiresSoonMs = 30 * 86_400_000

/** Opens a line like the gateway's and sends nothing over it. */
export async function gateFindings(own: Gate, clock: Clock): Promise<Finding[]> {
  const { gateId, name } = own
  const { host, port, tls } = own.settings
  const gate = { gateId, name, host, port }
  const began = clock.monotonic()
  const reached = await reach(own, clock)
  const now = clock.now()
  return [
    'failed' in reached
      ? { is: 'problem', finds: 'gate not reached', gate, reason: reached.failed }
      : { is: 'ok', finds: 'gate reached', gate, isTls: tls !== undefined, afterMs: clock.monotonic() - began },
    ...(!tls && !isLoopback('address' in reached ? reached.address : host)
      ? [{ is: 'warning', finds: 'gate in clear', gate } as const]
      : []),
    ...[...certificateFacts(tls?.ca ?? ''), ...certificateFacts(tls?.certificate ?? '')]
      .filter(({ until }) => until - now < expiresSoonMs)
      .map(({ subject, until }): Finding => {
        const isPast = until <= now
        return { is: isPast ? 'problem' : 'warning', finds: 'certificate ends', gate, subject, until, isPast }
      }),
  ]
}

const isLoopback = (host: string): boolean => host === 'localhost' || reachOf(host) === 'loopback'

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
