/** Values of a person in the histories of filters. The lists themselves are configuration. */
import { emailForm, lookedUp, type Listed, type PaymentFacts } from '../../merchant/filter.ts'
import type { OrderKey } from '../../order/decide/change.ts'
import type { Order } from '../../order/decide/order.ts'
import { entities } from '../../storage/pool.ts'
import type { Desk } from '../desk.ts'
import { listedName } from '../history/setting-changes.ts'
import { inTurn } from '../in-cells.ts'
import { keysOf } from '../where.ts'
import type { Person } from './subject.ts'
import type { Search } from './walk.ts'

const tellingRows = entities<Pick<Order, 'request' | 'card'>>(`
  select f.request, f.card from unnest($1::bigint[], $2::bigint[]) as n (merchant_id, order_id)
  join order_facts f on f.merchant_id = n.merchant_id and f.order_id = n.order_id`)

const personal: Partial<Record<Listed, RegExp>> = { card: /^/, email: /^[^@]/, ip: /\/(?:32|128)$/, phone: /^/, purpose: /^/ }

/** The values in filters that identify only the person of an order. Erased values are absent. */
function listedOf({ request, card }: Pick<Order, 'request' | 'card'>): string[] {
  const { email, ipAddress: ip, phone = '', cellPhone = '', country, purpose } = request
  const facts = { email, ip, phones: [phone, cellPhone], country, purpose, cardHash: card.hashId } as unknown as PaymentFacts
  const stored: Readonly<Record<string, string | undefined>> = {
    card: card.hashId,
    email,
    ip,
    phone: phone || cellPhone,
    purpose,
  }
  return Object.entries(personal).flatMap(([of, form]) =>
    stored[of] ? lookedUp(of as Listed, facts).filter((value) => form.test(value)) : [],
  )
}

/** The same of how the person is named; a telephone number may begin with a zero in a list. */
function listedBy(person: Person): readonly string[] {
  if (person.by === 'email') return person.values.flatMap((value) => [value, emailForm(value)])
  if (person.by === 'phone')
    return person.values.flatMap((value) => [value, `0${value}`].map((one) => one.replace(/[A-Z]+:/, '')))
  return person.by === 'card' ? person.hashIds : []
}

/** By how the person is named and what these orders tell, as names of the history. */
export async function listedNames(searches: readonly Search[], person: Person, orders: readonly OrderKey[]): Promise<string[]> {
  const found = await inTurn(searches, ({ pool }) => pool.run(tellingRows, keysOf(orders)))
  return [...new Set([...listedBy(person), ...found.flat().flatMap(listedOf)].map(listedName))]
}

/** A change of a filter, and what of the person it put onto the list or took off it. */
export interface ListingChange {
  login: string
  filterNo: bigint
  changeId: bigint
  action: string
  at: number
  added: readonly string[]
  removed: readonly string[]
}

const valuesThat = (isListed: string) =>
  `array(select substr(name, ${listedName('').length + 1}) from unnest($2::text[]) as n (name)
    where c.after ? name and c.after ->> name ${isListed} order by name)`
/** `$2` are names of the history. */
const listing = entities<ListingChange>(`
  select m.login, c.entity_id as filter_no, c.change_id, c.action, c.at, ${valuesThat('is not null')} as added,
    ${valuesThat('is null')} as removed
  from setting_change c join merchant m on m.merchant_id = c.merchant_id
  where c.entity = 'filter' and ($1::bigint is null or c.merchant_id = $1) and c.after ?| $2::text[] order by c.change_id`)

/** In the order in which they were made. */
export const changesListing = async (
  { pool }: Desk,
  { searches, person }: { searches: readonly Search[]; person: Person },
  orders: readonly OrderKey[],
): Promise<ListingChange[]> => pool.run(listing, [searches[0]?.merchantId, await listedNames(searches, person, orders)])
