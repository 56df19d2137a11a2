/**
 * Places for messages in memory. A quarter of them is open only to merchants who hold few, so that
 * nobody's messages wait behind those of one merchant.
 */
export interface Places {
  all: number
  /** Open to every merchant. */
  common: number
  /** A merchant who holds fewer than this may take any place. */
  few: number
}

/** `few` is 64 at most; with few places in all, an eighth of them. */
export const placesOf = (all: number): Places => ({
  all,
  common: all - Math.floor(all / 4),
  few: Math.min(64, Math.ceil(all / 8)),
})

/** How many more places a merchant may take. `taken` counts all messages, `held` the merchant's. */
export const roomIn = ({ all, common, few }: Places, taken: number, held: number): number =>
  Math.max(0, common - taken, Math.min(few - held, all - taken))
