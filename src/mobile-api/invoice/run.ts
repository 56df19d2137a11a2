/**
 * The next step of an invoice in each state, one commit per step. Every step may be repeated:
 * whatever it creates outside has its number beforehand.
 */
import { eligibleGates } from '../../acquirer/choose.ts'
import { commonHashesOf } from '../../card/vault.ts'
import type { Registry } from '../../merchant/merchant.ts'
import { isUnauthenticated, type AuthenticationPlanner } from '../../order/authentication/plan.ts'
import { statusOf } from '../../order/decide/order.ts'
import { mobileKind } from '../../spec/mobile/kinds.ts'
import type { Ids } from '../../storage/ids.ts'
import { chooseMs, feesOf } from '../fees.ts'
import { fundsOf, type Funds, type FundsParts } from '../funds.ts'
import { holdSum, outcomeOfHold, releaseHold, type HoldParts } from '../sum/hold.ts'
import { confirmedOf, declineOf, declines, holdOf, type Confirmed, type Decline, type Hold, type Invoice } from './invoice.ts'
import { askMerchant, type MerchantCalls } from '../merchant/calls.ts'
import { merchantEndpointOf, type MerchantEndpoint } from '../merchant/endpoint.ts'
import { orderInvoice, type PayParts } from '../pay.ts'
import { answerMs, drawSumMinor, mostWrong, sumMinorOf } from '../sum/random-sum.ts'
import type { OpenInvoice } from './rows.ts'
import type { InvoiceChange } from './store.ts'
import type { WrongSums } from '../sum/store.ts'

export type RunParts = MerchantCalls &
  FundsParts &
  PayParts &
  HoldParts & {
    processId: bigint
    registry: () => Registry
    orderIds: Ids
    /** Whether 3-D Secure would authenticate a card. */
    planner: AuthenticationPlanner
    wrongSums: Pick<WrongSums, 'count'>
  }

/** The next state; undefined if there is nothing to do now, and a sweep looks again. */
export async function nextChange(parts: RunParts, open: OpenInvoice, stopping: AbortSignal): Promise<InvoiceChange | undefined> {
  const { invoice } = open
  const { invoiceId } = invoice
  const at = merchantEndpointOf(parts.registry(), invoice)
  switch (invoice.state) {
    case 'checking': {
      const verdict = await askMerchant(parts, at, invoice, open.secrets)
      if (stopping.aborted || !parts.holding()) return undefined
      if (verdict.is === 'confirmed') return confirmedChange(parts, at, invoice, verdict.confirmed)
      parts.log.info({ invoice: invoiceId, why: verdict.why }, 'a mobile transaction is declined')
      return declinedOrder(parts, at, open, verdict.decline)
    }
    case 'holding':
      return holdChange(parts, at, open, stopping)
    case 'answering':
      return { state: 'releasing', lease: parts.processId, sumStatus: 'NOT_AUTHENTICATED', ...declines.sum }
    case 'choosing':
      return declinedOrder(parts, at, open, declines.fee)
    case 'ordering':
      if (invoice.hold) await releaseHold(parts, invoice, invoice.hold)
      // An earlier step created the order: no later change may decline it.
      if (await parts.orders.byId(invoice)) return { state: 'ordered' }
      if (!invoice.hold) return goOn(parts, at, open)
      return orderChange(
        parts,
        at,
        invoice,
        confirmedOf(invoice),
        await fundsOf(parts, invoice, open.secrets, confirmedOf(invoice)),
      )
    case 'releasing': {
      await releaseHold(parts, invoice, holdOf(invoice))
      return declinedOrder(parts, at, open, declineOf(invoice))
    }
    default:
      return undefined
  }
}

const declined = (decline: Decline): InvoiceChange => ({ state: 'declined', ...decline })

/**
 * Merchants who are notified of approvals are also notified of declines, so a declined invoice
 * becomes an order if its card is known.
 */
