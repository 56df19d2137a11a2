/** How lists of any subject show orders. */
import { currencyOf, minorToDecimal } from '../base/money.ts'
import type { ShownCard } from '../card/number.ts'
import { dated, numbered, type Column } from '../entity/show.ts'
import type { OrderKey } from '../order/decide/change.ts'

export interface ListedOrder extends OrderKey {
  login: string
  clientOrderid: string
  amountMinor: bigint
  currency: string
  status: string
  card: ShownCard
  createdAt: number
  /** One of its transactions was parked for an operator. */
  parked?: boolean
}

/** In the highest unit of its currency. */
export const decimalOf = (o: { amountMinor: bigint; currency: string }): string =>
  minorToDecimal(o.amountMinor, currencyOf(o.currency)?.exponent ?? 0)

export const maskOf = ({ bin, lastFour }: Pick<ShownCard, 'bin' | 'lastFour'>): string => `${bin}******${lastFour}`

export const orderColumns = (now: number): Column<ListedOrder>[] => [
  numbered(
    'ORDER',
    (o) => o.orderId,
    (o) => `order show ${o.orderId}`,
  ),
  { title: 'MERCHANT', of: (o) => o.login },
  { title: 'CLIENT ORDERID', of: (o) => o.clientOrderid },
  { title: 'AMOUNT', of: decimalOf, align: 'point' },
  { title: 'CUR', of: (o) => o.currency },
  { title: 'STATUS', of: (o) => `${o.status}${o.parked ? ' (parked)' : ''}`, is: 'status' },
  { title: 'CARD', of: (o) => `${o.card.bin}…${o.card.lastFour}` },
  dated('MADE', now, (o) => o.createdAt),
]
