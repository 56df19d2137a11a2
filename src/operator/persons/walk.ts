/**
 * Walks through whole tables, in pages by their keys. There is no index by address or telephone
 * number, which every sale would pay for.
 */
import { sleep } from '../../base/clock.ts'
import { entities, timestamp, type Statement } from '../../storage/pool.ts'
import type { CellDesk, Desk } from '../desk.ts'
import type { Bounds } from './subject.ts'

/** A search in one cell. */
export interface Search extends CellDesk, Pick<Desk, 'clock'> {
  bounds: Bounds
  /** Whose orders are looked for: those whose orders are in the cell, or only `merchantId`. */
  merchantIds: readonly bigint[]
  merchantId?: bigint
  /** Called after each page of orders, with the number of its rows. */
  progress: (looked: number) => void
}

const pageRows = 5_000
/** Payments come first. */
export const restMs = 5

/** The matching row, if it matches; and the last row that was read. */
type PageRow<Found> = Partial<Found> & { looked: bigint; lastMerchant?: bigint; lastId?: string }

/**
 * `looked`: rows of merchants with an `id`, which come after `$1`, `$2`. `found`: those that fit,
 * with merchant and id as their first columns. `$3` is a merchant or null, `$4` are values of the
 * person.
 */
export const pagesOf = <Found>(looked: string, found: string): Statement<PageRow<Found>> =>
  entities(`
  with looked as (${looked} order by merchant_id, id limit ${pageRows}), found as (${found})
  select found.*, (select count(*) from looked) as looked, l.merchant_id as last_merchant, l.id::text as last_id
  from (values (1)) as one
  left join (select merchant_id, id from looked order by merchant_id desc, id desc limit 1) l on true
  left join found on true
  order by 1, 2`)

/** Rows of all merchants or of one, whose key comes after `$1`, `$2`. */
export const nextBy = (key: string): string => `(${key}) > ($1, $2) and ($3::bigint is null or merchant_id = $3)`

export const anyOf = (texts: readonly string[], values = '$4'): string =>
  texts.map((text) => `${text} = any (${values}::text[])`).join(' or ')

const digitsOf = (value: string) => `ltrim(regexp_replace(${value}, '[^0-9]', '', 'g'), '0')`

/** SQL for phoneSpellings: these numbers by their digits, and by the country of the address. */
export const phonesOf = (country: string, ...numbers: string[]): string[] =>
  numbers.map(digitsOf).flatMap((digits) => [digits, `${country} || ':' || ${digits}`])

/** Texts of a person in `order_facts f`, and the values of which one has to be among them. */
export interface HeldText {
  texts: readonly string[]
  values: readonly string[]
}
export const heldIn = {
  email: [`lower(f.request->>'email')`, `lower(f.request->'mobile'->>'email')`],
  phone: phonesOf(`(f.request->>'country')`, `f.request->>'phone'`, `f.request->>'cellPhone'`),
} as const

export const inSql = ({ approvedBefore, othersBefore }: Bounds) => [timestamp(approvedBefore), timestamp(othersBefore)]

/** All that fits after a place, page by page; the first of `values` is `$4`. */
export async function* walk<Found extends { merchantId: bigint }>(
  { pool, clock, merchantId }: Search,
  page: Statement<PageRow<Found>>,
  after: readonly [bigint, string],
  values: readonly unknown[],
  progress: Search['progress'] = () => {},
): AsyncGenerator<Found> {
  for (let at = after; ;) {
    const rows = await pool.run(page, [...at, merchantId ?? null, ...values])
    const { looked, lastMerchant, lastId } = rows[0]!
    for (const { looked: _looked, lastMerchant: _merchant, lastId: _id, ...found } of rows)
      if (found.merchantId !== undefined) yield found as unknown as Found
    progress(Number(looked))
    if (looked < pageRows) return
    at = [lastMerchant!, lastId!]
    await sleep(clock, restMs)
  }
}
