import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { pino } from 'pino'
import { Chance } from '../../simulation/chance.ts'
import { Events } from '../../simulation/clock.ts'
import { configuration, enrolmentOf, secureCards } from '../../simulation/configuration.ts'
import { openFixedKeys } from '../../simulation/gateway.ts'
import { openStoreLine } from '../../simulation/store-line.ts'
import { StoreModel } from '../../simulation/store-model.ts'
import { calmDatabase } from '../../simulation/troubles.ts'
import { systemClock } from '../../src/base/clock.ts'
import { secret } from '../../src/base/secret.ts'
import { sealCard, withCvv2, type Card } from '../../src/card/vault.ts'
import { openDeliveryStore, type DeliveryStore } from '../../src/delivery/store.ts'
import type { Event } from '../../src/order/event.ts'
import { legalTransitions, moveFor } from '../../src/order/machine.ts'
import type { Order, Transaction } from '../../src/order/order.ts'
import {
  authenticationKey,
  openOrderStore,
  pageKey,
  receiptKey,
  type Change,
  type Due,
  type OrderStore,
} from '../../src/order/store.ts'
import { acceptWork, drive, resume, type Deciding } from '../../src/order/work.ts'
import { declareTransitions, ensurePartitions, migrate } from '../../src/storage/migrate.ts'
import { openPool, statement, type Pool } from '../../src/storage/pool.ts'
import type { Authentication } from '../../src/three-d-secure/authentication.ts'
import { testDatabase, type TestDatabase } from '../harness/postgres.ts'

interface Both {
  orders: OrderStore
  deliveries: DeliveryStore
}

const log = pino({ level: 'silent' })
const began = Date.UTC(2026, 0, 5, 12)
/** The first two processes live, the third is dead. */
const processes = [1n, 2n, 3n] as const
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
  await pool.close()
  await database.close()
})

test('the model of the store answers as PostgreSQL does, whatever is asked in whatever order', { timeout: 300_000 }, async () => {
  let asked = 0
  for (let seed = 1; seed <= 20; seed++) {
    const modelled = await onModel(seed)
    await forgetAll()
    const real = await history(seed, { orders: openOrderStore(pool), deliveries: openDeliveryStore(pool) })
    for (const [i, answer] of real.entries()) assert.deepEqual(modelled[i], answer, `answer ${i} of history ${seed}`)
    assert.equal(modelled.length, real.length)
    asked += real.length
  }
  assert.ok(asked > 2_000, `only ${asked} answers were compared`)
})

