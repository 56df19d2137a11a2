/** The search for a person in all cells. */
import { defined } from '../../base/defined.ts'
import { cardDigits } from '../../base/luhn.ts'
import { secret, type Secret } from '../../base/secret.ts'
import { hashIdOf, numberIdOf } from '../../card/vault.ts'
import type { Given } from '../action.ts'
import { inCell, inTurn } from '../in-cells.ts'
import { cellsFor, loginsIn, merchantIdOf, orderOf } from '../where.ts'
import type { Office } from '../office.ts'
import { Refused } from '../refused.ts'
import { boundsOf, type named } from './inputs.ts'
import { ledBy, tracesOf } from './others.ts'
import { isNamed, ordersOf } from './subject-rows.ts'
import { emailSpellings, phoneSpellings, together, type OrderTrace, type Person, type Traces } from './subject.ts'
import type { Search } from './walk.ts'

export type Naming = Given<typeof named>

/** The searches, one in each cell. */
export async function soughtOf(office: Office, asked: Naming) {
  const { pool, clock } = office
  const bounds = boundsOf(asked, clock.now())
  const merchantId = await merchantIdOf(pool, asked.merchant)
  const logins = await loginsIn(pool)
  const person = await personOf(office, asked, merchantId === undefined ? logins.merchantIds() : [merchantId])
  const progress = progressOf(office)
  const searches = (await cellsFor(office, logins, merchantId)).map((cell): Search => {
    const merchantIds = merchantId === undefined ? logins.merchantIds(cell.cellNo) : [merchantId]
    return { ...cell, clock, bounds, merchantIds, ...defined({ merchantId }), progress }
  })
  return { searches, person, logins }
}
type Sought = Awaited<ReturnType<typeof soughtOf>>

async function personOf(office: Office, { email, phone, card, order }: Naming, merchantIds: readonly bigint[]): Promise<Person> {
  if ([email, phone, card, order].filter((one) => one !== undefined).length !== 1) throw new Refused({ what: 'person to name' })
  if (order) return { by: 'order', orderIds: order }
  if (email !== undefined) return { by: 'email', values: valuesIn('email', email, 'an e-mail address', emailSpellings) }
  if (phone !== undefined) return { by: 'phone', values: valuesIn('phone', phone, 'a telephone number', phoneSpellings) }
  const numbers = valuesIn('card', card!, 'the number of a card', cardsOf)
  const keys = await office.keys()
  const numberIds = merchantIds.flatMap((id) => numbers.map((digits) => numberIdOf(digits, id, keys)))
  return { by: 'card', hashIds: numberIds.map((id) => hashIdOf(id, keys)), numberIds }
}

/** All are of the same person, one a line; a line that is no such value gives none. */
function valuesIn<Value>(field: string, content: string, must: string, of: (line: string) => readonly Value[]): Value[] {
  const lines = content.split('\n').flatMap((line) => (line.trim() === '' ? [] : [of(line.trim())]))
  // Values are never repeated: this goes to terminals and tickets.
  if (lines.length === 0) throw new Refused({ what: 'unfit lines', field, must: 'a value, and the file has none' })
  if (lines.some((values) => values.length === 0)) throw new Refused({ what: 'unfit lines', field, must })
  return lines.flat()
}

function cardsOf(line: string): Secret<string>[] {
  const digits = line.replace(/[ -]/g, '')
  return cardDigits.test(digits) ? [secret(digits)] : []
}

const progressStep = 1_000_000

export function progressOf(office: Office): (looked: number) => void {
  let total = 0
  let shown = 0
  return (looked) => {
    total += looked
    if (total < shown + progressStep) return
    shown = total
    office.progress(`${total} orders were read.`)
  }
}

/**
 * A page of orders, cell by cell and in each as `ordersOf` has them. With the last page comes what
 * only invoices and card references lead to.
 */
export async function findTraces(
  { searches, person, logins }: Sought,
  limit: number,
  after?: bigint,
): Promise<Traces & { next?: bigint }> {
  const at = after === undefined ? undefined : await orderOf(searches, logins, after, 'order of page')
  const orders: OrderTrace[] = []
  for (const search of searches.slice(at && searches.findIndex((one) => one === at.cell))) {
    const isFull = await inCell(search, async () => {
      for await (const trace of ordersOf(search, person, search === at?.cell ? at : undefined)) {
        if (orders.length === limit) return true
        orders.push(trace)
      }
      return false
    })
    if (isFull) return { orders, others: [], next: orders.at(-1)!.orderId }
  }
  const led = await inTurn(searches, (search) => besidesPages(search, person, orders))
  return together([{ orders, others: [] }, ...led])
}

async function besidesPages(search: Search, person: Person, page: readonly OrderTrace[]): Promise<Traces> {
  const { orders, others } = await ledBy(search, person, page)
  const onPages = await Promise.all(orders.map((trace) => isNamed(search, person, trace)))
  return { orders: orders.filter((_, i) => !onPages[i]), others }
}

/** Everything that holds data of the person, by cell. */
export const allTraces = ({ searches, person }: Sought): Promise<(Search & Traces)[]> =>
  inTurn(searches, (search) => tracesOf(search, person))
