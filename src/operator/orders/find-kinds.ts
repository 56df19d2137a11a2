/** The kinds of names of a payment, and how each is searched: one row a kind. */
import { checkDigitHolds } from '../../base/luhn.ts'
import { secret } from '../../base/secret.ts'
import { hashIdOfNumber } from '../../card/vault.ts'
import type { KeyRing } from '../../keys/ring.ts'
import type { OrderKey } from '../../order/decide/change.ts'
import { openReceiptIds } from '../../order/decide/receipt.ts'
import { entities, statement, type Pool } from '../../storage/pool.ts'
import { transaction } from '../../storage/transaction.ts'
import { emailSpellings, phoneSpellings } from '../persons/subject.ts'
import { heldIn, type HeldText } from '../persons/walk.ts'

/** A cell, and the merchants in it whose orders are looked for. */
export interface Place {
  pool: Pool
  merchantIds: readonly bigint[]
  keys: () => Promise<KeyRing>
}

interface FindKind {
  /** As people call it. */
  called: string
  fits: (text: string) => boolean
  /** It names one payment of the installation, whatever else is asked for. */
  exact?: true
  /** The newest places with this name, by an index; other merchants may be among them. */
  at?: (place: Place, text: string) => Promise<readonly OrderKey[]>
  /** There is no index: what orders hold, each of which has to be read. */
  held?: (text: string) => HeldText
}

/** Some more than are shown, since filters come after them. */
const most = 10_000

/**
 * Statistics say that a name of chance may be in any block, so the planner would read the whole
 * table instead of its Bloom filters.
 */
const byIndex = statement<object>(
  `select set_config('enable_seqscan', 'off', true), set_config('enable_indexonlyscan', 'off', true)`,
)

/** The newest places; `$1` is the text, `$2` are the merchants. */
function by(places: string): NonNullable<FindKind['at']> {
  const newest = entities<OrderKey>(`${places} order by order_id desc limit ${most}`)
  return ({ pool, merchantIds }, text) =>
    transaction(pool, async (runner) => {
      await runner.run(byIndex)
      return runner.run(newest, places.includes('$2') ? [text, merchantIds] : [text])
    })
}
const of = (table: string, condition: string) => `select merchant_id, order_id from ${table} where ${condition}`
const each = (tables: readonly string[], condition: string) => tables.map((table) => of(table, condition)).join(' union ')
const merchants = 'select m.merchant_id, x.order_id from unnest($2::bigint[]) as m (merchant_id)'
/** As the migration of names has it. */
const answered = (name: string) => `split_part(split_part(result::text, '"${name}":"', 2), '"', 1) = $1`
const cardShown = `left(split_part(card::text, '"bin":"', 2), 6) || left(split_part(card::text, '"lastFour":"', 2), 4)`

const matching = (form: RegExp) => (text: string) => form.test(text)
const isUuid = matching(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i)
const isLine = matching(/^\P{Cc}{1,128}$/u)
const unspaced = (text: string) => text.replace(/[ -]/g, '')
const shown = /^([0-9]{6})[0-9]{0,2}[*.…xX•·]+([0-9]{4})$/u

// oxfmt-ignore
const kinds = {
  'order-id':       { called: 'order id', exact: true, fits: matching(/^[1-9][0-9]{0,17}$/),
    at: by(`${merchants} join orders x on x.merchant_id = m.merchant_id and x.order_id = $1::bigint`) },
  'serial-number':  { called: 'serial number', exact: true, fits: isUuid,
    at: by(each(['orders', 'transaction', 'request'], 'serial_number = $1::uuid')) },
  'receipt-id':     { called: 'receipt id', exact: true, fits: (text) => isUuid(text) && text[14] === '8',
    at: async ({ keys, merchantIds }, text) => {
      const found = openReceiptIds(await keys()).orderKeyOf(text.toLowerCase())
      return found && merchantIds.includes(found.merchantId) ? [found] : []
    } },
  'invoice-id':     { called: 'invoice id', exact: true, fits: matching(/^[\w.-]{1,128}$/),
    at: by(`${merchants} join mobile_invoice i on i.merchant_id = m.merchant_id and i.invoice_id = $1
      cross join lateral (values (i.order_id), (i.hold_order_id)) as x (order_id) where x.order_id is not null`) },
  callback:         { called: 'callback', exact: true, fits: matching(/^[1-9][0-9]{0,17}\/[1-9][0-9]{0,8}$/),
    at: by(`${merchants} join delivery x on x.merchant_id = m.merchant_id
      and x.order_id = split_part($1, '/', 1)::bigint and x.delivery_no = split_part($1, '/', 2)::integer`) },
  'client-orderid': { called: 'client_orderid', fits: isLine, at: by(of('orders', 'client_orderid = $1')) },
  rrn:              { called: 'RRN', fits: matching(/^[0-9A-Za-z]{12}$/),
    at: by(`${each(['orders', 'attempt'], 'rrn = $1')} union ${each(['orders', 'transaction'], answered('rrn'))}`) },
  stan:             { called: 'STAN', fits: matching(/^[0-9]{6}$/), at: by(each(['orders', 'attempt'], 'stan = $1')) },
  'approval-code':  { called: 'approval code', fits: matching(/^[0-9A-Za-z]{6}$/),
    at: by(each(['orders', 'transaction'], answered('approvalCode'))) },
  card:             { called: 'card number', fits: (text) => isCard(unspaced(text)),
    at: async (place, text) => {
      const [number, ring] = [secret(unspaced(text)), await place.keys()]
      return ofCards(place, place.merchantIds.map((id) => hashIdOfNumber(number, id, ring)).join())
    } },
  'card-digits':    { called: 'first six and last four', fits: (text) => shown.test(unspaced(text)),
    at: (place, text) => digitsOf(place, unspaced(text).replace(shown, '$1$2')) },
  email:            { called: 'e-mail address', fits: matching(/^[^\s@]+@[^\s@]+$/),
    held: (text) => ({ texts: heldIn.email, values: emailSpellings(text) }) },
  phone:            { called: 'telephone number', fits: (text) => /^[+0-9][0-9 ().-]{6,24}$/.test(text) && isPhone(text),
    held: (text) => ({ texts: heldIn.phone, values: phoneSpellings(text) }) },
} satisfies Record<string, FindKind>

const ofCards = by(of('order_facts', `card_hash = any (string_to_array($1, ','))`))
const digitsOf = by(of('order_facts', `${cardShown} = $1`))
const isCard = (digits: string) => /^[0-9]{13,19}$/.test(digits) && checkDigitHolds(digits)
const isPhone = (text: string) => /^0*[1-9][0-9]{6,14}$/.test(text.replace(/[^0-9]/g, ''))

export type FindName = keyof typeof kinds
export const findKinds: Readonly<Record<FindName, FindKind>> = kinds
export const findNames = Object.keys(kinds) as FindName[]

/** The kinds that a text could be: none if it is empty, of several lines, or long. */
export const kindsOf = (text: string): FindName[] => findNames.filter((name) => isLine(text) && findKinds[name].fits(text))
