import type { Lanes } from './lanes.ts'
import type { Claimed, DeliveryStore, Turn } from './store.ts'

/** One sweep looks at so many merchants, which keeps its statements short. */
const mostMerchants = 256

/** Which merchants a sweep serves, and where in their messages it begins. */
export function openTurns(store: Pick<DeliveryStore, 'waiting'>, lanes: Pick<Lanes<never>, 'held' | 'blocked'>) {
  /** The last merchant whom the sweep before looked at, if there were more. */
  let lastServed = 0n
  /** Where a sweep begins in a merchant's messages while those before are of blocked origins. */
  const lookFrom = new Map<bigint, number>()

  return {
    /**
     * Merchants with something due, and when the first message of all is due. The next call goes on
     * behind these merchants, if there are more, and then that time is `now`.
     */
    async next(now: number): Promise<{ turns: Turn[]; firstDue: number }> {
      const from = lastServed
      const waiting = await store.waiting(from, mostMerchants)
      lastServed = waiting.length < mostMerchants ? 0n : waiting.at(-1)!.merchantId
      const turns = waiting
        .filter(({ dueAt }) => dueAt <= now)
        .map(({ merchantId }) => ({
          merchantId,
          held: lanes.held(merchantId),
          blocked: lanes.blocked(merchantId),
          from: lookFrom.get(merchantId) ?? 0,
        }))
      const isAll = from === 0n && lastServed === 0n
      return { turns, firstDue: isAll ? Math.min(...waiting.map(({ dueAt }) => dueAt)) : now }
    },
    /** Takes into account what a claim found. */
    claimed(turns: readonly Turn[], { taken, passedOver }: Claimed): void {
      // Where everything was blocked, the next sweep goes on behind it; where something was taken,
      // it begins at the same place; otherwise at the oldest.
      const served = new Set(taken.map(({ merchantId }) => merchantId))
      for (const { merchantId } of turns) if (!served.has(merchantId)) lookFrom.delete(merchantId)
      for (const { merchantId, until } of passedOver) lookFrom.set(merchantId, until)
    },
  }
}
