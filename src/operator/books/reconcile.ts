/** The acquirer's record against the attempts here, as data. */
import type { OrderKey } from '../../order/decide/change.ts'
import type { RecordedOperation } from './acquirer-record.ts'

/** A message that moved money, or may have, as it stands here. */
export interface Booked extends OrderKey {
  transactionNo: number
  kind: string
  terminalId: string
  stan: string
  /** To the second. */
  at: number
  rrn: string
  amountMinor: bigint
  currency: string
  /** `open`: the gateway is at work on it, or owes its reversal. */
  outcome: 'approved' | 'declined' | 'reversed' | 'open'
}

export type Disagreement =
  /** The acquirer approved it, and no attempt here has these names. */
  | { is: 'only there'; operation: RecordedOperation; booked?: never }
  /** Approved here, and not in the record. */
  | { is: 'only here'; operation?: never; booked: Booked }
  /** `outcome`: money moved on one side, and on the other it did not. */
  | { is: 'amount' | 'outcome'; operation: RecordedOperation; booked: Booked }

export interface Compared {
  /** Operations and attempts that agree. */
  agree: number
  /** Attempts of the record that are open here: the gateway settles them itself. */
  open: number
  differences: Disagreement[]
}

/** A STAN returns after 999,999 attempts; the time tells the two apart. */
const nameOf = ({ terminalId, stan, at }: Pick<Booked, 'terminalId' | 'stan' | 'at'>): string => `${terminalId} ${stan} ${at}`

/** Both sides are of one gate and one span of time. */
export function compare(operations: readonly RecordedOperation[], here: readonly Booked[]): Compared {
  const byName = new Map(here.map((booked) => [nameOf(booked), booked]))
  const compared: Compared = { agree: 0, open: 0, differences: [] }
  for (const operation of operations) {
    const booked = byName.get(nameOf(operation))
    byName.delete(nameOf(operation))
    const difference = differenceOf(operation, booked)
    if (difference) compared.differences.push(difference)
    else if (booked?.outcome === 'open') compared.open++
    else if (booked) compared.agree++
  }
  for (const booked of byName.values()) if (booked.outcome === 'approved') compared.differences.push({ is: 'only here', booked })
  return compared
}

function differenceOf(operation: RecordedOperation, booked: Booked | undefined): Disagreement | undefined {
  // A declined or reversed message moved no money: it may be lost.
  if (!booked) return operation.outcome === 'approved' ? { is: 'only there', operation } : undefined
  if (booked.outcome === 'open') return undefined
  const [here, there] = [booked.outcome === 'approved', operation.outcome === 'approved']
  if (here !== there) return { is: 'outcome', operation, booked }
  const same = operation.amountMinor === booked.amountMinor && operation.currency === booked.currency
  return here && !same ? { is: 'amount', operation, booked } : undefined
}

/** The highest numbers of the gateway that the record shows. */
export interface Highest {
  order: bigint
  attempt: bigint
}

/** With the times of its first and last operation. */
export function reachOf(operations: readonly RecordedOperation[]): Highest & { first: number; last: number } {
  const reach = { order: 0n, attempt: 0n, first: Infinity, last: -Infinity }
  for (const { orderId = 0n, rrn, at } of operations) {
    const attempt = /^[0-9]{12}$/.test(rrn) ? BigInt(rrn) : 0n
    if (orderId > reach.order) reach.order = orderId
    if (attempt > reach.attempt) reach.attempt = attempt
    reach.first = Math.min(reach.first, at)
    reach.last = Math.max(reach.last, at)
  }
  return reach
}
