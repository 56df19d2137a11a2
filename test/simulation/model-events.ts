/** What may happen to an order, drawn by chance: events of every kind, requests, and new orders. */
import { Chance } from '../../simulation/world/chance.ts'
import type { DeliveryLease } from '../../src/delivery/store.ts'
import type { FollowAsk } from '../../src/order/decide/amounts.ts'
import type { Event } from '../../src/order/decide/event.ts'
import { transitionFor } from '../../src/order/decide/machine.ts'
import type { Order, Transaction } from '../../src/order/decide/order.ts'
import type { Claimer } from '../../src/leases/leased.ts'
import type { Authentication } from '../../src/three-d-secure/authentication.ts'

/** The first two processes live, the third is dead, the fourth fell silent some time ago. */
export const processes = [1n, 2n, 3n, 4n] as const
export const silentProcess = 4n

/**
 * For how long the fourth has been silent: less than the dead-after span, then as long as a
 * payment, an authentication or nothing of it may still be answered.
 */
const silences = [1_000, 9_000, 16_500, 60_000] as const

/**
 * One of the processes, about to claim, and how long the fourth has been silent then; it may have
 * judged it or not.
 */
export const claimerBy = (chance: Chance): { by: Claimer; silentMs: number } => ({
  by: { processId: chance.pick(processes), silent: chance.happens(0.7) ? [silentProcess] : [] },
  silentMs: chance.pick(silences),
})

export const serial = (orderId: bigint) => `00000000-0000-4000-8000-${String(orderId).padStart(12, '0')}`

export function eventFor({ no: transactionNo, kind }: Transaction, attemptNo: number, chance: Chance, now: number): Event {
  const about = { transactionNo, attemptNo }
  const gate = { descriptor: 'SHOP', partialReversal: true, partialCapture: true }
  const approval = { ...about, actionCode: '000', data: { rrn: '1' }, receiptId: serial(BigInt(attemptNo)), gate }
  const events: Event[] = [
    kind === 'transfer' ? { is: 'debited', ...approval } : { is: 'approved', ...approval },
    { is: 'declined', ...about, actionCode: '116', text: 'no', data: {}, gate },
    { is: 'not sent', ...about, why: 'no line' },
    { is: 'answer lost', ...about, why: 'no answer', reverseAt: now + 5_000 },
    { is: 'reversal unanswered', ...about, why: 'no answer', dueAt: now + 1_000 },
    { is: 'reversal acknowledged', ...about, actionCode: '400' },
    { is: 'amount declined', ...about, actionCode: '116', next: { minor: 900n, text: '9.00' } },
    {
      is: 'authentication demanded',
      ...about,
      actionCode: '165',
      authentication: demanded(attemptNo),
      lease: 1n,
      leaseDueAt: now,
    },
  ]
  if (chance.happens(0.4)) return events[0]!
  // Only a payment has a list of amounts.
  return chance.pick(events.filter((e) => e.is !== 'amount declined' || transactionNo === 1))
}

/** What a merchant may ask of an approved order, some of it twice. */
export function askFor({ orderId, transactions, amountMinor }: Order, chance: Chance): FollowAsk {
  return {
    operation: chance.pick(['capture', 'capture', 'return', 'return', 'return', 'void']),
    serialNumber: serial(orderId * 1_000n + BigInt(transactions.length + chance.whole(0, 1))),
    ...(chance.happens(0.7) ? { amount: { minor: amountMinor / 3n, text: '3.50' } } : {}),
    ...(chance.happens(0.3) ? { comment: 'as agreed' } : {}),
    ...(chance.happens(0.3) ? { idempotencyKey: chance.pick(['one', 'two', 'three']) } : {}),
  }
}

/** A second authentication, under names of its own. */
const demanded = (attemptNo: number): Authentication => ({
  round: 2,
  directory: 'north',
  version: '2.2.0',
  threeDSServerTransId: serial(BigInt(1_000 + attemptNo)),
  pageToken: `page ${attemptNo}`,
})

