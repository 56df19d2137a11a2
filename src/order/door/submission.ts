/** Submissions to the door, and how the submissions of one batch relate to each other. */
import type { Card, SealedCard } from '../../card/vault.ts'
import { isSameRequest, type KeyedDigest } from '../../keys/digest.ts'
import type { FollowAsk } from '../decide/amounts.ts'
import type { RefusedEvent } from '../decide/decide.ts'
import type { Event } from '../decide/event.ts'
import type { Order } from '../decide/order.ts'
import type { KeyClaim, OrderKey, RepeatRow } from '../decide/change.ts'
import type { KeyRow } from '../store/store.ts'
import type { NotFollowed } from '../decide/follow.ts'
import type { Work } from '../decide/work.ts'

/** A new order, in state `new` with its one transaction, and its card. */
export interface Accept {
  is: 'accept'
  order: Order
  /** Equal for the same request. */
  digest: KeyedDigest
  /** The client's own name for the request. */
  idempotencyKey?: string
  card: Card
  sealed: SealedCard
}

/** An event of an order, or (`resume`) a step that no process works on or whose time is over. */
export type Happened = (
  | { is: 'event'; event: Event }
  | { is: 'resume'; transactionNo: number }
  /** A merchant's follow-up request for an approved order. */
  | {
      is: 'follow'
      ask: FollowAsk
      /** Equal for the same request; needed only with an Idempotency-Key. */
      digest?: KeyedDigest
    }
  /** A request that changed nothing, recorded for its serial number. */
  | { is: 'noted' }
) &
  OrderKey & {
    /**
     * The request that reported it. Its serial number finds the transaction even if the event
     * changed nothing.
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
  /** It repeats an earlier request; its serial number finds the transaction of the earlier one. */
  | { is: 'repeated'; transactionNo: number }
  | { is: 'not followed'; judged: NotFollowed }

export interface QueuedSubmission {
  at: number
  item: Submission
}

export interface AcceptEntry extends QueuedSubmission {
  item: Accept
}

/**
 * The new orders of a batch by name. The first of each name claims it; the others are answered with
 * the order that then holds the name.
 */
export function pairUp(entries: readonly QueuedSubmission[]): { firsts: AcceptEntry[]; twins: AcceptEntry[] } {
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

export const orderKeyOf = (item: Submission): OrderKey => (item.is === 'accept' ? item.order : item)

/** docs/choices.md, "Idempotency". */
const sameRequestMs = 10_000

export const claimOf = ({ item: { order, digest } }: AcceptEntry): KeyClaim => ({
  merchantId: order.merchantId,
  orderId: order.orderId,
  clientOrderid: order.clientOrderid,
  digest: digest.stored,
  at: order.createdAt,
  heldUntil: order.createdAt + sameRequestMs,
})

export const answerTo = (item: Accept, holder: KeyRow, own: boolean): Advanced =>
  own || isSameRequest(item.digest, holder.digest) ? { is: 'accepted', orderId: holder.orderId, repeat: !own } : { is: 'in use' }

/** An earlier run already added the merchant's follow-up, though the order has changed since. */
export const unchanged = (item: Submission, { after }: Work, { why }: RefusedEvent): Advanced =>
  item.is === 'follow' ? { is: 'applied', order: after } : { is: 'ignored', why }
