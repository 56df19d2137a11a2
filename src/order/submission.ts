/** What is submitted to the door, and how the submissions of one batch stand to each other. */
import type { Card, SealedCard } from '../card/vault.ts'
import type { FollowAsk } from './amounts.ts'
import type { Refused } from './decide.ts'
import type { Event } from './event.ts'
import type { Order } from './order.ts'
import type { Place } from './change.ts'
import type { KeyClaim, KeyRow, RepeatRow } from './store.ts'
import type { NotFollowed, Work } from './work.ts'

/** A new order, in state `new` with its one transaction, and the card it pays with. */
export interface Accept {
  is: 'accept'
  order: Order
  /** Equal for the same request. */
  digest: Buffer
  /** The client's own name for the request. */
  idempotencyKey?: string
  card: Card
  sealed: SealedCard
}

/** An event of an order, or (`resume`) a step that no process works on, or whose time is over. */
export type Happened = (
  | { is: 'event'; event: Event }
  | { is: 'resume'; transactionNo: number }
  /** A merchant asks something of an approved order. */
  | {
      is: 'follow'
      ask: FollowAsk
      /** Equal for the same request; needed only with an Idempotency-Key. */
      digest?: Buffer
    }
  /** Nothing happened to the order, but somebody asked. */
  | { is: 'noted' }
) &
  Place & {
    /**
     * The request that reported it. Its serial number leads to the transaction, whether it changed
     * anything or not.
     */
    request?: RepeatRow
  }

export type Submission = Accept | Happened

export type Advanced =
  | { is: 'accepted'; orderId: bigint; repeat: boolean }
  | { is: 'in use' }
  /** The Idempotency-Key stands for another request. */
  | { is: 'key in use' }
  | { is: 'applied'; order: Order }
  | { is: 'ignored'; why: string }
  /** It repeats an earlier request; its serial number leads to the transaction of that one. */
  | { is: 'repeated'; transactionNo: number }
  | { is: 'not followed'; judged: NotFollowed }

export interface Entry {
  at: number
  item: Submission
}

export interface AcceptEntry extends Entry {
  item: Accept
}

/**
 * New orders of one batch by name. The first of a name claims it; the others of that name get the
 * answer of whichever order holds the name then.
 */
export function pairUp(entries: readonly Entry[]): { firsts: AcceptEntry[]; twins: AcceptEntry[] } {
  const firsts = new Map<string, AcceptEntry>()
  const twins: AcceptEntry[] = []
  for (const entry of entries) {
    if (entry.item.is !== 'accept') continue
    const key = nameKey(entry.item.order)
    if (firsts.has(key)) twins.push(entry as AcceptEntry)
    else firsts.set(key, entry as AcceptEntry)
  }
  return { firsts: [...firsts.values()], twins }
}

export const nameKey = (o: { merchantId: bigint; clientOrderid: string }) => `${o.merchantId}/${o.clientOrderid}`

export const placeOf = (item: Submission): Place => (item.is === 'accept' ? item.order : item)

/** docs/choices.md, "Idempotency". */
const sameRequestMs = 10_000

export const claimOf = ({ order, digest }: Accept): KeyClaim => ({
  merchantId: order.merchantId,
  orderId: order.orderId,
  clientOrderid: order.clientOrderid,
  digest,
  at: order.createdAt,
  heldUntil: order.createdAt + sameRequestMs,
})

export const answerTo = (item: Accept, holder: KeyRow, own: boolean): Advanced =>
  own || holder.digest.equals(item.digest) ? { is: 'accepted', orderId: holder.orderId, repeat: !own } : { is: 'in use' }

/** What a merchant asked is there since an earlier run, though the order went on meanwhile. */
export const unchanged = (item: Submission, { after }: Work, { why }: Refused): Advanced =>
  item.is === 'follow' ? { is: 'applied', order: after } : { is: 'ignored', why }
