import { InvalidArgumentError, type Command } from 'commander'
import { defined } from '../../../base/defined.ts'
import { deliveryJson, deliveryStateText } from '../../../operator/orders/delivery.ts'
import { agoText, counted } from '../../../base/moments.ts'
import { merchantNamed } from '../../../operator/configuration/rows.ts'
import {
  countDeliveries,
  listDeliveries,
  resendDeliveries,
  type DeliveryLine,
  type DeliveryKey,
  type DeliveryQuery,
  type DeliveryState,
} from '../../../operator/orders/delivery-rows.ts'
import type { Pool } from '../../../storage/pool.ts'
import type { Terminal } from '../../terminal.ts'
import { Failure, WrongUsage } from '../failure.ts'
import { atOffice } from '../installation.ts'
import { aLimit, aMoment, anId, aNumber, jsonOption, oneOf } from '../options.ts'
import { paint, statusColour, table } from '../present.ts'

interface Filter {
  state?: 'due' | 'delivered' | 'given-up'
  order?: bigint
  merchant?: string
  from?: number
  to?: number
  json?: true
}

const filters = (command: Command, { clock }: Terminal): Command =>
  command
    .option('--state <state>', 'due, delivered or given-up', oneOf('due', 'delivered', 'given-up'))
    .option('--order <id>', 'only of this order', anId)
    .option('--merchant <login>', 'only of this merchant')
    .option('--from <time>', 'owed at or after: a date, a time in UTC, or how long ago (2h, 7d)', aMoment(clock))
    .option('--to <time>', 'owed before', aMoment(clock))
    .option(...jsonOption)

export function addDeliveryCommands(program: Command, terminal: Terminal): void {
  const delivery = program.command('delivery').description('callbacks to merchants: see what arrived, send again')
  filters(delivery.command('list').description('callbacks with what their last try came to, newest first'), terminal)
    .option('--limit <number>', 'callbacks on a page', aLimit, 20)
    .option('--after <order/number>', 'the next page: after this one', aPlace)
    .addHelpText(
      'after',
      `
Examples
  npx tollgate delivery list --state due
  npx tollgate delivery list --merchant shop --from 2h
  npx tollgate delivery list --order 1000001`,
    )
    .action(list.bind(undefined, terminal))
  filters(delivery.command('resend').description('sends callbacks again: due now, with all their tries before them'), terminal)
    .argument('[order]', "the gateway's order id", anId)
    .argument('[number]', 'number of the callback within the order; all of the order if left out', aNumber(1, 1_000_000))
    .option('--yes', 'send more than one without being asked')
    .addHelpText(
      'after',
      `
Merchants may get an outcome again that they have. What is being sent at the moment is left alone. The record of earlier
tries is kept.

Examples
  npx tollgate delivery resend 1000001 1
  npx tollgate delivery resend 1000001 --yes
  npx tollgate delivery resend --state given-up --merchant shop --yes
  npx tollgate delivery resend --merchant shop --from 2030-01-31T10:00 --to 2030-01-31T12:00 --yes`,
    )
    .action(resend.bind(undefined, terminal))
}

function aPlace(text: string): DeliveryKey {
  const match = /^([1-9][0-9]{0,17})\/([1-9][0-9]{0,8})$/.exec(text)
  if (!match) throw new InvalidArgumentError('Say order/number, such as 1000001/1.')
  return { orderId: BigInt(match[1]!), deliveryNo: Number(match[2]) }
}

async function queryOf(pool: Pool, f: Filter): Promise<DeliveryQuery> {
  const { order: orderId, from, to } = f
  const merchantId = f.merchant === undefined ? undefined : (await merchantNamed(pool, f.merchant)).merchantId
  return defined({ state: f.state && stored(f.state), orderId, merchantId, from, to })
}

const stored = (state: NonNullable<Filter['state']>): DeliveryState => (state === 'given-up' ? 'given up' : state)

async function list(terminal: Terminal, options: Filter & { limit: number; after?: DeliveryKey }): Promise<void> {
  await atOffice(terminal, async (office) => {
    const { pool, clock } = office
    const query = await queryOf(pool, options)
    const rows = await listDeliveries(office, { ...query, ...defined({ after: options.after }), limit: options.limit + 1 })
    const page = rows.slice(0, options.limit)
    const last = rows.length > options.limit ? page.at(-1)! : undefined
    const next = last && `${last.orderId}/${last.deliveryNo}`
    if (options.json) return terminal.printJson({ deliveries: page.map(deliveryJson), next: next ?? null })
    if (page.length === 0)
      return terminal.print(
        Object.keys(query).length > 0
          ? 'No callback fits. See all: npx tollgate delivery list'
          : 'No callbacks yet. They are owed when an order is final and its request or endpoint names a callback URL.',
      )
    const now = clock.now()
    terminal.print(
      table(
        [
          { title: 'ORDER', of: (d) => String(d.orderId), align: 'right' },
          { title: 'NO', of: (d) => String(d.deliveryNo), align: 'right' },
          { title: 'MERCHANT', of: (d) => d.login },
          { title: 'STATE', of: (d) => deliveryStateText(d.state), colour: (d) => statusColour(d.state) },
          { title: 'TRIES', of: (d) => String(d.tries), align: 'right' },
          { title: 'LAST TRY', of: lastOf },
          { title: 'NEXT', of: (d) => (d.dueAt === undefined ? '' : agoText(Math.max(d.dueAt, now), now)) },
          { title: 'OWED', of: (d) => agoText(d.createdAt, now) },
          { title: 'URL', of: (d) => d.url },
        ],
        page,
      ),
    )
    if (next !== undefined) terminal.print(`\nThere are more: add --after ${next}`)
  })
}

const lastOf = ({ last }: DeliveryLine) => (last === undefined ? 'none yet' : (last.failure ?? `answered ${last.httpStatus}`))

async function resend(
  terminal: Terminal,
  order: bigint | undefined,
  deliveryNo: number | undefined,
  options: Filter & { yes?: true },
): Promise<void> {
  if (order !== undefined && options.order !== undefined && order !== options.order)
    throw new WrongUsage('Two orders are named. Name one.')
  await atOffice(terminal, async (office) => {
    const query: DeliveryQuery = {
      ...(await queryOf(office.pool, order === undefined ? options : { ...options, order })),
      ...(deliveryNo === undefined ? {} : { deliveryNo }),
    }
    if (Object.keys(query).length === 0)
      throw new WrongUsage('Say which: an order, or a filter such as --state given-up. See: npx tollgate delivery resend --help')
    const count = await countDeliveries(office, query)
    if (count === 0) throw new Failure('No callback fits. See what there is: npx tollgate delivery list')
    if (count > 1 && !options.yes)
      throw new WrongUsage(`That is ${count} callbacks. Look at them with delivery list and the same filters, then add --yes.`)
    const done = await resendDeliveries(office, query)
    if (options.json) return terminal.printJson({ resent: done.resent, in_hand: done.inHand, erased: done.erased })
    const alone = done.inHand > 0 ? `; ${done.inHand} being sent at this moment were left alone` : ''
    const erased = done.erased > 0 ? `; ${done.erased} are of orders whose payer's data was erased` : ''
    terminal.print(`${paint(counted(done.resent, 'callback'), 'bold')} sent again${alone}${erased}.`)
    terminal.print('A running gateway takes them up within a second. See: npx tollgate delivery list --state due')
  })
}