async function onModel(seed: number): Promise<unknown[]> {
  const events = new Events()
  const model = new StoreModel(() => events.wall())
  for (const id of processes.slice(0, 2)) model.enter(id, `place ${id}`)
  const actor = { name: 'one', alive: true, pausedUntil: 0, wallOffsetMs: 0 }
  const line = openStoreLine({ model, events, actor, chance: new Chance(1), weather: { ...calmDatabase(), latencyMs: 0.2 } })
  const played: { answers?: unknown[]; failure?: unknown } = {}
  const isOver = () => 'answers' in played || 'failure' in played
  history(seed, line).then(
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

async function forgetAll() {
  const tables = [
    'orders',
    'order_facts',
    'order_key',
    'transaction',
    'attempt',
    'order_event',
    'sealed_card',
    'request',
    'locator',
    'delivery',
  ]
  for (const table of [...tables, 'delivery_attempt', 'heartbeat']) await pool.run(statement(`delete from ${table}`))
  for (const id of processes.slice(0, 2))
    await pool.run(statement(`insert into heartbeat values ($1, $2, now(), now() + interval '1 hour')`), [id, `place ${id}`])
}

/** Plays the calls that a seed stands for, and gives back all the answers. */
async function history(seed: number, store: Both): Promise<unknown[]> {
  const chance = new Chance(seed)
  const keys = openFixedKeys(chance.fork().random())
  const random = chance.fork().random()
  const answers: unknown[] = []
  const versions: Order[] = []
  const made: Order[] = []
  let claimed: Due[] = []
  let messages: Awaited<ReturnType<DeliveryStore['claimDue']>> = []
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
    const card: Card = { pan: secret<string>(chance.pick(secureCards)), cvv2: secret('123') }
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
        const saved = own ? await tables.save([work], chance.pick([undefined, ...processes])) : new Set()
        if (!own)
          await tables.insertRepeats([
            { ...holders[0]!, serialNumber: serial(order.orderId), operation: 'sale', transactionNo: 1, at: now },
          ])
        return { holders, saved }
      }),
    )
  }
  /** Decides on what was read now, or on something older, which must not be saved. */
  const happen = async () => {
    if (made.length === 0) return
    const [read] = await store.orders.load([chance.pick(made)])
    const order = versions.length > 0 && chance.happens(0.2) ? chance.pick(versions) : read
    if (!order) return
    versions.push(order)
    const card: Card = { pan: secret('4111111111111111') }
    const work = { before: order, after: order, rows: [], deliveries: [], eraseCvv2: false, card, entries: [] } as Change &
      Parameters<typeof drive>[0]
    const transaction = chance.pick(order.transactions)
    const attempt = order.attempts.findLast((a) => a.transactionNo === transaction.no)
    const { authentication } = transaction
    const isOpen = authentication !== undefined && transaction.state !== 'authorising'
    const refused =
      isOpen && chance.happens(0.8)
        ? drive(work, authenticationEventFor(transaction, authentication, chance, now), deciding())
        : chance.happens(0.3) || !attempt
          ? transaction.state !== 'new' && resume(work, transaction.no, deciding())
          : drive(work, eventFor(transaction.no, attempt.no, chance, now), deciding())
    if (refused || work.rows.length === 0) return
    note(await store.orders.transaction((tables) => tables.save([work], chance.pick([undefined, ...processes]))))
  }
  const calls: (() => Promise<void>)[] = [
    accept,
    accept,
    happen,
    happen,
    happen,
    happen,
    happen,
    async () => note((await store.orders.load(made)).sort((a, b) => Number(a.orderId - b.orderId))),
    async () => {
      claimed = await store.orders.claimDue(chance.pick(processes), now + chance.whole(-2_000, 20_000), 1_000)
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
          await store.orders.repeatOf(order, serial(order.orderId)),
          await store.orders.locate(receiptKey(serial(order.orderId))),
        ])
      const ids = versions.flatMap((o) => o.transactions.flatMap((t) => t.authentication ?? []))
      const locators = ids.flatMap((a) => [authenticationKey(a.threeDSServerTransId), pageKey(a.pageToken)])
      for (const key of new Set(locators)) note(await store.orders.locate(key))
    },
    async () => {
      const blocked = chance.happens(0.3) ? ['http://shop1.test'] : []
      messages = await store.deliveries.claimDue(chance.pick(processes), now + chance.whole(-2_000, 20_000), 1_000, blocked)
      messages.sort((a, b) => Number(a.orderId - b.orderId) || a.deliveryNo - b.deliveryNo)
      note(messages)
    },
    async () => {
      if (messages.length === 0) return
      const delivery = chance.pick(messages)
      const state = chance.pick(['due', 'delivered', 'given up'] as const)
      const noted = { delivery, at: now, durationMs: 5, state, ...(state === 'due' ? { dueAt: now + 5_000 } : {}) }
      await store.deliveries.saveTries([noted], chance.pick(processes))
    },
  ]
  for (let step = 0; step < 240; step++) {
    now += chance.whole(0, 3_000)
    await chance.pick(calls)()
  }
  return answers
}

const names = [1, 2, 3, 4, 5, 6, 7].map((n) => ({ merchantId: 1n, clientOrderid: `name ${n}` }))
const serial = (orderId: bigint) => `00000000-0000-4000-8000-${String(orderId).padStart(12, '0')}`

function eventFor(transactionNo: number, attemptNo: number, chance: Chance, now: number): Event {
  const about = { transactionNo, attemptNo }
  const gate = { descriptor: 'SHOP', partialReversal: true, partialCapture: false }
  return chance.pick<Event>([
    { is: 'approved', ...about, actionCode: '000', data: { rrn: '1' }, receiptId: serial(BigInt(attemptNo)), gate },
    { is: 'declined', ...about, actionCode: '116', text: 'no', data: {}, gate },
    { is: 'not sent', ...about, why: 'no line' },
    { is: 'answer lost', ...about, why: 'no answer', reverseAt: now + 5_000 },
    { is: 'reversal unanswered', ...about, why: 'no answer', dueAt: now + 1_000 },
    { is: 'reversal acknowledged', ...about, actionCode: '400' },
    {
      is: 'authentication demanded',
      ...about,
      actionCode: '165',
      authentication: demanded(attemptNo),
      lease: 1n,
      leaseDueAt: now,
    },
  ])
}

