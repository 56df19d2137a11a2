import type { Life, Moment } from '../../../operator/orders/life.ts'
import { agoText, spanText } from '../../../base/moments.ts'
import { orderFacts, transactionText, type Story } from '../../../operator/orders/order.ts'
import { statusOf, type Order, type Transaction } from '../../../order/decide/order.ts'
import { firedTable } from '../../../operator/configuration/filter-actions.ts'
import { blockText } from '../../rows.ts'
import { facts, paint, printable, statusColour } from '../present.ts'

export function storyText(story: Story, now: number): string {
  const { order, life, moments } = story
  const several = order.transactions.some((t) => t.step !== undefined) || order.transactions.length > 1
  return [
    `Order ${order.orderId}  ${paint(statusOf(order), statusColour(statusOf(order)))}`,
    facts(orderFacts(story, now)),
    ...(order.screening && order.screening.fired.length > 0 ? [blockText(firedTable(order.screening.fired))] : []),
    ...(several ? [facts(order.transactions.map((t) => [nameOf(t), transactionText(order, t, now), colourOf(t)]))] : []),
    ...order.transactions.flatMap((t) => parkedNote(order, t)),
    lifeLines(order, moments),
    ...life.deliveries.flatMap((d) => waiting(order, d, now)),
  ].join('\n\n')
}

const nameOf = (t: Transaction) => `#${t.no} ${t.kind}`
const colourOf = (t: Transaction) => (t.alarm === undefined ? undefined : 'red')

function parkedNote(order: Order, t: Transaction): string[] {
  if (t.alarm === undefined) return []
  const parked = `${paint(`${nameOf(t)} is parked`, 'red')} before the step "${t.step ?? ''}": ${printable(t.alarm)}`
  return [`${parked}\nMend the cause, then: npx tollgate order resume ${order.orderId}`]
}

function lifeLines(order: Order, moments: readonly Moment[]): string {
  const began = order.createdAt
  const days = new Set(moments.map((m) => new Date(m.at).toISOString().slice(0, 10)))
  const afters = moments.map((m) => `+${m.at === began ? '0' : spanText(Math.max(0, m.at - began))}`)
  const width = Math.max(...afters.map((a) => a.length))
  return moments
    .map((m, i) => {
      const iso = new Date(m.at).toISOString()
      const time = days.size > 1 ? iso.slice(0, 23).replace('T', ' ') : iso.slice(11, 23)
      const colour = m.went === 'well' ? 'green' : m.went === 'badly' ? 'red' : undefined
      return `  ${time}  ${paint(afters[i]!.padStart(width), 'dim')}  ${m.what.padEnd(7)}  ${paint(printable(m.says), colour)}`
    })
    .join('\n')
}

function waiting(order: Order, d: Life['deliveries'][number], now: number): string[] {
  const name = `${d.kind[0]!.toUpperCase()}${d.kind.slice(1)} ${d.deliveryNo}`
  if (d.state === 'given up')
    return [
      `${paint(`${name} was given up`, 'red')}. To send it again: npx tollgate delivery resend ${order.orderId} ${d.deliveryNo}`,
    ]
  if (d.state !== 'due') return []
  const when = d.tries.length === 0 ? 'is on its way' : `is tried again ${agoText(d.dueAt ?? now, now)}`
  return [`${name} ${when}.`]
}
