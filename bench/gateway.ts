import { setTimeout as pause } from 'node:timers/promises'
import { loadNamed } from './benches.ts'
import type { LoadOrder } from './load/exchange.ts'
import { openMerchant } from './load/merchant.ts'

/**
 * The kernel sends a request again for about so long after its sender has given up, when the
 * gateway had no room for the connection.
 */
const unseenForMs = 30_000
const lookEveryMs = 500

/** The gateway under load, as its merchant sees it. */
export function openGateway({ site, bench, withinMs }: LoadOrder) {
  const load = loadNamed(bench)!
  const merchants = [site, ...(site.others ?? [])].map((one) => openMerchant(one, withinMs))
  const carries = merchants.map((merchant) => load.open(merchant))
  /** Payments have names with a count at their end. */
  const turnOf = (name: string) => Number(name.slice(name.lastIndexOf('-') + 1)) % merchants.length
  return {
    carry: (name: string) => carries[turnOf(name)]!(name),
    /** How many of these payments were approved, as the gateway shows them afterwards. */
    async approvedOf(unseen: readonly string[]): Promise<number> {
      let approved = 0
      let open = load.lookUp ? unseen : []
      for (const end = performance.now() + unseenForMs; open.length > 0 && performance.now() < end; await pause(lookEveryMs)) {
        const endings = await Promise.all(open.map((name) => load.lookUp!(merchants[turnOf(name)]!, name).catch(() => undefined)))
        approved += endings.filter((ending) => ending === 'approved').length
        open = open.filter((_, i) => endings[i] === undefined)
      }
      return approved
    },
    polls: () => merchants.reduce((sum, merchant) => sum + merchant.polls(), 0),
    close: () => merchants.forEach((merchant) => merchant.close()),
  }
}
