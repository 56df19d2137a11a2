import type { Message } from '../simulators/acquirer/wire.ts'
import type { Attempt } from '../src/order/order.ts'

/**
 * Watches authorisations, captures and returns that are given up while their answer may still come.
 */
export interface Waiting {
  /** A message leaves a gateway over this connection. */
  sent(message: Message, connection: number): void
  closed(connection: number): void
  /** A gateway stores that the answer to this attempt is lost. Returns what is wrong with that. */
  givenUp(attempt: Attempt): string | undefined
}

/**
 * An answer may still come while its connection is open and its time is not up; only the answer
 * itself ends the waiting before that.
 */
export function watchWaiting(now: () => number): Waiting {
  /** By terminal and STAN: when each request left last, and over which connection. */
  const requests = new Map<string, { leftAt: number; connection: number }>()
  const gone = new Set<number>()
  return {
    sent({ fields }, connection) {
      requests.set(`${fields[41]} ${fields[11]}`, { leftAt: now(), connection })
    },
    closed: (connection) => void gone.add(connection),
    givenUp({ terminalId, stan, startedAt, deadlineAt }) {
      const request = requests.get(`${terminalId} ${stan}`)
      if (!request || gone.has(request.connection)) return undefined
      const waitedMs = now() - request.leftAt
      const patienceMs = deadlineAt - startedAt
      return waitedMs < patienceMs ? `the answer to ${stan} was given up after ${waitedMs} ms of ${patienceMs}` : undefined
    },
  }
}
