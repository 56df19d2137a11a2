import type { Clock } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import { openBatch, singles } from '../storage/batch.ts'
import type { NonceUse } from './nonce-rows.ts'

export interface Nonces {
  /** True once for each nonce of a merchant; then it is used up, durably. */
  use(merchantId: bigint, nonce: string, timestampSeconds: number): Promise<boolean>
  close(): Promise<void>
}

/**
 * Signed requests that come together share a commit. After a lost connection nothing is tried
 * again: the nonce may be stored already, and its own request would be refused.
 */
export function openNonces({ use, clock, log }: NonceParts): Nonces {
  const using = openBatch<NonceUse, boolean>({ ...singles, name: 'nonces', run: use, patienceMs: 0, clock, log })
  return {
    use: (merchantId, nonce, timestampSeconds) => using.submit({ merchantId, nonce, timestampSeconds, now: clock.now() }),
    close: using.close,
  }
}

export interface NonceParts {
  /** One answer for each use, in order. */
  use: (uses: readonly NonceUse[]) => Promise<boolean[]>
  clock: Clock
  log: Log
}
