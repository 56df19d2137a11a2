import { agoText, spanText } from '../../base/moments.ts'
import { hint, printable, tableOf, type Block } from '../../entity/show.ts'
import { statusOf, type Order, type Transaction } from '../../order/decide/order.ts'
import { firedTable } from '../configuration/filter-actions.ts'
import type { Life, LifeMoment } from './life.ts'
import { orderFacts, transactionText, type Story } from './order.ts'

export function storyBlocks(story: Story, now: number): Block[] {
  const { order, life, moments } = story
  const { transactions, screening } = order
  const several = transactions.some((t) => t.step !== undefined) || transactions.length > 1
  return [
    `Order ${order.orderId}`,
    { facts: [['Status', statusOf(order), 'status'], ...orderFacts(story, now)] },
    ...(screening && screening.fired.length > 0 ? [firedTable(screening.fired)] : []),
    ...(several ? [{ facts: transactions.map((t) => [nameOf(t), transactionText(order, t, now), 'status'] as const) }] : []),
    ...transactions.flatMap((t) => parkedNote(order, t)),
    lifeTable(order, moments),
    ...life.deliveries.flatMap((d) => waiting(order, d, now)),
  ]
}

const nameOf = (t: Transaction) => `#${t.no} ${t.kind}`

const parkedNote = (order: Order, t: Transaction): Block[] =>
  t.alarm === undefined
    ? []
    : [
        `${nameOf(t)} is parked before the step "${t.step ?? ''}": ${printable(t.alarm)}`,
        hint('Mend the cause, then', `order resume ${order.orderId}`),
      ]

function lifeTable({ createdAt: began }: Order, moments: readonly LifeMoment[]): Block {
  const timeOf = ({ at }: LifeMoment) => new Date(at).toISOString().slice(0, 23).replace('T', ' ')
  const days = new Set(moments.map((m) => timeOf(m).slice(0, 10)))
  return tableOf<LifeMoment>(
    [
      { title: 'TIME (UTC)', of: (m) => timeOf(m).slice(days.size > 1 ? 0 : 11) },
      { title: 'AFTER', of: ({ at }) => `+${at === began ? '0' : spanText(Math.max(0, at - began))}`, align: 'right' },
      { title: 'KIND', of: (m) => m.what },
      { title: 'WHAT', of: (m) => m.says, went: (m) => m.went },
    ],
    moments,
  )
}

function waiting(order: Order, d: Life['deliveries'][number], now: number): Block[] {
  const name = `${d.kind[0]!.toUpperCase()}${d.kind.slice(1)} ${d.deliveryNo}`
  if (d.state === 'given up')
    return [hint(`${name} was given up. To send it again`, `delivery resend ${order.orderId} ${d.deliveryNo}`)]
  if (d.state !== 'due') return []
  const when = d.tries.length === 0 ? 'is on its way' : `is tried again ${agoText(d.dueAt ?? now, now)}`
  return [`${name} ${when}.`]
}
