import assert from 'node:assert/strict'
import { inspect } from 'node:util'
import { decide, type Decided } from '../../../src/order/decide/decide.ts'
import { registryOf, type Registry } from '../../../src/merchant/merchant.ts'
import { gateFields, type GateRow } from '../../../src/merchant/fields/gate.ts'
import type { Event, EventName } from '../../../src/order/decide/event.ts'
import { machine, transitionFor, type Transition } from '../../../src/order/decide/machine.ts'
import { statusOfState, type Attempt, type Order, type State, type Transaction } from '../../../src/order/decide/order.ts'
import { finalStatuses } from '../../../src/spec/words.ts'
import type { Authentication } from '../../../src/three-d-secure/authentication.ts'

/**
 * Orders in every state and events of every name, read off the table of moves, so that a new row is
 * checked by being there.
 */

export const now = Date.UTC(2026, 5, 1)
export const states = [...new Set(machine.flatMap(({ from, to }) => [from, to]))]
export const eventNames = [...new Set(machine.map(({ on }) => on))]
export const isFinal = (state: State) => finalStatuses.has(statusOfState(state))

/** Answers from outside, which name the attempt they answer. */
export const answers: ReadonlySet<EventName> = new Set([
  'approved',
  'debited',
  'declined',
  'not sent',
  'answer lost',
  'answer awaited',
  'lease lost',
  'authentication demanded',
  'amount declined',
  'reversal unanswered',
  'reversal acknowledged',
])
const leases: ReadonlySet<EventName> = new Set([
  'attempt recorded',
  'answer awaited',
  'taken up',
  'method uploaded',
  'authentication demanded',
  'enrolment unknown',
])
/** Results of 3-D Secure, which name the authentication they are of. */
export const ofAuthentications: ReadonlySet<EventName> = new Set([
  'method begun',
  'method uploaded',
  'challenge required',
  'payer authentication required',
  'challenge returned',
  'authenticated',
  'result missing',
])
/**
 * What happens to a reversal only, which is a transaction of its own beside the payment it takes
 * back.
 */
const ofReversals: ReadonlySet<string> = new Set([
  'owed',
  'reversing',
  'taken up',
  'reversal unanswered',
  'reversal acknowledged',
])
export const subjectOf = ({ from, on }: Pick<Transition, 'from' | 'on'>): number =>
  ofReversals.has(from) || ofReversals.has(on) ? 2 : 1

const names = {
  gateId: 7n,
  terminalId: 'T1',
  stan: '000001',
  rrn: '000000000001',
  startedAt: now,
  deadlineAt: now + 5_000,
}
export const openAttempt: Attempt = { ...names, no: 1, transactionNo: 1 }

export const gateRow: GateRow = gateFields.whole({
  host: 'acquirer.test',
  port: 1,
  terminalId: names.terminalId,
  cardAcceptorId: 'A',
  cardAcceptorName: 'A',
  acquirerId: '1',
  mcc: '5999',
  descriptor: 'D',
  answerTimeoutMs: 5_000,
  maxOpen: 10,
})
/** The gate of the open attempt, and nothing else. */
export const registryWithGate = (enabled: boolean): Registry =>
  registryOf({
    version: 1n,
    staleAt: Infinity,
    merchants: [],
    endpoints: [],
    groups: [],
    gates: [{ gateId: names.gateId, name: 'g', enabled, settings: gateRow }],
  })
const authentication: Authentication = {
  round: 1,
  directory: 'a directory',
  version: '2.2.0',
  threeDSServerTransId: '8a880dc0-d2d2-4067-bcb1-b08d1690b26e',
  pageToken: 'page',
  authenticationValue: 'sealed',
}
const verdict = { go: 'decline', verified: 'NOT_AUTHENTICATED', errorCode: '2001', errorMessage: 'failed' } as const

/** Frozen to the last object, so that whatever is changed in place throws. */
export function frozen<T>(value: T): T {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) Object.values(Object.freeze(value)).forEach(frozen)
  return value
}

