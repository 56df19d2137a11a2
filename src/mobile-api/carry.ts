/** What is done with an invoice in each state, one commit a step. Every step may be done twice: what it makes outside has its number before. */
import { eligibleGates } from '../acquirer/choose.ts'
import { commonHashOf } from '../card/vault.ts'
import { isUnauthenticated } from '../order/authentication/plan.ts'
import { statusOf } from '../order/order.ts'
import { chooseMs, feesOf } from './fees.ts'
import { fundsOf, type Funds } from './funds.ts'
import { holdSum, outcomeOfHold, releaseHold } from './hold.ts'
import { declines, type Confirmed, type Decline, type Hold, type Invoice } from './invoice.ts'
import { minorOfCentis } from './centis.ts'
import { askMerchant } from './merchant-calls.ts'
import type { MobileWorld } from './mobile-world.ts'
import { orderInvoice } from './pay.ts'
import type { Place } from './perform.ts'
import { placeOfInvoice } from './place.ts'
import { answerMs, drawSumMinor, mostWrong } from './random-sum.ts'
import type { Move, OpenInvoice } from './store-invoices.ts'

/** The state that comes next; undefined where there is nothing to do now, and a sweep looks again. */
export async function nextMove(world: MobileWorld, open: OpenInvoice, stopping: AbortSignal): Promise<Move | undefined> {
  const { invoice } = open
  const { invoiceId } = invoice
  const place = placeOfInvoice(world.registry(), invoice)
  switch (invoice.state) {
    case 'checking': {
      const verdict = await askMerchant(world, place, invoice, open.secrets)
      if (stopping.aborted || !world.holding()) return undefined
      if (verdict.is === 'confirmed') return confirmedMove(world, place, invoice, verdict.confirmed)
      world.log.info({ invoice: invoiceId, why: verdict.why }, 'a mobile transaction is declined')
      return declinedOrder(world, place, open, verdict.decline)
    }
    case 'holding':
      return holdMove(world, place, open, stopping)
    case 'answering':
      return { state: 'releasing', lease: world.processId, sumStatus: 'NOT_AUTHENTICATED', ...declines.sum }
    case 'choosing':
      return declinedOrder(world, place, open, declines.fee)
    case 'ordering':
      if (invoice.hold) await releaseHold(world, invoice, invoice.hold)
      // Made by whoever had it before: nothing that changed since may decline it.
      if (await world.orders.byId(invoice)) return { state: 'ordered' }
      if (!invoice.hold) return goOn(world, place, open)
      return orderMove(world, place, invoice, invoice.confirmed!, await fundsOf(world, invoice, open.secrets, invoice.confirmed!))
    case 'releasing': {
      await releaseHold(world, invoice, invoice.hold!)
      const { errorCode, errorMessage } = invoice
      return declinedOrder(world, place, open, { errorCode, errorMessage } as Decline)
    }
    default:
      return undefined
  }
}

const declined = (decline: Decline): Move => ({ state: 'declined', ...decline })

/** Who is called back about an approval is called back about a decline as well, so there is an order of it where a card is known. */
async function declinedOrder(
  world: MobileWorld,
  place: Place,
  { invoice, secrets }: OpenInvoice,
  decline: Decline,
): Promise<Move> {
  if (!(await world.orders.byId(invoice))) {
    const confirmed = invoice.confirmed ?? { billing: {} }
    const funds = await fundsOf(world, invoice, secrets, confirmed)
    if (funds) await orderInvoice(world, place, invoice, confirmed, funds, decline)
  }
  return declined(decline)
}

/**
 * The merchant knows it, which is written down before anything follows: whoever takes the invoice over asks the merchant again, may be refused, and must not decline what is ordered.
 * The consumer of a transfer may have a fee to choose; otherwise it is that of the endpoint's gate.
 */
function confirmedMove(world: MobileWorld, { endpoint }: Place, { kind, request }: Invoice, confirmed: Confirmed): Move {
  const fees = kind === 'transfer' ? feesOf(eligibleGates(endpoint, world.registry()), BigInt(request.amountMinor!)) : []
  // Where no gate is switched on the order says so.
  const [fee] = fees
  if (fee && endpoint.settings.consumerDefinedRate)
    return { state: 'choosing', confirmed, fees, restsUntil: world.clock.now() + chooseMs }
  return { state: 'ordering', lease: world.processId, confirmed, ...(fee && { fee }) }
}

/** Where 3-D Secure does not ask the cardholder a sum may: then it is held first. */
async function goOn(world: MobileWorld, place: Place, open: OpenInvoice): Promise<Move> {
  const { invoice, secrets } = open
  const confirmed = invoice.confirmed!
  const funds = await fundsOf(world, invoice, secrets, confirmed)
  if (!funds) return declined(declines.card)
  if (!place.endpoint.settings.randomSum || !isUnauthenticated(funds.card, place.endpoint, world.planner))
    return orderMove(world, place, invoice, confirmed, funds)
  const { request } = invoice
  if ((await world.wrongSums.count(commonHashOf(funds.card.pan, world.keys), world.clock.now())) >= mostWrong)
    return { ...(await declinedOrder(world, place, open, declines.sum)), sumStatus: 'NOT_AUTHENTICATED' }
  const { randomSumCentis } = confirmed
  const hold: Hold = {
    orderId: await world.orderIds.take(),
    sumMinor:
      randomSumCentis === undefined
        ? drawSumMinor(world.random, request.currency)
        : minorOfCentis(randomSumCentis, request.currency)!,
    pageToken: world.random.bytes(16).toString('base64url'),
  }
  return { state: 'holding', lease: world.processId, hold }
}

async function holdMove(world: MobileWorld, place: Place, open: OpenInvoice, stopping: AbortSignal): Promise<Move | undefined> {
  const { invoice, secrets } = open
  const hold = invoice.hold!
  const confirmed = invoice.confirmed!
  const { merchantId } = invoice
  if (!(await world.orders.byId({ merchantId, orderId: hold.orderId }))) {
    const funds = await fundsOf(world, invoice, secrets, confirmed)
    if (!funds) return declined(declines.card)
    if (!(await holdSum(world, place, invoice, hold, confirmed, funds))) return declinedOrder(world, place, open, declines.hold)
  }
  const order = await outcomeOfHold(world, invoice, hold, stopping)
  if (!order) return undefined
  if (statusOf(order) !== 'approved') return declinedOrder(world, place, open, declines.hold)
  return { state: 'answering', restsUntil: world.clock.now() + answerMs }
}

async function orderMove(
  world: MobileWorld,
  place: Place,
  invoice: Invoice,
  confirmed: Confirmed,
  funds: Funds | undefined,
): Promise<Move> {
  const decline = funds ? await orderInvoice(world, place, invoice, confirmed, funds) : declines.card
  return decline ? declined(decline) : { state: 'ordered' }
}
