/** Data of a person: to find, export and erase it. */
import { counted, timeText } from '../../base/moments.ts'
import { jsonOf, pick } from '../../entity/json.ts'
import { flag, id } from '../../entity/kinds.ts'
import { tableOf, type Block, type Column } from '../../entity/show.ts'
import { action, type Actions } from '../action.ts'
import { inTurn } from '../in-cells.ts'
import { mostOf } from '../lists.ts'
import { orderColumns } from '../order-lines.ts'
import { eraseTraces, wouldErase } from './erase.ts'
import { readStored, storedOrderJson, storedOtherJson } from './export.ts'
import { named } from './inputs.ts'
import { changesListing, type ListingChange } from './listed.ts'
import { allTraces, findTraces, soughtOf, type Naming } from './search.ts'
import type { LeftUnerased, OrderTrace } from './subject.ts'

const naming = `Name the person by one of --email, --phone, --card and --order. The first three take a file with one value a line,
all of the same person; - is standard input. E-mail addresses and numbers are searched in their own fields, not within
texts. --card needs TOLLGATE_KEY_FILE. A search by e-mail or phone reads every order, a page at a time. In the histories of
filters it looks for the values given here and those of the orders it finds.`
const ofErasing = `An order is left out while work on it is running (open), a callback is not delivered yet (callbacks), or it
ended too recently for a return or a chargeback (young: --older-than, --unapproved-after). Run the command again later.
Card references that were made with an erased order are removed: the merchant cannot charge them any more.
Run it as a member of tollgate_retention. It can be stopped and run again. Backups keep the data they have.`

const leftText: Readonly<Record<LeftUnerased, string>> = { open: 'open', callbacks: 'callbacks are due', young: 'too young' }

function leftIn(left: Readonly<Record<LeftUnerased, number>>): string {
  const reasons = (Object.entries(left) as [LeftUnerased, number][]).filter(([, count]) => count > 0)
  return reasons.length === 0 ? '' : ` Left for now: ${reasons.map(([why, count]) => `${count} (${leftText[why]})`).join(', ')}.`
}

const seen = (by: string, { merchant }: Naming, found: object) => ({
  subject: merchant === undefined ? 'a person' : `a person at ${merchant}`,
  details: { by, ...found },
})

const changeJson = ({ login: merchant, filterNo: filter, changeId: change, ...more }: Omit<ListingChange, 'added' | 'removed'>) =>
  jsonOf({ entity: 'filter', merchant, filter, change, ...more })
const changeText = ({ login, filterNo, changeId, action: done, at }: ListingChange) =>
  `in the history of filter ${filterNo} of ${login}: change ${changeId} (${done}, ${timeText(at)})`

const find = action({
  does: 'lists the orders with data of a person, and whether it can be erased',
  needs: 'persons',
  long: true,
  takes: { ...named, limit: mostOf('orders on a page'), after: { is: id, means: 'the next page: after this order' } },
  async perform(office, asked) {
    const sought = await soughtOf(office, asked)
    const { orders, others, next } = await findTraces(sought, asked.limit, asked.after)
    const { person, logins } = sought
    const changes = await changesListing(office, sought, orders)
    return { by: person.by, orders: orders.map(logins.named), others: others.map(logins.named), changes, next }
  },
  looks: ({ by, orders, changes }, asked) => seen(by, asked, { found: orders.length, changes: changes.length }),
  gives: {
    json: ({ orders, others, changes, next }) => ({
      orders: orders.map((o) =>
        jsonOf({
          ...pick(o, 'orderId', 'clientOrderid', 'status', 'createdAt', 'endedAt', 'erasedAt', 'left'),
          merchant: o.login,
          card: jsonOf(pick(o.card, 'bin', 'lastFour')),
        }),
      ),
      others: others.map(({ is, id: called, login: merchant, createdAt, left }) =>
        jsonOf({ [is === 'invoice' ? 'invoiceId' : 'cardRefId']: called, merchant, createdAt, left }),
      ),
      changes: changes.map(({ added: _added, removed: _removed, ...one }) => changeJson(one)),
      next: next ?? null,
    }),
    blocks({ orders, others, changes, next }, { now }): Block[] {
      if (orders.length + others.length + changes.length === 0) return ['Nothing is stored of this person.']
      const loose = others.map(({ is, id: called, login, left }) => {
        const why = left === undefined ? '' : `: ${leftText[left]}`
        return `${is} ${called} of ${login}, without an order${why}`
      })
      const data: Column<OrderTrace> = {
        title: 'DATA',
        of: ({ erasedAt, left }) => (erasedAt ? 'erased' : left === undefined ? 'can be erased' : leftText[left]),
      }
      return [
        ...(orders.length > 0 ? [tableOf([...orderColumns(now), data], orders)] : []),
        ...(loose.length > 0 ? [loose.join('\n')] : []),
        ...(changes.length > 0 ? [changes.map(changeText).join('\n')] : []),
        ...(next === undefined ? [] : [{ after: String(next) }]),
      ]
    },
  },
  more: naming,
  examples: ['subject find --email - < address.txt', 'subject find --card card.txt --merchant shop'],
})

const exportAll = action({
  does: 'prints the stored data of a person as JSON; card numbers are masked',
  needs: 'persons',
  long: true,
  takes: named,
  async perform(office, asked) {
    const sought = await soughtOf(office, asked)
    const stored = await inTurn(await allTraces(sought), (found) => readStored(found, sought.logins))
    const [orders, others] = [stored.flatMap((one) => one.orders), stored.flatMap((one) => one.others)]
    return { by: sought.person.by, orders, others, changes: await changesListing(office, sought, orders) }
  },
  looks: ({ by, orders, others, changes }, asked) =>
    seen(by, asked, { orders: orders.length, others: others.length, changes: changes.length }),
  gives: {
    json: ({ orders, others, changes }) => ({
      orders: orders.map(storedOrderJson),
      others: others.map(storedOtherJson),
      changes: changes.map(changeJson),
    }),
  },
  more: naming,
  examples: ['subject export --email address.txt > person.json'],
})

const erase = action({
  does: 'erases the stored data of a person; amounts, states, lists of filters and the audit trail stay',
  needs: 'erase',
  long: true,
  takes: { ...named, yes: { is: flag, means: 'erases it; without it the command only shows what would be erased' } },
  async perform(office, asked) {
    const sought = await soughtOf(office, asked)
    const found = await allTraces(sought)
    return asked.yes ? eraseTraces(office, sought.person, found) : wouldErase(found)
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
              `${counted(done.references, 'card reference')}, and values in ${counted(done.changes, 'change')} of filters.` +
              leftIn(done.left),
          ],
  },
  more: `${naming}\n\n${ofErasing}`,
  examples: ['subject erase --email address.txt', 'subject erase --email address.txt --yes'],
})

export const subjectActions: Actions = { 'subject find': find, 'subject export': exportAll, 'subject erase': erase }
