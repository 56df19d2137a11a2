import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { pino } from 'pino'
import { Chance } from '../../simulation/chance.ts'
import { Events } from '../../simulation/clock.ts'
import { configuration, enrolmentOf, secureCards } from '../../simulation/configuration.ts'
import { openFixedKeys } from '../../simulation/fixed-keys.ts'
import { openStoreLine } from '../../simulation/store-line.ts'
import { StoreModel } from '../../simulation/store-model.ts'
import { calmDatabase } from '../../simulation/troubles.ts'
import { systemClock } from '../../src/base/clock.ts'
import { secret } from '../../src/base/secret.ts'
import type { CardReference } from '../../src/card/reference.ts'
import { sealCard, withCvv2, type Card } from '../../src/card/vault.ts'
import type { DeliveryStore } from '../../src/delivery/store.ts'
import { legalTransitions } from '../../src/order/machine.ts'
import type { Order } from '../../src/order/order.ts'
import { authenticationKey, pageKey, receiptKey } from '../../src/order/locator-keys.ts'
import { placeKey } from '../../src/order/change.ts'
import type { Due } from '../../src/order/store.ts'
import { acceptWork, drive, follow, resume, type Deciding, type Work } from '../../src/order/work.ts'
import { declareTransitions, ensurePartitions, migrate } from '../../src/storage/migrate.ts'
import { openPool, type Pool } from '../../src/storage/pool.ts'
import { testDatabase, type TestDatabase } from '../harness/postgres.ts'
import { plain } from './model-answers.ts'
import { invoiceCalls } from './model-invoices.ts'
import { keyCall } from './model-keys.ts'
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
  silentProcess,
} from './model-events.ts'
import { checkSums, forgetAll, stored, type Both } from './model-postgres.ts'

const log = pino({ level: 'silent' })
const began = Date.UTC(2026, 0, 5, 12)
let database: TestDatabase
let pool: Pool

before(async () => {
  database = await testDatabase()
  pool = openPool({ url: database.url, connections: 4, use: 'oltp', log })
  await migrate(pool, systemClock.now(), log)
  await declareTransitions(pool, legalTransitions())
  await ensurePartitions(pool)
})

after(async () => {
  await pool?.close()
  await database?.close()
})

test('the model of the store answers as PostgreSQL does, whatever is asked in whatever order', { timeout: 900_000 }, async () => {
  let asked = 0
  let followed = 0
  for (let seed = 1; seed <= 21; seed++) {
    const modelled = await onModel(seed)
    await forgetAll(pool)
    const real = await history(seed, stored(pool, seed))
    followed += await checkSums(pool)
    for (const [i, answer] of real.entries()) assert.deepEqual(modelled[i], answer, `answer ${i} of history ${seed}`)
    assert.equal(modelled.length, real.length)
    asked += real.length
  }
  assert.ok(asked > 2_000, `only ${asked} answers were compared`)
  assert.ok(followed > 10, `only ${followed} orders were captured or returned`)
})

async function onModel(seed: number): Promise<unknown[]> {
  const events = new Events()
  const model = new StoreModel(() => events.wall())
  for (const id of processes.slice(0, 2)) model.enter(id, `place ${id}`)
  const actor = { name: 'one', alive: true, pausedUntil: 0, wallOffsetMs: 0 }
  const line = openStoreLine({ model, events, actor, chance: new Chance(1), weather: { ...calmDatabase(), latencyMs: 0.2 } })
  const played: { answers?: unknown[]; failure?: unknown } = {}
  const isOver = () => 'answers' in played || 'failure' in played
  const fallSilent = (agoMs: number): Promise<void> => {
    model.heartbeats.set(silentProcess, { instance: 'silent', beatAt: events.wall() - agoMs })
    return Promise.resolve()
  }
  history(seed, { ...line, fallSilent }).then(
    (answers) => (played.answers = answers),
    (failure) => (played.failure = failure),
  )
  while (!isOver()) {
    await events.run(isOver)
    // Some steps of a history ask the store nothing.
    await new Promise(setImmediate)
  }
  if (!played.answers) throw played.failure
  return played.answers
}