async function declinedOrder(
  parts: RunParts,
  at: MerchantEndpoint,
  { invoice, secrets }: OpenInvoice,
  decline: Decline,
): Promise<InvoiceChange> {
  if (!(await parts.orders.byId(invoice))) {
    const confirmed = invoice.confirmed ?? { billing: {} }
    const funds = await fundsOf(parts, invoice, secrets, confirmed)
    if (funds) await orderInvoice(parts, at, invoice, confirmed, funds, decline)
  }
  return declined(decline)
}

/**
 * The confirmation is stored before the next step: a process that takes the invoice over would ask
 * the merchant again, might be refused, and must not decline an invoice that is already ordered.
 * The consumer of a transfer may have a fee to choose; otherwise the fee of the endpoint's gate
 * applies.
 */
function confirmedChange(
  parts: RunParts,
  { endpoint }: MerchantEndpoint,
  { kind, request }: Invoice,
  confirmed: Confirmed,
): InvoiceChange {
  const fees = mobileKind(kind).credits ? feesOf(eligibleGates(endpoint, parts.registry()), BigInt(request.amountMinor ?? 0)) : []
  // If no gate is switched on, the order fails with that reason.
  const [fee] = fees
  if (fee && endpoint.settings.consumerDefinedRate)
    return { state: 'choosing', confirmed, fees, restsUntil: parts.clock.now() + chooseMs }
  return { state: 'ordering', lease: parts.processId, confirmed, ...(fee && { fee }) }
}

/** If 3-D Secure does not authenticate the cardholder, a random sum may: it is held first. */
async function goOn(parts: RunParts, at: MerchantEndpoint, open: OpenInvoice): Promise<InvoiceChange> {
  const { invoice, secrets } = open
  const confirmed = confirmedOf(invoice)
  const funds = await fundsOf(parts, invoice, secrets, confirmed)
  if (!funds) return declined(declines.card)
  if (!at.endpoint.settings.randomSum || !isUnauthenticated(funds.card, at.endpoint, parts.planner))
    return orderChange(parts, at, invoice, confirmed, funds)
  const { request } = invoice
  if ((await parts.wrongSums.count(commonHashesOf(funds.card.pan, parts.keys), parts.clock.now())) >= mostWrong)
    return { ...(await declinedOrder(parts, at, open, declines.sum)), sumStatus: 'NOT_AUTHENTICATED' }
  const { randomSumCentis } = confirmed
  const hold: Hold = {
    orderId: await parts.orderIds.take(),
    sumMinor:
      randomSumCentis === undefined
        ? drawSumMinor(parts.random, request.currency)
        : sumMinorOf(randomSumCentis, request.currency),
    pageToken: parts.planner.marks.token(),
  }
  return { state: 'holding', lease: parts.processId, hold }
}

async function holdChange(
  parts: RunParts,
  at: MerchantEndpoint,
  open: OpenInvoice,
  stopping: AbortSignal,
): Promise<InvoiceChange | undefined> {
  const { invoice, secrets } = open
  const hold = holdOf(invoice)
  const confirmed = confirmedOf(invoice)
  const { merchantId } = invoice
  if (!(await parts.orders.byId({ merchantId, orderId: hold.orderId }))) {
    const funds = await fundsOf(parts, invoice, secrets, confirmed)
    if (!funds) return declined(declines.card)
    if (!(await holdSum(parts, at, invoice, hold, confirmed, funds))) return declinedOrder(parts, at, open, declines.hold)
  }
  const order = await outcomeOfHold(parts, invoice, hold, stopping)
  if (!order) return undefined
  if (statusOf(order) !== 'approved') return declinedOrder(parts, at, open, declines.hold)
  return { state: 'answering', restsUntil: parts.clock.now() + answerMs }
}

async function orderChange(
  parts: RunParts,
  at: MerchantEndpoint,
  invoice: Invoice,
  confirmed: Confirmed,
  funds: Funds | undefined,
): Promise<InvoiceChange> {
  const decline = funds ? await orderInvoice(parts, at, invoice, confirmed, funds) : declines.card
  return decline ? declined(decline) : { state: 'ordered' }
}
