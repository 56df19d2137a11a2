import { reasonOf, type Log } from '../base/log.ts'
import type { Clock } from '../base/clock.ts'
import { endOf, type KeyPair, type ReadKeyPair } from '../http/key-pair.ts'
import type { Periodic } from './periodic.ts'

interface Ground {
  clock: Pick<Clock, 'now'>
  log: Log
}

const lookEveryMs = 5_000
/** An authority that renews by itself does so about then. */
const soonMs = 30 * 86_400_000

/**
 * Looks for a new certificate, so that a listener gets it without a restart. Files are replaced one
 * after the other: while they do not fit together, the old pair stays.
 */
export function renewal(
  of: string,
  { pair, read, renew }: { pair: KeyPair; read: ReadKeyPair; renew: (pair: KeyPair) => void },
  { clock, log }: Ground,
): Periodic {
  let used = pair
  let reported = ''
  sayEnd(of, used, { clock, log })
  return {
    name: `certificate of ${of}`,
    everyMs: lookEveryMs,
    async run() {
      try {
        const next = read()
        reported = ''
        if (next.cert === used.cert && next.key.reveal() === used.key.reveal()) return
        renew(next)
        used = next
        log.info({ of, until: dayOf(next) }, 'a new certificate is used')
        sayEnd(of, used, { clock, log })
      } catch (error) {
        const reason = reasonOf(error)
        if (reason !== reported) log.error({ of, reason }, 'the new certificate cannot be used, and the old one is kept')
        reported = reason
      }
    },
  }
}

function sayEnd(of: string, pair: KeyPair, { clock, log }: Ground): void {
  if (endOf(pair) - clock.now() < soonMs) log.warn({ of, until: dayOf(pair) }, 'the certificate ends soon, or has ended')
}

const dayOf = (pair: KeyPair): string => new Date(endOf(pair)).toISOString().slice(0, 10)
