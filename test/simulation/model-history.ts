/** A history of calls to the stores, drawn from a seed. */
import assert from 'node:assert/strict'
import { Chance } from '../../simulation/world/chance.ts'
import { configuration, enrolmentOf, secureCards } from '../../simulation/model/configuration.ts'
import { openFixedKeys } from '../harness/world/fixed-keys.ts'
import { cellMarks } from '../../src/base/cell-mark.ts'
import type { Random } from '../../src/base/random.ts'
import { secret } from '../../src/base/secret.ts'
import type { CardReference } from '../../src/card/reference.ts'
import { sealCard, withCvv2, type Card } from '../../src/card/vault.ts'
import type { DeliveryStore } from '../../src/delivery/store.ts'
import type { Order } from '../../src/order/decide/order.ts'
import { authenticationKey, pageKey } from '../../src/order/decide/locator-keys.ts'
import { orderKeyText } from '../../src/order/decide/change.ts'
import type { Due } from '../../src/order/store/store.ts'
import { acceptWork, drive, follow, resume, type Deciding, type Work } from '../../src/order/decide/work.ts'
import type { KeyRing } from '../../src/keys/ring.ts'
import { plain } from './model-answers.ts'
import { invoiceCalls } from './model-invoices.ts'
import { keyCall, keyRow } from './model-keys.ts'
import {
  askFor,
  authenticationEventFor,
  claimAsk,
  claimerBy,
  eventFor,
  leaseOf,
  newOrder,
  processes,
  serial,
} from './model-events.ts'
import type { Both } from './model-postgres.ts'

const began = Date.UTC(2026, 0, 5, 12)
const steps = 360

/** What was done and read so far, for the next call to draw from. */
interface State {
  store: Both
  chance: Chance
  keys: KeyRing
  random: Random
  now: number
  numbers: bigint
  /** Orders as they were read. */
  versions: Order[]
  made: Order[]
  /** Those that got their name. */
  there: Order[]
  references: CardReference[]
  claimed: Due[]
  messages: Awaited<ReturnType<DeliveryStore['claimDue']>>['taken']
  /** Keeps an answer, to compare it. */
  note: (answer: unknown) => void
}

const noOthers = { claims: [], repeats: [], keys: [], processId: processes[0] }

type Call = (state: State) => Promise<void>

/** A more frequent call stands there more often. */
const calls: readonly Call[] = [
  ...Array<Call>(2).fill(accept),
  ...Array<Call>(9).fill(happen),
  loadAll,
  claimSteps,
  putBack,
  readCards,
  findByName,
  readShown,
  ({ store, chance, note, ...state }) => keyCall({ store: store.orders, chance, now: () => state.now, note })(),
  registerCard,
  findReference,
  claimMessages,
  useLimits,
  saveTry,
]

/** Plays the calls that a seed stands for, and gives back all the answers. */
export async function history(seed: number, store: Both): Promise<unknown[]> {
  const chance = new Chance(seed)
  const answers: unknown[] = []
  const note = (answer: unknown): void => void answers.push(plain(answer))
  const keys = openFixedKeys(chance.fork().random())
  const random = chance.fork().random()
  const known = { versions: [], made: [], there: [], references: [], claimed: [], messages: [] }
  const state: State = { store, chance, keys, random, now: began, numbers: 0n, ...known, note }
  const { invoices, wrongSums: sums, fallSilent } = store
  const ofInvoices = invoiceCalls({ store: invoices, sums, fallSilent, chance: chance.fork(), now: () => state.now, note })
  for (let step = 0; step < steps; step++) {
    state.now += chance.whole(0, 3_000)
    await chance.pick([...calls, ...ofInvoices])(state)
  }
  return answers
}

const deciding = (state: State): Deciding => ({
  now: state.now,
  processId: state.chance.pick(processes),
  registry: configuration,
  planner: { enrolment: enrolmentOf, marks: cellMarks(state.random, 0), steering: false },
  number: () => ++state.numbers,
  hold: state.chance.happens(0.5),
})

