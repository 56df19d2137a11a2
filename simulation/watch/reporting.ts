import type { Invariants } from './invariants.ts'
import type { Peers } from '../world/peers.ts'
import type { Installation } from '../world/installation.ts'
import type { Trace } from '../world/time-line.ts'

interface Reporting {
  installation: Installation
  peers: Peers
  trace: Trace
}

/** Reports all that happens at the store and at the peers of the gateways to the invariants. */
export function report({ installation, peers, trace }: Reporting, invariants: Invariants): void {
  const { network, merchants, issuers, legacyIssuers } = peers
  issuers.onAsked = (actor, areq) => {
    const id = String(areq['threeDSServerTransID'])
    trace(() => `issuer   ${actor.name} asks about ${id}`)
    invariants.authentications.asked(areq)
    invariants.patience.asked(id)
  }
  issuers.onRefused = invariants.authentications.refused
  issuers.onResultAnswered = invariants.authentications.resultAnswered
  legacyIssuers.onAsked = invariants.legacy.asked
  for (const cell of installation.cells) {
    cell.fence.onWrite = (merchantId, what) => {
      if (installation.home(merchantId) !== cell)
        invariants.breaks('a merchant is in one cell', `${what} of merchant ${merchantId} is written where it is not`)
    }
    cell.onCommit = (change, stored) => {
      cell.fence.onWrite(change.after.merchantId, `order ${change.after.orderId}`)
      for (const { transactionNo, from, event, to, facts = {} } of change.rows) {
        const move = `${from} - ${event} -> ${to}`
        trace(() => `store    order ${change.after.orderId}/${transactionNo}: ${move} ${JSON.stringify(facts)}`)
      }
      invariants.committed(change, stored)
    }
  }
  network.onSent = (actor, message, connection) => {
    if (message.type !== '1804')
      trace(() => `line     ${actor.name} sends ${message.type} ${message.fields[11]} of order ${message.fields[48]}`)
    invariants.messages.sent(actor, message)
    invariants.waiting.sent(message, connection)
  }
  network.onClosed = invariants.waiting.closed
  network.onBooked = invariants.booked
  network.onReached = (message) => invariants.messages.reached(message)
  merchants.onCallback = (callback) => {
    const { url, status, orderId, accepted } = callback
    trace(() => `merchant ${url} is sent ${status} of order ${orderId}${accepted ? '' : ', and refuses'}`)
    invariants.statuses.calledBack(callback)
  }
}
