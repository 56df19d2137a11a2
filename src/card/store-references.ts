import type { Random } from '../base/random.ts'
import { bytea, statement, timestamp, type Pool } from '../storage/pool.ts'
import type { KeyRing } from '../storage/store-keys.ts'
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
import type { Place } from './vault.ts'

interface ReferenceRow {
  merchant_id: bigint
  card_ref_id: bigint
  recurring_payment_id: bigint
  dst_card_ref_id: bigint
  dst_recurring_payment_id: bigint
  order_id: bigint
  pan_sealed: Buffer
  pan_key: bigint
  fingerprint: Buffer
  card: ShownCard
  first_payment: FirstPayment
  created_at: number
  unique_reference: bigint
}

const select = (where: string) => `
  select r.merchant_id, r.card_ref_id, r.recurring_payment_id, r.dst_card_ref_id, r.dst_recurring_payment_id, r.order_id,
    r.pan_sealed, r.pan_key, r.fingerprint, r.card, r.first_payment, r.created_at, n.unique_reference
  from card_reference r
  join card_number_ref n on n.merchant_id = r.merchant_id and n.fingerprint = r.fingerprint
  where ${where}`

const selectByOrder = statement<ReferenceRow>(select('r.merchant_id = $1 and r.order_id = $2 and r.of_destination = $3'))
const selectById = statement<ReferenceRow>(select('r.merchant_id = $1 and r.card_ref_id = $2 and not r.of_destination'))
/** For cards that may be credited, by the remainder of the id. */
const selectDestination = new Map([
  [0n, selectById],
  [2n, statement<ReferenceRow>(select('r.merchant_id = $1 and r.dst_card_ref_id = $2'))],
  [3n, statement<ReferenceRow>(select('r.merchant_id = $1 and r.dst_recurring_payment_id = $2'))],
])

/** Neither changes an existing row, whether it has the same card, order or id. */
const insertNumber = statement<object>(`
  insert into card_number_ref (merchant_id, fingerprint, unique_reference, created_at)
  values ($1, $2, $3, $4) on conflict do nothing`)
const insertReference = statement<object>(`
  insert into card_reference (merchant_id, card_ref_id, recurring_payment_id, dst_card_ref_id, dst_recurring_payment_id, order_id,
    pan_sealed, pan_key, fingerprint, card, first_payment, created_at, of_destination)
  select n.merchant_id, $3::bigint, $4::bigint, $5::bigint, $6::bigint, $7::bigint, $8::bytea, $9::bigint, n.fingerprint,
    $10::jsonb, $11::jsonb, $12::timestamptz, $13::boolean
  from card_number_ref n where n.merchant_id = $1 and n.fingerprint = $2
  on conflict do nothing`)

/** The card references of a cell. The simulation replaces this with its model. */
export interface ReferenceStore {
  register(fresh: NewReference, keys: KeyRing, random: Random): Promise<CardReference>
  find(merchantId: bigint, cardRefId: bigint): Promise<CardReference | undefined>
  registerDestination(
    fresh: NewDestination,
    keys: KeyRing,
    random: Random,
  ): Promise<{ dstCardRefId: bigint; uniqueReference: number }>
  findDestination(merchantId: bigint, id: bigint): Promise<Destination | undefined>
}

export const openReferenceStore = (pool: Pool): ReferenceStore => ({
  register: (fresh, keys, random) => registerCard(pool, fresh, keys, random),
  find: (merchantId, cardRefId) => findReference(pool, merchantId, cardRefId),
  registerDestination: (fresh, keys, random) => registerDestination(pool, fresh, keys, random),
  findDestination: (merchantId, id) => findDestination(pool, merchantId, id),
})

/**
 * A drawn id is taken once in millions of millions of draws; if that happens several times in a
 * row, something else is wrong.
 */
const mostDraws = 5

