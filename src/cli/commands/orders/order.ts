import type { Command } from 'commander'
import { agoText, counted } from '../../../base/moments.ts'
import { decimalOf, orderJson, orderLineJson, orderStory } from '../../../operator/orders/order.ts'
import { merchantNamed } from '../../../operator/configuration/rows.ts'
import { findOrders, orderWithLife, resumeOrder } from '../../../operator/orders/order-rows.ts'
import type { Terminal } from '../../terminal.ts'
import { atOffice, recordReading } from '../installation.ts'
import { aCurrency, aLimit, aMoment, anId, fitting, jsonOption } from '../options.ts'
import { storyText } from './order-story.ts'
import { statusColour, table } from '../present.ts'

interface FindOptions {
  merchant?: string
  clientOrderid?: string
  cardHashId?: string
  status?: string[]
  amount?: string
  currency?: string
  from?: number
  to?: number
  parked?: true
  after?: bigint
  limit: number
  json?: true
}

export function addOrderCommands(program: Command, terminal: Terminal): void {
  const order = program.command('order').description('payments: search them, see their life, take up parked ones')
  order
    .command('show')
    .description(
      'the life of an order as a time line: requests, 3-D Secure, states, attempts at the acquirer, callbacks with every try',
    )
    .argument('<id>', "the gateway's order id", anId)
    .option(...jsonOption)
    .addHelpText(
      'after',
      `
Times are UTC. The card is masked always.

Examples
  npx tollgate order show 1000001
  npx tollgate order show 1000001 --json`,
    )
    .action(show.bind(undefined, terminal))
  order
    .command('find')
    .description('searches orders, newest first')
    .option('--merchant <login>', 'only of this merchant')
    .option('--client-orderid <id>', "the merchant's own name of the order; exactly as it was sent")
    .option('--card-hash-id <hash>', 'card-hash-id of status and order show: all orders of one card at one merchant')
    .option(
      '--status <list>',
      'approved, declined, error, filtered, processing or unknown; several by comma',
      fitting(readStatuses),
    )
    .option('--amount <decimal>', 'such as 10.42')
    .option('--currency <code>', 'of ISO 4217', aCurrency)
    .option('--from <time>', 'made at or after: a date, a time in UTC, or how long ago (2h, 7d)', aMoment(terminal.clock))
    .option('--to <time>', 'made before', aMoment(terminal.clock))
    .option('--parked', 'only those that wait for an operator')
    .option('--limit <number>', 'orders on a page', aLimit, 20)
    .option('--after <id>', 'the next page: after this order', anId)
    .option(...jsonOption)
    .addHelpText(
      'after',
      `
All that is given must hold. A search that takes longer than 15 s is ended; dates and --merchant make it quicker.

Examples
  npx tollgate order find
  npx tollgate order find --client-orderid invoice-17
  npx tollgate order find --status unknown,error --from 24h
  npx tollgate order find --amount 10.42 --currency USD --from 2030-01-01 --to 2030-02-01
  npx tollgate order find --parked`,
    )
    .action(find.bind(undefined, terminal))
  order
    .command('resume')
    .description('takes the parked work of an order up again, at once and as if never tried')
    .argument('<id>', "the gateway's order id", anId)
    .option(...jsonOption)
    .addHelpText(
      'after',
      `
An order that fails by itself again and again is parked with an alarm, so that it holds up no other. See why with order show,
mend the cause, then resume it. An authorisation whose outcome is open is never sent a second time by this.

Examples
  npx tollgate order find --parked
  npx tollgate order resume 1000001`,
    )
    .action(resume.bind(undefined, terminal))
}

const statuses = ['approved', 'declined', 'error', 'filtered', 'processing', 'unknown']

function readStatuses(text: string): string[] | string {
  const asked = text.split(',').map((part) => part.trim())
  const stray = asked.find((status) => !statuses.includes(status))
  return stray === undefined ? asked : `${JSON.stringify(stray)} is not a status. There are: ${statuses.join(', ')}.`
}

