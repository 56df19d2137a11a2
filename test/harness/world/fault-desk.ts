import type { LoggedMessage } from '../../../simulators/acquirer/desk.ts'
import type { Effect, Match } from '../../../simulators/acquirer/faults.ts'
import { metricsOf } from './metrics.ts'
import { openOwnRows } from '../postgres/own-rows.ts'
import type { World } from './world.ts'
import { holds, until } from '../clock/until.ts'

/** What a test of faults does to a world, and how it reads both books. */
export interface FaultDesk {
  /**
   * Scripts what the acquirer does to messages that match. Returns a function that makes it forget
   * the script.
   */
  script(match: Partial<Match>, effect: Effect): Promise<() => Promise<void>>
  line(wish: { refuse?: boolean; close_now?: boolean; latency_ms?: number; slow_reversal_ms?: number }): Promise<void>
  /** The acquirer's entries: of one order, or all but those for orders of other merchants. */
  entries(orderId?: string): Promise<LedgerEntry[]>
  /**
   * Messages the acquirer got since this desk was opened or the acquirer started, by type; how many
   * of them it had seen before, and how many had been reversed before they came.
   */
  messages(): Promise<{ byType: Record<string, number>; repeats: number; duplicates: number; forestalled: number }>
  /**
   * How often a capture, return or payment of this order came again under the names of one that had
   * come before.
   */
  repeats(orderId: string): Promise<number>
  /** How many answers to authorisations the acquirer has written, of all orders or of these. */
  answers(orders?: readonly { orderid: string }[]): Promise<number>
  /**
   * Changes settings of the sandbox's first gate, and waits until the gateway follows them and has
   * its line up.
   */
  gate(changes: object): Promise<void>
  rows<Row extends object>(sql: string, values?: unknown[]): Promise<Row[]>
  /** The attempts of an order as text, oldest first: transaction, kind, outcome and action code. */
  attempts(orderId: string): Promise<string[]>
  /**
   * Compares the books both ways, by order and amount: what stands at the acquirer must be exactly
   * the approved orders here, each once, and of a transfer debit and credit. `open` counts orders
   * that have not ended.
   */
  books(): Promise<{ open: number; differences: string[] }>
  /** Waits until every order has ended. It does not read the acquirer's books, which are long. */
  ended(withinMs?: number): Promise<void>
  close(): Promise<void>
}

export interface LedgerEntry {
  orderId: string
  state: 'approved' | 'declined' | 'reversed'
  stan: string
  rrn: string
  amountMinor: string
  receivedAt: string
}

const knownWithinMs = 120_000

export async function openFaultDesk(world: World): Promise<FaultDesk> {
  const database = openOwnRows(world, 2)
  const rows: Rows = async <Row extends object>(sql: string, values: unknown[] = []) =>
    (await database.query<Row>(sql, values)).rows
  const ask = askAcquirer(world)
  const ledger = async (orderId?: string): Promise<LedgerEntry[]> =>
    (await ask(`/ledger?limit=100000${orderId === undefined ? '' : `&order_id=${orderId}`}`)).entries as LedgerEntry[]
  /** What no merchant knows stays in sight. */
  async function entries(): Promise<LedgerEntry[]> {
    const all = await ledger()
    const others = new Set((await rows<{ id: string }>(ordersOfOthers)).map(({ id }) => id))
    return all.filter(({ orderId }) => !others.has(orderId))
  }
  const summary = async () => {
    const { messages, repeats, duplicates, forestalled } = await ask('/ledger/summary')
    const byType = messages as Record<string, number>
    return { byType, repeats: Number(repeats), duplicates: Number(duplicates), forestalled: Number(forestalled) }
  }
  const before = { at: new Date().toISOString(), acquirer: world.acquirerAdminUrl, ...(await summary()) }
  const log = async (orderId?: string) =>
    (await ask(`/messages?limit=1000${orderId === undefined ? '' : `&order_id=${orderId}`}`)).messages as LoggedMessage[]

  return {
    async script(match, effect) {
      const { id } = await ask('/faults', { match, do: effect })
      return async () => void (await ask(`/faults/${String(id)}`, undefined, { method: 'DELETE' }))
    },
    async line(wish) {
      await ask('/line', wish)
    },
    entries: (orderId) => (orderId === undefined ? entries() : ledger(orderId)),
    async messages() {
      const now = await summary()
      if (before.acquirer !== world.acquirerAdminUrl) return now
      const types = Object.entries(now.byType).map(([type, count]) => [type, count - (before.byType[type] ?? 0)] as const)
      return {
        byType: Object.fromEntries(types.filter(([, count]) => count > 0)),
        repeats: now.repeats - before.repeats,
        duplicates: now.duplicates - before.duplicates,
        forestalled: now.forestalled - before.forestalled,
      }
    },
    repeats: async (orderId) => repeatsIn(await log(orderId)),
    async answers(orders) {
      const logs = orders ? await Promise.all(orders.map(({ orderid }) => log(orderid))) : [await log()]
      return logs.flat().filter(({ direction, type, at }) => direction === 'out' && type === '1210' && at >= before.at).length
    },
    gate: (changes) => changeGate(changes, world, rows),
    rows,
    async attempts(orderId) {
      const found = await rows<{ text: string }>(
        `select concat_ws(' ', a.transaction_no, t.kind, coalesce(a.outcome, 'open'), a.action_code) as text
         from all_attempts a join all_transactions t using (merchant_id, order_id, transaction_no)
         where order_id = $1 order by attempt_no`,
        [orderId],
      )
      return found.map(({ text }) => text)
    },
    async books() {
      const orders = await rows<BookedOrder>(bookedOrders)
      return compareBooks(orders, await entries())
    },
    async ended(withinMs = 120_000) {
      const open = async () => rows<{ id: string }>(openOrders)
      await until(open, (all) => all.length === 0, withinMs)
    },
    close: () => database.end(),
  }
}

