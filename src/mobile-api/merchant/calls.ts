import { sleep, type Clock } from '../../base/clock.ts'
import type { Log } from '../../base/log.ts'
import type { TargetPolicy } from '../../http/address.ts'
import type { Outgoing } from '../../http/outgoing.ts'
import type { Endpoint } from '../../merchant/merchant.ts'
import { declines, type Invoice, type InvoiceSecrets } from '../invoice/invoice.ts'
import { checkBody, checkUrl, judgeCheck, type Checked } from './wire.ts'
import type { MerchantEndpoint } from './endpoint.ts'

/** docs/choices.md, "Mobile API": three tries of ten seconds, all within thirty. */
const timeoutMs = 10_000
const tries = 3
const withinMs = 30_000
const pauseMs = 500

export type MerchantVerdict = Exclude<Checked, { is: 'unanswered' }>

export interface MerchantCalls {
  outgoing: Outgoing
  /** Where messages about orders of an endpoint may go. */
  policyOf: (endpoint: Endpoint) => TargetPolicy
  clock: Clock
  log: Log
}

/**
 * Asks the merchant's server whether the transaction is its own. The question has no effect on that
 * server, so it may be repeated.
 */
export async function askMerchant(
  { outgoing, policyOf, clock, log }: MerchantCalls,
  { merchant, endpoint }: MerchantEndpoint,
  invoice: Invoice,
  secrets: InvoiceSecrets,
): Promise<MerchantVerdict> {
  const server = endpoint.settings.merchantServerUrl
  if (server === undefined) return { is: 'declined', decline: declines.unreachable, why: 'the endpoint has no merchant server' }
  const until = clock.monotonic() + withinMs
  let why = ''
  for (let n = 1; n <= tries; n++) {
    const left = until - clock.monotonic()
    if (left <= 0) break
    const reply = await outgoing.send({
      method: 'POST',
      url: checkUrl(server, invoice),
      headers: { 'content-type': 'application/json; charset=utf-8', accept: 'application/json' },
      body: checkBody(invoice, secrets),
      timeoutMs: Math.min(timeoutMs, left),
      policy: policyOf(endpoint),
      owner: String(merchant.merchantId),
    })
    const checked = judgeCheck(invoice, reply, merchant.controlKeys)
    if (checked.is !== 'unanswered') return checked
    why = checked.why
    log.warn({ invoice: invoice.invoiceId, tries: n, why }, "a merchant's server did not answer a check")
    if (n < tries) await sleep(clock, pauseMs * n)
  }
  return { is: 'declined', decline: declines.unreachable, why }
}
