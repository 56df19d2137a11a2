import type { Book, Broken } from './book.ts'
import { isFinal } from './book.ts'
import { hostilePrefix } from './hostile.ts'
import type { AttemptRow, Entry, OrderRow, State } from './state.ts'

export interface Run {
  state: State
  book: Book
  hostileAnswered: number
  endedByItself: readonly string[]
  longestStopMs: number
}

export interface Verdict {
  promise: string
  /** What was looked at, in words with a number. */
  looked: string
  broken: Omit<Broken, 'promise'>[]
}

/** What an order is called when something about it is wrong. */
interface Complaint {
  orderid?: string
  says: string
}

const of = (orderId: bigint | string, says: string): Complaint => ({ orderid: String(orderId), says })

/** Currencies of the sandbox by their ISO 4217 numbers, which the acquirer's ledger uses. */
const numericOf: Readonly<Record<string, string>> = { USD: '840', EUR: '978' }
/**
 * A request again later than this after the first may make a new order when the first one came to
 * nothing.
 */
const sameOrderForMs = 10_000
/** Rows are swept several times a second; what was due so long ago was forgotten. */
const dueForMs = 10_000
/** Ten seconds for the gateway, and as many for PostgreSQL and the simulators after it. */
const stopWithinMs = 20_000

/** Every promise with what became of it, in the order of the table. */
export function judge(run: Run): Verdict[] {
  const { state, book } = run
  const verdict = (promise: string, looked: string, found: readonly Complaint[]): Verdict => ({
    promise,
    looked,
    broken: [...found, ...book.broken.filter((b) => b.promise === promise)],
  })
  const acknowledged = [...book.orders.values()].filter((o) => o.acknowledged)
  return [
    verdict('acknowledged orders exist', `${acknowledged.length} orders`, lost(run)),
    verdict('every order is final', statusesOf(state), unfinished(run)),
    verdict('one final status', `${book.statuses} status replies`, changed(run)),
    verdict('books are equal', `${state.ledger.length} ledger entries, ${sumsOf(state)}`, [...sums(state), ...unequal(state)]),
    verdict(
      'counts equal the books',
      `${state.orders.length} orders, ${state.attempts.length} attempts`,
      state.miscounts.map(({ counted, counts, stored }) => ({ says: `${counted}: ${counts} counted, ${stored} stored` })),
    ),
    verdict('one entry per attempt', `${state.attempts.length} attempts`, doubled(state)),
    verdict('no order is charged twice', `${state.orders.length} orders`, chargedTwice(state)),
    verdict('repeated requests', `${new Set(state.orders.map((o) => o.client_orderid)).size} names`, renamed(state)),
    verdict('callbacks', calledBack(state), untold(run)),
    verdict('hostile requests', `${run.hostileAnswered} refused`, admitted(state)),
    verdict(
      'no CVV2 is kept',
      `${state.orders.length} cards`,
      state.cvv2s.map((id) => of(id, 'its CVV2 is still there')),
    ),
    verdict('nothing is forgotten', `${state.transactions.length + state.deliveries.length} rows`, forgotten(state)),
    verdict('nothing ends by itself', `longest stop ${(run.longestStopMs / 1_000).toFixed(1)} s`, ended(run)),
    verdict(
      'the torture itself works',
      `${acknowledged.length} sales`,
      acknowledged.length === 0 ? [{ says: 'no sale was acknowledged' }] : [],
    ),
  ]
}

function lost({ state, book }: Run): Complaint[] {
  const rows = new Map(state.orders.map((o) => [String(o.order_id), o]))
  return [...book.orders.values()].flatMap((seen) => {
    const row = rows.get(seen.orderid)
    const how = seen.acknowledged ? 'was acknowledged' : 'was reported'
    if (!row) return [of(seen.orderid, `${seen.clientOrderid} ${how} and is not there`)]
    return row.client_orderid === seen.clientOrderid
      ? []
      : [of(seen.orderid, `${how} as ${seen.clientOrderid}, is ${row.client_orderid}`)]
  })
}

function statusesOf({ orders }: State): string {
  const counts = [...groupBy(orders, (o) => o.status)].map(([status, same]) => `${same.length} ${status}`)
  return counts.sort().join(', ')
}

