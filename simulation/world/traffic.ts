import type { Chance } from './chance.ts'
import type { Events } from './clock.ts'

/** Orders come alone and in bursts. */
export function beginTraffic(
  events: Events,
  chance: Chance,
  orders: number,
  withinMs: number,
  begin: (number: number) => void,
): void {
  for (let n = 1; n <= orders;) {
    const at = chance.between(0, withinMs)
    for (let burst = chance.happens(0.1) ? chance.whole(2, 20) : 1; burst > 0 && n <= orders; burst--, n++) {
      const number = n
      events.after(at + chance.between(0, 5), undefined, () => begin(number))
    }
  }
}
