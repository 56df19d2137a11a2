import assert from 'node:assert/strict'
import {
  accepted,
  encodePairs,
  minorUnits,
  readReply,
  send,
  sha1,
  signedSale,
  status,
} from '../../conformance/requests/client.ts'
import { until } from '../clock/until.ts'
import type { Changes, Fields, Order } from '../../conformance/requests/client.ts'
import type { FaultDesk } from './fault-desk.ts'
import type { World } from './world.ts'

/** Captures, returns and voids as a merchant sends them; both books, compared by transaction. */

export type Operation = 'capture' | 'return' | 'void'

export interface Ask {
  amount?: string
  comment?: string
  idempotencyKey?: string
}

/** Asks something of an order in USD at the plain endpoint. */
export async function follow(world: World, operation: Operation, made: Order, ask: Ask = {}): Promise<Fields> {
  const { login, controlKey } = world.merchant
  const { client_orderid, orderid } = made
  const signed = ask.amount === undefined ? [] : [minorUnits(ask.amount, 2), 'USD']
  const fields: Changes = {
    login,
    client_orderid,
    orderid,
    amount: ask.amount,
    currency: ask.amount === undefined ? undefined : 'USD',
    comment: ask.comment,
    control: sha1(login, client_orderid, orderid, ...signed, controlKey),
  }
  const pairs = Object.entries(fields).filter((pair): pair is [string, string] => pair[1] !== undefined)
  const url = `${world.baseUrl}/api/v2/${operation}/${world.endpoints.plain}`
  return readReply(await send('POST', url, encodePairs(pairs), { 'idempotency-key': ask.idempotencyKey }))
}

/** A preauthorisation has the fields and the checksum of a sale. */
export async function preauth(world: World, changes: Changes = {}): Promise<Order> {
  const url = `${world.baseUrl}/api/v2/preauth/${world.endpoints.plain}`
  return accepted(readReply(await send('POST', url, encodePairs(Object.entries(signedSale(world, changes))))))
}

/** Where the transaction stands that a request made. */
export const standing = (world: World, { client_orderid, orderid }: Order, serial: string): Promise<Fields> =>
  status(world, { client_orderid, orderid, 'by-request-sn': serial })

const isFinal = ({ status: said }: Fields): boolean => said !== 'processing' && said !== 'unknown'

export const ended = (world: World, made: Order, serial: string, withinMs = 120_000): Promise<Fields> =>
  until(() => standing(world, made, serial), isFinal, withinMs)

interface Row {
  order_id: string
  no: number
  kind: string
  state: string
  amount: string
  name: string | null
  /** Whether it is the last of its transaction. Earlier ones were amounts of a list, declined. */
  isLast: boolean | null
}

/**
 * Compares the books in both directions, transaction by transaction. The acquirer must have exactly
 * what is approved here and was not released, under the names by which it was sent. No transaction
 * may be booked twice, or be unknown here.
 */
export async function bothBooks(desk: FaultDesk): Promise<string[]> {
  const rows = await desk.rows<Row>(
    `select t.order_id::text, t.transaction_no as no, t.kind, t.state, a.stan || ' ' || a.rrn as name,
       (case when t.transaction_no = 1 then coalesce(o.authorised_minor, t.amount_minor) else t.amount_minor end)::text as amount,
       a.attempt_no = max(a.attempt_no) over (partition by t.order_id, t.transaction_no) as "isLast"
     from orders o join all_transactions t using (merchant_id, order_id)
       left join all_attempts a using (merchant_id, order_id, transaction_no)`,
  )
  const entries = new Map<string, { state: string; amountMinor: string; orderId: string; kind?: string }[]>()
  for (const entry of await desk.entries()) {
    const name = `${entry.stan} ${entry.rrn}`
    entries.set(name, [...(entries.get(name) ?? []), entry])
  }
  const released = new Set(
    rows.filter(({ kind, state }) => (kind === 'void' || kind === 'cancel') && state === 'approved').map((r) => r.order_id),
  )
  const differences: string[] = []
  for (const { order_id, no, kind, state, amount, name, isLast } of rows) {
    if (kind === 'reversal' || kind === 'void' || kind === 'cancel') continue
    const theirs = name === null ? [] : (entries.get(name) ?? [])
    if (name !== null) entries.delete(name)
    const stands = state === 'approved' && isLast !== false && !(no === 1 && released.has(order_id))
    const expected = stands ? `${kind === 'transfer' ? 'debit' : kind} ${amount}` : ''
    const there = theirs.filter((e) => e.state === 'approved').map((e) => `${e.kind} ${e.amountMinor}`)
    if (there.join() !== expected)
      differences.push(`${kind} ${order_id}/${no} of ${amount} is ${state} here, there stands ${there.join() || 'nothing'}`)
    if (theirs.length > 1) differences.push(`${kind} ${order_id}/${no} was booked ${theirs.length} times`)
  }
  for (const [name, [entry]] of entries)
    if (entry) differences.push(`${entry.kind} ${name} of order ${entry.orderId} is unknown here`)
  return differences
}

/** The sums of an order as its row has them: captured and returned. */
export async function sumsOf(desk: FaultDesk, { orderid }: Order): Promise<[string, string]> {
  const [row] = await desk.rows<{ c: string; r: string }>(
    'select captured_minor::text as c, returned_minor::text as r from orders where order_id = $1',
    [orderid],
  )
  return [row!.c, row!.r]
}

async function nothingIsOwed(desk: FaultDesk, withinMs = 60_000): Promise<void> {
  const none = (open: readonly string[]) => open.length === 0
  assert.deepEqual(await until(() => openWork(desk), none, withinMs), [])
}

/** Nothing is owed in the end, and both books are equal then. */
export async function booksAgree(desk: FaultDesk, withinMs?: number): Promise<void> {
  await nothingIsOwed(desk, withinMs)
  assert.deepEqual(await bothBooks(desk), [])
}

/** Orders that owe something still. */
const openWork = async (desk: FaultDesk): Promise<string[]> =>
  (
    await desk.rows<{ text: string }>(
      `select concat_ws(' ', order_id, transaction_no, kind, state) as text from all_transactions where step is not null`,
    )
  ).map(({ text }) => text)
