import { codeOf } from '../../base/error-code.ts'
import { groupBy } from '../../base/groups.ts'
import { reasonOf } from '../../base/log.ts'
import type { SealedCard } from '../../card/vault.ts'
import { type DeliveryLease } from '../../delivery/store.ts'
import type { CountTables } from '../../risk/limits.ts'
import { countTables } from '../../risk/count-rows.ts'
import { readOf, writes } from '../../storage/columns.ts'
import { timestamp, type Pool, type Runner } from '../../storage/pool.ts'
import { deadAfterMs, leaseLookMs } from '../../leases/heartbeat.ts'
import { claimValues, type Claimer } from '../../leases/leased.ts'
import { answerWithinMs } from '../../three-d-secure/authentication.ts'
import { atOnce, transaction } from '../../storage/transaction.ts'
import { type Order } from '../decide/order.ts'
import {
  claimIdempotencyKeys,
  claimNewIdempotencyKeys,
  forgetIdempotencyKeys,
  selectIdempotencyKeys,
  type IdempotencyRow,
  type KeyName,
} from './idempotency.ts'
import { loadShown, type Shown, type ShownWish } from './shown.ts'
import * as due from './due.ts'
import * as sql from './statements.ts'
import { attemptOf, cardOf, orderOf, signedAmountsOf, transactionOf, type OrderKeyRecord, type SignedAmount } from './rows.ts'
import { countWrites, saveCounts } from './minute-counts.ts'
import { saveOrders, savesAtOnce } from './save.ts'
import { recordKey, type Change, type KeyClaim, type OrderKey, type RepeatRow } from '../decide/change.ts'

export interface KeyRow extends OrderKey {
  clientOrderid: string
  digest: Buffer
}

/**
 * The tables of orders inside one transaction. The simulation replaces this and `OrderStore` with
 * its model.
 */
export interface OrderTables extends CountTables {
  /**
   * Takes each client_orderid that is free, and returns its owner: the claim's own order id if it
   * was taken, now or by an earlier run.
   */
  claimKeys(claims: readonly KeyClaim[]): Promise<KeyRow[]>
  load(orderKeys: readonly OrderKey[]): Promise<Order[]>
  /**
   * Writes decided orders. If the stored version of an order is not the one that was decided on,
   * the order is not in the result and nothing of it is written. Deliveries that are sent
   * immediately get the lease that `deliveryLease` returns; all others get none.
   */
  save(changes: readonly Change[], deliveryLease: DeliveryLease | undefined): Promise<Set<string>>
  insertRepeats(rows: readonly RepeatRow[]): Promise<void>
  /**
   * Counts what ended by these saved changes. Comes last: it may wait for another batch of this
   * process.
   */
  count(changes: readonly Change[], processId: bigint): Promise<void>
  /**
   * Whether all of these keys were free or already this request's, and are taken now. If not, other
   * requests hold some, and the transaction must not be committed.
   */
  claimIdempotencyKeys(rows: readonly IdempotencyRow[], now: number): Promise<boolean>
}

/** Everything that a batch writes if no name is taken and no order has changed meanwhile. */
export interface PlainBatch {
  claims: readonly KeyClaim[]
  changes: readonly Change[]
  deliveryLease: DeliveryLease | undefined
  repeats: readonly RepeatRow[]
  keys: readonly IdempotencyRow[]
  /** Whose counts count what ends. */
  processId: bigint
}

export interface Due extends OrderKey {
  transactionNo: number
  /** How often it was returned, or run without an answer. */
  tries: number
  /**
   * The process that owned it before: a dead one, or the caller itself; absent if there was none.
   */
  hadLease?: bigint
}