/**
 * The reference of a first payment: the existing one, or a new one. If several calls run at once,
 * in any process, one creates it and all return it. The caller has checked that the payment is
 * approved. The statements run on their own, each waiting for at most one row. If a row is missing
 * after both, its drawn id was taken, and it is drawn again; a number left without its reference
 * serves the next one.
 */
export async function registerCard(pool: Pool, fresh: NewReference, keys: KeyRing, random: Random): Promise<CardReference> {
  const { place, card, first, at } = fresh
  const seal = (ids: ReferenceIds) => sealForReference(fresh, ids, keys, random)
  return referenceOf(await register(pool, { place, card, first, at, ofDestination: false, seal }, random))
}

/** The reference of the card that a transfer credits, with an id that has no other use. */
async function registerDestination(
  pool: Pool,
  fresh: NewDestination,
  keys: KeyRing,
  random: Random,
): Promise<{ dstCardRefId: bigint; uniqueReference: number }> {
  const { place, card, at } = fresh
  const seal = (ids: ReferenceIds) => sealDestination(fresh, ids, keys, random)
  const first: FirstPayment = { payer: { email: '' } }
  const row = await register(pool, { place, card, first, at, ofDestination: true, seal }, random)
  return { dstCardRefId: row.dst_card_ref_id, uniqueReference: Number(row.unique_reference) }
}

interface Registered {
  place: Place
  card: ShownCard | DestinationCard
  first: FirstPayment
  at: number
  ofDestination: boolean
  seal: (ids: ReferenceIds) => SealedNumber
}

async function register(pool: Pool, fresh: Registered, random: Random): Promise<ReferenceRow> {
  const { merchantId, orderId } = fresh.place
  for (let draws = 0; ; draws++) {
    const [row] = await pool.run(selectByOrder, [merchantId, orderId, fresh.ofDestination])
    if (row) return row
    if (draws === mostDraws) throw new Error(`no free id was found for the card reference of order ${orderId}`)
    const ids = drawIds(random)
    const sealed = fresh.seal(ids)
    const fingerprint = bytea(sealed.fingerprint)
    const at = timestamp(fresh.at)
    await pool.run(insertNumber, [merchantId, fingerprint, drawUnique(random), at])
    await pool.run(insertReference, [
      merchantId,
      fingerprint,
      ids.cardRefId,
      ids.recurringPaymentId,
      ids.dstCardRefId,
      ids.dstRecurringPaymentId,
      orderId,
      bytea(sealed.panSealed),
      sealed.panKey,
      JSON.stringify(fresh.card),
      JSON.stringify(fresh.first),
      at,
      fresh.ofDestination,
    ])
  }
}

const aboveBigint = 2n ** 63n

/** By `card-ref-id` alone: its other ids, and other merchants' ids, find nothing. */
export async function findReference(pool: Pool, merchantId: bigint, cardRefId: bigint): Promise<CardReference | undefined> {
  if (cardRefId >= aboveBigint) return undefined
  const [row] = await pool.run(selectById, [merchantId, cardRefId])
  return row && referenceOf(row)
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
  const { place, ids, sealed, card } = referenceOf(row)
  return { place, ids, sealed, card }
}

export type Destination = Pick<CardReference, 'place' | 'ids' | 'sealed'> & { card: DestinationCard }

const referenceOf = (r: ReferenceRow): CardReference => ({
  place: { merchantId: r.merchant_id, orderId: r.order_id } satisfies Place,
  ids: {
    cardRefId: r.card_ref_id,
    recurringPaymentId: r.recurring_payment_id,
    dstCardRefId: r.dst_card_ref_id,
    dstRecurringPaymentId: r.dst_recurring_payment_id,
  },
  uniqueReference: Number(r.unique_reference),
  sealed: { panSealed: r.pan_sealed, panKey: r.pan_key, fingerprint: r.fingerprint },
  card: r.card,
  first: r.first_payment,
  createdAt: r.created_at,
})
