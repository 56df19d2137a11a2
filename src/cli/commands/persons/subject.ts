import type { Command } from 'commander'
import { cardDigits } from '../../../base/luhn.ts'
import { secret } from '../../../base/secret.ts'
import { hashIdOf, numberIdOf } from '../../../card/vault.ts'
import { orderKeyText } from '../../../order/decide/change.ts'
import { agoText, counted } from '../../../base/moments.ts'
import { decimalOf } from '../../../operator/orders/order.ts'
import { Refused } from '../../../operator/refused.ts'
import { keptFor } from '../../../card/forget-rows.ts'
import { merchantNamed } from '../../../operator/configuration/rows.ts'
import { inCell, inTurn } from '../../../operator/cells/in-cells.ts'
import { cellsFor, loginsIn, orderById, type Logins } from '../../../operator/orders/logins.ts'
import { countedLeft, eraseTraces, type TracesIn } from '../../../operator/persons/erase.ts'
import { readStored } from '../../../operator/persons/export.ts'
import { ledBy, tracesOf, type Traces } from '../../../operator/persons/others.ts'
import { isNamed, ordersOf, type Search } from '../../../operator/persons/subject-rows.ts'
import { orderTraceJson, otherTraceJson, storedOrderJson, storedOtherJson } from '../../../operator/persons/subject-json.ts'
import {
  emailSpellings,
  phoneSpellings,
  type Bounds,
  type LeftUnerased,
  type OrderTrace,
  type Person,
} from '../../../operator/persons/subject.ts'
import type { Terminal } from '../../terminal.ts'
import { atLeast } from './cards.ts'
import { WrongUsage } from '../failure.ts'
import { atOffice, recordReading, type Office } from '../installation.ts'
import { aLimit, anId, fileText, jsonOption, someIds } from '../options.ts'
import { statusColour, table } from '../present.ts'

interface Named {
  email?: string
  phone?: string
  card?: string
  order?: bigint[]
  merchant?: string
  olderThan: number
  unapprovedAfter: number
  json?: true
}

export function addSubjectCommands(program: Command, terminal: Terminal): void {
  const subject = program.command('subject').description('data of a person: find, export and erase it')
  named(subject.command('find'))
    .description('the orders that hold data of a person, and whether it can be erased')
    .option('--limit <number>', 'orders on a page', aLimit, 20)
    .option('--after <id>', 'the next page: after this order', anId)
    .option(...jsonOption)
    .addHelpText('after', `${naming}\n${examples('find --email - < address.txt', 'find --card card.txt --merchant shop')}`)
    .action(find.bind(undefined, terminal))
  named(subject.command('export'))
    .description('prints as JSON what is stored of a person; card numbers are masked')
    .addHelpText('after', `${naming}\n${examples('export --email address.txt > person.json')}`)
    .action(exportAll.bind(undefined, terminal))
  named(subject.command('erase'))
    .description('erases what is stored of a person; amounts, states and the audit trail stay')
    .option('--yes', 'do it; without, it only says what would be erased')
    .option(...jsonOption)
    .addHelpText('after', `${naming}\n${ofErasing}\n${examples('erase --email address.txt', 'erase --email address.txt --yes')}`)
    .action(erase.bind(undefined, terminal))
}

const naming = `
A person is named by one of --email, --phone, --card and --order. The first three name a file with one value a line, all of
the same person; - is standard input. E-mail addresses and numbers are looked for in the fields for them, not within texts.
--card needs TOLLGATE_KEY_FILE. By e-mail or phone every order is read, a page at a time.`

const ofErasing = `
An order is left while something of it is under way (open), a callback is not delivered yet (callbacks), or it ended too
lately for a return or a chargeback (young: --older-than, --unapproved-after). Run it again then. Card references that were
made with an erased order are removed: the merchant cannot charge them any more.
Run it as a member of tollgate_retention. It can be stopped and begun again. Backups keep what they had.`

const examples = (...all: string[]) => `\nExamples\n${all.map((one) => `  npx tollgate subject ${one}`).join('\n')}`

const named = (command: Command): Command =>
  command
    .option('--email <file>', 'file with the e-mail address')
    .option('--phone <file>', 'file with the telephone number, best with its country: +44 …')
    .option('--card <file>', 'file with the card number')
    .option('--order <ids>', 'orders by their ids, by comma', someIds)
    .option('--merchant <login>', 'only at this merchant')
    .option(
      '--older-than <span>',
      'erases approved payments that ended so long ago, 30d or more',
      atLeast(keptFor.approved.least),
      keptFor.approved.usual,
    )
    .option(
      '--unapproved-after <span>',
      'declined, filtered and failed ones, 1h or more',
      atLeast(keptFor.unapproved.least),
      keptFor.unapproved.usual,
    )