async function show(terminal: Terminal, orderId: bigint, options: { json?: true }): Promise<void> {
  await atOffice(terminal, async (office) => {
    const { pool, clock } = office
    const story = await orderStory(pool, await orderWithLife(office, orderId))
    await recordReading(office, terminal, { subject: `order ${orderId}` })
    if (options.json) terminal.printJson(orderJson(story))
    else terminal.print(storyText(story, clock.now()))
  })
}

async function find(terminal: Terminal, { merchant, json, ...query }: FindOptions): Promise<void> {
  await atOffice(terminal, async (office) => {
    const { pool, clock } = office
    const of = merchant === undefined ? {} : { merchantId: (await merchantNamed(pool, merchant)).merchantId }
    const rows = await findOrders(office, { ...query, ...of, limit: query.limit + 1 })
    const orders = rows.slice(0, query.limit)
    const next = rows.length > query.limit ? orders.at(-1)!.orderId : undefined
    const by = Object.keys({ ...query, ...of }).filter((name) => name !== 'limit' && name !== 'after')
    await recordReading(office, terminal, {
      subject: merchant === undefined ? 'orders' : `orders of ${merchant}`,
      details: seen(by, orders),
    })
    if (json) return terminal.printJson({ orders: orders.map(orderLineJson), next: next ?? null })
    if (orders.length === 0) return terminal.print(nothingFound(query, merchant !== undefined))
    const now = clock.now()
    terminal.print(
      table(
        [
          { title: 'ORDER', of: (o) => String(o.orderId), align: 'right' },
          { title: 'MERCHANT', of: (o) => o.login },
          { title: 'CLIENT ORDERID', of: (o) => o.clientOrderid },
          { title: 'AMOUNT', of: decimalOf, align: 'point' },
          { title: 'CUR', of: (o) => o.currency },
          { title: 'STATUS', of: (o) => `${o.status}${o.parked ? ' (parked)' : ''}`, colour: (o) => statusColour(o.status) },
          { title: 'CARD', of: (o) => `${o.card.bin}…${o.card.lastFour}` },
          { title: 'MADE', of: (o) => agoText(o.createdAt, now) },
        ],
        orders,
      ),
    )
    if (next !== undefined) terminal.print(`\nThere are more: add --after ${next}`)
  })
}

/** By which criteria was searched, and between which orders what was found lies. */
const seen = (by: readonly string[], orders: readonly { orderId: bigint }[]): object => ({
  by,
  found: orders.length,
  ...(orders.length === 0 ? {} : { newest: String(orders[0]!.orderId), oldest: String(orders.at(-1)!.orderId) }),
})

async function resume(terminal: Terminal, orderId: bigint, options: { json?: true }): Promise<void> {
  await atOffice(terminal, async (office) => {
    const resumed = await resumeOrder(office, orderId)
    if (options.json)
      return terminal.printJson({
        order_id: orderId,
        resumed: resumed.map((r) => ({ transaction: r.transactionNo, step: r.step ?? null, alarm: r.alarm })),
      })
    terminal.print(`${counted(resumed.length, 'transaction')} of order ${orderId} taken up again:`)
    for (const r of resumed)
      terminal.print(`  #${r.transactionNo}${r.step === undefined ? '' : `, next: ${r.step}`}; it was parked because: ${r.alarm}`)
    terminal.print(`\nSee what comes of it: npx tollgate order show ${orderId}`)
  })
}

function nothingFound(query: object, ofMerchant: boolean): string {
  const asked = Object.keys(query).filter((name) => name !== 'limit')
  if (asked.join() === 'parked') return 'Nothing is parked.'
  if (asked.length > 0 || ofMerchant)
    return 'No order fits. Leave something out of the search, or see all: npx tollgate order find'
  return 'No orders yet. The banner of the sandbox and the README show how to send the first sale.'
}
