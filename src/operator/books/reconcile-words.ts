/** What differs between an acquirer and its gate, for people and for machines. */
import { minorToDecimal, knownCurrency } from '../../base/money.ts'
import type { RecordedOperation } from './acquirer-record.ts'
import { isoTime, timeText } from '../../base/moments.ts'
import type { Booked, Disagreement } from './reconcile.ts'
import type { BlockFacts } from './reconcile-rows.ts'
import type { LeftToOperator, Settled, Unsettled } from './settle.ts'
import { tableOf, type Block } from '../../entity/show.ts'

type Side = Pick<Booked, 'at' | 'terminalId' | 'stan' | 'rrn' | 'kind' | 'amountMinor' | 'currency'> & { orderId?: bigint }

const operationIn = (one: Disagreement): RecordedOperation | undefined => ('operation' in one ? one.operation : undefined)
const bookedIn = (one: Disagreement): Booked | undefined => ('booked' in one ? one.booked : undefined)
const sideOf = (one: Disagreement): Side => (one.is === 'only here' ? one.booked : one.operation)

const amountOf = ({ amountMinor, currency }: Pick<Side, 'amountMinor' | 'currency'>): string =>
  `${minorToDecimal(amountMinor, knownCurrency(currency).exponent)} ${currency}`

const there = (one: Disagreement): string => {
  const operation = operationIn(one)
  return operation ? `${operation.outcome}${one.is === 'amount' ? `, ${amountOf(operation)}` : ''}` : 'unknown'
}
const here = (one: Disagreement): string => {
  const booked = bookedIn(one)
  return booked ? `${booked.stands}${one.is === 'amount' ? `, ${amountOf(booked)}` : ''}` : 'unknown'
}

export const differencesTable = (differences: readonly Disagreement[]): Block =>
  tableOf<Disagreement>(
    [
      { title: 'TIME (UTC)', of: (one) => timeText(sideOf(one).at) },
      { title: 'STAN', of: (one) => sideOf(one).stan },
      { title: 'RRN', of: (one) => sideOf(one).rrn },
      { title: 'KIND', of: (one) => sideOf(one).kind },
      { title: 'AMOUNT', of: (one) => amountOf(sideOf(one)) },
      { title: 'ORDER', of: (one) => String(bookedIn(one)?.orderId ?? sideOf(one).orderId ?? '') },
      { title: 'ACQUIRER', of: there },
      { title: 'HERE', of: here },
    ],
    differences,
  )

export const differenceJson = (one: Disagreement) => ({
  differs: one.is.replace(' ', '_'),
  ...namesJson(sideOf(one)),
  acquirer: operationJson(operationIn(one)),
  here: bookedJson(bookedIn(one)),
})

const namesJson = ({ at, terminalId, stan, rrn, kind }: Side) => ({ time: isoTime(at), terminal: terminalId, stan, rrn, kind })

const operationJson = (operation: RecordedOperation | undefined) =>
  operation
    ? {
        outcome: operation.outcome,
        amount_minor: operation.amountMinor,
        currency: operation.currency,
        order_id: operation.orderId ?? null,
      }
    : null

const bookedJson = (booked: Booked | undefined) =>
  booked
    ? {
        outcome: booked.stands,
        amount_minor: booked.amountMinor,
        currency: booked.currency,
        order_id: booked.orderId,
        transaction: booked.transactionNo,
      }
    : null

export const settledJson = ({ operation, orderId }: Settled) => ({ ...namesJson(operation), order_id: orderId })
export const unsettledJson = ({ operation, why }: Unsettled) => ({
  ...namesJson(operation),
  order_id: operation.orderId ?? null,
  why,
})

export function blockText({ name, next, seen }: BlockFacts, isMoved: boolean, gateways: readonly string[]): string {
  const found = `The acquirer has seen ${name} ids up to ${seen}`
  if (!isMoved)
    return `${found}, and the next one is ${next}: ids would be drawn again. Start no gateway before --reverse or --import.`
  const running = gateways.length === 0 ? '' : ` Restart ${gateways.join(', ')}: what runs may have reserved ids before.`
  return `${found}; the next one is ${next} from now on.${running}`
}

export const leftText = (left: readonly Unsettled[]): string =>
  left.map(({ operation, why }) => `  ${operation.stan} ${timeText(operation.at)}, ${operation.kind}: ${words[why]}`).join('\n')

const words: Readonly<Record<LeftToOperator, string>> = {
  transfer: 'a leg of a transfer. Ask the acquirer whether both legs stand, and settle it there',
  'no money': 'no money moved. It can be taken over: --import',
  'too old': 'older than 30 days, when it may have left the database with its partition',
  'no endpoint of its currency': 'no endpoint is named for its currency: --endpoint',
  'its payment is not here': 'the payment that it draws on is not here. Add that to the record, or settle it there',
  'its order is here': 'its order is here, and goes on without this payment: --reverse',
  'captured or returned since': 'money of the payment was captured or returned since, so it is not reversed: --import',
  'order does not allow it': 'with it the order would have more captured or returned than it has',
  'order moved': 'a gateway changed the order meanwhile. Run it again',
}
