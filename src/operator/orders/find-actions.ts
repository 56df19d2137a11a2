/** One payment, by whatever names it. */
import { defined } from '../../base/defined.ts'
import { counted, timeText } from '../../base/moments.ts'
import { choice, kind, list, Unreadable } from '../../entity/kinds.ts'
import { hint, tableOf } from '../../entity/show.ts'
import { action, type Actions } from '../action.ts'
import type { Missed } from '../in-cells.ts'
import { ofOneMerchant } from '../inputs.ts'
import { mostOf, periodOf, times } from '../lists.ts'
import { decimalOf, orderColumns } from '../order-lines.ts'
import { troubleOf } from '../trouble.ts'
import { findKinds, findNames, kindsOf } from './find-kinds.ts'
import { findByAnything, triedOf, type FoundOrder } from './find-rows.ts'
import { lineJson } from './order.ts'

const anything = kind<string>({
  hint: 'anything',
  read: (text) => (kindsOf(text.trim()).length > 0 ? text.trim() : new Unreadable('a text of one line, of 1 to 128 characters')),
  orInput: true,
})
const called = (names: readonly (keyof typeof findKinds)[]) => names.map((name) => findKinds[name].called).join(', ')
const isExact = ({ by }: FoundOrder) => by.some((name) => findKinds[name].exact)

export const findActions: Actions = {
  find: action({
    does: 'finds a payment by anything that identifies it, newest first',
    needs: 'cards',
    forMerchants: true,
    long: true,
    takes: {
      what: { is: anything, argument: true, piped: true, means: `${called(findNames)}; standard input if left out` },
      as: { is: list(choice(findNames), 'kinds'), means: `search only for these: ${findNames.join(', ')}` },
      merchant: ofOneMerchant,
      ...times('made'),
      limit: mostOf('orders'),
    },
    async perform(office, { from, to, ...asked }) {
      const [all, missed]: [FoundOrder[], Missed] = [[], new Map()]
      const period = periodOf(defined({ from, to }), office.clock.now())
      for await (const some of findByAnything(office, { ...asked, ...period }, missed)) {
        await office.seen?.({ found: some })
        for (const one of some) office.found?.(one)
        all.push(...some)
      }
      for (const failed of missed.values()) office.progress(troubleOf(failed)!.says)
      return { found: all, missed: [...missed.keys()] }
    },
    leaves: ({ missed }) => (missed.length > 0 ? { what: 'cells not searched', cells: missed } : undefined),
    /** Never the text: it may be an address or a card. */
    looks: ({ found }, asked) => ({
      subject: 'orders',
      details: { by: triedOf(asked, found).tried, found: found.map(({ orderId }) => String(orderId)) },
    }),
    gives: {
      json: ({ found, missed }, asked) => {
        const { tried, left } = triedOf(asked, found)
        const orders = found.map((one) => ({ ...lineJson(one), found_by: one.by }))
        const ignored = found.some(isExact)
        return { orders, looked_by: tried, not_looked_by: left, filters_ignored: ignored, cells_not_searched: missed }
      },
      each: (one) =>
        `${one.orderId}  ${timeText(one.createdAt)}  ${one.login}  ${decimalOf(one)} ${one.currency}  ${one.status}  ` +
        `${one.card.bin}…${one.card.lastFour}  ${one.clientOrderid}  (${called(one.by)})`,
      all: ({ found }, now) =>
        tableOf<FoundOrder>([...orderColumns(now), { title: 'FOUND BY', of: ({ by }) => called(by) }], found),
      blocks({ found, missed }, { asked: { limit, merchant, from, to, ...asked } }) {
        const { tried, left } = triedOf(asked, found)
        const filtered = merchant !== undefined || from !== undefined || to !== undefined
        const where = missed.length > 0 ? ' where it could be searched' : ''
        if (found.length === 0)
          return [`Nothing is found${where} by: ${called(tried)}.`, hint('By amount, status or time', 'order find --help')]
        return [
          `${counted(found.length, 'order')}, found by: ${called([...new Set(found.flatMap(({ by }) => by))])}.`,
          ...(filtered && found.some(isExact) ? ['An exact id names one payment: merchant and times were ignored for it.'] : []),
          ...(left.length > 0 ? [`Not read for: ${called(left)}. Every order is read for that with --as ${left.join()}.`] : []),
          ...(found.length >= limit ? ['There may be more: give a larger --limit, or times.'] : []),
        ]
      },
    },
    more: `The text is tried as everything that it can be. An order id, a serial number, a receipt, an invoice or a callback
(order/number) is exact and ignores all filters. For an e-mail address or a telephone number the command reads every order,
back in time, and shows each match when it finds it. Put addresses and card numbers on standard input, so that they do not stay
in the shell's history. A card number and some receipts need TOLLGATE_KEY_FILE. A cell that does not answer is left out and named,
and the command ends with 1.`,
    examples: ['find 1000001', 'find invoice-17 --merchant shop', 'find 000000001234 --as rrn', 'find < address.txt'],
  }),
}