type Rows = FaultDesk['rows']

/** Asks the acquirer's administration, whose address changes with each start of the world. */
const askAcquirer =
  (world: World) =>
  async (path: string, wish?: object, how: RequestInit = {}): Promise<Record<string, unknown>> => {
    const init =
      wish === undefined ? how : { method: 'POST', body: JSON.stringify(wish), headers: { 'content-type': 'application/json' } }
    const answer = await fetch(`${world.acquirerAdminUrl}${path}`, init)
    if (!answer.ok) throw new Error(`the acquirer answers ${answer.status} to ${path}: ${await answer.text()}`)
    return (await answer.json()) as Record<string, unknown>
  }

function repeatsIn(messages: readonly LoggedMessage[]): number {
  const came = messages.filter(({ direction, type }) => direction === 'in' && type.startsWith('12')).toReversed()
  const names = came.map(({ fields }) => `${fields['11']} ${fields['12']}`)
  return came.filter(({ type }, at) => type.endsWith('1') && names.indexOf(names[at]!) < at).length
}

async function changeGate(changes: object, world: World, rows: Rows): Promise<void> {
  const [gate] = await rows<{ id: string }>(
    `update gate set settings = settings || $1::jsonb where name = 'sandbox acquirer' returning gate_id::text as id`,
    [JSON.stringify(changes)],
  )
  const [wanted] = await rows<{ version: string }>(
    `update config_version set version = version + 1 returning version::text as version`,
  )
  const isDone = async () => {
    const metric = await metricsOf(world)
    const followed = metric('tollgate_configuration_version') ?? 0
    return followed >= Number(wanted!.version) && metric(`tollgate_gate_up{gate="${gate!.id}"}`) === 1
  }
  await holds(isDone, 'the gateway follows the gate', knownWithinMs, 50)
}

interface BookedOrder {
  id: string
  status: string
  /** The amounts that stand at the acquirer if the order is approved. */
  stands: string
}

const bookedOrders = `select o.order_id::text as id, o.status,
    case o.kind when 'transfer' then concat_ws(',', t.amount_minor, o.amount_minor) else o.amount_minor::text end as stands
  from orders o join all_transactions t using (merchant_id, order_id) where t.transaction_no = 1`

const openOrders = `select order_id::text as id from orders where status in ('processing', 'unknown')`

const ordersOfOthers = `select order_id::text as id from public.orders except select order_id::text from orders`

function compareBooks(orders: readonly BookedOrder[], entries: readonly LedgerEntry[]): { open: number; differences: string[] } {
  const isOpen = ({ status }: BookedOrder) => status === 'processing' || status === 'unknown'
  const standing = new Map<string, string[]>()
  for (const { orderId, state, amountMinor } of entries)
    if (state === 'approved') standing.set(orderId, [...(standing.get(orderId) ?? []), amountMinor])
  const charged = (id: string) => (standing.get(id) ?? []).join()
  const known = new Set(orders.map(({ id }) => id))
  const differing = orders.filter(
    (order) => !isOpen(order) && charged(order.id) !== (order.status === 'approved' ? order.stands : ''),
  )
  return {
    open: orders.filter(isOpen).length,
    differences: [
      ...differing.map(
        ({ id, status, stands }) => `order ${id} of ${stands} is ${status} here, charged there: ${charged(id) || 'nothing'}`,
      ),
      ...[...standing.keys()].filter((id) => !known.has(id)).map((id) => `order ${id} is charged there and unknown here`),
    ],
  }
}