/** Events of 3-D Secure; most fit the state, and some are of another authentication. */
export function authenticationEventFor({ no, state }: Transaction, now: Authentication, chance: Chance, at: number): Event {
  const of = chance.happens(0.9) ? now.threeDSServerTransId : serial(9n)
  const about = { transactionNo: no, of }
  const proof = { status: 'Y', eci: '05', acsTransId: serial(7n), dsTransId: serial(8n), authenticationValue: 'a proof' } as const
  const verdict = { go: 'decline', verified: 'NOT_AUTHENTICATED', errorCode: '2001', errorMessage: 'no' } as const
  const events: Event[] = [
    { is: 'method begun', ...about, learned: { methodUntil: at + 10_000 }, dueAt: at + 10_000 },
    { is: 'method uploaded', ...about, learned: { compInd: 'Y' }, lease: chance.pick(processes), leaseDueAt: at + 4_000 },
    { is: 'challenge required', ...about, learned: { status: 'C', acsUrl: 'https://issuer.test' }, dueAt: at + 60_000 },
    { is: 'challenge returned', ...about, learned: { cresAt: at }, dueAt: at + 15_000 },
    { is: 'authenticated', ...about, learned: proof, verified: 'AUTHENTICATED', eci: '05' },
    { is: 'authenticated', ...about, learned: proof, verified: 'AUTHENTICATED' },
    { is: 'not authenticated', ...about, learned: { status: 'N', statusReason: '01' }, verdict, eci: '07' },
    { is: 'result missing', ...about, verdict },
  ]
  const fitting = events.filter((e) => transitionFor(state, e.is) && (e.is !== 'not authenticated' || chance.happens(0.3)))
  return chance.pick(fitting.length > 0 && chance.happens(0.9) ? fitting : events)
}

export function newOrder(orderId: bigint, clientOrderid: string, now: number, chance: Chance): Order {
  const amount = { amountMinor: 1_050n, amountText: '10.50' }
  const kind = chance.pick(['sale', 'sale', 'preauth', 'preauth', 'account-verification', 'transfer', 'transfer'] as const)
  const transaction = { no: 1, kind, origin: 'request', serialNumber: serial(orderId), state: 'new', ...amount } as const
  return {
    merchantId: 1n,
    orderId,
    version: 0,
    kind,
    clientOrderid,
    pathId: 11n,
    endpointId: chance.pick([11n, 11n, 11n, 11n, 14n, 15n, 15n, 16n]),
    currency: 'USD',
    ...amount,
    request: {
      orderDesc: 'a thing',
      ipAddress: '192.0.2.1',
      email: 'a@example.com',
      serverCallbackUrl: 'http://shop1.test/a',
      ...(chance.happens(0.5) ? { notifyUrl: 'http://books.test/b' } : {}),
      ...(kind === 'transfer' ? { transfer: { commissionMinor: '0', destination: { bin: '601111', lastFour: '1117' } } } : {}),
      ...(kind !== 'transfer' && chance.happens(0.2)
        ? {
            recurrent: {
              initiator: 'MERCHANT',
              scenario: 'REGULAR',
              amounts: [
                ['1050', '10.50'],
                ['900', '9.00'],
              ],
            },
          }
        : {}),
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

/** Who takes the messages that go out immediately: none, or a process those of two in three. */
export const leaseOf = (chance: Chance): DeliveryLease | undefined => {
  const processId = chance.pick([undefined, ...processes])
  return processId === undefined ? undefined : ({ orderId }) => (orderId % 3n === 0n ? undefined : processId)
}

/** What a claim of messages asks for; drawn apart, so that a history stays what it is. */
export function claimAsk(at: number, blocked: string[]) {
  const chance = new Chance(at)
  const turns = [1n, 2n, 3n].map((merchantId) => {
    return { merchantId, held: chance.pick([0, 2, 5]), blocked, from: chance.happens(0.2) ? at : 0 }
  })
  const rooms = [
    { all: 1_000, common: 1_000, few: 1 },
    { all: 6, common: 2, few: 4 },
    { all: 3, common: -1, few: 4 },
  ]
  return { after: chance.pick([0n, 0n, 1n, 2n]), limit: chance.pick([1, 9]), turns, room: chance.pick(rooms) }
}