/** A second authentication, under names of its own. */
const demanded = (attemptNo: number): Authentication => ({
  round: 2,
  directory: 'north',
  version: '2.2.0',
  threeDSServerTransId: serial(BigInt(1_000 + attemptNo)),
  pageToken: `page ${attemptNo}`,
})

/** Of 3-D Secure; most fit the state, and some are of another authentication. */
function authenticationEventFor({ no, state }: Transaction, now: Authentication, chance: Chance, at: number): Event {
  const of = chance.happens(0.9) ? now.threeDSServerTransId : serial(9n)
  const about = { transactionNo: no, of }
  const proof = { status: 'Y', eci: '05', acsTransId: serial(7n), dsTransId: serial(8n), authenticationValue: 'a proof' } as const
  const verdict = { go: 'decline', verified: 'NOT_AUTHENTICATED', errorCode: '2001', errorMessage: 'no' } as const
  const events: Event[] = [
    { is: 'method uploaded', ...about, learned: { compInd: 'Y' }, lease: chance.pick(processes), leaseDueAt: at + 4_000 },
    { is: 'challenge required', ...about, learned: { status: 'C', acsUrl: 'https://issuer.test' }, dueAt: at + 60_000 },
    { is: 'challenge returned', ...about, learned: { cresAt: at }, dueAt: at + 15_000 },
    { is: 'authenticated', ...about, learned: proof, verified: 'AUTHENTICATED', eci: '05' },
    { is: 'authenticated', ...about, learned: proof, verified: 'AUTHENTICATED' },
    { is: 'not authenticated', ...about, learned: { status: 'N', statusReason: '01' }, verdict, eci: '07' },
    { is: 'result missing', ...about, verdict },
  ]
  const fitting = events.filter((e) => moveFor(state, e.is) && (e.is !== 'not authenticated' || chance.happens(0.3)))
  return chance.pick(fitting.length > 0 && chance.happens(0.9) ? fitting : events)
}

function newOrder(orderId: bigint, clientOrderid: string, now: number, chance: Chance): Order {
  const amount = { amountMinor: 1_050n, amountText: '10.50' }
  const transaction = { no: 1, kind: 'sale', origin: 'request', serialNumber: serial(orderId), state: 'new', ...amount } as const
  return {
    merchantId: 1n,
    orderId,
    version: 0,
    kind: 'sale',
    clientOrderid,
    pathId: 11n,
    endpointId: chance.pick([11n, 14n, 15n, 15n, 16n]),
    currency: 'USD',
    ...amount,
    request: {
      orderDesc: 'a thing',
      ipAddress: '192.0.2.1',
      email: 'a@example.com',
      serverCallbackUrl: 'http://shop1.test/a',
      ...(chance.happens(0.5) ? { notifyUrl: 'http://books.test/b' } : {}),
    },
    card: {
      bin: '411111',
      lastFour: '1111',
      expiryMonth: 12,
      expiryYear: chance.happens(0.1) ? 2025 : 2031,
      printedName: 'A BUYER',
      hashId: 'f'.repeat(32),
    },
    events: 0,
    deliveries: 0,
    createdAt: now,
    transactions: [{ ...transaction, result: {}, tries: 0, createdAt: now }],
    attempts: [],
  }
}

/** Comparable: ids as text, bytes as hex, sets sorted, absent as absent. */
function plain(value: unknown): unknown {
  const text = JSON.stringify(value instanceof Set ? sorted(value) : value, (_key, v: unknown) =>
    typeof v === 'bigint' ? `${v}n` : v instanceof Set ? sorted(v) : v,
  )
  return text === undefined ? null : JSON.parse(text)
}

const sorted = (set: ReadonlySet<unknown>): string[] => [...set].map(String).sort((a, b) => (a < b ? -1 : 1))
