import type { Random } from '../../src/base/random.ts'
import { seeded } from '../../simulators/acquirer/faults.ts'

/**
 * Random values from a seed. Each part has a generator of its own, so that an extra draw in one
 * part does not change the others.
 */
export class Chance {
  readonly #draw: () => number

  constructor(seed: number) {
    this.#draw = seeded(seed)
    // Neighbouring seeds have similar first values, so skip them.
    for (let i = 0; i < 4; i++) this.#draw()
  }

  /** From `least` up to, not including, `most`. */
  between(least: number, most: number): number {
    return least + this.#draw() * (most - least)
  }

  whole(least: number, most: number): number {
    return Math.floor(this.between(least, most + 1))
  }

  happens(probability: number): boolean {
    return probability > 0 && this.#draw() < probability
  }

  pick<T>(from: readonly T[]): T {
    return from[Math.floor(this.#draw() * from.length)]!
  }

  fork(): Chance {
    return new Chance(Math.floor(this.#draw() * 2 ** 32))
  }

  random(): Random {
    return {
      bytes: (length) => {
        const out = Buffer.allocUnsafe(length)
        for (let at = 0; at < length; at++) out[at] = Math.floor(this.#draw() * 256)
        return out
      },
    }
  }
}
