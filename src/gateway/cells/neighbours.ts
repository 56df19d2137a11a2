/**
 * The gateways of one process over several cells, as each of them sees the others: a merchant may
 * move from its cell to another's while something of it is under way.
 */
import { sleep, type Clock } from '../../base/clock.ts'
import type { Sender } from '../../delivery/send.ts'
import type { Registry } from '../../merchant/merchant.ts'
import type { Nonces } from '../../merchant/nonces.ts'
import type { Invoices } from '../../mobile-api/invoice/invoices.ts'
import type { WrongSums } from '../../mobile-api/sum/store.ts'
import type { InvoiceWork } from '../../mobile-api/invoice/steps.ts'
import type { Door } from '../../order/door/advance.ts'
import type { Cards } from '../../order/cards.ts'
import type { Hand } from '../../order/door/hand.ts'
import type { Reader } from '../../order/read.ts'
import { MerchantLeft, stay, type FollowMerchant } from '../../storage/store-fence.ts'

/** The rooms of a gateway that others go to, or ask. */
export interface Rooms {
  /** The process has another id in each cell. */
  processId: bigint
  hand: Pick<Hand, 'does'>
  door: Door
  reader: Reader
  invoices: Invoices
  wrongSums: Pick<WrongSums, 'answer'>
  nonces: Nonces
  cards: Cards
  sender: Sender
  invoiceWork: InvoiceWork
}

export interface NeighbourCells {
  /** Goes to the gateway over the cell in which the configuration has the merchant. */
  follow: FollowMerchant<Rooms>
  /** Those of the open gateways over other cells. */
  others(): readonly Rooms[]
}

/** Nothing was done: it is about something in another cell, which is not open here. */
export class OpenElsewhere extends Error {
  readonly cellNo: number

  constructor(what: string, cellNo: number) {
    super(`${what} is in cell ${cellNo}, which is not open here`)
    this.cellNo = cellNo
  }
}

/** For a gateway that is the only one of its process. */
export const alone: NeighbourCells = { follow: stay, others: () => [] }

export interface NeighboursParts {
  /** The cell of the gateway that asks. */
  cellNo: number
  current: () => Registry
  /** Reads the configuration again if it has changed. */
  refresh: () => Promise<void>
  /** The gateway over a cell; undefined if it is not open in this process. */
  of: (cellNo: number) => { rooms: Rooms } | undefined
  others: NeighbourCells['others']
  clock: Clock
}

/** How long a move may hold the requests of its merchant up. */
const longestMs = 5_000
const lookEveryMs = 20

export function neighboursOf({ cellNo, current, refresh, of, others, clock }: NeighboursParts): NeighbourCells {
  function elsewhere(merchantId: bigint): Rooms | undefined {
    const now = current().merchant(merchantId)?.cellNo ?? cellNo
    if (now === cellNo) return undefined
    const gateway = of(now)
    if (!gateway) throw new OpenElsewhere(`merchant ${merchantId}`, now)
    return gateway.rooms
  }

  /** The merchant is between two cells until the configuration names the new one. */
  async function arrived(left: MerchantLeft): Promise<Rooms> {
    const until = clock.monotonic() + longestMs
    for (;;) {
      await refresh()
      const rooms = elsewhere(left.merchantId)
      if (rooms) return rooms
      if (clock.monotonic() >= until) throw left
      await sleep(clock, lookEveryMs)
    }
  }

  const follow = (merchantId: bigint, here: () => unknown, there: (rooms: Rooms) => unknown): unknown => {
    const rooms = elsewhere(merchantId)
    if (rooms) return there(rooms)
    const result = here()
    if (!(result instanceof Promise)) return result
    return result.catch(async (error: unknown) => {
      if (error instanceof MerchantLeft) return there(await arrived(error))
      throw error
    })
  }
  return { follow: follow as FollowMerchant<Rooms>, others }
}

/** The same for one room. */
export const followTo =
  <Name extends keyof Rooms>({ follow }: NeighbourCells, name: Name): FollowMerchant<Rooms[Name]> =>
  (merchantId, here, there) =>
    follow(merchantId, here, (rooms) => there(rooms[name]))
