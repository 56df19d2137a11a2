/** Callbacks to merchants: see what arrived, send again. */
import { defined } from '../../base/defined.ts'
import { counted } from '../../base/moments.ts'
import { jsonBy, jsonOf, pick } from '../../entity/json.ts'
import { choice, flag, id, parsed, whole } from '../../entity/kinds.ts'
import { dated, hint, numbered } from '../../entity/show.ts'
import { action, pageOf, paging, type Given, type Actions } from '../action.ts'
import { withExport } from '../export.ts'
import { ofOneMerchant } from '../inputs.ts'
import { mostOf, periodOf, times } from '../lists.ts'
import { merchantIdOf } from '../where.ts'
import type { Office } from '../office.ts'
import { Refused } from '../refused.ts'
import { listDeliveries, resendDeliveries, type DeliveryKey, type DeliveryLine } from './delivery-rows.ts'

const filters = {
  state: { is: choice(['due', 'delivered', 'given-up'], 'state'), means: 'due, delivered or given-up' },
  merchant: ofOneMerchant,
  ...times('owed'),
} as const

const queryOf = async ({ pool, clock }: Office, asked: Given<typeof filters> & { order?: bigint }) =>
  defined({
    state: asked.state === 'given-up' ? ('given up' as const) : asked.state,
    orderId: asked.order,
    merchantId: await merchantIdOf(pool, asked.merchant),
    ...periodOf(asked, clock.now()),
  })

const place = parsed<DeliveryKey>('order/number', 'order/number, such as 1000001/1', (text) => {
  const match = /^([1-9][0-9]{0,17})\/([1-9][0-9]{0,8})$/.exec(text)
  return match ? { orderId: BigInt(match[1]!), deliveryNo: Number(match[2]) } : undefined
})

/** In one word, as in searches. */
const stateText = ({ state }: DeliveryLine) => (state === 'given up' ? 'given-up' : state)

const lastOf = ({ lastAt, failure, httpStatus }: DeliveryLine) =>
  lastAt === undefined ? 'none yet' : (failure ?? `answered ${httpStatus}`)

const callbacks: Actions = {
  'delivery list': action({
    does: 'callbacks with what their last try came to, newest first',
    needs: 'cards',
    forMerchants: true,
    takes: {
      order: { is: id, names: 'order', means: 'only of this order' },
      ...filters,
      limit: mostOf('callbacks on a page'),
      after: { is: place, names: 'order', means: 'the next page: after this one' },
    },
    async perform(office, { limit, after, ...asked }) {
      const query = { ...(await queryOf(office, asked)), ...defined({ after }), limit: limit + 1 }
      return pageOf(await listDeliveries(office, query), limit, (d) => `${d.orderId}/${d.deliveryNo}`)
    },
    gives: paging<DeliveryLine, { limit: number; after?: DeliveryKey }>({
      name: 'deliveries',
      json: jsonBy(
        'order_id:id kind url tries:count created_at:time due_at:time? delivery:count merchant state last_try:object?',
        (d: DeliveryLine) => {
          const lastTry = d.lastAt && jsonOf({ ...pick(d, 'httpStatus', 'failure'), at: d.lastAt })
          return { ...d, delivery: d.deliveryNo, merchant: d.login, state: stateText(d), lastTry }
        },
      ),
      columns: (now) => [
        numbered(
          'ORDER',
          (d) => d.orderId,
          (d) => `order show ${d.orderId}`,
        ),
        numbered('NO', (d) => d.deliveryNo),
        { title: 'MERCHANT', of: (d) => d.login },
        { title: 'STATE', of: stateText, is: 'status' },
        numbered('TRIES', (d) => d.tries),
        { title: 'LAST TRY', of: lastOf },
        { ...dated('NEXT', now, ({ dueAt }) => dueAt && Math.max(dueAt, now)), at: (d) => d.dueAt },
        dated('OWED', now, (d) => d.createdAt),
        { title: 'URL', of: (d) => d.url },
      ],
      none: ({ limit: _limit, ...asked }) =>
        Object.keys(asked).length > 0
          ? hint('No callback fits. See all', 'delivery list')
          : 'No callbacks yet. They are owed when an order is final and its request or endpoint names a callback URL.',
    }),
    examples: ['delivery list --state due', 'delivery list --merchant shop --from 2h', 'delivery list --order 1000001'],
  }),
  'delivery resend': action({
    does: 'sends callbacks again: due now, with all their tries before them',
    needs: 'deliver',
    forMerchants: true,
    takes: {
      order: { is: id, argument: true, recorded: true, names: 'order', means: "the gateway's order id" },
      number: {
        is: whole(1, 1_000_000),
        argument: true,
        recorded: true,
        means: 'number of the callback within the order; all of the order if left out',
      },
      ...filters,
      yes: { is: flag, means: 'send more than one without being asked' },
    },
    async perform(office, { number: deliveryNo, yes, ...asked }) {
      const query = await queryOf(office, asked)
      if (Object.keys(query).length === 0) throw new Refused({ what: 'no deliveries named' })
      return resendDeliveries(office, { ...query, ...defined({ deliveryNo }) }, yes === true)
    },
    gives: {
      json: ({ resent, inHand, erased }) => ({ resent, in_hand: inHand, erased }),
      blocks: ({ resent, inHand, erased }) => [
        `${[
          `${counted(resent, 'callback')} sent again`,
          ...(inHand > 0 ? [`${inHand} being sent at this moment were left alone`] : []),
          ...(erased > 0 ? [`${erased} are of orders whose payer's data was erased`] : []),
        ].join('; ')}.`,
        hint('A running gateway takes them up within a second. See', 'delivery list --state due'),
      ],
    },
    more: `Merchants may get an outcome again that they have. What is being sent at the moment is left alone. The record of
earlier tries is kept.`,
    examples: [
      'delivery resend 1000001 1',
      'delivery resend 1000001 --yes',
      'delivery resend --state given-up --merchant shop --yes',
      'delivery resend --merchant shop --from 2030-01-31T10:00 --to 2030-01-31T12:00 --yes',
    ],
  }),
}

export const deliveryActions = withExport(callbacks, 'delivery list', {
  does: 'writes what delivery list lists, all pages of it, to standard output',
  examples: ['delivery export --state given-up --from 7d > given-up.csv'],
})