export interface OrderStore {
  transaction<T>(body: (tables: OrderTables) => Promise<T>): Promise<T>
  /**
   * Commits a batch in one round trip. False: a client_orderid or an Idempotency-Key was used
   * before, or the stored version of an order is not the one that was decided on. Then nothing was
   * written.
   */
  saveAtOnce(batch: PlainBatch): Promise<boolean>
  /** The versions of these orders as stored. */
  versions(orderKeys: readonly OrderKey[]): Promise<Map<string, number>>
  load(orderKeys: readonly OrderKey[]): Promise<Order[]>
  /**
   * Takes the lease of up to `limit` due transactions that have no lease, that of a dead process,
   * or the caller's own. A step of a silent process is skipped while one of its calls may still be
   * answered in time.
   */
  claimDue(by: Claimer, now: number, limit: number): Promise<Due[]>
  /**
   * When the first transaction is due, whichever process owns its lease; `Infinity` if there is
   * none.
   */
  firstDue(): Promise<number>
  /** Returns a step that could not be run; with an alarm it is left to an operator. */
  putBack(due: Due, processId: bigint, dueAt: number, alarm: string | undefined): Promise<void>
  sealedCards(orderKeys: readonly OrderKey[]): Promise<Map<string, SealedCard>>
  /** The newest order of each client_orderid; unknown names are left out. */
  newestOrders(names: readonly { merchantId: bigint; clientOrderid: string }[]): Promise<KeyRow[]>
  /**
   * The amounts that a merchant may sign without sending them: the order's and its payment's. The
   * amount of data read is the same whether the order exists or not.
   */
  signedAmounts(orderKey: OrderKey): Promise<readonly SignedAmount[] | undefined>
  /** The status of each of these orders; undefined where there is no such order. */
  shown(wanted: readonly ShownWish[]): Promise<(Shown | undefined)[]>
  /** The rows of these keys; keys that are free are left out. */
  idempotencyKeys(keys: readonly KeyName[], now: number): Promise<IdempotencyRow[]>
  /** Removes expired keys. Safe to run twice, and in several processes. */
  forgetIdempotencyKeys(now: number): Promise<void>
  /** For each key that does not include the merchant its order. */
  locate(keys: readonly string[]): Promise<(OrderKey | undefined)[]>
}

export function openOrderStore(pool: Pool): OrderStore {
  return {
    ...readsOf(pool),
    transaction: (body) => transaction(pool, (runner) => body(tablesOn(runner))),
    async saveAtOnce({ claims, changes, deliveryLease, repeats, keys, processId }) {
      const all = [
        ...writes(sql.claimNewKeys, claims),
        ...savesAtOnce(changes, deliveryLease),
        ...writes(sql.insertRepeats, repeats),
        ...writes(claimNewIdempotencyKeys, keys),
        ...countWrites(changes, processId),
      ]
      try {
        if (all.length > 0) await atOnce(pool, all)
        return true
      } catch (error) {
        if (isConflict(error)) return false
        throw error
      }
    },
    async claimDue(by, now, limit) {
      const lookAt = timestamp(now + leaseLookMs)
      const rows = await pool.run(due.claimDue, [
        by.processId,
        timestamp(now),
        limit,
        deadAfterMs,
        lookAt,
        answerWithinMs,
        ...claimValues(by),
      ])
      return rows.map((r) => ({
        merchantId: r.merchant_id,
        orderId: r.order_id,
        transactionNo: r.transaction_no,
        tries: r.tries,
        ...(r.was === null ? {} : { hadLease: r.was }),
      }))
    },
    firstDue: async () => (await pool.run(due.firstDue, []))[0]?.due_at ?? Infinity,
    async putBack({ merchantId, orderId, transactionNo }, processId, dueAt, alarm) {
      const values = [merchantId, orderId, processId, timestamp(dueAt), alarm ?? null]
      if (transactionNo === 1) await pool.run(due.putBackHead, values)
      else await pool.run(due.putBack, [...values, transactionNo])
    },
    forgetIdempotencyKeys: (now) => forgetIdempotencyKeys(pool, now),
  }
}

type Reads = 'versions' | 'load' | 'sealedCards' | 'newestOrders' | 'signedAmounts' | 'shown' | 'idempotencyKeys' | 'locate'