/** An order whose payment (1) or reversal (2) is in this state, with its attempt open. */
export function orderIn(state: State, changes: Partial<Order> = {}, subject = 1): Order {
  const common = { amountMinor: 1050n, amountText: '10.50', result: {}, tries: 3, createdAt: now - 5_000 }
  const at = (of: State) => ({ state: of, ...(isFinal(of) ? { finalAt: now - 1_000 } : {}) })
  const serialNumber = '00000000-0000-4000-8000-000000000001'
  const payment: Transaction = {
    ...common,
    no: 1,
    kind: 'sale',
    origin: 'request',
    serialNumber,
    ...(state === 'new' || state === 'filtering' ? {} : { authentication }),
    ...at(subject === 1 ? state : 'unknown'),
  }
  const reversal: Transaction = { ...common, no: 2, kind: 'reversal', origin: 'gateway', parentNo: 1, ...at(state) }
  const lost: Attempt = { ...openAttempt, outcome: 'unknown', endedAt: now }
  return frozen({
    merchantId: 1n,
    orderId: 1_000_001n,
    version: 5,
    kind: 'sale',
    clientOrderid: 'c-1',
    pathId: 101n,
    endpointId: 101n,
    currency: 'USD',
    amountMinor: 1050n,
    amountText: '10.50',
    request: {
      orderDesc: 'x',
      ipAddress: '203.0.113.7',
      email: 'a@b',
      serverCallbackUrl: 'https://a.example/cb',
      notifyUrl: 'https://b.example/n',
    },
    card: { bin: '411111', lastFour: '1111', expiryMonth: 6, expiryYear: 2026, printedName: 'A', hashId: 'h' },
    events: 4,
    deliveries: 0,
    createdAt: now - 5_000,
    transactions: subject === 1 ? [payment] : [payment, reversal],
    attempts: subject === 1 ? [openAttempt] : [lost, { ...openAttempt, no: 2, transactionNo: 2 }],
    ...changes,
  })
}

const isEvent = (made: object): made is Event => 'is' in made && 'transactionNo' in made

/** An event of this name with everything that any event carries. */
export function eventOf(is: EventName, changes: object = {}, subject = 1): Event {
  const gate = { descriptor: 'D', partialReversal: true, partialCapture: false }
  const facts = {
    actionCode: '000',
    text: 'said',
    data: { rrn: 'R' },
    receiptId: 'receipt',
    gate,
    why: 'because',
    dueAt: now + 1_000,
    reverseAt: openAttempt.deadlineAt,
    attempt: names,
    authentication,
    learned: {},
    verified: 'AUTHENTICATED',
    code: '3001',
    message: 'Filtered',
    score: 100,
    rules: [1],
    verdict,
    next: { minor: 500n, text: '5.00' },
  }
  const made = {
    is,
    transactionNo: subject,
    ...facts,
    ...(leases.has(is) ? { lease: 9n, leaseDueAt: now + 4_000 } : {}),
    ...(answers.has(is) ? { attemptNo: subject } : {}),
    ...(ofAuthentications.has(is) ? { of: authentication.threeDSServerTransId } : {}),
    ...changes,
  }
  assert.ok(isEvent(made))
  return frozen(made)
}

/** A failed authentication names itself, unless there was none to begin with. */
export const ofMove = ({ from, on }: Transition) =>
  on === 'not authenticated' && from !== 'filtering' ? { of: authentication.threeDSServerTransId } : {}

export const decided = (order: Order, event: Event): Decided => {
  const result = decide(order, event, now)
  assert.equal(result.is, 'decided', inspect(result))
  return result
}
/** Whether an event ends a state, rather than prolong it. */
export const leaves = (from: State, on: EventName) => (transitionFor(from, on)?.to ?? from) !== from
export const named = ({ from, on, to }: Transition) => `${from}, ${on}: ${to}`
