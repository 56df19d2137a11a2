import { controlOf } from '../../src/merchant/control.ts'
import { writeForm } from '../../src/spec/form.ts'
import type { Bench, Payment } from '../bench.ts'
import { lookUp, type Merchant, type Site } from '../load/merchant.ts'

const cards = ['4111111111111111', '5555555555554444']
const email = 'jane@example.com'

/**
 * Most of a request is the same each time; it is written once, since the load process shares the
 * machine with what it measures.
 */
export const sameForm = (site: Site, card: string, more: readonly (readonly [string, string])[] = []): string =>
  writeForm([
    ['order_desc', 'A sale of the bench'],
    ['amount', '10.42'],
    ['currency', 'USD'],
    ['first_name', 'Jane'],
    ['last_name', 'Doe'],
    ['email', email],
    ['ipaddress', '203.0.113.7'],
    ['credit_card_number', card],
    ['card_printed_name', 'JANE DOE'],
    ['expire_month', '12'],
    ['expire_year', '2035'],
    ['cvv2', '123'],
    ['server_callback_url', site.callbackUrl],
    ...more,
  ])

export const signedForm = ({ key }: Merchant, endpoint: string, clientOrderid: string, same: string): string =>
  `client_orderid=${clientOrderid}&${same}&control=${controlOf([endpoint, clientOrderid, '1042', email], key)}`

/** A sale without 3-D Secure, which its card and CVV2 approve, with a callback. */
export const sale: Bench = {
  name: 'sale',
  means: 'sales without 3-D Secure, from the POST to the final status, callbacks on',
  // oxfmt-ignore
  targets: [
    { means: 'mean batch',   inFlight: 256, figure: 'mean_batch',     wanted: 'at least', bound: 8,     unit: 'changes a commit' },
    { means: 'throughput',   inFlight: 256, figure: 'sales_per_s',    wanted: 'at least', bound: 1_200, unit: 'sales/s' },
    { means: 'accept, p50',  inFlight: 1,   figure: 'accept_p50_ms',  wanted: 'under',    bound: 6,     unit: 'ms' },
    { means: 'gateway RSS',  inFlight: 256, figure: 'gateway_rss_mb', wanted: 'under',    bound: 250,   unit: 'MB' },
  ],
  inFlight: [1, 32, 256, 512, 1_000],
  warmUp: 5_000,
  inDetail: true,
  open: (merchant) => salesOf(merchant, (send) => send()),
  lookUp: (merchant, clientOrderid) => lookUp(merchant, String(merchant.site.endpoints['plain']), clientOrderid),
}

/** Carries one sale after the other; `accept` sends its request, and gives the reply. */
export function salesOf(
  merchant: Merchant,
  accept: (send: () => Promise<string>) => Promise<string>,
): (clientOrderid: string) => Promise<Payment> {
  const { site } = merchant
  const endpoint = String(site.endpoints['plain'])
  const path = `/api/v2/sale/${endpoint}`
  const sameForAll = cards.map((card) => sameForm(site, card))
  let sent = 0
  return async (clientOrderid) => {
    const began = performance.now()
    const form = signedForm(merchant, endpoint, clientOrderid, sameForAll[sent++ % cards.length]!)
    const reply = await accept(() => merchant.post(path, form))
    const acceptMs = performance.now() - began
    const ending = await merchant.untilFinal(endpoint, clientOrderid, reply, began)
    return { acceptMs, finalMs: performance.now() - began, ending }
  }
}
