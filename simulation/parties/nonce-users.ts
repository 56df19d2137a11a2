import type { Asking, Slot } from '../world/asking.ts'
import type { Chance } from '../world/chance.ts'
import { epochMs } from '../world/clock.ts'
import type { Breaks } from '../watch/invariant.ts'

export interface NonceUserParts {
  chance: Chance
  slots: readonly Slot[]
  asking: Asking
  breaks: Breaks
}

/** Merchants who sign their requests, and somebody who sends a signed request again, later. */
export interface NonceUsers {
  begin(number: number): void
}

const endpoints = [
  { endpointId: 11n, merchantId: 1n },
  { endpointId: 12n, merchantId: 2n },
  { endpointId: 13n, merchantId: 3n },
  { endpointId: 24n, merchantId: 4n },
] as const

/** A signed request is as good as its nonce, which is looked up once its signature holds. */
export function openNonceUsers({ chance, slots, asking, breaks }: NonceUserParts): NonceUsers {
  async function use(number: number): Promise<void> {
    const { endpointId, merchantId } = chance.pick(endpoints)
    let good = 0
    for (let n = chance.whole(2, 5); n > 0; n--) {
      await asking.ask(chance.pick(slots), { endpointId }, async ({ ports }) => {
        if (await ports.useNonce(merchantId, `nonce-${number}`, epochMs / 1_000)) good++
        if (good > 1) breaks('a nonce is good once', `nonce ${number} of merchant ${merchantId} was good ${good} times`)
      })
      await asking.pause(chance.between(0, 40_000))
    }
  }
  return { begin: (number) => void use(number) }
}