/** Everything is read before the database is: a file may be missing. */
async function personOf(terminal: Terminal, office: Office, options: Named, merchantIds: readonly bigint[]): Promise<Person> {
  const given = (['email', 'phone', 'card', 'order'] as const).filter((name) => options[name] !== undefined)
  const [by] = given
  if (by === undefined || given.length > 1) throw new WrongUsage('Name a person by one of --email, --phone, --card and --order.')
  if (by === 'order') return { by, orderIds: options.order! }
  const lines = (await fileText(terminal, options[by]!, `--${by}`, 1024 * 1024)).split('\n').map((line) => line.trim())
  const values = lines.filter((line) => line !== '')
  // Values are never repeated: this goes to terminals and tickets.
  const refuse = (must: string) => new WrongUsage(`--${by}: each line of the file must be ${must}.`)
  if (values.length === 0) throw refuse('a value, and there is none')
  if (by === 'email') {
    if (values.some((value) => !value.includes('@'))) throw refuse('an e-mail address')
    return { by, values: values.flatMap(emailSpellings) }
  }
  if (by === 'phone') {
    const numbers = values.map(phoneSpellings)
    if (numbers.some(([digits]) => digits!.length < 3)) throw refuse('a telephone number')
    return { by, values: numbers.flat() }
  }
  const cards = values.map((value) => value.replace(/[ -]/g, ''))
  if (cards.some((digits) => !cardDigits.test(digits))) throw refuse('the number of a card')
  return cardsOf(office, cards, merchantIds)
}

async function cardsOf(office: Office, cards: readonly string[], merchantIds: readonly bigint[]): Promise<Person> {
  const keys = await office.keys()
  const numberIds = merchantIds.flatMap((id) => cards.map((digits) => numberIdOf(secret(digits), id, keys)))
  return { by: 'card', hashIds: numberIds.map((id) => hashIdOf(id, keys)), numberIds }
}

interface Asked {
  /** One in each cell. */
  searches: readonly Search[]
  bounds: Bounds
  person: Person
  logins: Logins
  note: { subject: string; details: object }
}

async function askedOf(terminal: Terminal, office: Office, options: Named): Promise<Asked> {
  const { pool, clock } = office
  const now = clock.now()
  const bounds = { approvedBefore: now - options.olderThan, othersBefore: now - options.unapprovedAfter }
  const of = options.merchant === undefined ? {} : { merchantId: (await merchantNamed(pool, options.merchant)).merchantId }
  const logins = await loginsIn(pool)
  const person = await personOf(terminal, office, options, of.merchantId === undefined ? logins.merchantIds() : [of.merchantId])
  const progress = progressOn(terminal)
  const cells = await cellsFor(office, logins, of.merchantId)
  const searches = cells.map((cell) => ({ cell, clock, bounds, merchantIds: logins.merchantIds(cell.cellNo), ...of, progress }))
  const subject = options.merchant === undefined ? 'a person' : `a person at ${options.merchant}`
  return { searches, bounds, person, logins, note: { subject, details: { by: person.by } } }
}

const progressStep = 1_000_000

function progressOn({ complain }: Terminal): (looked: number) => void {
  let total = 0
  let shown = 0
  return (looked) => {
    total += looked
    if (total < shown + progressStep) return
    shown = total
    complain(`${total} orders were read.`)
  }
}

async function find(terminal: Terminal, options: Named & { limit: number; after?: bigint }): Promise<void> {
  await atOffice(
    terminal,
    async (office) => {
      const { searches, person, logins, note } = await askedOf(terminal, office, options)
      const { page, next } = await pageOf(searches, person, logins, options)
      const { orders: led, others } = next === undefined ? await lastOf(searches, person, page) : nothing
      const orders = [...page, ...led]
      await recordReading(office, terminal, { ...note, details: { ...note.details, found: orders.length } })
      if (options.json)
        return terminal.printJson({
          orders: orders.map((o) => orderTraceJson(logins.of(o.merchantId), o)),
          others: others.map((o) => otherTraceJson(logins.of(o.merchantId), o)),
          next: next ?? null,
        })
      if (orders.length + others.length === 0) return terminal.print('Nothing is stored of this person.')
      if (orders.length > 0) terminal.print(tableOf(orders, logins, office.clock.now()))
      for (const { is, id, merchantId, left } of others)
        terminal.print(
          `${is} ${id} of ${logins.of(merchantId)}, without an order${left === undefined ? '' : `: ${leftText[left]}`}`,
        )
      if (next !== undefined) terminal.print(`\nThere are more: add --after ${next}`)
    },
    'admin',
  )
}

/** Cell by cell, and in each as `ordersOf` has them. */
async function pageOf(
  searches: readonly Search[],
  person: Person,
  logins: Logins,
  { after, limit }: { after?: bigint; limit: number },
): Promise<{ page: OrderTrace[]; next?: bigint }> {
  const cells = searches.map(({ cell }) => cell)
  const at = after === undefined ? undefined : await orderById(cells, logins, after)
  if (after !== undefined && !at) throw new Refused({ what: 'unknown', thing: 'order of page', name: String(after) })
  const page: OrderTrace[] = []
  for (const search of searches.slice(at && cells.indexOf(at.cell))) {
    const place = at && search.cell === at.cell ? { merchantId: at.merchantId, orderId: after! } : undefined
    const isFull = await inCell(search.cell, async () => {
      for await (const trace of ordersOf(search, person, place)) {
        if (page.length === limit) return true
        page.push(trace)
      }
      return false
    })
    if (isFull) return { page, next: page.at(-1)!.orderId }
  }
  return { page }
}

