import type { Random } from '../base/random.ts'
import { columnsOf, entitiesOn, insertion, onRows, readOf, rowsOf } from '../storage/columns.ts'
import { entities, type Pool } from '../storage/pool.ts'
import type { KeyRing } from '../keys/ring.ts'
import {
  drawIds,
  drawUnique,
  sealDestination,
  sealForReference,
  type CardReference,
  type DestinationCard,
  type FirstPayment,
  type NewDestination,
  type NewReference,
  type ReferenceIds,
  type SealedNumber,
} from './reference.ts'
import type { ShownCard } from './number.ts'
import type { SealedFor } from './vault.ts'

interface ReferenceRow extends SealedFor, ReferenceIds, SealedNumber, Pick<CardReference, 'card' | 'createdAt'> {
  firstPayment: FirstPayment
  uniqueReference: bigint
}

const columns = `r.merchant_id, r.card_ref_id, r.recurring_payment_id, r.dst_card_ref_id, r.dst_recurring_payment_id, r.order_id,
    r.pan_sealed, r.pan_key, r.number_id, r.card, r.first_payment, r.created_at, u.unique_reference`
const withNumber = `join card_number_ref u on u.merchant_id = r.merchant_id and u.number_id = r.number_id`
const select = (where: string) => `select ${columns} from card_reference r ${withNumber} where ${where}`

const name = columnsOf<ReferenceName>()
const nameRows = rowsOf({
  merchant_id: name.int8((n) => n.merchantId),
  card_ref_id: name.int8((n) => n.cardRefId),
})
const selectByIds = entitiesOn<ReferenceName, ReferenceRow>(
  nameRows,
  `select ${columns} from ${nameRows.list}
  join card_reference r on r.merchant_id = n.merchant_id and r.card_ref_id = n.card_ref_id and not r.of_destination
  ${withNumber}`,
)
/** For cards that may be credited, by the remainder of the id. */
const selectDestination = new Map([
  [0n, entities<ReferenceRow>(select('r.merchant_id = $1 and r.card_ref_id = $2 and not r.of_destination'))],
  [2n, entities<ReferenceRow>(select('r.merchant_id = $1 and r.dst_card_ref_id = $2'))],
  [3n, entities<ReferenceRow>(select('r.merchant_id = $1 and r.dst_recurring_payment_id = $2'))],
])

const registered = columnsOf<Registered>()
const placeRows = rowsOf({
  merchant_id: registered.int8(({ orderKey }) => orderKey.merchantId),
  order_id: registered.int8(({ orderKey }) => orderKey.orderId),
  of_destination: registered.bool(({ ofDestination }) => ofDestination),
})
const selectByOrder = entitiesOn<Registered, ReferenceRow>(
  placeRows,
  `select ${columns} from ${placeRows.list}
  join card_reference r on r.merchant_id = n.merchant_id and r.order_id = n.order_id and r.of_destination = n.of_destination
  ${withNumber}`,
)
const drawn = columnsOf<Drawn>()
const numberRows = rowsOf({
  merchant_id: drawn.int8(({ of }) => of.orderKey.merchantId),
  number_id: drawn.bytes(({ sealed }) => sealed.numberId),
  unique_reference: drawn.int8(({ unique }) => BigInt(unique)),
  created_at: drawn.time(({ of }) => of.at),
})
const referenceRows = rowsOf({
  merchant_id: drawn.int8(({ of }) => of.orderKey.merchantId),
  card_ref_id: drawn.int8(({ ids }) => ids.cardRefId),
  recurring_payment_id: drawn.int8(({ ids }) => ids.recurringPaymentId),
  dst_card_ref_id: drawn.int8(({ ids }) => ids.dstCardRefId),
  dst_recurring_payment_id: drawn.int8(({ ids }) => ids.dstRecurringPaymentId),
  order_id: drawn.int8(({ of }) => of.orderKey.orderId),
  pan_sealed: drawn.bytes(({ sealed }) => sealed.panSealed),
  pan_key: drawn.int8(({ sealed }) => sealed.panKey),
  number_id: drawn.bytes(({ sealed }) => sealed.numberId),
  card: drawn.json(({ of }) => of.card),
  first_payment: drawn.json(({ of }) => of.first),
  created_at: drawn.time(({ of }) => of.at),
  of_destination: drawn.bool(({ of }) => of.ofDestination),
})
/** Neither changes an existing row, whether it has the same card, order or id. */
const insertNumbers = insertion('card_number_ref', numberRows, 'on conflict do nothing')
const insertReferences = onRows<Drawn>(
  referenceRows,
  `insert into card_reference (${referenceRows.names})
  select n.* from ${referenceRows.list}
  where exists (select from card_number_ref u where u.merchant_id = n.merchant_id and u.number_id = n.number_id)
  on conflict do nothing`,
)

export interface ReferenceName {
  merchantId: bigint
  cardRefId: bigint
}

/** The card references of a cell. The simulation replaces this with its model. */
export interface ReferenceStore {
  /**
   * For each payment its reference, an existing or a new one; an error if its card cannot be
   * opened.
   */
  register(fresh: readonly NewReference[], keys: KeyRing, random: Random): Promise<(CardReference | Error)[]>
  /** By `card-ref-id` alone: its other ids, and other merchants' ids, find nothing. */
  find(names: readonly ReferenceName[]): Promise<(CardReference | undefined)[]>
  registerDestination(
    fresh: NewDestination,
    keys: KeyRing,
    random: Random,
  ): Promise<{ dstCardRefId: bigint; uniqueReference: number }>
  findDestination(merchantId: bigint, id: bigint): Promise<Destination | undefined>
}

