/** Payments: search, see their history, resume parked ones, capture, return, void. */
import { defined } from '../../base/defined.ts'
import { counted } from '../../base/moments.ts'
import { anyText, choice, currency, flag, id, list, text } from '../../entity/kinds.ts'
import { hint, printable } from '../../entity/show.ts'
import { action, paging, type Actions } from '../action.ts'
import { withExport } from '../export.ts'
import { anOrder, ofOneMerchant } from '../inputs.ts'
import { mostOf, periodOf, times } from '../lists.ts'
import { merchantIdOf } from '../where.ts'
import { orderColumns } from '../order-lines.ts'
import { followActions } from './follow-actions.ts'
import { findPage, resumeOrder, type OrderLine } from './order-rows.ts'
import { lineJson, orderJson, orderStory, payerOf, reasonText, storyBlocks } from './order.ts'

const statuses = ['approved', 'declined', 'error', 'filtered', 'processing', 'unknown'] as const

/** The filters of a search, without its other inputs. */
const criteriaOf = (asked: object) => Object.keys(asked).filter((name) => !['limit', 'after', 'merchant'].includes(name))

const orders: Actions = {
  'order show': action({
    does: 'shows an order as a time line: requests, 3-D Secure, states, attempts at the acquirer, callbacks with every try',
    needs: 'cards',
    forMerchants: true,
    takes: {
      id: anOrder,
      payer: {
        is: flag,
        needs: 'persons',
        means: 'also shows name, addresses and telephone number of the payer, and the description',
      },
    },
    async perform(office, asked) {
      const story = await orderStory(office, asked.id)
      return { ...story, ...(asked.payer && { payer: payerOf(story.order) }) }
    },
    looks: (_, asked) => ({ subject: `order ${asked.id}`, ...(asked.payer && { details: { payer: true } }) }),
    gives: { json: orderJson, blocks: (story, { now }) => storyBlocks(story, now) },
    more: 'Times are UTC. The card number is always masked. --payer needs the permission persons, and the audit trail notes it.',
    examples: ['order show 1000001', 'order show 1000001 --json', 'order show 1000001 --payer'],
  }),
  'order find': action({
    does: 'searches orders, newest first',
    needs: 'cards',
    forMerchants: true,
    takes: {
      merchant: ofOneMerchant,
      clientOrderid: { is: anyText('id'), means: "the merchant's own id of the order, exactly as it was sent" },
      cardHashId: {
        is: anyText('hash'),
        means: 'the card-hash-id that status and order show print: all orders of one card at one merchant',
      },
      status: { is: list(choice(statuses), 'list'), means: `${statuses.join(', ')}; several separated by commas` },
      code: {
        is: list(text('code', /^/u, 'a text'), 'codes'),
        means: 'error codes of declines and errors, such as 116; several separated by commas',
      },
      amount: { is: text('decimal', /^/u, 'a text'), means: 'the amount of the order, such as 10.42' },
      currency: { is: currency, means: 'the currency of the order, ISO 4217' },
      ...times('made'),
      parked: { is: flag, means: 'only orders that wait for an operator' },
      limit: mostOf('orders on a page'),
      after: { is: id, names: 'order', means: 'the next page: after this order' },
    },
    async perform(office, { merchant, from, to, limit, ...asked }) {
      const period = periodOf(defined({ from, to }), office.clock.now())
      const merchantId = await merchantIdOf(office.pool, merchant)
      return findPage(office, defined({ ...asked, ...period, merchantId, limit }))
    },
    /** By which criteria was searched, and between which orders what was found lies. */
    looks: ({ rows }, { merchant, ...asked }) => ({
      subject: merchant === undefined ? 'orders' : `orders of ${merchant}`,
      details: {
        by: [...criteriaOf(asked), ...(merchant === undefined ? [] : ['merchantId'])],
        found: rows.length,
        ...(rows.length > 0 && { newest: String(rows[0]!.orderId), oldest: String(rows.at(-1)!.orderId) }),
      },
    }),
    gives: paging<OrderLine, { merchant?: string; parked?: boolean; after?: bigint }>({
      name: 'orders',
      json: lineJson,
      columns: (now) => [...orderColumns(now), { title: 'REASON', of: (o) => reasonText(o) ?? '' }],
      none({ merchant, after, ...asked }) {
        const by = criteriaOf(asked).join()
        if (merchant !== undefined || after !== undefined || (by !== '' && by !== 'parked'))
          return hint('No order fits. Leave something out of the search, or see all', 'order find')
        return by === 'parked'
          ? 'Nothing is parked.'
          : 'No orders yet. The banner of the sandbox and the README show how to send the first sale.'
      },
    }),
    more: `An order must match all options. For an amount, a currency or a code a page looks at 20,000 orders at most, and
the next page continues there. A search that takes longer than 15 s is ended; dates and --merchant make it quicker.`,
    examples: [
      'order find',
      'order find --client-orderid invoice-17',
      'order find --status unknown,error --from 24h',
      'order find --amount 10.42 --currency USD --from 2030-01-01 --to 2030-02-01',
      'order find --code 116,51 --from 24h',
      'order find --parked',
    ],
  }),
  'order resume': action({
    does: 'resumes the parked work of an order now, with as many tries as new work',
    needs: 'money',
    takes: { id: anOrder },
    perform: (office, asked) => resumeOrder(office, asked.id),
    gives: {
      json: (resumed, asked) => ({
        order_id: asked.id,
        resumed: resumed.map(({ transactionNo: transaction, step = null, alarm }) => ({ transaction, step, alarm })),
      }),
      blocks: (resumed, { asked }) => [
        [
          `${counted(resumed.length, 'transaction')} of order ${asked.id} taken up again:`,
          ...resumed.map(
            ({ transactionNo, step, alarm }) =>
              `  #${transactionNo}${step === undefined ? '' : `, next: ${step}`}; it was parked because: ${printable(alarm)}`,
          ),
        ].join('\n'),
        hint('See what comes of it', `order show ${asked.id}`),
      ],
    },
    more: `An order whose processing fails again and again is parked with an alarm, so that it delays no other order. See why with
order show, repair the cause, then resume it. An authorisation whose outcome is open is never sent a second time.`,
    examples: ['order resume 1000001'],
  }),
  ...followActions,
}

export const orderActions = withExport(orders, 'order find', {
  does: 'writes the result of order find, all pages, to standard output',
  examples: ['order export --from 2030-01-01 --to 2030-02-01 > january.csv', 'order export --status unknown,error --as ndjson'],
})
