import { readOriginal, type Message } from '../../simulators/acquirer/wire.ts'
import type { Ledger } from '../../simulators/acquirer/ledger.ts'
import { statusOf, type Order } from '../../src/order/decide/order.ts'
import type { Gate } from '../../src/merchant/merchant.ts'
import { finalStatuses } from '../../src/spec/words.ts'
import { configuration } from '../model/configuration.ts'
import { check, type Breaks, type Checks } from './invariant.ts'
import type { AppReply } from '../parties/apps.ts'
import type { Initiated } from '../parties/merchant-server-messages.ts'
import { commissionAt } from '../parties/transfers.ts'

/** Watches both legs of transfers, in the acquirer's books and in messages of the gateways. */
export interface TransferInvariants {
  /** An app is about to choose a fee, perhaps one that was not listed. */
  choosing(invoice: Initiated, assignedId: string): void
  chosen(invoice: Initiated, assignedId: string, reply: AppReply): void
  /** A status reply lists fees. */
  listed(invoice: Initiated, reply: AppReply): void
  /** The acquirer booked or took back something of this order. */
  booked(order: Order): void
  committed(order: Order): void
  sent(order: Order, message: Message): void
  settled(order: Order): void
}

type Entry = ReturnType<Ledger['search']>['entries'][number]

/** One leg in the acquirer's books: all it approved, and the part that was not reversed. */
interface Leg {
  taken: Entry[]
  standing: Entry[]
}

function legsOf(ledger: Ledger, { orderId }: Order): Record<'debit' | 'credit', Leg> {
  const { entries } = ledger.search({ orderId: String(orderId), limit: Infinity })
  const leg = (kind: Entry['kind']) => {
    const taken = entries.filter((e) => e.kind === kind && e.actionCode === '000')
    return { taken, standing: taken.filter((e) => e.state === 'approved') }
  }
  return { debit: leg('debit'), credit: leg('credit') }
}

/** `where`: the order was just stored, or the world has ended. */
const whenFinal: Checks<{ order: Order; legs: ReturnType<typeof legsOf>; where: string }> = {
  'a transfer moves money once and whole'({ order, legs, where }) {
    const [debits, credits] = [legs.debit.standing.length, legs.credit.standing.length]
    const due = statusOf(order) === 'approved' ? 1 : 0
    const what = `order ${order.orderId} is ${statusOf(order)} in ${where}`
    return (debits !== due || credits !== due) && `${what}; the acquirer has ${debits} debits and ${credits} credits`
  },
}

interface BookedView {
  order: Order
  legs: ReturnType<typeof legsOf>
  /** The invoice that its merchant initiated; below: the gate that the consumer chose. */
  wanted: Initiated | undefined
  gate: Gate | undefined
}
const whenBooked: Checks<BookedView> = {
  'nothing is paid out that was not debited': ({ order, legs: { debit, credit } }) =>
    credit.standing.length > debit.standing.length && `order ${order.orderId} has a credit without a debit`,

  'a transfer moves money once and whole'({ order, legs }) {
    const [debits, credits] = [legs.debit.taken.length, legs.credit.taken.length]
    return (debits > 1 || credits > 1) && `order ${order.orderId} was debited ${debits} and credited ${credits} times`
  },

  'the fee is the one that was chosen'({ order, legs, wanted, gate }) {
    if (!wanted || !gate) return `no user chose the gate of order ${order.orderId}`
    const { terminalId } = gate.settings
    const sum = BigInt(wanted.amountCentis!)
    const due = { debit: sum + commissionAt(gate.gateId, sum), credit: sum }
    for (const kind of ['debit', 'credit'] as const)
      for (const { amountMinor, terminal } of legs[kind].taken)
        if (BigInt(amountMinor) !== due[kind] || terminal !== terminalId)
          return `order ${order.orderId} has a ${kind} of ${amountMinor} at ${terminal}, not of ${due[kind]} at ${terminalId}`
    return undefined
  },
}

