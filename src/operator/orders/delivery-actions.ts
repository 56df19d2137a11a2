/** Callbacks to merchants: see what arrived, send again. */
import { defined } from '../../base/defined.ts'
import { counted, isoTime, spanText } from '../../base/moments.ts'
import { originOf } from '../../delivery/delivery.ts'
import { jsonBy, jsonOf, pick } from '../../entity/json.ts'
import { choice, flag, id, parsed, whole } from '../../entity/kinds.ts'
import { dated, hint, numbered } from '../../entity/show.ts'
import { action, listing, pageOf, paging, type Given, type Actions } from '../action.ts'
import { withExport } from '../export.ts'
import { anOrder, ofOneMerchant } from '../inputs.ts'
import { mostOf, periodOf, times } from '../lists.ts'
import { merchantIdOf } from '../where.ts'
import type { Office } from '../office.ts'
import { Refused } from '../refused.ts'
import { listDeliveries, listOrigins, resendDeliveries } from './delivery-rows.ts'
import type { DeliveryKey, DeliveryLine, DeliveryOrigin } from './delivery-rows.ts'
import { deliveryBlocks, deliveryStory, stateText } from './order.ts'

const anOrigin = parsed('origin', 'scheme, host and port, such as https://shop.example', (text) =>
  URL.canParse(text) ? originOf(text) : undefined,
)
const whose = { merchant: ofOneMerchant, origin: { is: anOrigin, means: 'only to this server' }, ...times('owed') } as const
const filters = {
  state: { is: choice(['due', 'delivered', 'given-up'], 'state'), means: 'due, delivered or given-up' },
  ...whose,
} as const
const number = { is: whole(1, 1_000_000), argument: true, recorded: true } as const

const queryOf = async ({ pool, clock }: Office, asked: Given<typeof filters> & { order?: bigint }) =>
  defined({
    state: asked.state === 'given-up' ? ('given up' as const) : asked.state,
    orderId: asked.order,
    origin: asked.origin,
    merchantId: await merchantIdOf(pool, asked.merchant),
    ...periodOf(asked, clock.now()),
  })

const place = parsed<DeliveryKey>('order/number', 'order/number, such as 1000001/1', (text) => {
  const match = /^([1-9][0-9]{0,17})\/([1-9][0-9]{0,8})$/.exec(text)
  return match ? { orderId: BigInt(match[1]!), deliveryNo: Number(match[2]) } : undefined
})

const lastOf = ({ lastAt, failure, httpStatus }: DeliveryLine) =>
  lastAt === undefined ? 'none yet' : (failure ?? `answered ${httpStatus}`)

const breakerText = ({ pausedUntil }: DeliveryOrigin, now: number) =>
  pausedUntil === undefined ? '' : now < pausedUntil ? `open for ${spanText(pausedUntil - now)}` : 'half open'

