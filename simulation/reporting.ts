import type { Actor } from './clock.ts'
import type { Invariants } from './invariants.ts'
import type { Issuers } from './issuers.ts'
import type { LegacyIssuers } from './legacy-issuers.ts'
import type { Merchants } from './merchants.ts'
import type { Network } from './network.ts'
import type { StoreModel } from './store-model.ts'

interface Reporting {
  model: StoreModel
  network: Network
  merchants: Merchants
  issuers: Issuers
  legacyIssuers: LegacyIssuers
  /** Under which number the process of an actor serves. */
  processIdOf: (actor: Actor) => bigint | undefined
  trace: (what: () => string) => void
}

/**
 * Has everything that happens at the store, the line, the issuers and the merchants reported to the
 * invariants.
 */
export function report(from: Reporting, invariants: Invariants): void {
  const { model, network, merchants, issuers, legacyIssuers, processIdOf, trace } = from
  issuers.onAsked = (actor, areq) => {
    const id = String(areq['threeDSServerTransID'])
    trace(() => `issuer   ${actor.name} asks about ${id}`)
    invariants.authentications.asked(areq)
    invariants.patience.asked(id)
  }
  issuers.onRefused = invariants.authentications.refused
  issuers.onTold = invariants.authentications.told
  legacyIssuers.onAsked = invariants.legacy.asked
  model.onCommit = (change, stored) => {
    for (const r of change.rows)
      trace(
        () =>
          `store    order ${change.after.orderId}/${r.transactionNo}: ${r.from} - ${r.event} -> ${r.to} ${JSON.stringify(r.facts ?? {})}`,
      )
    invariants.committed(change, stored)
  }
  network.onSent = (actor, message, connection) => {
    if (message.type !== '1804')
      trace(() => `line     ${actor.name} sends ${message.type} ${message.fields[11]} of order ${message.fields[48]}`)
    invariants.sent(processIdOf(actor), message)
    invariants.waiting.sent(message, connection)
  }
  network.onClosed = invariants.waiting.closed
  network.onBooked = invariants.booked
  network.onReached = (message) => invariants.reached(message)
  merchants.onTold = (told) => {
    trace(() => `merchant ${told.url} is told ${told.status} of order ${told.orderId}${told.accepted ? '' : ', and refuses'}`)
    invariants.told(told)
  }
}
