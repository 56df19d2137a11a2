/** Data of a person: to find, export and erase it. */
import { agoText, counted } from '../../base/moments.ts'
import { flag, id, whole } from '../../entity/kinds.ts'
import { numbered, tableOf, type Block, type Column } from '../../entity/show.ts'
import { action, type Subject } from '../action.ts'
import { inCell } from '../in-cells.ts'
import { decimalOf } from '../orders/order.ts'
import { countedLeft, eraseTraces, type Erased } from './erase.ts'
import { readStored } from './export.ts'
import { named } from './inputs.ts'
import { allTraces, findTraces, soughtOf, type Naming, type Sought } from './search.ts'
import { orderTraceJson, otherTraceJson, storedOrderJson, storedOtherJson } from './subject-json.ts'
import type { LeftUnerased, OrderTrace } from './subject.ts'

const naming = `A person is named by one of --email, --phone, --card and --order. The first three name a file with one
value a line, all of the same person; - is standard input. E-mail addresses and numbers are looked for in the fields for
them, not within texts.
--card needs TOLLGATE_KEY_FILE. By e-mail or phone every order is read, a page at a time.`
const ofErasing = `An order is left while something of it is under way (open), a callback is not delivered yet (callbacks), or
it ended too lately for a return or a chargeback (young: --older-than, --unapproved-after). Run it again then.
Card references that were made with an erased order are removed: the merchant cannot charge them any more.
Run it as a member of tollgate_retention. It can be stopped and begun again. Backups keep what they had.`

const leftText: Readonly<Record<LeftUnerased, string>> = { open: 'open', callbacks: 'callbacks are due', young: 'too young' }

function leftIn(left: Readonly<Record<LeftUnerased, number>>): string {
  const reasons = (Object.entries(left) as [LeftUnerased, number][]).filter(([, count]) => count > 0)
  return reasons.length === 0 ? '' : ` Left for now: ${reasons.map(([why, count]) => `${count} (${leftText[why]})`).join(', ')}.`
}

const seen = ({ person }: Sought, { merchant }: Naming, found: object) => ({
  subject: merchant === undefined ? 'a person' : `a person at ${merchant}`,
  details: { by: person.by, ...found },
})

const columns = ({ logins }: Sought, now: number): Column<OrderTrace>[] => [
  numbered('ORDER', (o) => o.orderId),
  { title: 'MERCHANT', of: (o) => logins.of(o.merchantId) },
  { title: 'CLIENT ORDERID', of: (o) => o.clientOrderid },
  { title: 'AMOUNT', of: decimalOf, align: 'point' },
  { title: 'CUR', of: (o) => o.currency },
  { title: 'STATUS', of: (o) => o.status, is: 'status' },
  { title: 'CARD', of: (o) => `${o.card.bin}…${o.card.lastFour}` },
  { title: 'MADE', of: (o) => agoText(o.createdAt, now) },
  { title: 'DATA', of: ({ erasedAt, left }) => (erasedAt ? 'erased' : left === undefined ? 'can be erased' : leftText[left]) },
]

const find = action({
  does: 'the orders that hold data of a person, and whether it can be erased',
  needs: 'persons',
  long: true,
  takes: {
    ...named,
    limit: { is: whole(1, 1_000), usual: 20, means: 'orders on a page' },
    after: { is: id, means: 'the next page: after this order' },
  },
  async perform(office, asked) {
    const sought = await soughtOf(office, asked)
    return { sought, ...(await findTraces(sought, asked)) }
  },
  looks: ({ sought, orders }, asked) => seen(sought, asked, { found: orders.length }),
  gives: {
    json: ({ sought: { logins }, orders, others, next }) => ({
      orders: orders.map((o) => orderTraceJson(logins.of(o.merchantId), o)),
      others: others.map((o) => otherTraceJson(logins.of(o.merchantId), o)),
      next: next ?? null,
    }),
    blocks({ sought, orders, others, next }, { now }): Block[] {
      if (orders.length + others.length === 0) return ['Nothing is stored of this person.']
      const loose = others.map(({ is, id: called, merchantId, left }) => {
        const why = left === undefined ? '' : `: ${leftText[left]}`
        return `${is} ${called} of ${sought.logins.of(merchantId)}, without an order${why}`
      })
      return [
        ...(orders.length > 0 ? [tableOf(columns(sought, now), orders)] : []),
        ...(loose.length > 0 ? [loose.join('\n')] : []),
        ...(next === undefined ? [] : [`There are more: add --after ${next}`]),
      ]
    },
  },
  more: naming,
  examples: ['subject find --email - < address.txt', 'subject find --card card.txt --merchant shop'],
})

const exportAll = action({
  does: 'prints as JSON what is stored of a person; card numbers are masked',
  needs: 'persons',
  long: true,
  takes: named,
  async perform(office, asked) {
    const sought = await soughtOf(office, asked)
    const traces = await allTraces(sought)
    const stored = []
    for (const one of traces) stored.push(await inCell(one.cell, ({ pool }) => readStored(pool, one)))
    return { sought, orders: stored.flatMap(({ orders }) => orders), others: stored.flatMap(({ others }) => others) }
  },
  looks: ({ sought, orders, others }, asked) => seen(sought, asked, { orders: orders.length, others: others.length }),
  gives: {
    json: ({ sought: { logins }, orders, others }) => ({
      orders: orders.map(({ order, urls }) => storedOrderJson(logins.of(order.merchantId), order, urls)),
      others: others.map((one) => storedOtherJson(logins.of(one.merchantId), one)),
    }),
  },
  more: naming,
  examples: ['subject export --email address.txt > person.json'],
})

interface WouldErase {
  would: { orders: number; others: number }
  left: Record<LeftUnerased, number>
}

const erase = action({
  does: 'erases what is stored of a person; amounts, states and the audit trail stay',
  needs: 'erase',
  long: true,
  takes: { ...named, yes: { is: flag, means: 'do it; without, it only says what would be erased' } },
  async perform(office, asked): Promise<Erased | WouldErase> {
    const sought = await soughtOf(office, asked)
    const found = await allTraces(sought)
    if (asked.yes) return eraseTraces(office, sought.bounds, sought.person.by, found)
    const [orders, others] = [found.flatMap((one) => one.orders), found.flatMap((one) => one.others)]
    const fit = orders.filter(({ left, erasedAt }) => left === undefined && erasedAt === undefined)
    const loose = others.filter(({ left }) => left === undefined)
    return { would: { orders: fit.length, others: loose.length }, left: countedLeft([...orders, ...others]) }
  },
  gives: {
    json: (done) => ('would' in done ? { would_erase: done.would, left: done.left } : done),
    blocks: (done) =>
      'would' in done
        ? [
            `${counted(done.would.orders, 'order')} would be erased, and ${done.would.others} without an order.` +
              leftIn(done.left),
            'Look at them with subject find, then add --yes.',
          ]
        : [
            `Erased: ${counted(done.orders, 'order')}, ${counted(done.invoices, 'invoice')}, ` +
              `${counted(done.references, 'card reference')}.${leftIn(done.left)}`,
          ],
  },
  more: `${naming}\n\n${ofErasing}`,
  examples: ['subject erase --email address.txt', 'subject erase --email address.txt --yes'],
})

export const subjectActions: Subject = {
  groups: { subject: 'data of a person: find, export and erase it' },
  actions: { 'subject find': find, 'subject export': exportAll, 'subject erase': erase },
}