function unfinished({ state }: Run): Complaint[] {
  return [
    ...state.orders
      .filter((o) => !isFinal(o.status) || o.final_at === null)
      .map((o) => of(o.order_id, `it rests at ${o.status}`)),
    ...state.transactions
      .filter((t) => !isFinal(t.state))
      .map((t) => of(t.order_id, `its ${t.kind} ${t.transaction_no} rests at ${t.state}`)),
  ]
}

function changed({ state, book }: Run): Complaint[] {
  return state.orders.flatMap((o) => {
    const final = book.orders.get(String(o.order_id))?.final
    return final && final.status !== o.status ? [of(o.order_id, `${final.by} said ${final.status}, it is ${o.status}`)] : []
  })
}

const approvedSum = (state: State, currency: string): bigint =>
  state.orders.reduce((sum, o) => (o.currency === currency && o.status === 'approved' ? sum + o.amount_minor : sum), 0n)

const sumsOf = (state: State): string =>
  Object.keys(numericOf)
    .map((currency) => `${currency} ${(Number(approvedSum(state, currency)) / 100).toFixed(2)}`)
    .join(', ')

function sums(state: State): Complaint[] {
  const currencies = new Set([...Object.values(numericOf), ...state.charged.map((c) => c.currency)])
  return [...currencies].flatMap((numeric) => {
    const currency = Object.keys(numericOf).find((code) => numericOf[code] === numeric) ?? ''
    const ours = approvedSum(state, currency)
    const theirs = BigInt(state.charged.find((c) => c.currency === numeric)?.charged_minor ?? 0)
    return ours === theirs
      ? []
      : [{ says: `${currency || numeric}: the gateway has ${ours}, the acquirer ${theirs} minor units` }]
  })
}

const namesOf = (x: { stan: string; rrn: string }): string => `${x.stan}/${x.rrn}`

/** Order by order, both ways. */
function unequal(state: State): Complaint[] {
  const entries = groupBy(state.ledger, (e) => e.orderId)
  const attempts = groupBy(state.attempts, (a) => String(a.order_id))
  const known = new Set(state.orders.map((o) => String(o.order_id)))
  return [
    ...state.ledger.filter((e) => !known.has(e.orderId)).map((e) => of(e.orderId, 'the acquirer has it, the gateway does not')),
    ...state.orders.flatMap((o) =>
      complaintsOf(o, entries.get(String(o.order_id)) ?? [], attempts.get(String(o.order_id)) ?? []).map((says) =>
        of(o.order_id, says),
      ),
    ),
  ]
}

function complaintsOf(o: OrderRow, entries: readonly Entry[], attempts: readonly AttemptRow[]): string[] {
  const stand = entries.filter((e) => e.state === 'approved')
  const wrong = entries.filter((e) => e.amountMinor !== String(o.amount_minor) || e.currency !== numericOf[o.currency])
  const says = wrong.map((e) => `the acquirer has it with ${e.amountMinor} of currency ${e.currency}`)
  if (o.status !== 'approved') return stand.length === 0 ? says : [...says, `it is ${o.status}, the acquirer has it approved`]
  const ours = new Set(attempts.filter((a) => a.outcome === 'approved').map(namesOf))
  if (stand.length === 0) says.push('it is approved, the acquirer has nothing of it')
  return [
    ...says,
    ...stand.filter((e) => !ours.has(namesOf(e))).map((e) => `approved as ${namesOf(e)}, which was no approved attempt`),
  ]
}

function doubled(state: State): Complaint[] {
  const sales = groupBy(
    state.attempts.filter((a) => a.transaction_no === 1),
    (a) => `${a.order_id} ${a.terminal_id} ${namesOf(a)}`,
  )
  const entries = groupBy(state.ledger, (e) => `${e.orderId} ${e.terminal} ${namesOf(e)}`)
  return [
    ...[...sales.values()]
      .filter((same) => same.length > 1)
      .map(([a]) => of(a!.order_id, `two attempts have the names ${namesOf(a!)}`)),
    ...[...entries].flatMap(([key, same]) => [
      ...(same.length > 1 ? [of(same[0]!.orderId, `${same.length} ledger entries for ${namesOf(same[0]!)}`)] : []),
      ...(sales.has(key) ? [] : [of(same[0]!.orderId, `a ledger entry ${namesOf(same[0]!)} of no attempt`)]),
    ]),
  ]
}