const whenSent: Checks<{ order: Order; message: Message; ledger: Ledger }> = {
  'nothing is paid out that was not debited'({ order, message: { type, fields } }) {
    const { state } = order.transactions[0]!
    const isCredit = type === '1200' && fields[3] === '260000'
    return isCredit && state !== 'crediting' && `order ${order.orderId} is ${state} and credits`
  },

  'the debit stays while the credit may stand'({ order, message: { type, fields }, ledger }) {
    const credit = order.transactions.find((t) => t.kind === 'credit')
    const original = type.startsWith('14') ? readOriginal(fields[56] ?? '') : undefined
    const isDebits = order.attempts.some((a) => a.transactionNo === 1 && a.stan === original?.stan)
    if (!isDebits || !credit) return undefined
    const mayStand = credit.state !== 'declined' && credit.state !== 'error'
    const stands = mayStand || legsOf(ledger, order).credit.standing.length > 0
    return stands && `order ${order.orderId} gives its debit back; its credit is ${credit.state}`
  },
}

const gateNames = (endpointId: bigint): string[] =>
  configuration.endpoint(endpointId)!.gateIds.map((id) => configuration.gate(id)!.name)

/** Watches which fees are listed, and which of them consumers choose. */
function watchFees(breaks: Breaks) {
  /** By invoice: the assigned ids of requested gates; below: the acknowledged one. */
  const asked = new Map<string, Set<string>>()
  const chosen = new Map<string, string>()
  return {
    choosing({ invoiceId }: Initiated, assignedId: string): void {
      asked.set(invoiceId, new Set([...(asked.get(invoiceId) ?? []), assignedId]))
    },
    chosen({ invoiceId, endpointId }: Initiated, assignedId: string, { status, body }: AppReply): void {
      const before = chosen.get(invoiceId)
      const what = `${assignedId} of ${invoiceId}`
      if (status === 400 && before === assignedId)
        breaks('the same request has the same answer', `${what} was taken, and is refused: ${body.error?.message}`)
      if (status !== 200) return
      if (!gateNames(endpointId).includes(assignedId) || (before !== undefined && before !== assignedId))
        breaks('the fee is the one that was chosen', `${what} is taken, after ${before ?? 'nothing'}`)
      chosen.set(invoiceId, assignedId)
    },
    listed({ invoiceId, endpointId, amountCentis }: Initiated, { body }: AppReply): void {
      const due = configuration.endpoint(endpointId)!.gateIds.map((id) => ({
        assignedId: configuration.gate(id)!.name,
        commissionCentis: Number(commissionAt(id, BigInt(amountCentis!))),
        currency: 'USD',
      }))
      if (JSON.stringify(body.transferFeeList) !== JSON.stringify(due))
        breaks('the fee is the one that was chosen', `${invoiceId} lists ${JSON.stringify(body.transferFeeList)}`)
    },
    /**
     * The gate of the order, if the consumer chose it: the acknowledged one, or else any requested
     * one. Without a choice it is the endpoint's first gate.
     */
    gateOf({ clientOrderid, request }: Order, { endpointId }: Initiated): Gate | undefined {
      const { gateIds, settings } = configuration.endpoint(endpointId)!
      if (!settings.consumerDefinedRate) return configuration.gate(gateIds[0]!)
      const gate = configuration.gate(BigInt(request.transfer?.gateId ?? 0))
      const sure = chosen.get(clientOrderid)
      const isChosen = sure === undefined ? asked.get(clientOrderid)?.has(gate?.name ?? '') : sure === gate?.name
      return isChosen ? gate : undefined
    },
  }
}

export function watchTransfers(ledger: Ledger, initiated: ReadonlyMap<string, Initiated>, breaks: Breaks): TransferInvariants {
  const { gateOf, ...fees } = watchFees(breaks)
  const checkFinal = (order: Order, where: string) => check(whenFinal, { order, legs: legsOf(ledger, order), where }, breaks)
  return {
    ...fees,
    booked(order) {
      const wanted = initiated.get(order.clientOrderid)
      check(whenBooked, { order, legs: legsOf(ledger, order), wanted, gate: wanted && gateOf(order, wanted) }, breaks)
    },
    committed(order) {
      if (finalStatuses.has(statusOf(order))) checkFinal(order, 'the store')
    },
    sent: (order, message) => check(whenSent, { order, message, ledger }, breaks),
    settled: (order) => checkFinal(order, 'the end'),
  }
}
