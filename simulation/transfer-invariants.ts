import { readOriginal, type Message } from '../simulators/acquirer/wire.ts'
import type { Ledger } from '../simulators/acquirer/ledger.ts'
import { statusOf, type Order } from '../src/order/order.ts'
import { finalStatuses } from '../src/spec/words.ts'
import { configuration } from './configuration.ts'
import type { Breaks } from './invariant.ts'
import type { Said } from './apps.ts'
import type { Initiated } from './merchant-servers.ts'
import { commissionAt } from './transfers.ts'

/** Watches the two legs of transfers, in the acquirer's books and as messages leave the gateways. */
export interface TransferInvariants {
  /** A fee is chosen, perhaps one that was not listed; then what the gateway said. */
  choosing(invoice: Initiated, assignedId: string): void
  chosen(invoice: Initiated, assignedId: string, said: Said): void
  /** Fees are listed. */
  listed(invoice: Initiated, said: Said): void
  /** The acquirer booked or took back something of this order. */
  booked(order: Order): void
  committed(order: Order): void
  sent(order: Order, message: Message): void
  settled(order: Order): void
}

export function watchTransfers(ledger: Ledger, initiated: ReadonlyMap<string, Initiated>, breaks: Breaks): TransferInvariants {
  const asked = new Map<string, Set<string>>()
  const chosen = new Map<string, string>()

  function legsOf(order: Order) {
    const { entries } = ledger.search({ orderId: String(order.orderId), limit: Infinity })
    const legs = (kind: 'debit' | 'credit') => {
      const taken = entries.filter((e) => e.kind === kind && e.actionCode === '000')
      return { taken, standing: taken.filter((e) => e.state === 'approved') }
    }
    return { debit: legs('debit'), credit: legs('credit') }
  }

  /** The gate that the consumer chose: the one whose choice was acknowledged, else any that he asked for. Where there is no choice, the endpoint's first. */
  function gateOf({ clientOrderid, request }: Order, { endpointId }: Initiated) {
    const { gateIds, settings } = configuration.endpoint(endpointId)!
    if (!settings.consumerDefinedRate) return configuration.gate(gateIds[0]!)
    const gate = configuration.gate(BigInt(request.transfer?.gateId ?? 0))
    const sure = chosen.get(clientOrderid)
    const isChosen = sure === undefined ? asked.get(clientOrderid)?.has(gate?.name ?? '') : sure === gate?.name
    return isChosen ? gate : undefined
  }

  function checkAmounts(order: Order): void {
    const wanted = initiated.get(order.clientOrderid)
    const gate = wanted && gateOf(order, wanted)
    if (!gate) return breaks('the fee is the one that was chosen', `nobody chose the gate of order ${order.orderId}`)
    const { terminalId } = gate.settings
    const amountMinor = BigInt(wanted.amountCentis!)
    const { debit, credit } = legsOf(order)
    const due = [
      ...debit.taken.map((e) => [e, amountMinor + commissionAt(gate.gateId, amountMinor)] as const),
      ...credit.taken.map((e) => [e, amountMinor] as const),
    ]
    for (const [{ kind, amountMinor: moved, terminal }, owed] of due)
      if (BigInt(moved) !== owed || terminal !== terminalId)
        breaks(
          'the fee is the one that was chosen',
          `order ${order.orderId} has a ${kind} of ${moved} at ${terminal}, not of ${owed} at ${terminalId}`,
        )
  }

  function checkBoth(order: Order, where: string): void {
    const { debit, credit } = legsOf(order)
    const [debits, credits] = [debit.standing.length, credit.standing.length]
    const due = statusOf(order) === 'approved' ? 1 : 0
    if (debits !== due || credits !== due)
      breaks(
        'a transfer moves money once and whole',
        `order ${order.orderId} is ${statusOf(order)} in ${where}; the acquirer has ${debits} debits and ${credits} credits`,
      )
  }

  return {
    choosing({ invoiceId }, assignedId) {
      asked.set(invoiceId, new Set([...(asked.get(invoiceId) ?? []), assignedId]))
    },
    chosen({ invoiceId, endpointId }, assignedId, { status, body }) {
      if (status >= 500) return
      const before = chosen.get(invoiceId)
      const isListed = configuration.endpoint(endpointId)!.gateIds.some((id) => configuration.gate(id)!.name === assignedId)
      if (status === 400 && before === assignedId)
        breaks(
          'the same request has the same answer',
          `${assignedId} of ${invoiceId} was taken, and is refused: ${body.error?.message}`,
        )
      if (status !== 200) return
      if (!isListed || (before !== undefined && before !== assignedId))
        breaks('the fee is the one that was chosen', `${assignedId} of ${invoiceId} is taken, after ${before ?? 'nothing'}`)
      chosen.set(invoiceId, assignedId)
    },
    listed({ invoiceId, endpointId, amountCentis }, { body }) {
      const due = configuration.endpoint(endpointId)!.gateIds.map((id) => ({
        assignedId: configuration.gate(id)!.name,
        commissionCentis: Number(commissionAt(id, BigInt(amountCentis!))),
        currency: 'USD',
      }))
      if (JSON.stringify(body.transferFeeList) !== JSON.stringify(due))
        breaks('the fee is the one that was chosen', `${invoiceId} lists ${JSON.stringify(body.transferFeeList)}`)
    },
    booked(order) {
      const { debit, credit } = legsOf(order)
      if (credit.standing.length > debit.standing.length)
        breaks('nothing is paid out that was not debited', `order ${order.orderId} has a credit without a debit`)
      if (credit.taken.length > 1 || debit.taken.length > 1)
        breaks(
          'a transfer moves money once and whole',
          `order ${order.orderId} was debited ${debit.taken.length} and credited ${credit.taken.length} times`,
        )
      checkAmounts(order)
    },
    committed(order) {
      if (finalStatuses.has(statusOf(order))) checkBoth(order, 'the store')
    },
    sent(order, { type, fields }) {
      const debit = order.transactions[0]!
      const credit = order.transactions.find((t) => t.kind === 'credit')
      if (type === '1200' && fields[3] === '260000' && debit.state !== 'crediting')
        breaks('nothing is paid out that was not debited', `order ${order.orderId} is ${debit.state} and credits`)
      const original = type.startsWith('14') ? readOriginal(fields[56] ?? '') : undefined
      const isDebits = order.attempts.some((a) => a.transactionNo === 1 && a.stan === original?.stan)
      if (!isDebits || !credit) return
      const mayStand = credit.state !== 'declined' && credit.state !== 'error'
      if (mayStand || legsOf(order).credit.standing.length > 0)
        breaks(
          'the debit stays while the credit may stand',
          `order ${order.orderId} gives its debit back; its credit is ${credit.state}`,
        )
    },
    settled: (order) => checkBoth(order, 'the end'),
  }
}
