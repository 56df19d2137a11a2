import type { Chance } from '../../simulation/world/chance.ts'
import type { OrderStore } from '../../src/order/store/store.ts'
import type { IdempotencyRow } from '../../src/order/store/idempotency.ts'
import { serial } from './model-events.ts'

interface KeyParts {
  store: OrderStore
  chance: Chance
  now: () => number
  note: (answer: unknown) => void
}

/** They are compared exactly. */
const keys = ['one', 'One', 'two', 'three']

export const keyRow = (chance: Chance, now: number, key = chance.pick(keys)): IdempotencyRow => ({
  merchantId: chance.pick([1n, 2n]),
  key,
  digest: Buffer.alloc(32, chance.whole(1, 2)),
  orderId: BigInt(chance.whole(1, 9)),
  transactionNo: chance.whole(1, 3),
  serialNumber: serial(BigInt(chance.whole(1, 3))),
  heldUntil: now + chance.whole(1_000, 40_000),
})

/**
 * Some keys are taken, all are looked up, and now and then those whose time is over are forgotten.
 */
export const keyCall =
  ({ store, chance, now, note }: KeyParts) =>
  async (): Promise<void> => {
    const rows = keys.filter(() => chance.happens(0.4)).map((key) => keyRow(chance, now(), key))
    note(await store.transaction((tables) => tables.claimIdempotencyKeys(rows, now())))
    const wanted = keys.flatMap((key) => [1n, 2n].map((merchantId) => ({ merchantId, key })))
    const held = await store.idempotencyKeys(wanted, now() - chance.whole(0, 20_000))
    note(held.sort((a, b) => Number(a.merchantId - b.merchantId) || (a.key < b.key ? -1 : 1)))
    if (chance.happens(0.3)) await store.forgetIdempotencyKeys(now() - chance.whole(0, 20_000))
  }