async function accept(state: State): Promise<void> {
  const { store, chance, keys, random, now, made, there, note } = state
  const order = newOrder(BigInt(made.length + 1), `name ${chance.whole(1, 6)}`, now, chance)
  const paid = { pan: secret<string>(chance.pick(secureCards)), cvv2: secret('123') }
  const card: Card = order.kind === 'transfer' ? { ...paid, destination: secret('6011111111111117') } : paid
  const sealed = withCvv2(sealCard(card, order, keys, random), card, order, keys, random)
  const work = acceptWork(order, card, sealed, () => sealed, 0, deciding(state))
  made.push(order)
  const at = order.createdAt
  const claim = { ...order, digest: Buffer.alloc(32, chance.whole(1, 2)), at, heldUntil: at + 10_000 }
  const repeat = { serialNumber: serial(order.orderId), operation: 'sale', transactionNo: 1, at: now } as const
  if (chance.happens(0.5)) {
    const rows = chance.happens(0.3) ? [keyRow(chance, now)] : []
    const batch = {
      claims: [claim],
      changes: [work],
      repeats: [],
      keys: rows,
      deliveryLease: leaseOf(chance),
      processId: processes[0],
    }
    const saved = await store.orders.saveAtOnce(batch)
    if (saved) there.push(order)
    return note(saved)
  }
  note(
    await store.orders.transaction(async (tables) => {
      const holders = await tables.claimKeys([claim])
      const own = holders[0]!.orderId === order.orderId
      if (own) there.push(order)
      const saved = own ? await tables.save([work], leaseOf(chance)) : new Set()
      if (!own) await tables.insertRepeats([{ ...holders[0]!, ...repeat }])
      return { holders, saved }
    }),
  )
}

/** Decides on what was read now, or on something older, which must not be saved. */
async function happen(state: State): Promise<void> {
  const { store, chance, versions, there, note } = state
  if (there.length === 0) return
  const [read] = await store.orders.load([chance.pick(there)])
  const order = versions.length > 0 && chance.happens(0.2) ? chance.pick(versions) : read
  if (!order) return
  versions.push(order)
  const card: Card = { pan: secret('4111111111111111') }
  const work: Work = { before: order, after: order, rows: [], deliveries: [], eraseCvv2: false, card, entries: [] }
  const refused = decideOn(work, order, state)
  if (refused || work.rows.length === 0) return
  note((await store.orders.versions([order])).get(orderKeyText(order)))
  const deliveryLease = leaseOf(chance)
  if (chance.happens(0.5)) return note(await store.orders.saveAtOnce({ ...noOthers, changes: [work], deliveryLease }))
  note(await store.orders.transaction((tables) => tables.save([work], deliveryLease)))
}

/** Puts a decision into `work`: a request, an event, or a step that is taken up again. */
function decideOn(work: Work, order: Order, state: State): unknown {
  const { chance, now } = state
  const transaction = chance.pick(order.transactions)
  const attempt = order.attempts.findLast((a) => a.transactionNo === transaction.no)
  const { authentication } = transaction
  const isOpen = authentication !== undefined && transaction.state !== 'authorising'
  if (order.transactions[0]!.state === 'approved' && chance.happens(0.5))
    return follow(work, askFor(order, chance), deciding(state))
  if (isOpen && chance.happens(0.8))
    return drive(work, authenticationEventFor(transaction, authentication, chance, now), deciding(state))
  if (chance.happens(0.3) || !attempt) return transaction.state !== 'new' && resume(work, transaction.no, deciding(state))
  return drive(work, eventFor(transaction, attempt.no, chance, now), deciding(state))
}

async function loadAll({ store, made, note }: State): Promise<void> {
  note((await store.orders.load(made)).sort((a, b) => Number(a.orderId - b.orderId)))
}

async function claimSteps(state: State): Promise<void> {
  const { store, chance, now, note } = state
  const { by, silentMs } = claimerBy(chance)
  await store.fallSilent(silentMs)
  note(await store.orders.firstDue())
  const claimed = await store.orders.claimDue(by, now + chance.whole(-2_000, 20_000), 1_000)
  state.claimed = claimed.sort((a, b) => Number(a.orderId - b.orderId) || a.transactionNo - b.transactionNo)
  note(claimed)
}

async function putBack({ store, chance, now, claimed }: State): Promise<void> {
  if (claimed.length === 0) return
  const [due, by] = [chance.pick(claimed), chance.pick(processes)]
  await store.orders.putBack(due, by, now + 500, chance.happens(0.2) ? 'it failed' : undefined)
}

async function readCards({ store, made, note }: State): Promise<void> {
  note([...(await store.orders.sealedCards(made))].sort(([a], [b]) => (a < b ? -1 : 1)))
}

const names = [1, 2, 3, 4, 5, 6, 7].map((n) => ({ merchantId: 1n, clientOrderid: `name ${n}` }))
async function findByName({ store, note }: State): Promise<void> {
  note((await store.orders.newestOrders(names)).sort((a, b) => (a.clientOrderid < b.clientOrderid ? -1 : 1)))
}

