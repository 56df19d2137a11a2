/** The data of the random sum page, and the effect of its answer on an invoice. */
import type { Clock } from '../../base/clock.ts'
import { spellMinor } from '../../base/money.ts'
import { commonHashesOf, type CommonHashes } from '../../card/vault.ts'
import type { Client } from '../../merchant/access-limits.ts'
import type { Guessed } from '../../merchant/guessed.ts'
import type { Merchant, Registry } from '../../merchant/merchant.ts'
import type { Cards } from '../../order/cards.ts'
import type { Reader } from '../../order/read.ts'
import { statusOf, type Order } from '../../order/decide/order.ts'
import { mobileKind, type MobileKind } from '../../spec/mobile/kinds.ts'
import { finalStatuses, type Status } from '../../spec/words.ts'
import type { KeyRing } from '../../keys/ring.ts'
import { totalMinor } from '../fees.ts'
import { holdOf, type Invoice } from '../invoice/invoice.ts'
import type { BeginParts } from '../perform.ts'
import { answersLeft, boundsOf, readSum } from './random-sum.ts'
import type { Invoices } from '../invoice/invoices.ts'
import type { WrongSums } from './store.ts'

interface Shown {
  kind: MobileKind
  merchantName: string
  merchant?: Merchant | undefined
  currency: string
  /** The total debited; absent if nothing is. */
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

export interface SumParts extends BeginParts, Pick<Cards, 'cardOf'> {
  invoices: Pick<Invoices, 'findByPage'>
  orders: Pick<Reader, 'byId'>
  keys: KeyRing
  registry: () => Registry
  wrongSums: WrongSums
  guessed: Guessed
  clock: Clock
}

export async function viewOfSum(parts: SumParts, pageToken: string): Promise<SumView | undefined> {
  const open = await parts.invoices.findByPage(pageToken)
  if (!open) return undefined
  const { invoice } = open
  const { merchantId, orderId, state } = invoice
  const shown = shownOf(parts, invoice)
  if (state === 'declined' || state === 'releasing')
    return { ...shown, is: 'over', status: 'declined', unconfirmed: invoice.sumStatus === 'NOT_AUTHENTICATED' }
  if (state === 'ordered') {
    const order = await parts.orders.byId({ merchantId, orderId })
    // It was made, so its partition was detached since.
    if (!order) return undefined
    const status = statusOf(order)
    return finalStatuses.has(status) ? { ...shown, is: 'over', status, unconfirmed: false } : { ...shown, is: 'working' }
  }
  const asked = await askedFor(parts, invoice)
  return asked ? { ...shown, ...asked } : { ...shown, is: 'working' }
}

function shownOf({ registry }: SumParts, invoice: Invoice): Shown {
  const { merchantId, kind, request } = invoice
  const { currency } = request
  const merchant = registry().merchant(merchantId)
  const merchantName = merchant?.page?.name ?? merchant?.name ?? ''
  const text = mobileKind(kind).debits ? { amountText: spellMinor(totalMinor(invoice), currency) } : {}
  return { kind, merchantName, merchant, currency, ...text }
}

/** Undefined if no answer is awaited. */
async function askedFor(parts: SumParts, invoice: Invoice): Promise<Omit<AskingSum, keyof Shown> | undefined> {
  const { state, restsUntil = 0, request, wrongAnswers } = invoice
  const now = parts.clock.now()
  const hold = state === 'answering' && restsUntil > now ? await holdOrder(parts, invoice) : undefined
  if (!hold) return undefined
  const { network, lastFour } = hold.card
  const { least, most } = boundsOf(request.currency)
  return {
    is: 'asking',
    ...(network === undefined ? {} : { network }),
    lastFour,
    leastText: spellMinor(least, request.currency),
    mostText: spellMinor(most, request.currency),
    answerNo: wrongAnswers + 1,
    answersLeft: answersLeft(invoice, await parts.wrongSums.count(await cardHashesOf(parts, hold), now)),
    minutesLeft: Math.ceil((restsUntil - now) / 60_000),
  }
}

const holdOrder = ({ orders }: SumParts, invoice: Invoice): Promise<Order | undefined> =>
  orders.byId({ merchantId: invoice.merchantId, orderId: holdOf(invoice).orderId })

const cardHashesOf = async ({ cardOf, keys }: SumParts, hold: Order): Promise<CommonHashes> =>
  commonHashesOf((await cardOf(hold)).pan, keys)

/**
 * Processes the cardholder's answer. `unreadable`: it is not a sum, and does not count. A form that
 * was sent before, or is late, changes nothing.
 */
export async function takeSum(
  parts: SumParts,
  pageToken: string,
  { answerNo, typed, client }: { answerNo: number; typed: string; client: Client },
): Promise<'taken' | 'unreadable'> {
  const found = await parts.invoices.findByPage(pageToken)
  if (found?.invoice.state !== 'answering' || found.invoice.wrongAnswers + 1 !== answerNo) return 'taken'
  const sumMinor = readSum(typed, found.invoice.request.currency)
  if (sumMinor === undefined) return 'unreadable'
  const hold = await holdOrder(parts, found.invoice)
  if (!hold) throw new Error(`the hold of invoice ${found.invoice.invoiceId} is gone`)
  const answer = { answerNo, sumMinor, cardHashes: await cardHashesOf(parts, hold) }
  const after = await parts.wrongSums.answer(found.invoice, answer, parts.processId, parts.clock.now())
  if (after && after.invoice.wrongAnswers > found.invoice.wrongAnswers) {
    const { merchantId, endpointId } = after.invoice
    const { login = '' } = parts.registry().merchant(merchantId) ?? {}
    parts.guessed(client, { login, endpoint: String(endpointId), operation: 'random-sum', reason: 'wrong sum' })
  }
  if (after && after.invoice.state !== 'answering') parts.begin(after.invoice, after.secrets)
  return 'taken'
}