function readsOf(pool: Pool): Pick<OrderStore, Reads> {
  return {
    async versions(orderKeys) {
      const rows = await readOf(pool, sql.selectVersions, orderKeys)
      return new Map(rows.map((row) => [recordKey(row), row.version]))
    },
    load: (orderKeys) => loadOrders(pool, orderKeys),
    sealedCards: async (orderKeys) =>
      new Map((await readOf(pool, sql.selectCards, orderKeys)).map((row) => [recordKey(row), cardOf(row)])),
    newestOrders: async (names) => (await readOf(pool, sql.selectKeys, names)).map(keyRow),
    async signedAmounts({ merchantId, orderId }) {
      const [row] = await pool.run(sql.selectSignedAmounts, [merchantId, orderId])
      return row && signedAmountsOf(row)
    },
    shown: (wanted) => loadShown(pool, wanted),
    idempotencyKeys: (keys, now) => selectIdempotencyKeys(pool, keys, now),
    async locate(keys) {
      const places = new Map((await readOf(pool, sql.locate, keys)).map((row) => [row.key, orderKeyIn(row)]))
      return keys.map((key) => places.get(key))
    },
  }
}

const tablesOn = (runner: Runner): OrderTables => ({
  claimKeys: (claims) => claimKeys(runner, claims),
  ...countTables(runner),
  load: (orderKeys) => loadOrders(runner, orderKeys),
  save: (changes, deliveryLease) => saveOrders(runner, changes, deliveryLease),
  insertRepeats: async (rows) => void (await readOf(runner, sql.insertRepeats, rows)),
  claimIdempotencyKeys: (rows, now) => claimIdempotencyKeys(runner, rows, now),
  count: (changes, processId) => saveCounts(runner, changes, processId),
})

/** Takes each name that is free; returns the owner of each. */
async function claimKeys(runner: Runner, claims: readonly KeyClaim[]): Promise<KeyRow[]> {
  const won = (await readOf(runner, sql.claimKeys, claims)).map(keyRow)
  if (won.length === claims.length) return won
  const taken = new Set(won.map(nameKey))
  const lost = claims.filter((claim) => !taken.has(nameKey(claim)))
  return [...won, ...(await readOf(runner, sql.selectKeys, lost)).map(keyRow)]
}

/** Those of them that there are, each with all its transactions and attempts. */
export async function loadOrders(runner: Runner, orderKeys: readonly OrderKey[]): Promise<Order[]> {
  // Reads the version first. If it were read last it could be newer than the rest, and a save with
  // it would succeed although the order had changed.
  const orders = await readOf(runner, sql.selectOrders, orderKeys)
  const placed = (some: typeof orders) => some.map(orderKeyIn)
  const [transactions, attempts] = await Promise.all([
    readOf(runner, sql.selectTransactions, placed(orders.filter((row) => row.transactions > 1))),
    readOf(
      runner,
      sql.selectAttempts,
      placed(orders.filter((row) => row.attempts > 1 || (row.attempts === 1 && row.gate_id === null))),
    ),
  ])
  const transactionsOf = groupBy(transactions, recordKey)
  const attemptsOf = groupBy(attempts, recordKey)
  return orders.map((row) =>
    orderOf(
      row,
      (transactionsOf.get(recordKey(row)) ?? []).map(transactionOf).sort((a, b) => a.no - b.no),
      (attemptsOf.get(recordKey(row)) ?? []).map(attemptOf).sort((a, b) => a.no - b.no),
    ),
  )
}

const orderKeyIn = (row: OrderKeyRecord): OrderKey => ({ merchantId: row.merchant_id, orderId: row.order_id })

/**
 * A duplicate in another table is a defect. Through Citus, an insert of selected rows fails with
 * the code of an internal error and without the names of table and constraint; the message has the
 * constraint's, with the number of the shard.
 */
function isConflict(error: unknown): boolean {
  const code = codeOf(error)
  if (code === sql.versionMoved) return true
  const isDuplicate = code === '23505' || code === 'XX000'
  return isDuplicate && /\b(?:order_key|idempotency_key)_pkey(?:_[0-9]+)?\b/.test(reasonOf(error))
}

const nameKey = (n: sql.Name) => `${n.merchantId}/${n.clientOrderid}`

const keyRow = (r: sql.KeyRecord): KeyRow => ({
  merchantId: r.merchant_id,
  orderId: r.order_id,
  clientOrderid: r.client_orderid,
  digest: r.digest,
})