/** Plays the calls that a seed stands for, and gives back all the answers. */
async function history(seed: number, store: Both): Promise<unknown[]> {
  const chance = new Chance(seed)
  const keys = openFixedKeys(chance.fork().random())
  const random = chance.fork().random()
  const answers: unknown[] = []
  const versions: Order[] = []
  const made: Order[] = []
  /** Those that got their name. */
  const there: Order[] = []
  const references: CardReference[] = []
  let claimed: Due[] = []
  let messages: Awaited<ReturnType<DeliveryStore['claimDue']>>['taken'] = []
  let now = began
  let numbers = 0n
  const deciding = (): Deciding => ({
    now,
    processId: chance.pick(processes),
    registry: configuration,
    planner: { enrolment: enrolmentOf, random, steering: false },
    number: () => ++numbers,
    hold: chance.happens(0.5),
  })
  const note = (answer: unknown): void => void answers.push(plain(answer))

  const accept = async () => {
    const order = newOrder(BigInt(made.length + 1), `name ${chance.whole(1, 6)}`, now, chance)
    const paid = { pan: secret<string>(chance.pick(secureCards)), cvv2: secret('123') }
    const card: Card = order.kind === 'transfer' ? { ...paid, destination: secret('6011111111111117') } : paid
    const sealed = withCvv2(sealCard(card, order, keys, random), card, order, keys, random)
    const work = acceptWork(order, card, sealed, () => sealed, 0, deciding())
    made.push(order)
    const claim = {
      ...order,
      digest: Buffer.alloc(32, chance.whole(1, 2)),
      at: order.createdAt,
      heldUntil: order.createdAt + 10_000,
    }
    note(
      await store.orders.transaction(async (tables) => {
        const holders = await tables.claimKeys([claim])
        const own = holders[0]!.orderId === order.orderId
        if (own) there.push(order)
        const saved = own ? await tables.save([work], leaseOf(chance)) : new Set()
        if (!own)
          await tables.insertRepeats([
            {
              ...holders[0]!,
              serialNumber: serial(order.orderId),
              operation: 'sale',
              transactionNo: 1,
              at: now,
            },
          ])
        return { holders, saved }
      }),
    )
  }
  /** Decides on what was read now, or on something older, which must not be saved. */
  const happen = async () => {
    if (there.length === 0) return
    const [read] = await store.orders.load([chance.pick(there)])
    const order = versions.length > 0 && chance.happens(0.2) ? chance.pick(versions) : read
    if (!order) return
    versions.push(order)
    const card: Card = { pan: secret('4111111111111111') }
    const work: Work = { before: order, after: order, rows: [], deliveries: [], eraseCvv2: false, card, entries: [] }
    const transaction = chance.pick(order.transactions)
    const attempt = order.attempts.findLast((a) => a.transactionNo === transaction.no)
    const { authentication } = transaction
    const isOpen = authentication !== undefined && transaction.state !== 'authorising'
    const refused =
      order.transactions[0]!.state === 'approved' && chance.happens(0.5)
        ? follow(work, askFor(order, chance), deciding())
        : isOpen && chance.happens(0.8)
          ? drive(work, authenticationEventFor(transaction, authentication, chance, now), deciding())
          : chance.happens(0.3) || !attempt
            ? transaction.state !== 'new' && resume(work, transaction.no, deciding())
            : drive(work, eventFor(transaction, attempt.no, chance, now), deciding())
    if (refused || work.rows.length === 0) return
    note(await store.orders.transaction((tables) => tables.save([work], leaseOf(chance))))
  }
  const calls: (() => Promise<void>)[] = [
    accept,
    accept,
    happen,
    happen,
    happen,
    happen,
    happen,
    happen,
    happen,
    happen,
    happen,
    async () => note((await store.orders.load(made)).sort((a, b) => Number(a.orderId - b.orderId))),
    async () => {
      const { by, silentMs } = claimerBy(chance)
      await store.fallSilent(silentMs)
      claimed = await store.orders.claimDue(by, now + chance.whole(-2_000, 20_000), 1_000)
      claimed.sort((a, b) => Number(a.orderId - b.orderId) || a.transactionNo - b.transactionNo)
      note(claimed)
    },
    async () => {
      if (claimed.length === 0) return
      await store.orders.putBack(
        chance.pick(claimed),
        chance.pick(processes),
        now + 500,
        chance.happens(0.2) ? 'it failed' : undefined,
      )
    },
    async () => note([...(await store.orders.sealedCards(made))].sort(([a], [b]) => (a < b ? -1 : 1))),
    async () => note((await store.orders.newestOrders(names)).sort((a, b) => (a.clientOrderid < b.clientOrderid ? -1 : 1))),
    async () => {
      for (const order of made)
        note([
          await store.orders.signedAmounts(order),
          await store.orders.signedAmounts({ ...order, merchantId: order.merchantId + 100n }),
          await store.orders.shown([order, { ...order, serialNumber: serial(order.orderId) }]),
          await store.orders.shown([
            { ...order, serialNumber: serial(order.orderId * 1_000n + BigInt(chance.whole(1, 4))) },
            { merchantId: 2n, orderId: order.orderId },
          ]),
          await store.orders.locate(receiptKey(serial(order.orderId))),
        ])
      const ids = versions.flatMap((o) => o.transactions.flatMap((t) => t.authentication ?? []))
      const locators = ids.flatMap((a) => [authenticationKey(a.threeDSServerTransId), pageKey(a.pageToken)])
      for (const key of new Set(locators)) note(await store.orders.locate(key))
    },
    keyCall({ store: store.orders, chance, now: () => now, note }),
    async () => {
      const order = made.length > 0 ? chance.pick(made) : undefined
      const sealed = order && (await store.orders.sealedCards([order])).get(placeKey(order))
      if (!order || !sealed) return
      const first = { networkReference: `net ${order.orderId}`, payer: { email: order.request.email, city: 'Town' } }
      const reference = await store.references.register({ place: order, sealed, card: order.card, first, at: now }, keys, random)
      references.push(reference)
      note(reference)
      if (order.kind !== 'transfer') return
      const { destination } = order.request.transfer!
      const credited = await store.references.registerDestination(
        { place: order, sealed, card: destination, at: now },
        keys,
        random,
      )
      note([credited, await store.references.findDestination(order.merchantId, credited.dstCardRefId)])
    },
    async () => {
      const { place, ids } =
        references.length > 0 ? chance.pick(references) : { place: { merchantId: 1n }, ids: { cardRefId: 4n } }
      note(await store.references.find(chance.pick([place.merchantId, 2n]), ids.cardRefId))
      for (const id of Object.values(ids) as bigint[]) note(await store.references.findDestination(place.merchantId, id))
    },
    async () => {
      const blocked = chance.happens(0.3) ? ['http://shop1.test'] : []
      const { by, silentMs } = claimerBy(chance)
      await store.fallSilent(silentMs)
      const asked = now + chance.whole(-2_000, 20_000)
      const { after: from, limit, turns, room } = claimAsk(asked, blocked)
      note(await store.deliveries.waiting(from, limit))
      const taking = await store.deliveries.claimDue(by, asked, turns, room)
      messages = taking.taken.sort((a, b) => Number(a.orderId - b.orderId) || a.deliveryNo - b.deliveryNo)
      note(taking)
    },
    async () => {
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
    },
    async () => {
      if (messages.length === 0) return
      const delivery = chance.pick(messages)
      const state = chance.pick(['due', 'delivered', 'given up'] as const)
      const noted = { delivery, at: now, durationMs: 5, state, ...(state === 'due' ? { dueAt: now + 5_000 } : {}) }
      await store.deliveries.saveTries([noted], chance.pick(processes))
    },
  ]
  const { invoices, wrongSums: sums, fallSilent } = store
  calls.push(...invoiceCalls({ store: invoices, sums, fallSilent, chance: chance.fork(), now: () => now, note }))
  for (let step = 0; step < 360; step++) {
    now += chance.whole(0, 3_000)
    await chance.pick(calls)()
  }
  return answers
}

const names = [1, 2, 3, 4, 5, 6, 7].map((n) => ({ merchantId: 1n, clientOrderid: `name ${n}` }))