const callbacks: Actions = {
  'delivery list': action({
    does: 'lists callbacks with the result of their last try, newest first',
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
        { ...numbered<DeliveryLine>('ORDER', (d) => d.orderId), leads: (d) => `order show ${d.orderId}` },
        { ...numbered<DeliveryLine>('NO', (d) => d.deliveryNo), leads: (d) => `delivery show ${d.orderId} ${d.deliveryNo}` },
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
  'delivery show': action({
    does: "shows the contents of a callback, and each try with the merchant's answer",
    needs: 'cards',
    forMerchants: true,
    takes: {
      order: anOrder,
      number: { ...number, needed: true, means: 'number of the callback within the order' },
      payer: { is: flag, needs: 'persons', means: 'also shows the data of the payer in it' },
    },
    perform: (office, { order, number: no, payer }) => deliveryStory(office, order, no, payer),
    looks: (_, { order, number: no, payer }) => ({ subject: `delivery ${order}/${no}`, ...(payer && { details: { payer } }) }),
    gives: {
      json: ({ tries, ...d }) =>
        jsonOf({ ...d, tries: tries.map((one) => jsonOf(pick(one, 'at', 'durationMs', 'httpStatus', 'failure', 'answer'))) }),
      blocks: (story, { now }) => deliveryBlocks(story, now),
    },
    more: `Each try sends the order as it is at that time. If the merchant's server answers without success, the first 300
characters of its answer are kept, with card numbers masked. The control is never shown, because it would be valid for
another amount too.`,
    examples: ['delivery show 1000001 1'],
  }),
  'delivery origins': action({
    does: "lists merchants' servers, with their waiting and failed callbacks",
    needs: 'cards',
    forMerchants: true,
    follows: true,
    takes: { ...whose, limit: mostOf('servers') },
    perform: async (office, { limit, ...asked }) => (await listOrigins(office, await queryOf(office, asked))).slice(0, limit),
    gives: listing<DeliveryOrigin>({
      name: 'origins',
      json: jsonBy(
        `merchant origin due:count oldest_at:time? held_back:count delivered:count given_up:count failed_tries:count
          failed_at:time? failure? paused_in:count? paused_until:time?`,
        (o: DeliveryOrigin) => ({ ...o, merchant: o.login }),
      ),
      columns: (now) => [
        { title: 'SERVER', of: (o) => o.origin, leads: (o) => `delivery list --merchant ${o.login} --origin ${o.origin}` },
        { title: 'MERCHANT', of: (o) => o.login },
        numbered('DUE', (o) => o.due),
        dated('OLDEST', now, (o) => o.oldestAt),
        numbered('HELD BACK', (o) => o.heldBack),
        { title: 'BREAKER', of: (o) => breakerText(o, now), went: (o) => (o.pausedUntil === undefined ? undefined : 'badly') },
        numbered('DELIVERED', (o) => o.delivered),
        numbered('GIVEN UP', (o) => o.givenUp),
        numbered('FAILED TRIES', (o) => o.failedTries),
        { title: 'LAST FAILURE', of: (o) => o.failure ?? '' },
        dated('', now, (o) => o.failedAt),
      ],
      none: 'No callback is owed, and none failed within the hour.',
    }),
    more: `Counts the callbacks that are due (at most 100,000 of a merchant), and in the last hour the delivered, given up and
failed ones. With --from, the callbacks that were owed since then. After ten failures in a row a gateway process opens its
breaker for this server: it sends none of the merchant's callbacks for 2 s to a minute. Then the breaker is half open: it sends
one callback at a time until one arrives. A callback is held back if it has been due for ten seconds and no process sends it.`,
    examples: ['delivery origins', 'delivery origins --merchant shop --from 2h'],
  }),
  'delivery resend': action({
    does: 'sends callbacks again now, with as many tries as a new one',
    needs: 'deliver',
    forMerchants: true,
    takes: {
      order: { is: id, argument: true, recorded: true, names: 'order', means: "the gateway's order id" },
      number: { ...number, means: 'number of the callback within the order; all callbacks of the order if left out' },
      ...filters,
      yes: { is: flag, means: 'needed to send more than one' },
    },
    async perform(office, { number: deliveryNo, yes, ...asked }) {
      const query = await queryOf(office, asked)
      if (Object.keys(query).length === 0) throw new Refused({ what: 'no deliveries named' })
      return resendDeliveries(office, { ...query, ...defined({ deliveryNo }) }, yes === true)
    },
    gives: {
      json: ({ resent, inHand, erased }) => ({ resent, in_hand: inHand, erased }),
      blocks: ({ resent, inHand, erased, from, to }) => [
        `${[
          `${counted(resent, 'callback')} sent again`,
          ...(inHand > 0 ? [`${inHand} being sent at this moment were left alone`] : []),
          ...(erased > 0 ? [`${erased} are of orders whose payer's data was erased`] : []),
        ].join('; ')}.`,
        hint(
          'A running gateway takes them up within a second. All from the first to the last of them',
          resent === 0 ? 'delivery list' : `delivery origins --from ${isoTime(from)} --to ${isoTime(to + 1)}`,
        ),
      ],
    },
    more: `Merchants may receive an outcome a second time. Callbacks that are being sent at the moment are left alone. The
record of earlier tries stays.`,
    examples: [
      'delivery resend 1000001 1',
      'delivery resend 1000001 --yes',
      'delivery resend --state given-up --merchant shop --yes',
      'delivery resend --merchant shop --from 2030-01-31T10:00 --to 2030-01-31T12:00 --yes',
    ],
  }),
}

export const deliveryActions = withExport(callbacks, 'delivery list', {
  does: 'writes the result of delivery list, all pages, to standard output',
  examples: ['delivery export --state given-up --from 7d > given-up.csv'],
})
