import type { Message } from '../../simulators/acquirer/wire.ts'
import type { Change } from '../../src/order/decide/change.ts'
import type { Attempt } from '../../src/order/decide/order.ts'
import type { Breaks } from './invariant.ts'

/**
 * Watches that no authorisation, capture or return is given up while its answer may still come.
 */
export interface Waiting {
  /** A message leaves a gateway over this connection. */
  sent(message: Message, connection: number): void
  closed(connection: number): void
  committed(change: Change): void
}

/**
 * An answer may still come while its connection is open and its deadline has not passed. Until then
 * only the answer itself may end the wait.
 */
export function watchWaiting(breaks: Breaks, now: () => number): Waiting {
  /** By terminal and STAN: when each request last left, and over which connection. */
  const requests = new Map<string, { leftAt: number; connection: number }>()
  const gone = new Set<number>()

  /** Returns what is wrong if the answer to this attempt is stored as lost now. */
  function earlyWith({ terminalId, stan, startedAt, deadlineAt }: Attempt): string | undefined {
    const request = requests.get(`${terminalId} ${stan}`)
    if (!request || gone.has(request.connection)) return undefined
    const waitedMs = now() - request.leftAt
    const patienceMs = deadlineAt - startedAt
    return waitedMs < patienceMs ? `the answer to ${stan} was given up after ${waitedMs} ms of ${patienceMs}` : undefined
  }

  return {
    sent({ fields }, connection) {
      requests.set(`${fields[41]} ${fields[11]}`, { leftAt: now(), connection })
    },
    closed: (connection) => void gone.add(connection),
    committed({ before, rows }) {
      for (const { event, transactionNo } of rows) {
        if (event !== 'answer lost' && event !== 'answer awaited') continue
        const attempt = before?.attempts.find((a) => a.transactionNo === transactionNo && a.outcome === undefined)
        const early = attempt && earlyWith(attempt)
        if (early !== undefined) breaks('an answer is waited for', `order ${before!.orderId}: ${early}`)
      }
    },
  }
}