async function readShown({ store, chance, versions, made, note }: State): Promise<void> {
  for (const order of made)
    note([
      await store.orders.signedAmounts(order),
      await store.orders.signedAmounts({ ...order, merchantId: order.merchantId + 100n }),
      await store.orders.shown([order, { ...order, serialNumber: serial(order.orderId) }]),
      await store.orders.shown([
        { ...order, serialNumber: serial(order.orderId * 1_000n + BigInt(chance.whole(1, 4))) },
        { merchantId: 2n, orderId: order.orderId },
      ]),
      await store.orders.locate([pageKey(serial(order.orderId)), 'a key of no order']),
    ])
  const ids = versions.flatMap((o) => o.transactions.flatMap((t) => t.authentication ?? []))
  const locators = ids.flatMap((a) => [authenticationKey(a.threeDSServerTransId), pageKey(a.pageToken)])
  note(await store.orders.locate(locators))
}

async function registerCard({ store, chance, keys, random, now, made, references, note }: State): Promise<void> {
  const order = made.length > 0 ? chance.pick(made) : undefined
  const sealed = order && (await store.orders.sealedCards([order])).get(orderKeyText(order))
  if (!order || !sealed) return
  const first = { networkReference: `net ${order.orderId}`, payer: { email: order.request.email, city: 'Town' } }
  // The same payment twice in a batch has one reference.
  const asked = { orderKey: order, sealed, card: order.card, first, at: now }
  const [reference, again] = await store.references.register(chance.happens(0.3) ? [asked, asked] : [asked], keys, random)
  assert.ok(reference && !(reference instanceof Error))
  references.push(reference)
  note([reference, again])
  if (order.kind !== 'transfer') return
  const { destination } = order.request.transfer!
  const fresh = { orderKey: order, sealed, card: destination, at: now }
  const credited = await store.references.registerDestination(fresh, keys, random)
  note([credited, await store.references.findDestination(order.merchantId, credited.dstCardRefId)])
}

async function findReference({ store, chance, references, note }: State): Promise<void> {
  const { orderKey, ids } =
    references.length > 0 ? chance.pick(references) : { orderKey: { merchantId: 1n }, ids: { cardRefId: 4n } }
  const { merchantId } = orderKey
  const asked = Object.values(ids).map((cardRefId) => ({ merchantId, cardRefId }))
  note(
    await store.references.find([...asked, { merchantId: 2n, cardRefId: ids.cardRefId }, { merchantId, cardRefId: 2n ** 63n }]),
  )
  for (const id of Object.values(ids) as bigint[]) note(await store.references.findDestination(orderKey.merchantId, id))
}

async function claimMessages(state: State): Promise<void> {
  const { store, chance, now, note } = state
  const blocked = chance.happens(0.3) ? ['http://shop1.test'] : []
  const { by, silentMs } = claimerBy(chance)
  await store.fallSilent(silentMs)
  const asked = now + chance.whole(-2_000, 20_000)
  const { after: from, limit, turns, room } = claimAsk(asked, blocked)
  note(await store.deliveries.waiting(from, limit))
  const taking = await store.deliveries.claimDue(by, asked, turns, room)
  state.messages = taking.taken.sort((a, b) => Number(a.orderId - b.orderId) || a.deliveryNo - b.deliveryNo)
  note(taking)
}

async function useLimits({ store, chance, note }: State): Promise<void> {
  const places = [1, 2, 3]
    .filter(() => chance.happens(0.6))
    .map((filterNo) => ({ merchantId: 1n, filterNo, key: chance.pick(['AAAA', 'BBBB']) }))
  await store.orders.transaction(async (tables) => {
    const rows = await tables.lockCounts(places)
    note(rows.map(({ at: _at, ...row }) => row).sort((a, b) => a.filterNo - b.filterNo))
    const changed = rows.filter(() => chance.happens(0.7))
    const buckets = [[chance.whole(1, 9), 1, '1050'] as const]
    await tables.saveCounts(changed.map(({ at, ...row }) => ({ ...row, buckets, until: at + 1_000 })))
  })
}

async function saveTry({ store, chance, now, messages }: State): Promise<void> {
  if (messages.length === 0) return
  const delivery = chance.pick(messages)
  const state = chance.pick(['due', 'delivered', 'given up'] as const)
  const noted = { delivery, at: now, durationMs: 5, state, ...(state === 'due' ? { dueAt: now + 5_000 } : {}) }
  await store.deliveries.saveTries([noted], chance.pick(processes))
}
