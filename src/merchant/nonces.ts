import type { Clock } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import type { FollowMerchant, MerchantLeft } from '../storage/store-fence.ts'
import { openBatch, singles } from '../storage/batch.ts'
import type { NonceUse } from './nonce-rows.ts'

export interface Nonces {
  /**
   * True once for each nonce of a merchant; then it is used up, durably. Rejects with
   * `MerchantLeft`.
   */
  use(merchantId: bigint, nonce: string, timestampSeconds: number): Promise<boolean>
  close(): Promise<void>
}

/**
 * Signed requests that come together share a commit. After a lost connection nothing is tried
 * again: the nonce may be stored already, and its own request would be refused.
 */
export function openNonces({ use, follow, clock, log }: NonceParts): Nonces {
  const using = openBatch<NonceUse, boolean | MerchantLeft>({ ...singles, name: 'nonces', run: use, patienceMs: 0, clock, log })
  return {
    use: (merchantId, nonce, timestampSeconds) =>
      follow(
        merchantId,
        async () => {
          const answer = await using.submit({ merchantId, nonce, timestampSeconds, now: clock.now() })
          if (answer instanceof Error) throw answer
          return answer
        },
        (there) => there.use(merchantId, nonce, timestampSeconds),
      ),
    close: using.close,
  }
}

export interface NonceParts {
  /** One answer for each use, in order. */
  use: (uses: readonly NonceUse[]) => Promise<(boolean | MerchantLeft)[]>
  follow: FollowMerchant<Pick<Nonces, 'use'>>
  clock: Clock
  log: Log
}
