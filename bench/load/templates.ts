import { setTimeout as pause } from 'node:timers/promises'
import { readBooks } from '../figures/books.ts'
import { openMerchant, type Merchant } from './merchant.ts'
import { sale, sameForm, signedForm } from '../benches/sale.ts'
import type { Sandbox } from '../sandbox.ts'
import { challenge, frictionless } from '../benches/three-d-secure.ts'

type Carry = (clientOrderid: string) => Promise<{ ending: string }>

/** A sale whose CVV2 decides how the simulated acquirer answers. */
function saleWith(merchant: Merchant, cvv2: string): Carry {
  const endpoint = String(merchant.site.endpoints['plain'])
  const same = sameForm(merchant.site, '4111111111111111').replace('cvv2=123', `cvv2=${cvv2}`)
  return async (clientOrderid) => {
    const began = performance.now()
    const reply = await merchant.post(`/api/v2/sale/${endpoint}`, signedForm(merchant, endpoint, clientOrderid, same))
    return { ending: await merchant.untilFinal(endpoint, clientOrderid, reply, began) }
  }
}

// oxfmt-ignore
const templates: readonly [name: string, count: number, ending: RegExp, open: (merchant: Merchant) => Carry][] = [
  ['approved',     250, /^approved$/,         (merchant) => sale.open(merchant)],
  ['frictionless',  60, /^approved$/,         (merchant) => frictionless.open(merchant)],
  ['challenge',     30, /^approved$/,         (merchant) => challenge.open(merchant)],
  ['declined',      50, /^declined$/,         (merchant) => saleWith(merchant, '116')],
  ['unanswered',    10, /^(?:unknown|error)$/, (merchant) => saleWith(merchant, '217')],
]

const withinMs = 60_000
const atOnce = 10

/**
 * Has the gateway make some hundred orders that ended in each way, and waits until all is said
 * about them.
 */
export async function makeTemplates(sandbox: Sandbox): Promise<void> {
  const merchant = openMerchant(sandbox.site, withinMs)
  try {
    for (const [name, count, expected, open] of templates) {
      const carry = open(merchant)
      let begun = 0
      const worker = async () => {
        while (begun < count) {
          const { ending } = await carry(`template-${name}-${++begun}`)
          if (!expected.test(ending)) throw new Error(`A template of the orders, ${name}, ended otherwise: ${ending}.`)
        }
      }
      await Promise.all(Array.from({ length: atOnce }, worker))
    }
  } finally {
    merchant.close()
  }
  for (const end = performance.now() + withinMs; ; await pause(200)) {
    const { unknown, callbacks } = await readBooks(sandbox, 0)
    if (unknown === 0 && callbacks.owed === 0) return
    if (performance.now() > end)
      throw new Error(`The templates are not at rest: ${unknown} unknown, ${callbacks.owed} callbacks owed.`)
  }
}
