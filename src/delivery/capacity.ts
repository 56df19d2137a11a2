/**
 * How many messages fit into memory. A quarter of it is open only to merchants who hold few, so
 * that one merchant's messages do not make all others wait.
 */
export interface Capacity {
  all: number
  /** Open to every merchant. */
  common: number
  /** A merchant who holds fewer than this may have any message taken. */
  few: number
}

/** `few` is 64 at most; an eighth of a small capacity. */
export const capacityOf = (all: number): Capacity => ({
  all,
  common: all - Math.floor(all / 4),
  few: Math.min(64, Math.ceil(all / 8)),
})

/** How many more messages of a merchant fit. `taken` counts all messages, `held` the merchant's. */
export const roomIn = ({ all, common, few }: Capacity, taken: number, held: number): number =>
  Math.max(0, common - taken, Math.min(few - held, all - taken))
