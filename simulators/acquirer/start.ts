import { systemClock, type Clock } from '../../src/base/clock.ts'
import type { Log } from '../../src/base/log.ts'
import type { BarPages } from '../../src/http/bar.ts'
import type { CavvKey } from '../three-d-secure/cavv.ts'
import { openAdmin } from './admin.ts'
import { Desk } from './desk.ts'
import { FaultScripts } from './faults.ts'
import { Journal } from './journal.ts'
import { Ledger } from './ledger.ts'
import { LineServer, type Protection } from './server.ts'

/** With TLS there is a second port; clients need a certificate of its authority. */
export interface AcquirerOptions extends Protection {
  log: Log
  /** The sandbox's other pages, known once all of them serve. */
  places?: BarPages
  /** Where the gateway connects; 0 or absent picks a free port. */
  port?: number
  host?: string
  /** Always on loopback; 0 or absent picks a free port. */
  adminPort?: number
  /** Keeps the books across restarts. If absent, they are in memory only. */
  ledgerFile?: string
  /** How late the reversal of a CVV2 217 payment is answered; 30 s by default. */
  slowReversalMs?: number
  clock?: Clock
  /** The issuers' key; if absent, no proof of 3-D Secure is checked. */
  cavvKey?: CavvKey
  /**
   * Called once when the ledger file cannot be written any more; from then on nothing is answered.
   */
  onFailure?: (reason: Error) => void
}

export interface Acquirer {
  port: number
  tlsPort?: number
  adminUrl: string
  /** Cuts all connections and writes the rest of the ledger. */
  close(): Promise<void>
}

/**
 * Starts the simulated acquirer inside this process. Rejects if a port is taken or the ledger file
 * cannot be read.
 */
export async function startAcquirer(options: AcquirerOptions): Promise<Acquirer> {
  const { log, ledgerFile } = options
  let journal: Journal | undefined
  const ledger = new Ledger((line) => journal?.append(line))
  const faults = new FaultScripts()
  const whenWritten = (fn: () => void) => (journal ? journal.whenWritten(fn) : fn())
  const clock = options.clock ?? systemClock
  const { cavvKey, slowReversalMs = 30_000 } = options
  const desk = new Desk({ ledger, faults, whenWritten, clock, log, slowReversalMs, ...(cavvKey ? { cavvKey } : {}) })
  const line = new LineServer(desk, log, options.host ?? '127.0.0.1', options.port ?? 0, options)
  if (ledgerFile !== undefined) {
    journal = Journal.open(
      ledgerFile,
      (text) => ledger.replay(text),
      (reason) => {
        log.fatal({ reason: reason.message, ledgerFile }, 'the ledger cannot be written; the line is down')
        line.refuse()
        line.closeConnections()
        options.onFailure?.(reason)
      },
    )
  }
  try {
    await line.accept()
    const admin = await openAdmin({ ledger, faults, desk, line, places: options.places ?? {}, log }, options.adminPort ?? 0)
    log.info({ port: line.port, adminUrl: admin.url, entries: ledger.size }, 'the simulated acquirer serves')
    return {
      port: line.port,
      ...(line.tlsPort !== undefined && { tlsPort: line.tlsPort }),
      adminUrl: admin.url,
      async close() {
        line.refuse()
        line.closeConnections()
        await admin.app.close()
        journal?.close()
      },
    }
  } catch (error) {
    line.refuse()
    journal?.close()
    throw error
  }
}