export const openReferenceStore = (pool: Pool): ReferenceStore => ({
  register: (fresh, keys, random) => registerCards(pool, fresh, keys, random),
  find: (names) => findReferences(pool, names),
  registerDestination: (fresh, keys, random) => registerDestination(pool, fresh, keys, random),
  findDestination: (merchantId, id) => findDestination(pool, merchantId, id),
})

/**
 * A drawn id is taken once in millions of millions of draws; if that happens several times in a
 * row, something else is wrong.
 */
const mostDraws = 5

/**
 * The references of first payments: existing ones, or new ones. If several calls run together, in
 * any process, one creates a reference and all return it. The caller has checked that the payments
 * are approved. The statements run on their own. If a row is missing after both, its drawn id was
 * taken, and it is drawn again; a number left without its reference serves the next one.
 */
export async function registerCards(
  pool: Pool,
  fresh: readonly NewReference[],
  keys: KeyRing,
  random: Random,
): Promise<(CardReference | Error)[]> {
  const wanted = fresh.map((one): Registered => ({
    orderKey: one.orderKey,
    card: one.card,
    first: one.first,
    at: one.at,
    ofDestination: false,
    seal: (ids) => sealForReference(one, ids, keys, random),
  }))
  return (await register(pool, wanted, random)).map((row) => (row instanceof Error ? row : referenceOf(row)))
}

/** The reference of the card that a transfer credits, with an id that has no other use. */
async function registerDestination(
  pool: Pool,
  fresh: NewDestination,
  keys: KeyRing,
  random: Random,
): Promise<{ dstCardRefId: bigint; uniqueReference: number }> {
  const { orderKey, card, at } = fresh
  const seal = (ids: ReferenceIds) => sealDestination(fresh, ids, keys, random)
  const first: FirstPayment = { payer: { email: '' } }
  const [row] = await register(pool, [{ orderKey, card, first, at, ofDestination: true, seal }], random)
  if (!row || row instanceof Error) throw row ?? new Error(`no reference was made for order ${orderKey.orderId}`)
  return { dstCardRefId: row.dstCardRefId, uniqueReference: Number(row.uniqueReference) }
}

interface Registered {
  orderKey: SealedFor
  card: ShownCard | DestinationCard
  first: FirstPayment
  at: number
  ofDestination: boolean
  seal: (ids: ReferenceIds) => SealedNumber
}

interface Drawn {
  of: Registered
  ids: ReferenceIds
  unique: number
  sealed: SealedNumber
}

async function register(pool: Pool, fresh: readonly Registered[], random: Random): Promise<(ReferenceRow | Error)[]> {
  const made = new Map<string, ReferenceRow | Error>()
  for (let draws = 0; ; draws++) {
    const missing = [...new Map(fresh.filter((one) => !made.has(orderKeyOf(one))).map((one) => [orderKeyOf(one), one])).values()]
    for (const row of await readOf(pool, selectByOrder, missing)) made.set(`${row.merchantId}/${row.orderId}`, row)
    const unmade = missing.filter((one) => !made.has(orderKeyOf(one)))
    if (unmade.length === 0) return fresh.map((one) => made.get(orderKeyOf(one))!)
    if (draws === mostDraws)
      throw new Error(`no free id was found for the card reference of order ${unmade[0]!.orderKey.orderId}`)
    const rows: Drawn[] = []
    for (const of of unmade) {
      const ids = drawIds(random)
      try {
        rows.push({ of, ids, sealed: of.seal(ids), unique: drawUnique(random) })
      } catch (error) {
        made.set(orderKeyOf(of), error instanceof Error ? error : new Error(String(error)))
      }
    }
    // Batches that share cards write them in the same order.
    rows.sort(
      (a, b) => Buffer.compare(a.sealed.numberId, b.sealed.numberId) || Number(a.of.orderKey.orderId - b.of.orderKey.orderId),
    )
    await readOf(pool, insertNumbers, rows)
    await readOf(pool, insertReferences, rows)
  }
}

const orderKeyOf = ({ orderKey }: Registered) => `${orderKey.merchantId}/${orderKey.orderId}`

const aboveBigint = 2n ** 63n

export async function findReferences(pool: Pool, names: readonly ReferenceName[]): Promise<(CardReference | undefined)[]> {
  const rows = await readOf(
    pool,
    selectByIds,
    names.filter(({ cardRefId }) => cardRefId < aboveBigint),
  )
  const found = new Map(rows.map((row) => [`${row.merchantId}/${row.cardRefId}`, referenceOf(row)]))
  return names.map(({ merchantId, cardRefId }) => found.get(`${merchantId}/${cardRefId}`))
}

/**
 * The card that a transfer may credit: by a `card-ref-id`, or by an id that serves only as
 * destination.
 */
async function findDestination(pool: Pool, merchantId: bigint, id: bigint): Promise<Destination | undefined> {
  const by = selectDestination.get(id % 4n)
  if (!by || id >= aboveBigint) return undefined
  const [row] = await pool.run(by, [merchantId, id])
  if (!row) return undefined
  const { orderKey, ids, sealed, card } = referenceOf(row)
  return { orderKey, ids, sealed, card }
}

export type Destination = Pick<CardReference, 'orderKey' | 'ids' | 'sealed'> & { card: DestinationCard }

function referenceOf(row: ReferenceRow): CardReference {
  const { merchantId, orderId, uniqueReference, panSealed, panKey, numberId, card, firstPayment, createdAt, ...ids } = row
  return {
    orderKey: { merchantId, orderId },
    ids,
    uniqueReference: Number(uniqueReference),
    sealed: { panSealed, panKey, numberId },
    card,
    first: firstPayment,
    createdAt,
  }
}