const nothing: Traces = { orders: [], others: [] }

/** Besides the orders that the pages have. */
async function lastOf(searches: readonly Search[], person: Person, page: readonly OrderTrace[]): Promise<Traces> {
  const known = new Set(page.map(orderKeyText))
  const last = await inSearches(searches, async (search) => {
    const { orders, others } = await ledBy(search, person, known)
    const onPages = await Promise.all(orders.map((trace) => isNamed(search, person, trace)))
    return { orders: orders.filter((_, i) => !onPages[i]), others }
  })
  return { orders: last.flatMap(({ orders }) => orders), others: last.flatMap(({ others }) => others) }
}

/** One after the other: each may read every order of its cell. */
const inSearches = <T>(searches: readonly Search[], work: (search: Search) => Promise<T>): Promise<T[]> =>
  inTurn(
    searches.map(({ cell }) => cell),
    (cell) => work(searches.find((one) => one.cell === cell)!),
  )

const tracesIn = (searches: readonly Search[], person: Person): Promise<TracesIn[]> =>
  inSearches(searches, async (search) => ({ cell: search.cell, ...(await tracesOf(search, person)) }))

const leftText: Readonly<Record<LeftUnerased, string>> = { open: 'open', callbacks: 'callbacks are due', young: 'too young' }

const stateOf = ({ erasedAt, left }: OrderTrace) => (erasedAt ? 'erased' : left === undefined ? 'can be erased' : leftText[left])

const tableOf = (orders: readonly OrderTrace[], logins: Logins, now: number): string =>
  table(
    [
      { title: 'ORDER', of: (o) => String(o.orderId), align: 'right' },
      { title: 'MERCHANT', of: (o) => logins.of(o.merchantId) },
      { title: 'CLIENT ORDERID', of: (o) => o.clientOrderid },
      { title: 'AMOUNT', of: decimalOf, align: 'point' },
      { title: 'CUR', of: (o) => o.currency },
      { title: 'STATUS', of: (o) => o.status, colour: (o) => statusColour(o.status) },
      { title: 'CARD', of: (o) => `${o.card.bin}…${o.card.lastFour}` },
      { title: 'MADE', of: (o) => agoText(o.createdAt, now) },
      { title: 'DATA', of: stateOf },
    ],
    orders,
  )

async function exportAll(terminal: Terminal, options: Named): Promise<void> {
  await atOffice(
    terminal,
    async (office) => {
      const { searches, person, logins, note } = await askedOf(terminal, office, options)
      const all = await inSearches(searches, async (search) => readStored(search.cell.pool, await tracesOf(search, person)))
      const stored = { orders: all.flatMap(({ orders }) => orders), others: all.flatMap(({ others }) => others) }
      const found = { orders: stored.orders.length, others: stored.others.length }
      await recordReading(office, terminal, { ...note, details: { ...note.details, ...found } })
      terminal.printJson({
        orders: stored.orders.map(({ order, urls }) => storedOrderJson(logins.of(order.merchantId), order, urls)),
        others: stored.others.map((one) => storedOtherJson(logins.of(one.merchantId), one)),
      })
    },
    'admin',
  )
}

async function erase(terminal: Terminal, options: Named & { yes?: true }): Promise<void> {
  await atOffice(
    terminal,
    async (office) => {
      const { searches, bounds, person } = await askedOf(terminal, office, options)
      const found = await tracesIn(searches, person)
      const [orders, others] = [found.flatMap((one) => one.orders), found.flatMap((one) => one.others)]
      const fit = orders.filter(({ left, erasedAt }) => left === undefined && erasedAt === undefined)
      const loose = others.filter(({ left }) => left === undefined)
      const left = countedLeft([...orders, ...others])
      if (!options.yes) {
        if (options.json) return terminal.printJson({ would_erase: { orders: fit.length, others: loose.length }, left })
        terminal.print(`${counted(fit.length, 'order')} would be erased, and ${loose.length} without an order.${leftIn(left)}`)
        return terminal.print('Look at them with subject find, then add --yes.')
      }
      const done = await eraseTraces(office, bounds, person.by, found)
      if (options.json) return terminal.printJson(done)
      terminal.print(
        `Erased: ${counted(done.orders, 'order')}, ${counted(done.invoices, 'invoice')}, ` +
          `${counted(done.references, 'card reference')}.${leftIn(done.left)}`,
      )
    },
    'admin',
  )
}

function leftIn(left: Readonly<Record<LeftUnerased, number>>): string {
  const reasons = (Object.entries(left) as [LeftUnerased, number][]).filter(([, count]) => count > 0)
  return reasons.length === 0 ? '' : ` Left for now: ${reasons.map(([why, count]) => `${count} (${leftText[why]})`).join(', ')}.`
}