/** By order and by the merchant's name for it. */
function chargedTwice(state: State): Complaint[] {
  const nameOf = new Map(state.orders.map((o) => [String(o.order_id), o.client_orderid]))
  const charged = groupBy(
    state.ledger.filter((e) => e.state === 'approved'),
    (e) => nameOf.get(e.orderId) ?? e.orderId,
  )
  return [...charged.values()]
    .filter((all) => all.length > 1)
    .map((all) => of(all[0]!.orderId, `it was charged ${all.length} times`))
}

/**
 * One name has one order, unless the earlier one had come to nothing when the next was taken, and
 * its request was more than ten seconds old.
 */
function renamed(state: State): Complaint[] {
  return [...groupBy(state.orders, (o) => o.client_orderid).values()].flatMap((same) =>
    same.slice(1).flatMap((next, i) => {
      const before = same[i]!
      const free = before.status !== 'approved' && before.final_at !== null && before.final_at <= next.accepted_at
      const later = next.created_at - before.created_at > sameOrderForMs
      return free && later ? [] : [of(next.order_id, `${next.client_orderid} has this order and ${before.order_id} before it`)]
    }),
  )
}

function calledBack({ deliveries }: State): string {
  const delivered = deliveries.filter((d) => d.state === 'delivered').length
  return `${delivered} delivered, ${deliveries.length - delivered} still due`
}

function untold({ state, book }: Run): Complaint[] {
  const deliveries = groupBy(state.deliveries, (d) => d.order_id)
  return state.orders.flatMap((o) => {
    const own = deliveries.get(o.order_id) ?? []
    const seen = book.orders.get(String(o.order_id))
    if (own.length !== 1) return [of(o.order_id, `it has ${own.length} callbacks`)]
    const [d] = own
    if (d!.state === 'given up') return [of(o.order_id, 'its callback was given up')]
    if (d!.state === 'delivered' && !((seen?.taken ?? 0) > 0 && d!.taken))
      return [of(o.order_id, 'its callback counts as delivered, and no merchant took it')]
    // Still due is allowed to what the receiver turned away, and only until the next try.
    if (d!.state === 'due' && d!.tries === 0) return [of(o.order_id, 'its callback was never tried')]
    return []
  })
}

const admitted = (state: State): Complaint[] =>
  state.orders
    .filter((o) => o.client_orderid.startsWith(hostilePrefix))
    .map((o) => of(o.order_id, `${o.client_orderid} was accepted`))

function forgotten({ transactions, deliveries, alive, now }: State): Complaint[] {
  const late = (row: { order_id: bigint; due_at: number | null; lease: bigint | null }, what: string): Complaint[] => {
    if (row.lease !== null && !alive.has(row.lease))
      return [of(row.order_id, `${what} is leased to process ${row.lease}, which is dead`)]
    return row.due_at !== null && row.due_at < now - dueForMs ? [of(row.order_id, `${what} has been due for long`)] : []
  }
  return [
    ...transactions.flatMap((t) => late(t, `its ${t.kind}`)),
    ...transactions.filter((t) => t.alarm !== null).map((t) => of(t.order_id, `it is parked: ${t.alarm}`)),
    ...deliveries.flatMap((d) => late(d, 'its callback')),
  ]
}

const ended = ({ endedByItself, longestStopMs }: Run): Complaint[] => [
  ...endedByItself.map((says) => ({ says })),
  ...(longestStopMs > stopWithinMs ? [{ says: `a stop took ${(longestStopMs / 1_000).toFixed(1)} s` }] : []),
]

function groupBy<T, K>(items: readonly T[], keyOf: (item: T) => K): Map<K, T[]> {
  const groups = new Map<K, T[]>()
  for (const item of items) {
    const group = groups.get(keyOf(item))
    if (group) group.push(item)
    else groups.set(keyOf(item), [item])
  }
  return groups
}
