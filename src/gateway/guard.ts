/**
 * What requests may do for a merchant in a cell. A merchant that moves is closed for a while:
 * then nothing is begun for it, and reads go on. Work under way does not ask.
 */
import { codeOf } from '../base/error-code.ts'
import type { Clock } from '../base/clock.ts'
import { reasonOf } from '../base/log.ts'
import type { Nonces } from '../merchant/nonces.ts'
import type { Invoices } from '../mobile-api/invoice/invoices.ts'
import type { WrongSums } from '../mobile-api/sum/store.ts'
import type { Door } from '../order/door/advance.ts'
import type { Cards } from '../order/cards.ts'
import type { Reader } from '../order/read.ts'
import { orderKeyOf } from '../order/door/submission.ts'
import type { Spared } from '../leases/leased.ts'
import type { RegistryStores } from './parts.ts'

/** Nothing was done, since the merchant cannot be changed at this moment; it may come again. */
export class NotNow extends Error {}

/** It is about a merchant whose orders are in another cell. */
export class OpenElsewhere extends NotNow {
  readonly cellNo: number

  constructor(what: string, cellNo: number) {
    super(`${what} is in cell ${cellNo}`)
    this.cellNo = cellNo
  }
}

/** The constraint that the command which moves a merchant puts on each table of a cell. */
export const fenceName = 'merchant_is_here'

const checkViolation = '23514'

/** Nothing was written: the rows of the merchant are in another cell, or on their way. */
export const isFenced = (error: unknown): boolean =>
  error instanceof Error &&
  // Through Citus the name has the number of the shard at its end.
  [checkViolation, 'XX000'].includes(codeOf(error)) &&
  new RegExp(`\\b${fenceName}(?:_[0-9]+)?\\b`).test(error.message)

const beingMoved = (merchantId: bigint) => new NotNow(`merchant ${merchantId} is being moved`)

/** A process that has not read of the move yet is stopped by the fence. */
const notNowIfFenced = (merchantId: bigint) => (error: unknown) => {
  throw isFenced(error) ? beingMoved(merchantId) : error
}

interface GuardParts {
  cellNo: number
  registry: Pick<RegistryStores, 'current' | 'refresh' | 'lookedAt'>
  clock: Clock
}

/**
 * What was read while the configuration is not older is true: for as long, a move that it does not
 * show has opened no other cell (operator/cells/merchant-move.ts).
 */
const goodForMs = { moving: 1_000, resting: 4_000 }

/** Merchants whose rows no sweep over this cell may take up. */
export function sparedIn(cellNo: number, { current }: Pick<RegistryStores, 'current'>): Spared {
  const idsOf = (some: ReturnType<typeof current>['moving']) => some.map(({ merchantId }) => merchantId)
  const { moving } = current()
  return {
    resting: idsOf(moving.filter((one) => one.cellNo === cellNo && one.moving === 'closed')),
    absent: idsOf(moving.filter((one) => one.cellNo !== cellNo)),
  }
}

function openGuard({ cellNo, registry, clock }: GuardParts) {
  const { current, refresh, lookedAt } = registry
  const cellOf = (merchantId: bigint) => current().merchant(merchantId)?.cellNo ?? cellNo
  const isGood = (merchantId: bigint) =>
    clock.monotonic() - lookedAt() <= goodForMs[current().merchant(merchantId)?.moving ? 'moving' : 'resting']

  /** A process that is late may believe in a cell that the merchant has left since. */
  async function confirm(merchantId: bigint): Promise<void> {
    if (!isGood(merchantId))
      await refresh().catch((error: unknown) => {
        throw new NotNow(`the configuration cannot be read: ${reasonOf(error)}`)
      })
    const now = cellOf(merchantId)
    if (now !== cellNo) throw new OpenElsewhere(`merchant ${merchantId}`, now)
  }

  return {
    reading<Result>(merchantId: bigint, read: () => Result): Result {
      if (current().cells.length === 1) return read()
      const result = cellOf(merchantId) === cellNo ? read() : confirm(merchantId).then(read)
      if (!(result instanceof Promise)) return result
      return result.then((value: unknown) => confirm(merchantId).then(() => value)) as Result
    },
    async changing<Result>(merchantId: bigint, change: () => Promise<Result>): Promise<Result> {
      if (cellOf(merchantId) !== cellNo) await confirm(merchantId)
      if (current().merchant(merchantId)?.moving === 'closed') throw beingMoved(merchantId)
      return change().catch(notNowIfFenced(merchantId))
    },
  }
}

/** The rooms that requests reach a merchant through. */
export interface Guarded {
  door: Door
  orders: Reader
  cards: Cards
  invoices: Invoices
  wrongSums: WrongSums
  nonces: Nonces
}

/** The same rooms, for requests. */
export function guarded(rooms: Guarded, parts: GuardParts): Guarded {
  const { door, orders, cards, invoices, wrongSums, nonces } = rooms
  const { reading, changing } = openGuard(parts)
  return {
    door: { ...door, submit: (item) => changing(orderKeyOf(item).merchantId, () => door.submit(item)) },
    orders: {
      ...orders,
      byId: (orderKey) => reading(orderKey.merchantId, () => orders.byId(orderKey)),
      signedAmounts: (orderKey) => reading(orderKey.merchantId, () => orders.signedAmounts(orderKey)),
      shown: (wanted, serialNumber) => reading(wanted.merchantId, () => orders.shown(wanted, serialNumber)),
    },
    cards: {
      ...cards,
      cardOf: (orderKey) => reading(orderKey.merchantId, () => cards.cardOf(orderKey)),
      registerCard: (made) => changing(made.orderKey.merchantId, () => cards.registerCard(made)),
      registerDestination: (made) => changing(made.orderKey.merchantId, () => cards.registerDestination(made)),
      findReference: (merchantId, id) => reading(merchantId, () => cards.findReference(merchantId, id)),
      findDestination: (merchantId, id) => reading(merchantId, () => cards.findDestination(merchantId, id)),
    },
    invoices: {
      ...invoices,
      add: (invoice, secrets) => changing(invoice.merchantId, () => invoices.add(invoice, secrets)),
      find: (merchantId, invoiceId) => reading(merchantId, () => invoices.find(merchantId, invoiceId)),
      change: (open, to, now) => changing(open.invoice.merchantId, () => invoices.change(open, to, now)),
      async findByPage(pageToken) {
        const merchantId = await invoices.merchantOfPage(pageToken)
        return merchantId === undefined ? undefined : reading(merchantId, () => invoices.findByPage(pageToken))
      },
    },
    wrongSums: {
      ...wrongSums,
      answer: (invoice, ...answer) => changing(invoice.merchantId, () => wrongSums.answer(invoice, ...answer)),
    },
    nonces: {
      ...nonces,
      use: (merchantId, nonce, timestampSeconds) =>
        reading(merchantId, () => nonces.use(merchantId, nonce, timestampSeconds)).catch(notNowIfFenced(merchantId)),
    },
  }
}
