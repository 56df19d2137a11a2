/** What the page that asks for a random sum shows, and what it does to an invoice. */
import { currencyOf, minorToDecimal } from '../base/money.ts'
import { commonHashOf } from '../card/vault.ts'
import { statusOf, type Order } from '../order/order.ts'
import { finalStatuses, type Status } from '../spec/words.ts'
import { totalMinor } from './fees.ts'
import type { Invoice, InvoiceSecrets, MobileKind } from './invoice.ts'
import type { MobileWorld } from './mobile-world.ts'
import { answersLeft, readSum, sumsOf } from './random-sum.ts'

interface Shown {
  kind: MobileKind
  merchantName: string
  currency: string
  /** All that is debited; by a verification nothing is. */
  amountText?: string
}

export interface AskingSum extends Shown {
  is: 'asking'
  network?: string
  lastFour: string
  leastText: string
  mostText: string
  /** To be sent with the answer. */
  answerNo: number
  answersLeft: number
  minutesLeft: number
}

export interface OverSum extends Shown {
  is: 'over'
  status: Status
  /** The sum was not named. */
  unconfirmed: boolean
}

export type SumView = AskingSum | OverSum | (Shown & { is: 'working' })

type SumWorld = Pick<MobileWorld, 'invoices' | 'orders' | 'cardOf' | 'keys' | 'registry' | 'wrongSums' | 'clock' | 'processId'>

export async function viewOfSum(world: SumWorld, pageToken: string): Promise<SumView | undefined> {
  const open = await world.invoices.findByPage(pageToken)
  if (!open) return undefined
  const { invoice } = open
  const { merchantId, orderId, state } = invoice
  const shown = shownOf(world, invoice)
  if (state === 'declined' || state === 'releasing')
    return { ...shown, is: 'over', status: 'declined', unconfirmed: invoice.sumStatus === 'NOT_AUTHENTICATED' }
  if (state === 'ordered') {
    const order = await world.orders.byId({ merchantId, orderId })
    const status = order ? statusOf(order) : 'processing'
    return finalStatuses.has(status) ? { ...shown, is: 'over', status, unconfirmed: false } : { ...shown, is: 'working' }
  }
  const asked = await askedFor(world, invoice)
  return asked ? { ...shown, ...asked } : { ...shown, is: 'working' }
}

function shownOf({ registry }: SumWorld, invoice: Invoice): Shown {
  const { merchantId, kind, request } = invoice
  const { currency } = request
  const merchantName = registry().merchant(merchantId)?.name ?? ''
  const text = kind === 'verification' ? {} : { amountText: spelled(totalMinor(invoice), currency) }
  return { kind, merchantName, currency, ...text }
}

const spelled = (minor: bigint, currency: string) => minorToDecimal(minor, currencyOf(currency)!.exponent)

/** Undefined where no answer is waited for. */
async function askedFor(world: SumWorld, invoice: Invoice): Promise<Omit<AskingSum, keyof Shown> | undefined> {
  const { state, restsUntil = 0, request, wrongAnswers } = invoice
  const now = world.clock.now()
  const hold = state === 'answering' && restsUntil > now ? await holdOrder(world, invoice) : undefined
  if (!hold) return undefined
  const { network, lastFour } = hold.card
  const sums = sumsOf(request.currency)
  return {
    is: 'asking',
    ...(network === undefined ? {} : { network }),
    lastFour,
    leastText: spelled(sums[0]!, request.currency),
    mostText: spelled(sums.at(-1)!, request.currency),
    answerNo: wrongAnswers + 1,
    answersLeft: answersLeft(invoice, await world.wrongSums.count(await cardHashOf(world, hold), now)),
    minutesLeft: Math.ceil((restsUntil - now) / 60_000),
  }
}

const holdOrder = ({ orders }: SumWorld, { merchantId, hold }: Invoice): Promise<Order | undefined> =>
  orders.byId({ merchantId, orderId: hold!.orderId })

const cardHashOf = async ({ cardOf, keys }: SumWorld, hold: Order): Promise<string> =>
  commonHashOf((await cardOf(hold)).pan, keys)

/** Takes what the cardholder typed. `unreadable`: it is no sum, and counts as no answer. A form that was sent before, or is late, changes nothing. */
export async function takeSum(
  world: SumWorld,
  begin: (invoice: Invoice, secrets: InvoiceSecrets) => void,
  pageToken: string,
  { answerNo, typed }: { answerNo: number; typed: string },
): Promise<'taken' | 'unreadable'> {
  const found = await world.invoices.findByPage(pageToken)
  if (found?.invoice.state !== 'answering' || found.invoice.wrongAnswers + 1 !== answerNo) return 'taken'
  const sumMinor = readSum(typed, found.invoice.request.currency)
  if (sumMinor === undefined) return 'unreadable'
  const hold = await holdOrder(world, found.invoice)
  if (!hold) throw new Error(`the hold of invoice ${found.invoice.invoiceId} is gone`)
  const answer = { answerNo, sumMinor, cardHash: await cardHashOf(world, hold) }
  const after = await world.wrongSums.answer(found.invoice, answer, world.processId, world.clock.now())
  if (after && after.invoice.state !== 'answering') begin(after.invoice, after.secrets)
  return 'taken'
}
