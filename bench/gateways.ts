import { setTimeout as pause } from 'node:timers/promises'
import type { Payment } from './bench.ts'
import { loadNamed } from './benches.ts'
import type { LoadOrder } from './exchange.ts'
import { openMerchant, type Site } from './merchant.ts'

/**
 * The kernel sends a request again for about so long after its sender has given up, when the
 * gateway had no room for the connection.
 */
const unseenForMs = 30_000
const lookEveryMs = 500

/**
 * The gateways that share the payments. The next payment goes to the gateway with the fewest in
 * flight, so that in a closed loop all have equally many.
 */
export function openGateways({ site, bench, withinMs }: LoadOrder) {
  const load = loadNamed(bench)!
  const all = [site.baseUrl, ...(site.alsoAt ?? [])].map((baseUrl) => {
    const merchant = openMerchant({ ...site, baseUrl } satisfies Site, withinMs)
    return { merchant, carryOne: load.open(merchant), inFlight: 0 }
  })
  return {
    async carry(clientOrderid: string): Promise<Payment> {
      const one = all.reduce((least, other) => (other.inFlight < least.inFlight ? other : least))
      one.inFlight++
      try {
        return await one.carryOne(clientOrderid)
      } finally {
        one.inFlight--
      }
    },
    /** How many of these payments were approved, as the gateway shows them afterwards. */
    async approvedOf(unseen: readonly string[]): Promise<number> {
      const [{ merchant }] = all as [(typeof all)[number]]
      let approved = 0
      let open = load.lookUp ? unseen : []
      for (const end = performance.now() + unseenForMs; open.length > 0 && performance.now() < end; await pause(lookEveryMs)) {
        const endings = await Promise.all(open.map((name) => load.lookUp!(merchant, name).catch(() => undefined)))
        approved += endings.filter((ending) => ending === 'approved').length
        open = open.filter((_, i) => endings[i] === undefined)
      }
      return approved
    },
    polls: () => all.reduce((sum, { merchant }) => sum + merchant.polls(), 0),
    close: () => all.forEach(({ merchant }) => merchant.close()),
  }
}
